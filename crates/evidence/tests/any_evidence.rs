//! Whatever is pasted, piped or logged, it is taken apart, explained or passed over: no reader of
//! evidence panics, and what comes out is no larger than what went in allows.

use mm::capture::Capture;
use mm::kernel_log::{self, Cause, Holders, PATH, Report};
use mm::release::{Release, Span, Version};
use mm::snapshot::Snapshot;
use plimsoll_evidence::redact::redacted;
use plimsoll_evidence::series::{self, Column, Series};
use plimsoll_evidence::{clean, frames as frames_of, gather, split};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::damage::Examples;
use testkit::words::texts;

/// A file below `fixtures`.
macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../fixtures/", $name))
    };
}

/// Evidence of every kind, to be damaged.
const REAL: [&str; 12] = [
    fixture!("kernel_log/global-5.4.log"),
    fixture!("kernel_log/global-2.6.32.syslog"),
    fixture!("kernel_log/cgroup-v1-3.10.syslog"),
    fixture!("kernel_log/cgroup-v2-6.12.json"),
    fixture!("kernel_log/cpuset-5.4.netconsole"),
    fixture!("kernel_log/order4-6.12.log"),
    fixture!("kernel_log/atomic-order0-4.19.mail"),
    fixture!("evidence/paste.txt"),
    fixture!("evidence/beside.txt"),
    fixture!("cases/14-partial-pastes/zone-normal.txt"),
    fixture!("series/vmstat-t.txt"),
    fixture!("series/node-exporter.txt"),
];

/// A text, and how it came to be.
fn text() -> impl Strategy<Value = (String, String)> {
    let damaged = Examples::of("evidence", REAL).damaged();
    prop_oneof![
        texts("evidence").prop_map(|text| ("words".to_owned(), text)),
        damaged.prop_map(|damaged| (damaged.to_string(), damaged.text())),
        any::<String>().prop_map(|text| ("any characters".to_owned(), text)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_bytes_are_text_or_are_said_to_be_none(bytes in vec(any::<u8>(), 0..400)) {
        let (text, note) = clean::decode(&bytes);
        prop_assert!(text.len() <= 3 * bytes.len(), "each byte is at most a replacement character");
        prop_assert!(note.is_none_or(|note| !note.contains('\n')));
        let _ = clean::is_text(&bytes);
    }

    #[test]
    fn any_text_is_taken_apart_into_pieces_with_their_lines((_, text) in text()) {
        let reading = split(&text, "paste.txt");
        let lines = text.lines().count();
        for piece in &reading.pieces {
            prop_assert!((1..=lines.max(1)).contains(&piece.line), "{} at {}", piece.path, piece.line);
            prop_assert!(!piece.path.is_empty() && !piece.path.contains('\n'));
        }
        for passed in &reading.passed {
            prop_assert!(!passed.why.contains('\n'), "{}", passed.why);
        }
        let readings = [reading];
        let _ = gather::note("paste.txt", &readings);
        let frames = frames_of(&readings);
        for frame in &frames {
            let snapshot = Snapshot::parse(frame);
            let _ = (snapshot.watermarks(), snapshot.available(), snapshot.thresholds());
            for error in &snapshot.errors {
                prop_assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
        let capture = redacted(&Capture { frames });
        prop_assert_eq!(Capture::parse(&capture.to_text()), Ok(capture));
    }

    #[test]
    fn any_log_is_taken_apart_into_events_that_are_explained((_, text) in text()) {
        let frames = kernel_log::frames(&text);
        prop_assert!(frames.len() <= text.lines().count(), "an event has a line at least");
        for frame in &frames {
            prop_assert!(frame.label.is_some(), "each event has a name to choose it by");
            if let Some(report) = Report::parse(&frame.files[PATH]) {
                let _ = (Cause::of(&report), Holders::of(&report).largest());
            }
        }
        let _ = kernel_log::is_log(&text);
        let _ = Report::parse(&text).map(|report| Cause::of(&report));
    }

    #[test]
    fn any_text_is_a_series_where_it_is_recognised_as_one((_, text) in text()) {
        let path = series::recognise(&text);
        prop_assert!(path.is_none_or(|path| path.starts_with("plimsoll/tools/")));
        for path in ["vmstat", "sar", "sadf"].map(|tool| format!("plimsoll/tools/{tool}")) {
            if let Some(series) = Series::parse(&path, &text) {
                let long = |column: &Column| column.values.len() == series.rows.len();
                prop_assert!(series.columns.iter().all(long), "a value or none for each row");
            }
        }
    }

    #[test]
    fn any_release_is_within_its_own_span(text in "[0-9a-z.+_-]{0,24}", numbers in any::<[u16; 3]>()) {
        let [major, minor, patch] = numbers.map(u32::from);
        let numbered = format!("{major}.{minor}.{patch}-generic");
        let version = Version::of(&numbered);
        prop_assert!(version.is_none_or(|it| (it.0, it.1) == (major, minor)));
        for text in [text, numbered] {
            let Some(span) = Release::parse(&text).map(Release::span) else {
                continue;
            };
            prop_assert!(span.from <= span.to, "{text}: {span}");
            prop_assert!(span.meets(Span::ALL) && span.narrowed(Span::ALL) == span, "{text}");
        }
    }
}
