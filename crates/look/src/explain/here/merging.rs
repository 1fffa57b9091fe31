//! What KSM saves, and how fast ksmd scans.

use mm::units::{Bytes, Pages};

use super::super::value::Values;
use super::row::Row;
use crate::explain::looked::Looked;

/// Saved pages, the kernel's own balance, and the rate of scanning.
pub(super) fn merging(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let snapshot = looked.snapshot;
    let Some(ksm) = &snapshot.ksm else {
        return Vec::new();
    };
    let numbers = &ksm.numbers;
    let run = numbers.run.map(|run| match run {
        1 => Row::word("ksmd", "runs", ""),
        _ => Row::word("ksmd", "stands", "ksm.run = 1 starts it"),
    });
    let saved = numbers
        .pages_sharing
        .map(|pages| Row::amount("saved", Pages(pages).bytes(snapshot.page), "pages_sharing"));
    let profit = ksm.general_profit.map(|bytes| {
        Row::word(
            "general_profit",
            Bytes::signed(bytes),
            "saved less what the bookkeeping takes",
        )
    });
    let rate = numbers.pages_to_scan.zip(numbers.sleep_millisecs);
    let rate = rate.filter(|(_, sleep)| *sleep > 0).map(|(pages, sleep)| {
        let a_second = pages.saturating_mul(1000) / sleep;
        let bytes = Pages(a_second).bytes(snapshot.page);
        let about = format!("a second at most: {a_second} pages");
        Row::amount("ksmd scans", bytes, about)
    });
    let advisor = ksm
        .advisor_mode
        .as_ref()
        .filter(|mode| mode.chosen() != "none");
    let advisor = advisor.map(|mode| {
        Row::word(
            "advisor",
            mode.chosen(),
            "it sets pages_to_scan; what is written is refused",
        )
    });
    [run, saved, profit, rate, advisor]
        .into_iter()
        .flatten()
        .collect()
}
