//! The answer in at most five sentences: whose kill, why the zones or the limit refused, who held
//! the memory, what would have let it pass.

use mm::kernel_log::{
    Answer, Cause, Counter, Event, Gfp, Group, Holders, Refusal, Refused, Report, Whose, ZoneCheck,
    has_high_memory,
};
use mm::units::{Bytes, Kib, Pages};
use mm::zoneinfo::ZoneKind;

use super::elsewhere::{elsewhere, not_the_kernel};
use super::settings::Settings;
use super::words;

/// Sentences at most.
const MOST: usize = 5;

/// The sentences, the most important first.
pub(super) fn sentences(
    report: &Report,
    cause: &Cause,
    holders: &Holders,
    settings: &Settings,
) -> Vec<String> {
    let mut sentences = vec![first(report, cause)];
    match cause.whose {
        Whose::Group => sentences.extend(of_group(&report.group)),
        Whose::UserSpace | Whose::Overcommit | Whose::Stuck | Whose::Cma | Whose::Container => {
            sentences.extend(elsewhere(report))
        }
        Whose::SysRq | Whose::MinTtl => {}
        _ => sentences.extend(of_zones(report, cause)),
    }
    if !matches!(cause.whose, Whose::Group) {
        sentences.extend(held(report, holders));
    }
    sentences.truncate(MOST - 1);
    let help = settings.would.first();
    sentences.extend(help.map(|help| format!("Would have let it pass: {help}")));
    sentences
}

/// Whose kill or refusal it was.
fn first(report: &Report, cause: &Cause) -> String {
    let victim = words::victim(report);
    let killed = match &victim {
        _ if report.no_victim => "The kernel found nothing that it may kill".to_owned(),
        _ if report.panicked => {
            "The kernel panicked in place of a kill (vm.panic_on_oom, or none left)".to_owned()
        }
        Some(victim) => format!("The kernel killed {victim}"),
        None => "The kernel's OOM killer ran (its victim is not in this log)".to_owned(),
    };
    let task = match report.task.as_str() {
        "" => "a task",
        task => task,
    };
    match cause.whose {
        Whose::Group if report.group.name.is_empty() => {
            format!(
                "{killed} for the limit of a control group, not for the machine{}.",
                by(report)
            )
        }
        Whose::Group => format!(
            "{killed} for the limit of control group {}, not for the machine.",
            report.group.name
        ),
        Whose::SysRq => format!(
            "{killed} because SysRq f asked for it: that is no lack of memory \
            by itself."
        ),
        Whose::MinTtl => format!(
            "{killed} because kswapd itself asked: with the multi-generation \
            LRU that is lru_gen/min_ttl_ms, which kills rather than evict a working set younger \
            than that."
        ),
        Whose::PageFault => format!(
            "{killed} because a page fault of {task} got no memory; which \
            request failed is not in the report (gfp_mask=0)."
        ),
        Whose::Policy | Whose::Cpuset => format!(
            "{killed} because {task} asked for {} within {} \
            and those had none.",
            words::amount(cause.order),
            bounds(report)
        ),
        Whose::Unknown => unknown(report, &killed),
        Whose::Machine => machine(report, cause, &killed, task),
        Whose::UserSpace | Whose::Overcommit | Whose::Stuck | Whose::Cma | Whose::Container => {
            not_the_kernel(report)
        }
    }
}

/// What tells that it was a group, where the log lacks the group's name.
fn by(report: &Report) -> &'static str {
    match report.refused {
        Refused::Group => {
            ": so says the call trace (mem_cgroup_out_of_memory). Which group is not in this log"
        }
        _ => ". Which group is not in this log",
    }
}

/// The nodes that were allowed.
fn bounds(report: &Report) -> String {
    let cpuset = report.cpuset.as_deref().filter(|name| *name != "/");
    let of = cpuset
        .map(|name| format!(" of cpuset {name}"))
        .unwrap_or_default();
    match (&report.nodemask, &report.mems_allowed) {
        (Some(nodes), _) => format!("nodes {nodes} of its memory policy"),
        (None, Some(nodes)) => format!("nodes {nodes}{of}"),
        (None, None) => "the nodes that it may use".to_owned(),
    }
}

fn unknown(report: &Report, killed: &str) -> String {
    if report.zones.is_empty() && report.gfp.is_some() {
        return format!(
            "{killed}: {} asked for {}, {}. The log is cut off before the lines that tell what \
            refused, the zones of the machine or the limit of a control group: send it from \
            this message to \"Killed process\".",
            report.task,
            words::amount(report.order.unwrap_or(0).unsigned_abs()),
            words::flags(report)
        );
    }
    if report.zones.is_empty() && report.refused == Refused::Untold {
        return format!(
            "{killed}; the report before that line is not in this log, and it alone tells \
            whether the machine or a control group was out of memory."
        );
    }
    match report.zones.is_empty() {
        true => format!(
            "{killed} for the machine as a whole (\"Out of memory\", no control \
            group); the report before that line is not in this log, and it alone tells why."
        ),
        false => format!(
            "{killed}; the message that tells who asked and for what is not in this \
            log: below, a request of the kernel for one page is assumed."
        ),
    }
}

fn machine(report: &Report, cause: &Cause, killed: &str, task: &str) -> String {
    let amount = words::amount(cause.order);
    let flags = words::flags(report);
    let atomic = report.gfp.as_ref().is_some_and(Gfp::is_atomic);
    let kept = match report.event {
        Event::AllocationFailure if atomic => {
            ": the request may not wait for reclaim, and its caller has to cope"
        }
        Event::AllocationFailure if cause.is_costly() => {
            ": above order 3 the kernel gives up rather than kill"
        }
        _ => "",
    };
    let lack = match cause.refusals.first() {
        Some(Refusal::Fragmented) => ", and no zone that may serve it had such a piece",
        Some(Refusal::Unseen) => "",
        _ => ", and no zone that may serve it had enough",
    };
    match report.event {
        Event::AllocationFailure => {
            format!("{task} did not get {amount}, {flags}; nothing was killed{kept}.")
        }
        Event::AllocationStall => {
            format!("{task} waits for {amount}, {flags}; nothing was killed.")
        }
        _ => format!("{killed}: {task} asked for {amount}, {flags}{lack}."),
    }
}

fn of_group(group: &Group) -> Vec<String> {
    let mut sentences = Vec::new();
    let counters = [
        ("memory", group.memory),
        ("memory and swap together", group.memory_and_swap),
        ("kernel memory", group.kernel),
    ];
    let told = counters.iter().find_map(|(name, counter)| {
        let counter = (*counter)?;
        counter.is_full().then_some((*name, counter))
    });
    match (told, group.memory) {
        (Some((name, counter)), _) => sentences.push(at_limit(name, counter)),
        (None, Some(memory)) => sentences.push(below_limit(memory)),
        (None, None) => sentences.push(
            "The lines with its usage and limit are not in this \
            log."
                .to_owned(),
        ),
    }
    sentences.extend(content(group));
    sentences.extend(group_swap(group));
    sentences
}

fn at_limit(name: &str, counter: Counter) -> String {
    let limit = counter.limit.unwrap_or_default();
    format!(
        "Its {name} stands at {} kB of {} kB ({limit}), refused {} times.",
        counter.usage.0, limit.0, counter.failures
    )
}

fn below_limit(memory: Counter) -> String {
    match memory.limit {
        Some(limit) => format!(
            "Its memory stands at {} kB of {} kB: {} below the limit when this \
            was printed, so the request was larger than that, or some was freed since.",
            memory.usage.0,
            limit.0,
            limit.saturating_sub(memory.usage)
        ),
        None => format!(
            "Its memory has no limit ({} kB used): a group above it has one.",
            memory.usage.0
        ),
    }
}

/// What is in the group.
fn content(group: &Group) -> Option<String> {
    let parts = [
        ("anonymous", group.anon()),
        ("tmpfs and shared", group.shmem()),
        ("page cache", group.file()),
        ("the kernel's", group.kernel_bytes()),
    ];
    let mut parts: Vec<_> = parts
        .iter()
        .filter_map(|(name, bytes)| Some((name, (*bytes).filter(|&bytes| bytes > Bytes::ZERO)?)))
        .collect();
    parts.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
    let words: Vec<String> = parts
        .iter()
        .map(|(name, bytes)| format!("{bytes} {name}"))
        .collect();
    (!words.is_empty()).then(|| format!("It holds {}.", words.join(", ")))
}

fn group_swap(group: &Group) -> Option<String> {
    if let Some(swap) = group.swap {
        return match swap.limit {
            Some(Kib::ZERO) => Some(
                "It may not swap (memory.swap.max is 0), so anonymous memory \
                had nowhere to go."
                    .to_owned(),
            ),
            Some(limit) if swap.is_full() => Some(format!("Its swap is full ({limit}).")),
            _ => None,
        };
    }
    let both = group.memory_and_swap?;
    let memory = group.memory?;
    (both.limit.is_some() && both.limit == memory.limit).then(|| {
        "Memory and swap together have the same limit, so swapping would free nothing.".to_owned()
    })
}

/// Why the zones refused: the main reason, then one that holds beside it.
fn of_zones(report: &Report, cause: &Cause) -> Vec<String> {
    let beside = cause.refusals.iter().skip(1).copied();
    let mut sentences = Vec::new();
    if let Some(&main) = cause.refusals.first()
        && (main != Refusal::NotShown || cause.whose != Whose::Unknown)
    {
        sentences.push(reason(report, cause, main));
    }
    let boost = beside.clone().find(|refusal| *refusal == Refusal::Boost);
    let usual = [Refusal::Shortage, Refusal::Boost, Refusal::Reserve];
    let other = beside.filter(|refusal| !usual.contains(refusal));
    let second = boost.or_else(|| other.into_iter().next());
    sentences.extend(second.map(|refusal| reason(report, cause, refusal)));
    sentences
}

fn reason(report: &Report, cause: &Cause, refusal: Refusal) -> String {
    let told = cause.telling(refusal);
    let Some(zone) = told else {
        return "The log has no zones: which of them refused cannot be told.".to_owned();
    };
    let name = format!("{} (node {})", zone.kind, zone.node);
    let (free, usable, needed) = (zone.free.0, zone.usable.0, zone.needed().0);
    match refusal {
        Refusal::Fragmented => fragmented(report, cause, zone, &name),
        Refusal::Cma => format!(
            "Zone {name} has {free} kB free, of them {} kB CMA's, which only \
            movable pages may use: {usable} kB count, below {}.",
            zone.cma.0,
            mark(zone)
        ),
        Refusal::Highatomic => format!(
            "Zone {name} has {free} kB free, of them {} kB kept for \
            atomic requests of higher orders: {usable} kB count, below {}.",
            zone.highatomic.0,
            mark(zone)
        ),
        Refusal::Boost => format!(
            "Of the min mark of {name}, {} kB, {} kB are boost after \
            pageblocks were mixed: without it {} kB, and {usable} kB would be enough.",
            zone.min.0,
            zone.boost.0,
            zone.min.saturating_sub(zone.boost).0
        ),
        Refusal::Reserve => format!(
            "Zone {name} has {usable} kB above which it keeps {} kB from \
            requests that could use a higher zone (lowmem reserve): with the mark {needed} kB must \
            stay.",
            zone.reserve.0
        ),
        Refusal::HigherZones => higher(report, cause, zone, &name),
        Refusal::OtherNodes => format!(
            "Node {} was not allowed and has {} free in {}; of those \
            that were, {}.",
            zone.node,
            free_on(cause, zone.node),
            zone.kind,
            best(cause)
        ),
        Refusal::Shortage => format!("All that it may use is used: {}.", best(cause)),
        Refusal::Unseen => format!(
            "The report does not show the refusal: when it was printed, \
            {name} had {usable} kB that count, above the {needed} kB needed. Memory came back in \
            between."
        ),
        Refusal::NotShown => String::new(),
    }
}

/// "the min mark of 10428 kB", with the reserve where there is one.
fn mark(zone: &ZoneCheck) -> String {
    match zone.reserve {
        Kib::ZERO if zone.mark == zone.min => format!("the min mark of {} kB", zone.min.0),
        Kib::ZERO => format!("the {} kB that the min mark leaves to it", zone.mark.0),
        reserve => format!(
            "the min mark and the lowmem reserve, {} and {} kB",
            zone.mark.0, reserve.0
        ),
    }
}

/// The zone that comes nearest, against its mark.
fn best(cause: &Cause) -> String {
    let refused = cause
        .zones
        .iter()
        .filter(|zone| zone.answer == Answer::Refused);
    let best = refused.max_by_key(|zone| zone.managed);
    best.map_or_else(
        || "no zone".to_owned(),
        |zone| {
            format!(
                "{} (node {}) has {} kB that count, not above {}",
                zone.kind,
                zone.node,
                zone.usable.0,
                mark(zone)
            )
        },
    )
}

fn free_on(cause: &Cause, node: u32) -> Bytes {
    let zones = cause.zones.iter().filter(|zone| zone.node == node);
    zones.map(|zone| zone.free.bytes()).sum()
}

fn fragmented(report: &Report, cause: &Cause, zone: &ZoneCheck, name: &str) -> String {
    let zones = report.zones.iter();
    let same = |other: &&mm::kernel_log::Zone| other.node == zone.node && other.kind == zone.kind;
    let blocks = zones.filter(same).flat_map(|zone| zone.blocks.iter());
    let largest = blocks
        .filter(|block| block.count > 0)
        .max_by_key(|block| block.size);
    let wanted = Pages(1 << cause.order.min(32)).kib(report.page).0;
    let largest = match largest {
        Some(block) if block.size >= wanted => format!(
            "its blocks of {} kB are of types that this \
            request may not take ({})",
            block.size, block.types
        ),
        Some(block) => format!("its largest free block has {} kB", block.size),
        None => "its free lists are empty".to_owned(),
    };
    format!(
        "Zone {name} has {} kB that count, above the {} kB needed, but no block of {wanted} kB \
        in one piece: {largest}. Memory is fragmented, not short.",
        zone.usable.0,
        zone.needed().0
    )
}

fn higher(report: &Report, cause: &Cause, zone: &ZoneCheck, name: &str) -> String {
    let gfp = report.gfp.as_ref();
    let why = match gfp {
        Some(gfp) if gfp.dma => "the request is for zone DMA alone (__GFP_DMA)",
        Some(gfp) if gfp.dma32 => "the request is for memory below 4 GiB (__GFP_DMA32)",
        _ if zone.kind == ZoneKind::Movable => "it takes movable pages only",
        _ if has_high_memory(&cause.zones) => {
            "the kernel's own memory must be in low memory, \
            which 32-bit kernels map"
        }
        _ => "the request is for lower zones",
    };
    format!(
        "{} are free in {name}, which may not serve: {why}. Of those that may, {}.",
        zone.free,
        best(cause)
    )
}

/// Who holds the memory, and swap.
fn held(report: &Report, holders: &Holders) -> Option<String> {
    let largest = holders.largest().filter(|part| part.bytes > Bytes::ZERO);
    let process = report.processes.largest.first().map(|process| {
        format!(
            " (largest process: {}, {})",
            process.name,
            process.rss.bytes(report.page)
        )
    });
    let largest = largest.map(|part| {
        format!(
            "{} {}{}",
            words::of_total(part.bytes, holders.total),
            held_by(part.name),
            process.unwrap_or_default()
        )
    });
    let parts: Vec<String> = largest.into_iter().chain(words::swap(report)).collect();
    let mut text = parts.join("; ");
    text.push('.');
    let first = text.chars().next()?;
    (!parts.is_empty()).then(|| text.replacen(first, &first.to_uppercase().to_string(), 1))
}

fn held_by(name: &'static str) -> &'static str {
    match name {
        "anonymous" => "are anonymous memory",
        "shared" => "are shared memory or tmpfs",
        "file" => "are page cache",
        "slab_unreclaimable" => "are slab that cannot be reclaimed",
        "slab_reclaimable" => "are reclaimable slab",
        "page_tables" => "are page tables",
        "hugetlb" => "are in hugetlb pools, used or not",
        "unevictable" => "are locked or else unevictable",
        "other" => "are on no list of the report: drivers, vmalloc or a balloon",
        _ => "are the kernel's",
    }
}
