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
use proptest::sample::{Index, select};

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

/// Pieces that readers look for, and some that break careless ones.
const PIECES: [&str; 36] = [
    "$ cat /proc/meminfo\n",
    "==> /proc/zoneinfo <==\n",
    "/proc/sys/vm/swappiness:60\n",
    "# head /proc/buddyinfo\n",
    "> ",
    "vm.min_free_kbytes = 67584\n",
    "Node 0, zone Normal\n",
    "  pages free 1\n",
    "MemTotal: 1 kB\n",
    "Mem:  1 2 3\n",
    "[ 1.000000] ",
    "[Wed Nov 25 18:00:00 2026] ",
    "Nov 25 18:00:00 host kernel: ",
    "a invoked oom-killer: gfp_mask=0x280da, order=0, oom_score_adj=0\n",
    "a: page allocation failure: order:4, mode:0x40cc0(GFP_KERNEL|__GFP_COMP)\n",
    "Mem-Info:\n",
    "Node 0 Normal free:1kB min:2kB low:3kB high:4kB present:5kB managed:6kB\n",
    "lowmem_reserve[]: 0 1 18446744073709551615\n",
    "Node 0 Normal: 1*4kB (U) 2*8kB (M) = 18446744073709551616kB\n",
    "Killed process 1 (a) total-vm:1kB, anon-rss:2kB\n",
    "[ 1 ] 0 1 2 3 4 5 0 a\n",
    "memory: usage 1kB, limit 1kB, failcnt 18446744073709551615\n",
    "{\"MESSAGE\":\"",
    "r b swpd free buff cache si so\n",
    "node_vmstat_pgfault 1e308\n",
    "Linux 6.1.0 (h) 11/25/26 _x86_64_ (2 CPU)\n",
    "18446744073709551616",
    "-1",
    "0",
    "NaN",
    "\u{feff}",
    "\0\0\0",
    "\r\n",
    "\n",
    "é",
    "order:",
];

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => select(PIECES.to_vec()).prop_map(String::from), 1 => ".{0,9}"];
    vec(piece, 0..50).prop_map(|parts| parts.concat())
}

/// Real evidence with pieces put in and a part of it cut out.
fn damaged() -> impl Strategy<Value = String> {
    let inserted = vec((any::<Index>(), pieces()), 0..3);
    let cut = (any::<Index>(), 0..400_usize);
    (select(REAL.to_vec()), inserted, cut).prop_map(|(real, inserted, (from, length))| {
        let mut text = real.to_owned();
        for (at, piece) in inserted {
            let at = boundary(&text, at.index(text.len() + 1));
            text.insert_str(at, &piece);
        }
        let from = boundary(&text, from.index(text.len() + 1));
        let to = boundary(&text, (from + length).min(text.len()));
        text.replace_range(from..to.max(from), "");
        text
    })
}

/// The character's boundary at or before a place.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![pieces(), damaged(), any::<String>()]
}

proptest! {
    #[test]
    fn any_bytes_are_text_or_are_said_to_be_none(bytes in vec(any::<u8>(), 0..400)) {
        let (text, note) = clean::decode(&bytes);
        prop_assert!(text.len() <= 3 * bytes.len(), "each byte is at most a replacement character");
        prop_assert!(note.is_none_or(|note| !note.contains('\n')));
        let _ = clean::is_text(&bytes);
    }

    #[test]
    fn any_text_is_taken_apart_into_pieces_with_their_lines(text in text()) {
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
    fn any_log_is_taken_apart_into_events_that_are_explained(text in text()) {
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
    fn any_text_is_a_series_where_it_is_recognised_as_one(text in text()) {
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
