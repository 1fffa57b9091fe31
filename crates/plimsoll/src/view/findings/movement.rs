//! What happens now: kills, stalls, swapping, refaults and writers that wait.

use look::fact::Missing;
use mm::units::Pages;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity};

/// Pages a second from which swapping or refaulting counts: 4 MiB/s with 4 KiB pages.
const PAGES_PER_SECOND: f64 = 1024.0;

/// Processes that were killed for memory, in the interval or since boot.
pub(super) fn killed(looked: &Looked<'_>) -> Answer {
    let since_boot = looked.counter("oom_kill")?;
    if since_boot == 0 {
        return Ok(None);
    }
    let now = looked.grown("oom_kill").filter(|&kills| kills > 0);
    let (severity, what) = match now {
        Some(kills) => (
            Severity::Critical,
            format!("Processes killed for memory while this was read: {kills}."),
        ),
        None => (
            Severity::Warning,
            format!("Processes killed for memory since boot: {since_boot}."),
        ),
    };
    Ok(Some(Said::new(
        severity,
        what,
        "oom_kill in /proc/vmstat (since 4.13) counts kills of the whole machine and of control \
         groups",
        "dmesg | plimsoll inspect -",
    )))
}

/// Tasks stall for memory, by the averages of the last 10 s and of the last 5 min.
pub(super) fn pressure(looked: &Looked<'_>) -> Answer {
    const NEEDS: Missing = Missing("/proc/pressure/memory");
    let memory = looked.snapshot().pressure.memory.ok_or(NEEDS)?;
    let some = memory.some.ok_or(NEEDS)?;
    let full = memory.full.ok_or(NEEDS)?;
    let percent = |hundredths: u32| f64::from(hundredths) / 100.0;
    let severity = match (some.avg10, some.avg300, full.avg10) {
        (_, _, 1000..) => Severity::Critical,
        (1000.., ..) | (_, 500.., _) => Severity::Warning,
        _ => return Ok(None),
    };
    Ok(Some(
        Said::new(
            severity,
            format!(
                "Tasks stall for memory: {:.1} % of the last 10 s some did, {:.1} % all did; \
                 {:.1} % over 5 min.",
                percent(some.avg10),
                percent(full.avg10),
                percent(some.avg300)
            ),
            "/proc/pressure/memory counts waits for reclaim, for swap-ins and for refaults of the \
             working set",
            "plimsoll inspect --interval 10 --section reclaim",
        )
        .not("vm.swappiness, as long as it is not known whether file or anonymous pages come back"),
    ))
}

/// Tasks wait for disks, by the averages of the last 10 s and of the last 5 min.
pub(super) fn io_pressure(looked: &Looked<'_>) -> Answer {
    const NEEDS: Missing = Missing("/proc/pressure/io");
    let io = looked.snapshot().pressure.io.ok_or(NEEDS)?;
    let (some, full) = (io.some.ok_or(NEEDS)?, io.full.ok_or(NEEDS)?);
    let percent = |hundredths: u32| f64::from(hundredths) / 100.0;
    Ok((some.avg10 >= 2000 || some.avg300 >= 1000).then(|| {
        Said::new(
            Severity::Note,
            format!(
                "Tasks wait for disks: {:.1} % of the last 10 s some did, {:.1} % all did; {:.1} % \
                 over 5 min.",
                percent(some.avg10),
                percent(full.avg10),
                percent(some.avg300)
            ),
            "/proc/pressure/io counts waits for reads, and for writes that a task has to wait for: \
             fsync, the journal, the dirty limits",
            "iostat -x 5; plimsoll inspect --section writeback",
        )
        .not("more memory, as long as it is not known what they wait for")
    }))
}

/// Swapping in and out at the same time: what goes out is needed again.
pub(super) fn swapping_both_ways(looked: &Looked<'_>) -> Answer {
    let read = looked.rate("pswpin")?;
    let written = looked.rate("pswpout")?;
    if read.min(written) < PAGES_PER_SECOND / 4.0 {
        return Ok(None);
    }
    let bytes = |pages: f64| looked.bytes(pages as u64);
    Ok(Some(
        Said::new(
            Severity::Critical,
            format!(
                "It swaps both ways at once: {}/s in, {}/s out. What goes out is needed again.",
                bytes(read),
                bytes(written)
            ),
            "pswpin and pswpout in /proc/vmstat; a working set that fits swaps one way",
            "plimsoll inspect --section swap",
        )
        .not("more swap: it moves the same pages"),
    ))
}

/// Page cache that was evicted while it was in use comes back.
pub(super) fn refaults(looked: &Looked<'_>) -> Answer {
    let rate = looked
        .rate("workingset_restore")
        .or_else(|_| looked.rate("workingset_restore_file"))?;
    if rate < PAGES_PER_SECOND {
        return Ok(None);
    }
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "The working set of files is being lost: {}/s that were in use are read again.",
                looked.bytes(rate as u64)
            ),
            "workingset_restore_file: pages that were active when they were evicted",
            "plimsoll predict working-set",
        )
        .not("drop_caches: it evicts more of what is in use"),
    ))
}

/// So much is dirty that writers are slowed.
pub(super) fn writers_wait(looked: &Looked<'_>) -> Answer {
    const NEEDS: Missing = Missing("the dirty thresholds");
    let limits = looked.snapshot().thresholds().ok_or(NEEDS)?;
    let dirty = looked.snapshot().unwritten().ok_or(NEEDS)?;
    let slowed = limits.freerun();
    if dirty < slowed || dirty == Pages(0) {
        return Ok(None);
    }
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "Writers are slowed: {} is dirty or being written, and above {} each write waits.",
                looked.bytes(dirty.0),
                looked.bytes(slowed.0)
            ),
            "balance_dirty_pages throttles above the mean of both thresholds",
            "plimsoll inspect --section dirty",
        )
        .not("a higher vm.dirty_ratio: the same device then has more to write at once"),
    ))
}
