//! What happens now: kills, stalls, swapping, refaults and writers that wait.

use mm::units::{Bytes, Pages};

use super::finding::{Finding, Looked, Severity};

/// Pages a second from which swapping or refaulting counts: 4 MiB/s with 4 KiB pages.
const PAGES_PER_SECOND: f64 = 1024.0;

/// Processes that were killed for memory, in the interval or since boot.
pub(super) fn killed(looked: &Looked<'_>) -> Option<Finding> {
    let since_boot = looked
        .snapshot
        .vmstat("oom_kill")
        .filter(|&kills| kills > 0)?;
    let now = looked
        .interval
        .and_then(|interval| interval.vmstat.get("oom_kill"));
    let (severity, what) = match now.filter(|&kills| kills > 0) {
        Some(kills) => (
            Severity::Critical,
            format!("Processes killed for memory while this was read: {kills}."),
        ),
        None => (
            Severity::Warning,
            format!("Processes killed for memory since boot: {since_boot}."),
        ),
    };
    Some(Finding {
        id: "oom_kill",
        severity,
        what,
        rule: "oom_kill in /proc/vmstat (since 4.13) counts kills of the whole machine and of \
               control groups"
            .to_owned(),
        next: "dmesg | plimsoll inspect -".to_owned(),
    })
}

/// Tasks stall for memory, by the averages of the last 10 s and of the last 5 min.
pub(super) fn pressure(looked: &Looked<'_>) -> Option<Finding> {
    let memory = looked.snapshot.pressure.memory?;
    let some = memory.some?;
    let full = memory.full.unwrap_or_default();
    let percent = |hundredths: u32| f64::from(hundredths) / 100.0;
    let severity = match (some.avg10, some.avg300, full.avg10) {
        (_, _, 1000..) => Severity::Critical,
        (1000.., ..) | (_, 500.., _) => Severity::Warning,
        _ => return None,
    };
    Some(Finding {
        id: "memory_pressure",
        severity,
        what: format!(
            "Tasks stall for memory: {:.1} % of the last 10 s some did, {:.1} % all did; {:.1} % \
             over 5 min.",
            percent(some.avg10),
            percent(full.avg10),
            percent(some.avg300)
        ),
        rule: "/proc/pressure/memory counts waits for reclaim, for swap-ins and for refaults of \
               the working set"
            .to_owned(),
        next: "plimsoll inspect --interval 10 --section reclaim".to_owned(),
    })
}

/// Swapping in and out at the same time: what goes out is needed again.
pub(super) fn swapping_both_ways(looked: &Looked<'_>) -> Option<Finding> {
    let interval = looked.interval?;
    let rate = |item| Some(interval.per_second(interval.vmstat.get(item)?));
    let (read, written) = (rate("pswpin")?, rate("pswpout")?);
    if read.min(written) < PAGES_PER_SECOND / 4.0 {
        return None;
    }
    let bytes = |pages: f64| Pages(pages as u64).bytes(looked.snapshot.page);
    Some(Finding {
        id: "swap_thrashing",
        severity: Severity::Critical,
        what: format!(
            "It swaps both ways at once: {}/s in, {}/s out. What goes out is needed again.",
            bytes(read),
            bytes(written)
        ),
        rule: "pswpin and pswpout in /proc/vmstat; a working set that fits swaps one way"
            .to_owned(),
        next: "plimsoll inspect --section swap".to_owned(),
    })
}

/// Page cache that was evicted while it was in use comes back.
pub(super) fn refaults(looked: &Looked<'_>) -> Option<Finding> {
    let interval = looked.interval?;
    let restored = interval.vmstat.get("workingset_restore_file");
    let restored = restored.or_else(|| interval.vmstat.get("workingset_restore"))?;
    let rate = interval.per_second(restored);
    if rate < PAGES_PER_SECOND {
        return None;
    }
    Some(Finding {
        id: "working_set_lost",
        severity: Severity::Warning,
        what: format!(
            "The working set of files is being lost: {}/s that were in use are read again.",
            Pages(rate as u64).bytes(looked.snapshot.page)
        ),
        rule: "workingset_restore_file: pages that were active when they were evicted".to_owned(),
        next: "plimsoll predict working-set".to_owned(),
    })
}

/// So much is dirty that writers are slowed.
pub(super) fn writers_wait(looked: &Looked<'_>) -> Option<Finding> {
    let limits = looked.snapshot.thresholds()?;
    let dirty = looked.snapshot.unwritten()?;
    let slowed = limits.freerun();
    if dirty < slowed || dirty == Pages(0) {
        return None;
    }
    let bytes = |pages: Pages| -> Bytes { pages.bytes(looked.snapshot.page) };
    Some(Finding {
        id: "writers_throttled",
        severity: Severity::Warning,
        what: format!(
            "Writers are slowed: {} is dirty or being written, and above {} each write waits.",
            bytes(dirty),
            bytes(slowed)
        ),
        rule: "balance_dirty_pages throttles above the mean of both thresholds".to_owned(),
        next: "plimsoll inspect --section dirty".to_owned(),
    })
}
