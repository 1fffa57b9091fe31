//! The answer in at most five sentences: whose kill, why the zones or the limit refused, who held
//! the memory, what would have let it pass.

use crate::fact::or_unsaid;
use mm::kernel_log::{Answer, Cause, Event, Gfp, Holders, Panic, Refusal, Refused, Report, Whose};
use mm::units::Bytes;

use super::dump::{dumped, of_dump};
use super::elsewhere::{elsewhere, not_the_kernel};
use super::finding::Context;
use super::limit::of_group;
use super::refused::of_zones;
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
    context: &Context,
) -> Vec<String> {
    let mut sentences = vec![what(report, cause, context)];
    sentences.extend(why(report, cause, holders, context));
    sentences.truncate(MOST - 1);
    let help = settings.would.first();
    sentences.extend(help.map(|help| format!("Would have let it pass: {help}")));
    sentences
}

/// Why it was refused, by the report's numbers, and who held the memory.
pub(super) fn why(
    report: &Report,
    cause: &Cause,
    holders: &Holders,
    context: &Context,
) -> Vec<String> {
    let mut sentences = Vec::new();
    match cause.whose {
        Whose::Group => {
            let together = "memory.oom.group is set: all of the group is killed at once.";
            sentences.extend(report.whole_group.then(|| together.to_owned()));
            sentences.extend(of_group(&report.group));
        }
        Whose::UserSpace
        | Whose::Overcommit
        | Whose::Stuck
        | Whose::Cma
        | Whose::Pids
        | Whose::Container
        | Whose::Vmalloc
        | Whose::Slab => sentences.extend(elsewhere(report, context.pages.as_deref())),
        Whose::SysRq | Whose::MinTtl => {}
        Whose::Dump => sentences.extend(of_dump(report, cause)),
        Whose::PageFault if context.of_group().is_some() => {
            sentences.extend(of_kernel_memory(cause, context));
        }
        _ => sentences.extend(of_zones(report, cause)),
    }
    if !matches!(cause.whose, Whose::Group) {
        sentences.extend(held(report, holders));
    }
    sentences
}

/// A group's limit of kernel memory refused: its slab caches could not grow, and the zones could.
fn of_kernel_memory(cause: &Cause, context: &Context) -> Option<String> {
    let (group, caches) = context.of_group()?;
    let names: Vec<&str> = caches.iter().map(|cache| cache.name.as_str()).collect();
    let held: Option<Bytes> = caches.iter().map(|cache| cache.bytes()).sum();
    let held = held.map(|held| format!(", {held} in these"));
    let zones = cause
        .zones
        .iter()
        .filter(|zone| zone.answer == Answer::Serves);
    let zones = zones.max_by_key(|zone| zone.managed).map(|zone| {
        format!(
            " No zone was short: {} had {} kB above the {} kB needed.",
            zone.kind,
            zone.usable.0,
            zone.needed().0
        )
    });
    Some(format!(
        "The log says earlier that slab caches of control group {group} ({}) could not grow{}: its \
         limit of kernel memory. A charge of kernel memory that is refused kills nothing by \
         itself; until 5.15 the page fault that got -ENOMEM then ran the killer over all \
         processes.{}",
        names.join(", "),
        held.as_deref().unwrap_or(""),
        zones.as_deref().unwrap_or("")
    ))
}

/// Whose kill or refusal it was.
pub(super) fn what(report: &Report, cause: &Cause, context: &Context) -> String {
    let victim = words::victim(report);
    let killed = match &victim {
        _ if let Some(panic) = panicked(report) => panic.to_owned(),
        _ if report.no_victim => "The kernel found nothing that it may kill".to_owned(),
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
        Whose::PageFault if context.of_group().is_some() => format!(
            "{killed} because a page fault of {task} got no memory, and the limit of kernel memory \
             of a control group had refused: not the machine."
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
        Whose::Dump => dumped(report),
        Whose::UserSpace
        | Whose::Overcommit
        | Whose::Stuck
        | Whose::Cma
        | Whose::Pids
        | Whose::Container
        | Whose::Vmalloc
        | Whose::Slab => not_the_kernel(report),
    }
}

/// Why the kernel panicked in place of a kill.
fn panicked(report: &Report) -> Option<&'static str> {
    Some(match report.panic? {
        Panic::SystemWide => "The kernel panicked in place of a kill (vm.panic_on_oom = 1)",
        Panic::Compulsory => "The kernel panicked in place of a kill (vm.panic_on_oom = 2)",
        Panic::NoneLeft => "The kernel panicked: nothing was left that it may kill",
        Panic::Other => return None,
    })
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
    let of = or_unsaid(cpuset.map(|name| format!(" of cpuset {name}")));
    match (&report.nodemask, &report.mems_allowed) {
        (Some(nodes), _) => format!("nodes {nodes} of its memory policy"),
        (None, Some(nodes)) => format!("nodes {nodes}{of}"),
        (None, None) => "the nodes that it may use".to_owned(),
    }
}

fn unknown(report: &Report, killed: &str) -> String {
    if report.zones.is_empty() && report.gfp.is_some() {
        let asked = match report.order {
            Some(order) => words::amount(order.unsigned_abs()),
            None => "memory".to_owned(),
        };
        return format!(
            "{killed}: {} asked for {}, {}. The log is cut off before the lines that tell what \
            refused, the zones of the machine or the limit of a control group: send it from \
            this message to \"Killed process\".",
            report.task,
            asked,
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
        Some(Refusal::Unseen | Refusal::NodesNotShown) => "",
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
            or_unsaid(process)
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
