//! Words of a report: its kinds, its zones' answers, the parts of memory.

use crate::fact::or_unsaid;
use mm::kernel_log::{Answer, Event, Refusal, Report, Whose, ZoneCheck};
use mm::units::{Bytes, Kib};

/// The kind of an event, in the JSON.
pub(super) fn event(event: Event) -> &'static str {
    match event {
        Event::OomKill => "oom_kill",
        Event::AllocationFailure => "allocation_failure",
        Event::AllocationStall => "allocation_stall",
        Event::Overcommit => "overcommit_refusal",
        Event::UserSpace(_) => "user_space_kill",
        Event::HungTask => "hung_task",
        Event::Lockup => "lockup",
        Event::Cma => "cma_failure",
        Event::Fork => "fork_refusal",
        Event::Container => "container_oom_killed",
        Event::Vmalloc => "vmalloc_failure",
        Event::Slab => "slab_failure",
        Event::Dump(_) => "memory_dump",
    }
}

/// Whose kill it was, in the JSON.
pub(super) fn whose(whose: Whose) -> &'static str {
    match whose {
        Whose::Machine => "machine",
        Whose::Group => "control_group",
        Whose::Policy => "memory_policy",
        Whose::Cpuset => "cpuset",
        Whose::SysRq => "sysrq",
        Whose::MinTtl => "min_ttl_ms",
        Whose::PageFault => "page_fault",
        Whose::UserSpace => "user_space",
        Whose::Overcommit => "overcommit",
        Whose::Stuck => "stuck",
        Whose::Cma => "cma",
        Whose::Pids => "pids",
        Whose::Container => "container",
        Whose::Vmalloc => "vmalloc",
        Whose::Slab => "slab",
        Whose::Dump => "dump",
        Whose::Unknown => "unknown",
    }
}

/// A reason, in the JSON.
pub(super) fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Fragmented => "fragmented",
        Refusal::Cma => "cma",
        Refusal::Highatomic => "highatomic",
        Refusal::Boost => "boost",
        Refusal::Reserve => "lowmem_reserve",
        Refusal::HigherZones => "higher_zones",
        Refusal::OtherNodes => "other_nodes",
        Refusal::Shortage => "shortage",
        Refusal::NodesNotShown => "nodes_not_shown",
        Refusal::Unseen => "not_seen",
        Refusal::NotShown => "not_in_the_log",
    }
}

/// A zone's answer, in the JSON.
pub(super) fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::AboveRequest => "not_for_this_request",
        Answer::OtherNode => "other_node",
        Answer::Refused => "refused",
        Answer::NoBlock => "no_block",
        Answer::Unknown => "no_free_lists",
        Answer::NoReserve => "no_lowmem_reserve",
        Answer::Serves => "serves",
    }
}

/// A zone's answer in words.
pub(super) fn about_answer(answer: Answer) -> &'static str {
    match answer {
        Answer::AboveRequest => "not for this kind of request",
        Answer::OtherNode => "not among the nodes that are allowed",
        Answer::Refused => "refused",
        Answer::NoBlock => "no free block of this order",
        Answer::Unknown => "enough pages; the free lists are not in the log",
        Answer::NoReserve => "above the mark; its lowmem reserve is not told",
        Answer::Serves => "enough when this was printed",
    }
}

/// A part of memory.
pub(super) fn part(name: &'static str) -> &'static str {
    match name {
        "file" => "page cache",
        "shared" => "shared (tmpfs)",
        "slab_unreclaimable" => "slab, fixed",
        "slab_reclaimable" => "slab, reclaimable",
        "page_tables" => "page tables",
        "per_cpu_lists" => "per-CPU lists",
        "kernel_stacks" => "kernel stacks",
        "hugetlb" => "hugetlb pools",
        name => name,
    }
}

/// What is to say about a part.
pub(super) fn about_part(name: &str) -> &'static str {
    match name {
        "hugetlb" => "reserved, used or not",
        "unevictable" => "locked; stays",
        "slab_unreclaimable" => "stays",
        "shared" => "goes to swap only",
        "anonymous" => "goes to swap only",
        "file" => "dropped or written",
        "other" => "on no list: drivers, vmalloc, a balloon",
        _ => "",
    }
}

/// What was taken off, and what the marks are made of.
pub(super) fn zone_extras(check: &ZoneCheck) -> String {
    let mut parts = Vec::new();
    let mut say = |amount: Kib, words: &str| {
        if amount > Kib::ZERO {
            parts.push(format!("{} kB {words}", amount.0));
        }
    };
    say(check.cma, "of the free are CMA's, for movable pages only");
    say(
        check.highatomic,
        "are kept for atomic requests of higher orders",
    );
    say(check.boost, "of the marks are boost");
    say(
        check.reserve,
        "more must stay: the request could use a higher zone (lowmem reserve)",
    );
    if check.reserve == Kib::ZERO {
        let words = "more must stay for a request that could use a higher zone";
        say(check.largest_reserve, words);
    }
    if check.mark != check.min {
        say(check.mark, "of the min mark hold for this request");
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("{}.", parts.join("; ")),
    }
}

/// "one page" or "16 pages in one piece (order 4)".
pub(super) fn amount(order: u32) -> String {
    match order {
        0 => "one page (order 0)".to_owned(),
        order => format!(
            "{} pages in one piece (order {order})",
            1_u64 << order.min(32)
        ),
    }
}

/// The flags as the log has them.
pub(super) fn flags(report: &Report) -> String {
    match &report.gfp {
        Some(gfp) if !gfp.names.is_empty() => gfp.names.clone(),
        Some(gfp) => match gfp.mask {
            Some(mask) => format!("gfp_mask {mask:#x}"),
            None => "flags not in the log".to_owned(),
        },
        None => "flags not in the log".to_owned(),
    }
}

/// "mysqld (pid 12, 11.2 GiB)".
pub(super) fn victim(report: &Report) -> Option<String> {
    let killed = report.killed.first()?;
    let size = killed.resident().map(|size| format!(", {size} resident"));
    let name = if killed.name.is_empty() {
        "a process"
    } else {
        &killed.name
    };
    let more = match report.killed.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(match killed.pid {
        0 => format!("{name}{more}"),
        pid => format!("{name} (pid {pid}{}){more}", or_unsaid(size)),
    })
}

/// "swap is full (2 GiB)", "there is no swap", "12 MiB of 2 GiB swap are free".
pub(super) fn swap(report: &Report) -> Option<String> {
    let (total, free) = (report.swap?, report.swap_free?);
    Some(match (total, free) {
        (Kib::ZERO, _) => "there is no swap".to_owned(),
        (total, free) if is_full(total, free) => format!("swap is full ({total})"),
        (total, free) => format!("{free} of {total} swap are free"),
    })
}

/// Less than a hundredth is free.
pub(super) fn is_full(total: Kib, free: Kib) -> bool {
    free.0 < total.0.div_ceil(100)
}

/// "13.1 GiB of 15.6 GiB".
pub(super) fn of_total(bytes: Bytes, total: Option<Bytes>) -> String {
    match total {
        Some(total) => format!("{bytes} of {total}"),
        None => bytes.to_string(),
    }
}
