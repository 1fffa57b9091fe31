//! Tables that `sar` printed, in several locales, whole and damaged.

use super::*;

/// A recording of `fixtures/series`.
macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../../fixtures/series/", $name))
    };
}

#[test]
fn tables_of_one_time_are_one_row() {
    let series = parse(recording!("sar.txt")).expect("tables");
    assert_eq!(series.release.as_deref(), Some("6.1.0-56-cloud-amd64"));
    for item in [
        Item::Available,
        Item::ScanDirect,
        Item::SwapOut,
        Item::SwapUsed,
    ] {
        let count = series.summary(item).map(|summary| summary.count);
        assert_eq!(count, Some(series.rows.len()), "{item:?}");
    }
    let worst = series.reclaim().expect("scans").worst_row;
    assert_eq!(series.rows[worst].time.as_deref(), Some("16:44:15"));
    assert_eq!(series.value(Item::ScanDirect, worst), Some(40_575.73));
}

#[test]
fn clocks_of_twelve_hours_and_decimal_commas_say_the_same() {
    let plain = parse(recording!("sar.txt")).expect("tables");
    for other in [recording!("sar-12-hours.txt"), recording!("sar-commas.txt")] {
        let other = parse(other).expect("tables");
        for item in [
            Item::Free,
            Item::SwapIn,
            Item::SwapOut,
            Item::Steal,
            Item::MajorFaults,
        ] {
            assert_eq!(plain.summary(item), other.summary(item), "{item:?}");
        }
    }
}

#[test]
fn rounded_amounts_have_suffixes() {
    let exact = parse(recording!("sar.txt")).expect("tables");
    let human = parse(recording!("sar-human.txt")).expect("tables");
    let free = |series: &Series| series.summary(Item::Free).expect("free").first;
    assert!((free(&exact) / free(&human) - 1.0).abs() < 0.01);
}

#[test]
fn what_sysstat_counts_twice_is_halved() {
    let series = parse(recording!("sar.txt")).expect("tables");
    let row = series
        .rows
        .iter()
        .position(|row| row.time.as_deref() == Some("16:44:25"));
    let row = row.expect("a row that freed more than it scanned");
    assert_eq!(series.value(Item::ScanKswapd, row), Some(167.83));
    assert_eq!(series.value(Item::Steal, row), Some(325.22 / 2.0));
    let efficiency = series.reclaim().and_then(|reclaim| reclaim.efficiency());
    assert!(
        efficiency.is_some_and(|share| (0.14..0.16).contains(&share)),
        "{efficiency:?}"
    );
}

#[test]
fn a_restart_is_noted_and_averages_are_no_rows() {
    let series = parse(recording!("sar-restart.txt")).expect("tables");
    assert_eq!(series.rows.len(), 4);
    assert!(
        series
            .notes
            .iter()
            .any(|note| note.contains("LINUX RESTART"))
    );
    assert_eq!(
        series.summary(Item::Faults).map(|faults| faults.max),
        Some(22_030.0)
    );
}

#[test]
fn midnight_is_a_new_day() {
    let text = "23:59:58     pswpin/s pswpout/s\n23:59:59         1.00      0.00\n\
                00:00:00         2.00      0.00\n23:59:58 pgscank/s pgscand/s\n\
                23:59:59         3.00      0.00\n00:00:00         4.00      0.00\n";
    let series = parse(text).expect("tables");
    assert_eq!(series.rows.len(), 2);
    assert_eq!(series.value(Item::ScanKswapd, 1), Some(4.0));
}

#[test]
fn the_page_size_is_what_all_amounts_are_multiples_of() {
    let small: Vec<u64> = (1..20).map(|n| n * 4).collect();
    let large: Vec<u64> = (1..20).map(|n| n * 64).collect();
    assert_eq!((page_kib(&small), page_kib(&large)), (4, 64));
    assert_eq!(page_kib(&[64, 128]), 4, "two amounts tell nothing");
}

#[test]
fn rows_that_are_cut_are_left_out() {
    let text = recording!("sar.txt");
    let table = text.find("Average").expect("the first table's end");
    let cut = parse(&text[..table - 6]).expect("a table");
    let whole = parse(&text[..table]).expect("a table");
    assert_eq!(cut.rows.len() + 1, whole.rows.len());
    assert!(cut.notes.iter().any(|note| note.contains("cut off")));
}

#[test]
fn tables_of_devices_and_other_texts_are_none() {
    let devices = "16:39:43 DEV tps rkB/s\n16:39:45 vda 1.00 2.00\n";
    for other in [
        "",
        devices,
        "16:39:43 pswpin/s pswpout/s\n",
        "12:00:00 PM\n",
    ] {
        assert_eq!(parse(other), None, "{other}");
    }
}

#[test]
fn rows_without_times_of_two_tables_belong_together_by_their_places() {
    let text = "kbmemfree kbcached\n 1000 200\n 900 300\npgscank/s pgscand/s\n 5.00 6.00\n 7.00 0\n\
                Average: 1 2\n";
    let series = parse(text).expect("tables");
    assert_eq!(series.rows.len(), 2);
    assert_eq!(series.value(Item::Free, 1), Some(900.0));
    assert_eq!(series.value(Item::ScanKswapd, 1), Some(7.0));
}

#[test]
fn a_time_zone_behind_the_time_is_no_column() {
    let text = "12:57:19  IST  pgscank/s pgscand/s\n12:57:20  IST  5.00 6.00\n";
    let series = parse(text).expect("a table");
    assert_eq!(series.value(Item::ScanDirect, 0), Some(6.0));
}
