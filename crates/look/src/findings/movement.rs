//! What happens now: kills, stalls, swapping, refaults and compaction.

use crate::fact::{Missing, or_unsaid};

use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};

/// Pages a second from which swapping or refaulting counts: 4 MiB/s with 4 KiB pages.
pub(super) const PAGES_PER_SECOND: f64 = 1024.0;

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

/// Page cache that was evicted comes back: pages that were in use, or as much as there is cache.
pub(super) fn refaults(looked: &Looked<'_>) -> Answer {
    let restored = looked
        .rate("workingset_restore")
        .or_else(|_| looked.rate("workingset_restore_file"))?;
    let said = match restored >= PAGES_PER_SECOND {
        true => Some(Said::new(
            weight(looked),
            format!(
                "The working set of files is being lost: {}/s that were in use are read again.",
                looked.bytes(restored as u64)
            ),
            "workingset_restore_file: pages that were active when they were evicted",
            "plimsoll predict working-set",
        )),
        false => turned_over(looked)?,
    };
    Ok(said.map(|said| said.not("drop_caches: it evicts more of what is in use")))
}

/// More came back in the interval than the file lists hold.
fn turned_over(looked: &Looked<'_>) -> Answer {
    let rate = looked
        .rate("workingset_refault")
        .or_else(|_| looked.rate("workingset_refault_file"))?;
    let (_, seconds) = looked.before()?;
    let cache = looked
        .counter("nr_active_file")?
        .saturating_add(looked.counter("nr_inactive_file")?);
    let much = rate >= PAGES_PER_SECOND && rate * seconds >= cache as f64;
    Ok(much.then(|| {
        Said::new(
            weight(looked),
            format!(
                "Files are read again that were evicted a moment before: {}/s, with {} of page \
                 cache.",
                looked.bytes(rate as u64),
                looked.bytes(cache)
            ),
            "workingset_refault_file: pages that came back after their eviction; in the interval \
             more than the file lists hold",
            "plimsoll predict working-set",
        )
        .unsure(
            Sure::Likely,
            "cat /proc/vmstat > a; sleep 10; cat /proc/vmstat > b; cat /proc/pressure/memory",
        )
    }))
}

/// What makes tasks stall weighs as much as the stalls.
pub(super) fn weight(looked: &Looked<'_>) -> Severity {
    match pressure(looked) {
        Ok(Some(said)) => said.severity().max(Severity::Warning),
        _ => Severity::Warning,
    }
}

/// Stalls in compaction, in a second, from which on they are a storm: who reads or writes much has
/// some, for blocks of a few pages.
const COMPACTIONS: f64 = 20.0;

/// Tasks compact memory again and again, mostly in vain.
pub(super) fn compaction(looked: &Looked<'_>) -> Answer {
    let stalls = looked.rate("compact_stall")?;
    let failed = looked.rate("compact_fail")?;
    if stalls < COMPACTIONS || failed < stalls / 2.0 {
        return Ok(None);
    }
    let huge = looked.rate("thp_fault_fallback").ok();
    let huge = huge.filter(|&huge| huge > 0.0);
    let huge = huge.map(|huge| format!("; {huge:.1} huge pages a second were not had"));
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "Tasks compact memory {stalls:.0} times a second, {failed:.0} of them in vain{}.",
                or_unsaid(huge)
            ),
            "a request for pages in one piece compacts for itself where none is free \
             (compact_stall), and gets none (compact_fail)",
            "plimsoll explain thp.defrag; echo defer+madvise into it",
        )
        .not("vm.compact_memory again: what is pinned or the kernel's does not move"),
    ))
}
