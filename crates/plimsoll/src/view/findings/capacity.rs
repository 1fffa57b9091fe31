//! How full the machine is, and of what.

use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Pages};

use super::finding::{Finding, Looked, Severity};
use crate::view::share::percent;

/// Part of a whole in percent, rounded down.
fn share(part: Kib, whole: Kib) -> u64 {
    let share = u128::from(part.0) * 100 / u128::from(whole.0.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// An amount and its share of all memory: "1.2 GiB (31%)".
fn of_total(part: Kib, total: Kib) -> String {
    format!("{} ({})", part.bytes(), percent(part.0, total.0))
}

/// Little is left that can be had without swapping.
pub(super) fn available(looked: &Looked<'_>) -> Option<Finding> {
    let meminfo = looked.snapshot.meminfo.as_ref()?;
    let (total, available) = (meminfo.mem_total?, meminfo.mem_available?);
    let severity = match share(available, total) {
        0..2 => Severity::Critical,
        2..5 => Severity::Warning,
        _ => return None,
    };
    Some(Finding {
        id: "available_low",
        severity,
        what: format!(
            "Only {} is available without swapping.",
            of_total(available, total)
        ),
        rule: "MemAvailable: free pages above the reserve, page cache and slab that can be dropped"
            .to_owned(),
        next: "plimsoll inspect --section memory".to_owned(),
    })
}

/// Swap is all but full: anonymous memory cannot be reclaimed any more.
pub(super) fn swap_full(looked: &Looked<'_>) -> Option<Finding> {
    let meminfo = looked.snapshot.meminfo.as_ref()?;
    let (total, free) = (meminfo.swap_total?, meminfo.swap_free?);
    if total == Kib::ZERO || share(free, total) >= 10 {
        return None;
    }
    let available = meminfo.mem_available.zip(meminfo.mem_total);
    let short = available.is_some_and(|(available, total)| share(available, total) < 10);
    Some(Finding {
        id: "swap_full",
        severity: if short {
            Severity::Critical
        } else {
            Severity::Warning
        },
        what: format!(
            "Swap is full: {} of {} is free.",
            free.bytes(),
            total.bytes()
        ),
        rule: "without a free slot anonymous memory stays, and reclaim takes page cache alone"
            .to_owned(),
        next: "plimsoll inspect --section swap".to_owned(),
    })
}

/// Under strict overcommit little may still be promised.
pub(super) fn commit_limit(looked: &Looked<'_>) -> Option<Finding> {
    if looked.snapshot.number("vm.overcommit_memory") != Some(2) {
        return None;
    }
    let meminfo = looked.snapshot.meminfo.as_ref()?;
    let (limit, promised) = (meminfo.commit_limit?, meminfo.committed_as?);
    if share(promised, limit) < 90 {
        return None;
    }
    let free = meminfo
        .mem_available
        .or(meminfo.mem_free)
        .unwrap_or_default();
    Some(Finding {
        id: "commit_limit",
        severity: Severity::Critical,
        what: format!(
            "Allocations are refused soon, with {} available: {} of {} is promised.",
            free.bytes(),
            promised.bytes(),
            limit.bytes()
        ),
        rule: "vm.overcommit_memory = 2 refuses what would take Committed_AS above CommitLimit"
            .to_owned(),
        next: "plimsoll inspect --section memory".to_owned(),
    })
}

/// Huge pages in the pools that nobody uses. Without MemTotal a GiB of them is worth a word.
pub(super) fn idle_huge_pages(looked: &Looked<'_>) -> Option<Finding> {
    let (idle, free) = idle_pools(looked.snapshot)?;
    let amount = match looked.snapshot.meminfo.as_ref()?.mem_total {
        Some(total) if share(idle, total) < 5 => return None,
        Some(total) => of_total(idle, total),
        None if idle < Kib(1 << 20) => return None,
        None => idle.to_string(),
    };
    Some(Finding {
        id: "huge_pages_idle",
        severity: Severity::Warning,
        what: format!(
            "{amount} lies idle in the pool of huge pages: {free} pages are neither used nor \
             reserved."
        ),
        rule: "vm.nr_hugepages takes the memory at once; nothing else can use it".to_owned(),
        next: "plimsoll inspect --section huge-pages".to_owned(),
    })
}

/// What is free and not promised in the pools of all sizes, and how many huge pages that is.
/// meminfo has the default size only.
fn idle_pools(snapshot: &Snapshot) -> Option<(Kib, u64)> {
    let meminfo = snapshot.meminfo.as_ref()?;
    let size = meminfo.hugepagesize?;
    let count = |item| meminfo.other.get(item);
    let free = count("HugePages_Free")?.saturating_sub(count("HugePages_Rsvd").unwrap_or(0));
    let mut idle = (Kib(free.saturating_mul(size.0)), free);
    for (&other, pool) in snapshot.pools.iter().filter(|(other, _)| **other != size.0) {
        let free = pool.free.saturating_sub(pool.promised);
        idle.0 = idle.0.saturating_add(Kib(free.saturating_mul(other)));
        idle.1 = idle.1.saturating_add(free);
    }
    Some(idle)
}

/// Kernel objects that cannot be reclaimed hold much: a leak looks like this.
pub(super) fn slab(looked: &Looked<'_>) -> Option<Finding> {
    let meminfo = looked.snapshot.meminfo.as_ref()?;
    let (total, slab) = (meminfo.mem_total?, meminfo.sunreclaim?);
    if share(slab, total) < 15 {
        return None;
    }
    Some(Finding {
        id: "slab_unreclaimable",
        severity: Severity::Warning,
        what: format!("Kernel objects that stay hold {}.", of_total(slab, total)),
        rule: "SUnreclaim: slab caches without a shrinker; growth without end is a leak".to_owned(),
        next: "sudo slabtop -o -s c | head -15".to_owned(),
    })
}

/// Page tables hold much: many processes map the same large memory in small pages.
pub(super) fn page_tables(looked: &Looked<'_>) -> Option<Finding> {
    let meminfo = looked.snapshot.meminfo.as_ref()?;
    let (total, tables) = (meminfo.mem_total?, meminfo.page_tables?);
    if share(tables, total) < 5 {
        return None;
    }
    Some(Finding {
        id: "page_tables",
        severity: Severity::Warning,
        what: format!("Page tables hold {}.", of_total(tables, total)),
        rule: "each process that maps a page needs 8 bytes for it; huge pages need 1/512 of that"
            .to_owned(),
        next: "plimsoll inspect --section huge-pages".to_owned(),
    })
}

/// tmpfs and shared memory hold much, which is in Cached and cannot be dropped.
pub(super) fn shared(looked: &Looked<'_>) -> Option<Finding> {
    let meminfo = looked.snapshot.meminfo.as_ref()?;
    let (total, shmem) = (meminfo.mem_total?, meminfo.shmem?);
    if share(shmem, total) < 25 {
        return None;
    }
    let stays = match meminfo.swap_total {
        Some(Kib::ZERO) => ", and without swap it stays",
        _ => "",
    };
    Some(Finding {
        id: "shared_memory",
        severity: Severity::Note,
        what: format!(
            "tmpfs and shared memory hold {}: it counts as Cached and cannot be dropped{stays}.",
            of_total(shmem, total)
        ),
        rule: "shmem pages are in the page cache, and on the anonymous lists".to_owned(),
        next: "df -h -t tmpfs; ipcs -m".to_owned(),
    })
}

/// ksmd runs and costs more memory than it saves.
pub(super) fn merging(looked: &Looked<'_>) -> Option<Finding> {
    let ksm = looked.snapshot.ksm.as_ref()?;
    let loss = ksm.general_profit.filter(|&profit| profit < 0)?;
    if ksm.numbers.run != Some(1) {
        return None;
    }
    let pages = Pages(ksm.numbers.pages_sharing.unwrap_or(0));
    Some(Finding {
        id: "merging_at_a_loss",
        severity: Severity::Note,
        what: format!(
            "Samepage merging costs more memory than it saves: {} saved, {} in all.",
            pages.bytes(looked.snapshot.page),
            Bytes::signed(loss)
        ),
        rule: "general_profit: what merging saves less 64 bytes for each candidate".to_owned(),
        next: "plimsoll ksm estimate".to_owned(),
    })
}
