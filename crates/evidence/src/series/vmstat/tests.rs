//! Tables that `vmstat` printed, whole and damaged.

use super::*;
use crate::series::{Kind, Swapping};
use alloc::string::ToString;

/// A recording of `fixtures/series`.
macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../../fixtures/series/", $name))
    };
}

fn first(series: &Series, item: Item) -> Option<f64> {
    series.summary(item).map(|summary| summary.first)
}

#[test]
fn case_15_has_three_rows_of_rates_and_nothing_swaps() {
    let series = parse(recording!("vmstat-5.txt")).expect("a table");
    assert_eq!((series.rows.len(), series.intervals()), (4, 3));
    assert_eq!(series.swapping(), Some(Swapping::None));
    let written = series.summary(Item::PageOut).expect("bo");
    assert_eq!((written.first, written.last), (161_530.0, 128_964.0));
    assert_eq!(first(&series, Item::SwapUsed), Some(4528.0));
    assert_eq!(series.summary(Item::Blocked).map(|b| b.max), Some(7.0));
    let notes = series.notes.join(" ");
    assert!(
        notes.contains("average since boot") && notes.contains("every 5 s"),
        "{notes}"
    );
}

#[test]
fn the_first_row_counts_for_levels_and_not_for_rates() {
    let series = parse(recording!("vmstat-5.txt")).expect("a table");
    assert_eq!(series.summary(Item::Free).map(|free| free.count), Some(4));
    assert_eq!(series.summary(Item::PageIn).map(|read| read.count), Some(3));
    assert_eq!(series.value(Item::PageIn, 0), None);
    assert_eq!(
        (Item::Free.kind(), Item::PageIn.kind()),
        (Kind::Level, Kind::Rate)
    );
}

#[test]
fn a_repeated_heading_is_no_run_and_a_second_run_is() {
    let recorded = recording!("vmstat-t.txt");
    let once = parse(recorded).expect("a table");
    assert_eq!((once.rows.len(), once.intervals()), (60, 59));
    let time = once.rows[59].time.as_deref();
    assert_eq!(time, Some("2026-11-25 16:45:00"));
    let short: String = recorded.lines().take(5).collect::<Vec<_>>().join("\n");
    let twice = parse(&format!("{short}\n{short}\n")).expect("two tables");
    assert_eq!((twice.rows.len(), twice.intervals()), (6, 4));
}

#[test]
fn amounts_that_stand_still_while_pages_move_are_left_out() {
    let series = parse(recording!("vmstat-t.txt")).expect("a table");
    assert_eq!(series.summary(Item::Free).map(|free| free.count), Some(1));
    assert!(series.notes.iter().any(|note| note.contains("4.0.2")));
    assert_eq!(
        series.summary(Item::SwapOut).map(|out| out.max),
        Some(14_476.0)
    );
}

#[test]
fn wide_tables_and_tables_of_lists_are_read() {
    let wide = parse(recording!("vmstat-w.txt")).expect("-w");
    assert_eq!(wide.rows.len(), 60);
    assert!(wide.column(Item::Stolen).is_some());
    let lists = parse(recording!("vmstat-a.txt")).expect("-a");
    assert!(lists.column(Item::Inactive).is_some() && lists.column(Item::Cached).is_none());
}

#[test]
fn the_unit_is_forced_by_the_amounts_or_told_by_the_command() {
    let mib = parse(recording!("vmstat-S-M.txt")).expect("-S M");
    assert_eq!(first(&mib, Item::Free), Some(281.0 * 1024.0));
    let kilo = parse(recording!("vmstat-S-k.txt")).expect("-S k");
    let other = parse(recording!("vmstat-a.txt")).and_then(|series| first(&series, Item::Free));
    let free = first(&kilo, Item::Free).zip(other).expect("free");
    assert!((free.0 / free.1 - 1.0).abs() < 0.01, "{free:?}");
    let table = recording!("vmstat-5.txt")
        .split_once('\n')
        .expect("lines")
        .1;
    let told = parse(&format!("$ vmstat -S m 5\n{table}")).expect("a command");
    let swapped = first(&told, Item::SwapUsed);
    assert_eq!(swapped, Some(4528.0 * 1_000_000.0 / 1024.0));
}

#[test]
fn quotes_line_ends_and_cut_rows_are_let_be() {
    let recorded = recording!("vmstat-5.txt");
    let quoted: String = recorded
        .lines()
        .map(|line| format!("> {line}\r\n"))
        .collect();
    let plain = parse(recorded).expect("a table");
    assert_eq!(parse(&quoted).as_ref(), Some(&plain));
    let cut = &recorded[..recorded.len() - 30];
    let cut = parse(cut).expect("a table that is cut");
    assert_eq!(cut.rows.len(), 3);
    assert!(
        cut.notes.iter().any(|note| note.contains("cut off")),
        "{:?}",
        cut.notes
    );
}

#[test]
fn a_time_stamp_may_stand_before_the_row() {
    let heading = " r b swpd free buff cache si so bi bo in cs us sy id wa st";
    let rows = "10:00:01 1 0 0 100000 8 4000 0 0 1 2 3 4 5 6 7 8 9\n\
                10:00:02 1 0 0 100000 8 4000 0 0 1 2 3 4 5 6 7 8 9\n";
    let series = parse(&format!("10:00:01 {heading}\n{rows}")).expect("a table");
    assert_eq!(series.rows[1].time, Some("10:00:02".to_string()));
    assert_eq!(
        series.summary(Item::IoWait).map(|wait| wait.last),
        Some(8.0)
    );
}

#[test]
fn other_tables_are_none() {
    for other in [
        "",
        " r  b   swpd   free   buff  cache   si   so\n",
        "procs memory page\n r b w avm fre flt re pi po fr sr\n 1 0 0 10 20 30 0 0 0 0 0\n",
    ] {
        assert_eq!(parse(other), None, "{other}");
    }
}
