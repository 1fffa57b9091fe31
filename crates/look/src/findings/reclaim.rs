//! Reclaim since boot: who did it, and whether it came to anything.

use crate::fact::Missing;
use crate::share::Share;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};
use crate::tools::Top;

/// Tasks reclaimed more than kswapd did.
pub(super) fn direct(looked: &Looked<'_>) -> Answer {
    let kswapd = looked.counters("pgscan_kswapd*")?;
    let direct = looked.counters("pgscan_direct*")?;
    let stalls = looked.counters("allocstall*")?;
    let all = kswapd.saturating_add(direct);
    let memory = looked.total()?;
    // What was scanned in a lifetime is much from a sixteenth of memory on.
    let much = looked.bytes(direct).0 >= memory.bytes().0 / 16;
    let Some(share) = Share::of(direct, all).filter(|share| much && share.percent() >= 50) else {
        return Ok(None);
    };
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "Since boot most reclaim was direct: {share} of what was scanned, {}, was scanned \
                 by tasks that waited for memory, in {stalls} stalls.",
                looked.bytes(direct)
            ),
            "an allocation below min reclaims for itself; kswapd, woken at low, was not fast \
             enough, or a control group's limit made its own tasks reclaim",
            "plimsoll inspect --interval 10 --section reclaim",
        )
        .not("vm.swappiness: it decides what is reclaimed, not by whom")
        .unsure(
            Sure::Likely,
            "cat /proc/vmstat > a; sleep 60; cat /proc/vmstat > b; cat /proc/pressure/memory",
        ),
    ))
}

/// Runs of kswapd from which on their yield says something.
const RUNS: u64 = 10_000;

/// Pages that a run should yield at least: one batch.
const BATCH: u64 = 32;

/// kswapd runs without end: it takes a CPU, or its runs free nearly nothing.
pub(super) fn kswapd(looked: &Looked<'_>) -> Answer {
    match (busy(looked), spinning(looked)) {
        (Ok(Some(said)), _) | (_, Ok(Some(said))) => Ok(Some(said)),
        (Err(_), other) | (other, _) => other,
    }
}

/// kswapd runs again and again and frees nearly nothing.
fn spinning(looked: &Looked<'_>) -> Answer {
    let runs = looked.counter("pageoutrun")?;
    let freed = looked.counters("pgsteal_kswapd*")?;
    if runs < RUNS || freed >= runs.saturating_mul(BATCH / 4) {
        return Ok(None);
    }
    let stalls = looked.counters("allocstall*");
    let stalls = stalls.map(|stalls| format!(", while {stalls} allocations stalled"));
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "kswapd spins: {runs} runs freed {freed} pages, {:.2} a run{}.",
                freed as f64 / runs as f64,
                stalls.as_deref().unwrap_or("")
            ),
            "balance_pgdat frees at least a batch of 32 pages for each run that finds something; \
             it runs while a zone (before 4.8: any zone) is below its high mark",
            "sudo sysctl -w vm.drop_caches=1, for the moment; then a newer kernel",
        )
        .not("vm.swappiness; a lower vm.min_free_kbytes moves the mark and not the cause")
        .unsure(
            Sure::Likely,
            "cat /proc/zoneinfo /proc/vmstat; sudo cat /proc/$(pgrep kswapd0)/stack",
        ),
    ))
}

/// Percent of a CPU from which on kswapd is busy.
const BUSY: f64 = 50.0;

/// kswapd takes most of a CPU, by what `top` shows.
fn busy(looked: &Looked<'_>) -> Answer {
    const NEEDS: Missing = Missing("top");
    let top = looked.tool("top").and_then(Top::of).ok_or(NEEDS)?;
    let kswapd = top.cpu_of("kswapd").ok_or(NEEDS)?;
    if kswapd < BUSY {
        return Ok(None);
    }
    let waits = top.io_wait.filter(|&wait| wait >= 20.0);
    let waiting =
        waits.map(|wait| format!(", and the CPUs wait for a disk {wait:.0} % of the time"));
    let left = looked.amount("MemAvailable").ok().zip(looked.total().ok());
    let left = left.and_then(|(left, total)| Share::of(left.0, total.0));
    let available = left.map(|share| format!("; {share} of memory is available"));
    let no_swap = looked.amount("SwapTotal").is_ok_and(|swap| swap.0 == 0);
    let why = match no_swap {
        true => {
            "without swap reclaim has page cache alone; when that is small, programs' own code is \
             dropped and read again"
        }
        false => "kswapd runs while no zone of its node is above its high mark",
    };
    let severity = match left.is_some_and(|share| share.percent() < 10) {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    Ok(Some(
        Said::new(
            severity,
            format!(
                "kswapd takes {kswapd:.0} % of a CPU{}{}.",
                waiting.as_deref().unwrap_or(""),
                available.as_deref().unwrap_or("")
            ),
            why,
            "free memory: end what is large, or add zram (systemd-zram-generator)",
        )
        .not("drop_caches: it drops what is about to be read again")
        .unsure(
            Sure::Likely,
            "cat /proc/zoneinfo /proc/vmstat /proc/pressure/memory > vm.txt",
        ),
    ))
}
