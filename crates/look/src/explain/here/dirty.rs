//! The dirty thresholds in bytes, and in seconds at what each device writes.

use crate::fact::or_unsaid;
use crate::share::percent;
use mm::bdi::Stats;
use mm::units::{Bytes, Kib, Pages};

use super::super::value::{Values, words};
use super::row::Row;
use crate::explain::looked::Looked;

/// Devices that are shown.
const SHOWN: usize = 8;

/// Both thresholds, what they are of, and how long the devices take for them.
pub(super) fn thresholds(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let (snapshot, page) = (looked.snapshot, looked.snapshot.page);
    let Some(by) = snapshot.thresholds_by() else {
        return Vec::new();
    };
    let amount = |pages: Pages| pages.bytes(page);
    let total = snapshot
        .meminfo
        .as_ref()
        .and_then(|meminfo| meminfo.mem_total);
    let of = total.map(|total| percent(amount(by.dirtyable).0, total.bytes().0));
    let of = of.map(|share| format!("{share} of memory; what the ratios are of"));
    let mut rows = vec![
        Row::amount("dirtyable memory", amount(by.dirtyable), or_unsaid(of)),
        Row::amount(
            "background threshold",
            amount(by.thresholds.background),
            "flushers write from here",
        ),
        Row::amount(
            "writers are slowed from",
            amount(by.thresholds.freerun()),
            "the middle of the two",
        ),
        Row::amount(
            "dirty threshold",
            amount(by.thresholds.dirty),
            "writers wait",
        ),
    ];
    rows.extend(seconds(looked, amount(by.thresholds.dirty)));
    rows.extend(held(looked, values));
    rows
}

/// How long each measured device writes so much.
fn seconds(looked: Looked<'_>, limit: Bytes) -> Vec<Row> {
    let snapshot = looked.snapshot;
    let measured = snapshot
        .writeback
        .iter()
        .filter(|(_, stats)| stats.is_measured());
    let row = |(bdi, stats): (&String, &Stats)| {
        let Kib(bandwidth) = stats.bandwidth?;
        let time = stats.time_for(Kib(limit.0 >> 10))?;
        let name = device(looked, bdi);
        let about = format!("for all of it, at {} a second", Kib(bandwidth));
        Some(Row::word(format!("{name} writes"), time, about))
    };
    let rows: Vec<Row> = measured.filter_map(row).take(SHOWN).collect();
    if rows.is_empty() && snapshot.is_live {
        let about = "how fast each writes is in debugfs, which root may mount and read";
        return vec![Row::word("time to write it", "unknown", about)];
    }
    rows
}

/// The block device of a backing device's numbers.
fn device(looked: Looked<'_>, bdi: &str) -> String {
    let disks = looked
        .snapshot
        .diskstats
        .iter()
        .flat_map(|stats| &stats.disks);
    let mut named = disks
        .filter(|disk| disk.number == bdi)
        .map(|disk| disk.name.clone());
    named.next().unwrap_or_else(|| bdi.to_owned())
}

/// What is dirty now.
pub(super) fn held(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let snapshot = looked.snapshot;
    let item = |name, item| {
        let pages = Pages(snapshot.vmstat(item)?);
        Some(Row::amount(name, pages.bytes(snapshot.page), ""))
    };
    let rows = [
        item("dirty now", "nr_dirty"),
        item("under writeback", "nr_writeback"),
    ];
    rows.into_iter().flatten().collect()
}

/// Each device whose value is not the usual one, or the one that was named.
pub(super) fn devices(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let tunable = looked.named.tunable;
    let limit = looked.snapshot.thresholds().map(|limits| limits.dirty);
    let limit = limit.map(|pages| pages.bytes(looked.snapshot.page));
    let share = |value: &str| {
        let number: u64 = value.parse().ok()?;
        let whole = match tunable.kernel_name() {
            "min_ratio" | "max_ratio" => 100,
            "min_ratio_fine" | "max_ratio_fine" => 1_000_000,
            _ => return None,
        };
        let part = u128::from(limit?.0) * u128::from(number) / whole;
        let part = Bytes(u64::try_from(part).ok()?);
        Some(format!("{part} of the dirty threshold"))
    };
    let row =
        |name: String, value: &str| Row::word(name, words(tunable, value), or_unsaid(share(value)));
    match &values.value {
        Some(value) => {
            let device = looked.named.device().into_iter();
            device.map(|device| row(device.to_owned(), value)).collect()
        }
        None => {
            let usual = values
                .values
                .iter()
                .map(|value| row(value.of.clone(), &value.value));
            usual.take(SHOWN * 2).collect()
        }
    }
}
