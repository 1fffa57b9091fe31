//! Whatever the text, no reader of a time series panics, and what it hands back is a table.

use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use mm::units::{Nanos, PageSize};
use plimsoll_evidence::series::{self, Item, MOST_ROWS, Series};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::damage::Examples;
use testkit::words::texts;

/// A recording of `fixtures/series`.
macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../fixtures/series/", $name))
    };
}

const RECORDINGS: [&str; 8] = [
    recording!("vmstat-5.txt"),
    recording!("vmstat-t.txt"),
    recording!("vmstat-w.txt"),
    recording!("sar.txt"),
    recording!("sar-12-hours.txt"),
    recording!("sar-human.txt"),
    recording!("sar-restart.txt"),
    recording!("node-exporter.txt"),
];

fn is_a_table(series: &Series) -> Result<(), TestCaseError> {
    for column in &series.columns {
        prop_assert_eq!(column.values.len(), series.rows.len());
        prop_assert!(
            column
                .values
                .iter()
                .flatten()
                .all(|value| value.is_finite())
        );
    }
    for item in Item::ALL {
        if let Some(summary) = series.summary(item) {
            prop_assert!(summary.min <= summary.max && summary.max_row < series.rows.len());
        }
    }
    prop_assert!(series.thrashing().end <= series.rows.len());
    let _ = (series.swapping(), series.reclaim());
    Ok(())
}

fn read(text: &str) -> Result<(), TestCaseError> {
    if let Some(path) = series::recognise(text) {
        let series = Series::parse(path, text);
        prop_assert_eq!(series.is_some(), path != series::SADF);
    }
    for path in [series::VMSTAT, series::SAR] {
        if let Some(series) = Series::parse(path, text) {
            is_a_table(&series)?;
        }
    }
    let _ = series::scraped_at(text);
    let files = series::node_exporter(text).unwrap_or_default();
    let files = files.into_iter().collect();
    let errors = Snapshot::parse(&Frame {
        files,
        ..Frame::default()
    })
    .errors;
    prop_assert!(errors.is_empty(), "{:?}", errors);
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_read_or_is_none(text in texts("series")) {
        read(&text)?;
    }

    #[test]
    fn damaged_recordings_are_read(damaged in Examples::of("series", RECORDINGS).damaged()) {
        read(&damaged.text())?;
    }

    #[test]
    fn frames_in_any_order_are_a_table(times in vec(any::<u64>(), 0..8), text in texts("series")) {
        let recorded = Capture::parse(recording!("captures.txt")).expect("a capture");
        let mut frames: Vec<Frame> = recorded.frames.into_iter().take(times.len()).collect();
        for (frame, at) in frames.iter_mut().zip(times) {
            frame.at = Nanos(at);
        }
        if let Some(frame) = frames.first_mut() {
            frame.files.insert("proc/vmstat".into(), text);
        }
        if let Some(series) = series::of_frames(&frames, PageSize::FOUR_KIB) {
            is_a_table(&series)?;
        }
    }
}

#[test]
fn a_text_without_end_is_read_up_to_the_bound() {
    let heading = " r b swpd free buff cache si so bi bo in cs us sy id wa st\n";
    let row = "1 0 0 100000 8 4000 0 0 1 2 3 4 5 6 7 8 9\n";
    let text = format!("{heading}{}", row.repeat(MOST_ROWS + 5));
    let series = Series::parse(series::VMSTAT, &text).expect("a table");
    assert_eq!(series.rows.len(), MOST_ROWS);
    assert!(
        series
            .notes
            .iter()
            .any(|note| note.contains("; 5 after them"))
    );
}
