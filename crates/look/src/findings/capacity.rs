//! How full the machine is, and of what.

use crate::fact::{Missing, or_unsaid};
use crate::share::{Share, of};
use mm::kernel_log::Event;
use mm::units::{Bytes, Kib};

use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};
use super::zram;

/// Part of a whole in percent, rounded down; `None` where it is more than the whole.
pub(super) fn share(part: Kib, whole: Kib) -> Option<u64> {
    Share::of(part.0, whole.0).map(Share::percent)
}

/// An amount and its share of all memory, where that is told: "1.2 GiB (31%)".
pub(super) fn of_total(part: Kib, total: Option<Kib>) -> String {
    let share = total.and_then(|total| Share::of(part.0, total.0));
    match share {
        Some(share) => format!("{} ({share})", part.bytes()),
        None => part.bytes().to_string(),
    }
}

/// Whether an amount is this many percent of memory; without MemTotal, whether it is `least`.
fn is_much(looked: &Looked<'_>, part: Kib, percent: u64, least: Kib) -> bool {
    match looked.total() {
        Ok(total) => share(part, total).is_some_and(|share| share >= percent),
        Err(_) => part >= least,
    }
}

/// From this amount on a part is worth a word where nobody knows of how much: a GiB.
const WORTH: Kib = Kib(1 << 20);

/// Little is left that can be had without swapping.
pub(super) fn available(looked: &Looked<'_>) -> Answer {
    let (total, available) = (looked.total()?, looked.amount("MemAvailable")?);
    let severity = match share(available, total) {
        Some(0..2) => Severity::Critical,
        Some(2..5) => Severity::Warning,
        _ => return Ok(None),
    };
    let free = looked
        .amount("SwapFree")
        .ok()
        .filter(|free| *free > Kib::ZERO);
    let swap = free.map(|free| format!("; {} of swap are free", free.bytes()));
    Ok(Some(
        Said::new(
            severity,
            format!(
                "Only {} is available without swapping{}.",
                of_total(available, Some(total)),
                swap.as_deref().unwrap_or("")
            ),
            "MemAvailable: free pages above the reserve, page cache and slab that can be dropped",
            "plimsoll inspect --section memory",
        )
        .not("drop_caches: what it drops is counted as available already"),
    ))
}

/// Swap is all but full: anonymous memory cannot be reclaimed any more.
pub(super) fn swap_full(looked: &Looked<'_>) -> Answer {
    let (total, free) = (looked.amount("SwapTotal")?, looked.amount("SwapFree")?);
    if !is_full(free, total) || zram::is_all_swap(looked) == Ok(true) {
        return Ok(None);
    }
    Ok(Some(
        Said::new(
            by_available(looked),
            format!(
                "Swap is full: {} of {} is free.",
                free.bytes(),
                total.bytes()
            ),
            "without a free slot anonymous memory stays, and reclaim takes page cache alone",
            "plimsoll inspect --section swap",
        )
        .not("vm.swappiness: it chooses between page cache and swap, and swap takes no more"),
    ))
}

/// Whether less than a tenth of a swap that is there is free.
pub(super) fn is_full(free: Kib, total: Kib) -> bool {
    total > Kib::ZERO && share(free, total).is_some_and(|share| share < 10)
}

/// What fills swap or memory is critical where less than a tenth of memory is available.
pub(super) fn by_available(looked: &Looked<'_>) -> Severity {
    let available = looked.amount("MemAvailable").ok().zip(looked.total().ok());
    match available.and_then(|(available, total)| share(available, total)) {
        Some(0..10) => Severity::Critical,
        _ => Severity::Warning,
    }
}

/// Under strict overcommit little may still be promised.
pub(super) fn commit_limit(looked: &Looked<'_>) -> Answer {
    if looked.setting("vm.overcommit_memory")? != 2 {
        return Ok(None);
    }
    let (limit, promised) = (
        looked.amount("CommitLimit")?,
        looked.amount("Committed_AS")?,
    );
    if promised.0 < limit.0 / 100 * 90 {
        return Ok(None);
    }
    let free = looked
        .amount("MemAvailable")
        .or_else(|_| looked.amount("MemFree"));
    let free = free.map(|free| format!(", with {} available", free.bytes()));
    Ok(Some(
        Said::new(
            Severity::Critical,
            format!(
                "Allocations are refused soon{}: {} of {} is promised.",
                free.as_deref().unwrap_or(""),
                promised.bytes(),
                limit.bytes()
            ),
            "vm.overcommit_memory = 2 refuses what would take Committed_AS above CommitLimit",
            "plimsoll explain vm.overcommit_memory",
        )
        .not("free memory: it is not asked"),
    ))
}

/// Huge pages in the pools that nobody uses.
pub(super) fn idle_huge_pages(looked: &Looked<'_>) -> Answer {
    let (idle, free) = idle_pools(looked)?;
    if !is_much(looked, idle, 5, WORTH) {
        return Ok(None);
    }
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "{} lies idle in the pool of huge pages: {free} pages are neither used nor \
                 reserved.",
                of_total(idle, looked.total().ok())
            ),
            "vm.nr_hugepages takes the memory at once; nothing else can use it",
            "plimsoll explain vm.nr_hugepages",
        )
        .not("drop_caches, swap: neither reaches the pool"),
    ))
}

/// What is free and not promised in the pools of all sizes, and how many huge pages that is.
/// meminfo has the default size only; a report has every size, and not what is promised.
fn idle_pools(looked: &Looked<'_>) -> Result<(Kib, u64), Missing> {
    if looked.meminfo().is_err()
        && let Ok(report) = looked.report()
    {
        let pools = report.huge_pages.iter();
        let sums = pools.map(|pool| (pool.free.saturating_mul(pool.size.0), pool.free));
        let sum = sums.reduce(|a, b| (a.0.saturating_add(b.0), a.1.saturating_add(b.1)));
        let (kib, free) = sum.ok_or(Missing("HugePages_Free"))?;
        return Ok((Kib(kib), free));
    }
    let size = looked.amount("Hugepagesize")?;
    let promised = looked.count("HugePages_Rsvd")?;
    let free = looked.count("HugePages_Free")?.saturating_sub(promised);
    let mut idle = (Kib(free.saturating_mul(size.0)), free);
    let pools = looked.snapshot().pools.iter();
    for (&other, pool) in pools.filter(|(other, _)| **other != size.0) {
        let free = pool.free.saturating_sub(pool.promised);
        idle.0 = idle.0.saturating_add(Kib(free.saturating_mul(other)));
        idle.1 = idle.1.saturating_add(free);
    }
    Ok(idle)
}

/// Page tables hold much: many processes map the same large memory in small pages.
pub(super) fn page_tables(looked: &Looked<'_>) -> Answer {
    let tables = looked.amount("PageTables")?;
    Ok(is_much(looked, tables, 5, WORTH).then(|| {
        Said::new(
            Severity::Warning,
            format!(
                "Page tables hold {}.",
                of_total(tables, looked.total().ok())
            ),
            "each process that maps a page needs 8 bytes for it; huge pages need 1/512 of that",
            "ps -eo pid,rss,vsz,comm --sort=-vsz | head -20",
        )
        .not("drop_caches, swap: page tables stay while their process maps the memory")
    }))
}

/// Stacks of tasks hold much.
pub(super) fn stacks(looked: &Looked<'_>) -> Answer {
    let stacks = looked.amount("KernelStack")?;
    Ok(is_much(looked, stacks, 5, WORTH).then(|| {
        let tasks = stacks.0 / 16;
        Said::new(
            Severity::Warning,
            format!(
                "Stacks of tasks hold {}: some {tasks} tasks.",
                of_total(stacks, looked.total().ok())
            ),
            "each task has a kernel stack of 16 KiB (x86-64, arm64), a task_struct and more",
            "ps -eo nlwp,pid,comm --sort=-nlwp | head -20",
        )
        .not("swap: stacks of the kernel stay")
    }))
}

/// vmalloc holds much: a driver, or what loads modules and programs into the kernel.
pub(super) fn vmalloc(looked: &Looked<'_>) -> Answer {
    let used = looked.amount("VmallocUsed")?;
    // Before 4.4 it is address space.
    if looked.snapshot().span().is_before(4, 4) {
        return Err(Missing("VmallocUsed as pages (4.4)"));
    }
    // Stacks of tasks are among it, and have a line of their own.
    let used = used.saturating_sub(looked.amount("KernelStack")?);
    Ok(is_much(looked, used, 15, WORTH).then(|| {
        Said::new(
            Severity::Warning,
            format!(
                "vmalloc holds {}: memory of the kernel's in pages that need not lie together.",
                of_total(used, looked.total().ok())
            ),
            "VmallocUsed less KernelStack: drivers, network filters and BPF programs take it; it \
             stays until it is freed",
            "sudo sort -k2 -nr /proc/vmallocinfo | head -20",
        )
        .not("drop_caches, swap, killing processes: the kernel has it")
    }))
}

/// Swap is free, memory is short, and vm.swappiness = 0 keeps anonymous memory where it is.
pub(super) fn swap_not_used(looked: &Looked<'_>) -> Answer {
    let (total, free) = (looked.amount("SwapTotal")?, looked.amount("SwapFree")?);
    let (all, available) = (looked.total()?, looked.amount("MemAvailable")?);
    let swappiness = looked.setting("vm.swappiness")?;
    let is_free = total > Kib::ZERO && share(free, total).is_some_and(|share| share >= 50);
    let short = share(available, all).is_some_and(|share| share < 10);
    Ok((swappiness == 0 && is_free && short).then(|| {
        Said::new(
            Severity::Warning,
            format!(
                "{} of swap are free and only {} is available: vm.swappiness = 0 keeps anonymous \
                 memory in RAM.",
                free.bytes(),
                of_total(available, Some(all))
            ),
            "with swappiness 0 reclaim takes page cache alone as long as any can be had",
            "plimsoll explain vm.swappiness=10",
        )
        .not("more swap: what is there is not used")
    }))
}

/// Memory that may not be reclaimed because somebody locked it.
pub(super) fn locked(looked: &Looked<'_>) -> Answer {
    let (locked, total) = (looked.amount("Unevictable")?, looked.total()?);
    Ok(is_much(looked, locked, 25, WORTH).then(|| {
        Said::new(
            Severity::Note,
            format!(
                "{} is unevictable: locked by mlock, or of a ramfs or secret memory.",
                of_total(locked, Some(total))
            ),
            "pages on the unevictable list are passed over by reclaim, swap or no swap",
            "grep -H VmLck /proc/[0-9]*/status | grep -v ' 0 kB'",
        )
        .not("vm.swappiness: it does not reach them")
    }))
}

/// tmpfs and shared memory hold much, which is in Cached and cannot be dropped.
pub(super) fn shared(looked: &Looked<'_>) -> Answer {
    let shmem = looked.amount("Shmem")?;
    if !is_much(looked, shmem, 25, WORTH) {
        return Ok(None);
    }
    let stays = match looked.amount("SwapTotal") {
        Ok(Kib::ZERO) => ", and without swap it stays",
        _ => "",
    };
    Ok(Some(
        Said::new(
            Severity::Note,
            format!(
                "tmpfs and shared memory hold {}: it counts as Cached and cannot be \
                 dropped{stays}.",
                of_total(shmem, looked.total().ok())
            ),
            "shmem pages are in the page cache, and on the anonymous lists",
            "df -h -t tmpfs; ipcs -m",
        )
        .not("drop_caches: it passes them over"),
    ))
}

/// A balloon in a virtual machine has taken much.
pub(super) fn balloon(looked: &Looked<'_>) -> Answer {
    let held = ballooned(looked)?;
    Ok(is_much(looked, held, 10, WORTH).then(|| {
        Said::new(
            Severity::Warning,
            format!(
                "The hypervisor's balloon holds {}: no process has it.",
                of_total(held, looked.total().ok())
            ),
            "a balloon driver allocates pages and gives them back to the host; MemTotal still \
             counts them, except on Hyper-V and Xen",
            "raise the guest's reservation on the host, or its lower bound for the balloon",
        )
        .not("looking for a leak in this guest: the host has the memory")
    }))
}

/// What a balloon holds: by meminfo (6.16), vmstat, or what VMware's tools print.
pub(super) fn ballooned(looked: &Looked<'_>) -> Result<Kib, Missing> {
    const NEEDS: Missing = Missing("the balloon's size");
    if let Ok(balloon) = looked.amount("Balloon") {
        return Ok(balloon);
    }
    let by_tool = looked.tool("vmware").and_then(|text| {
        let (_, number) = text.split_once("guest.mem.ballooned = ")?;
        number.split_whitespace().next()?.parse().ok().map(Kib)
    });
    let by_pages = || {
        let pages = looked.counter("nr_balloon_pages").ok()?;
        Some(Kib(looked.bytes(pages).0 / 1024))
    };
    let by_events = || {
        let taken = looked.counter("balloon_inflate").ok()?;
        let given = looked.counter("balloon_deflate").ok()?;
        Some(Kib(looked.bytes(taken.saturating_sub(given)).0 / 1024))
    };
    by_tool.or_else(by_pages).or_else(by_events).ok_or(NEEDS)
}

/// Anonymous memory that no process maps.
pub(super) fn unmapped(looked: &Looked<'_>) -> Answer {
    if looked.meminfo().is_err() && looked.report().is_ok() {
        return unmapped_by_table(looked);
    }
    let lists = [
        looked.amount("Active(anon)")?,
        looked.amount("Inactive(anon)")?,
    ];
    let lists: Kib = lists.into_iter().sum();
    let told = [
        looked.amount("AnonPages")?,
        looked.amount("Shmem")?,
        looked.amount("SwapCached")?,
    ];
    let over = lists.saturating_sub(told.into_iter().sum());
    let total = looked.total()?;
    // A list longer than all memory is a counter that has gone astray.
    if lists > total || share(over, total).is_none_or(|share| share < 10) {
        return Ok(None);
    }
    Ok(Some(
        Said::new(
            Severity::Warning,
            format!(
                "{} is anonymous memory that nothing maps any more.",
                of_total(over, Some(total))
            ),
            "the anonymous lists hold more than AnonPages, Shmem and SwapCached: parts of huge \
             pages that were unmapped and wait to be split (deferred_split_scan)",
            "plimsoll explain thp.enabled",
        )
        .unsure(Sure::Likely, "cat /proc/meminfo /proc/vmstat > vm.txt"),
    ))
}

/// The same of a report: the table of processes has little of what is on the anonymous lists.
fn unmapped_by_table(looked: &Looked<'_>) -> Answer {
    const ROWS: u64 = 5;
    let report = looked.report()?;
    let anon = looked
        .holders()?
        .get("anonymous")
        .ok_or(Missing("a whole Mem-Info"))?;
    let tasks = &report.processes;
    // A kill's report tells the constraint or the victim behind the table: before that rows may be
    // missing.
    let ends = report.constraint.is_some() || !report.killed.is_empty();
    let is_whole = ends || report.event != Event::OomKill;
    if report.group.is_told() || tasks.count < ROWS || !is_whole {
        return Err(Missing("the table of processes"));
    }
    let resident = tasks.rss.bytes(report.page);
    let total = looked.total()?.bytes();
    let little = resident.0 < anon.0 / 4 && anon.0 >= total.0 / 4;
    Ok(little.then(|| {
        Said::new(
            Severity::Warning,
            format!(
                "{anon} of {total} are anonymous, and the {} processes of the table have \
                 {resident}: a process that is not in it holds them, or nothing maps them.",
                tasks.count
            ),
            "a task that exits keeps its memory until exit_mmap is through, and has no row then",
            "send the whole table of processes",
        )
        .unsure(
            Sure::Likely,
            "ps aux --sort=-rss | head -20; cat /proc/meminfo",
        )
    }))
}

/// "1.2 GiB of 3 GiB".
pub(super) fn part_of(part: Bytes, whole: Option<Bytes>) -> String {
    whole.map_or_else(|| part.to_string(), |whole| of(part, whole))
}

/// ZFS' cache, which no line of meminfo has, from a tenth of memory on.
pub(crate) fn arc(looked: &Looked<'_>) -> Option<Said> {
    let text = looked.file("proc/spl/kstat/zfs/arcstats")?;
    let item = |name| {
        let mut rows = text.lines().map(str::split_ascii_whitespace);
        let row = rows.find_map(|mut row| (row.next() == Some(name)).then_some(row))?;
        row.last()?.parse().ok().map(Bytes)
    };
    let (size, total) = (item("size")?, looked.total().ok()?.bytes());
    let share = Share::of(size.0, total.0).filter(|share| share.percent() >= 10)?;
    let least = item("c_min").map(|least| format!("; it can shrink to {least}"));
    Some(
        Said::new(
            Severity::Note,
            format!(
                "ZFS' cache (ARC) holds {size} ({share}): free counts it as used{}.",
                or_unsaid(least)
            ),
            "the ARC is no page cache: MemAvailable and Cached lack it, and zfs_arc_max bounds it",
            "cat /sys/module/zfs/parameters/zfs_arc_max",
        )
        .not("looking for a process that holds it"),
    )
}
