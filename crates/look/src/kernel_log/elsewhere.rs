//! Events in which zones have no part: kills by programs, refusals by overcommit and CMA, what the
//! runtime of a container says, and stuck tasks.

use mm::kernel_log::{Event, Gfp, Killer, Report};

/// What happened, where zones and limits have no part in it.
pub(super) fn not_the_kernel(report: &Report) -> String {
    match report.event {
        Event::UserSpace(Killer::Exit137) => "Exit code 137 or signal 9 is a SIGKILL, and anyone \
            may send one: an operator, a stop that timed out, the OOM killer. It is no evidence of \
            an OOM kill."
            .to_owned(),
        Event::UserSpace(Killer::Kubelet) => "A kubelet evicted, not the kernel: by its own \
            threshold for memory, before the kernel had to kill."
            .to_owned(),
        Event::UserSpace(killer) if !kills(&report.head) => format!(
            "{} says that memory is low by its own limits; a kill is not in this message, and it \
            is not the kernel's.",
            killer.name()
        ),
        Event::UserSpace(Killer::SystemdOomd) => systemd_oomd(&report.head),
        Event::Container => container(report),
        Event::Cma => format!(
            "CMA found no run of {} pages in one piece; nothing was killed, and the device that \
            asked goes without.",
            number_after(&report.head, "req-size: ").unwrap_or("the asked number of")
        ),
        Event::UserSpace(killer) => {
            format!(
                "{} killed, not the kernel: by its own rules, before the kernel had to.",
                killer.name()
            )
        }
        Event::Fork => format!(
            "A fork was refused: control group {} has as many tasks as its pids.max allows. \
             Nothing was killed, and memory has no part in it.",
            report.group.name
        ),
        Event::Overcommit => overcommit(report),
        Event::Vmalloc => vmalloc(report),
        Event::Slab => slab(report),
        Event::HungTask => {
            "A task waits for longer than the kernel's limit. That alone is nothing \
            about memory: what it waits for stands in its call trace."
                .to_owned()
        }
        _ => "A CPU was busy in the kernel for too long. That alone is nothing about memory."
            .to_owned(),
    }
}

/// What overcommit refused; before 6.10 the message has no size.
fn overcommit(report: &Report) -> String {
    let task = match report.task.as_str() {
        "" => "a task",
        task => task,
    };
    let bytes = number_after(&report.head, "bytes: ").map(|bytes| format!(" {bytes} bytes of"));
    let times = match report.messages {
        0 | 1 => String::new(),
        times => format!(", {times} times"),
    };
    format!(
        "Overcommit refused{} address space to {task}{times}. Nothing was killed, and how much \
         memory is free does not matter for that.",
        bytes.as_deref().unwrap_or("")
    )
}

/// A vmalloc that got no pages, or no address space.
fn vmalloc(report: &Report) -> String {
    let task = match report.task.as_str() {
        "" => "a task",
        task => task,
    };
    let amount = number_after(&report.head, "allocated ")
        .zip(number_after(&report.head, " of "))
        .map(|(got, asked)| format!(": {got} of {asked} bytes"));
    let why = match report.gfp.as_ref().is_some_and(|gfp| gfp.account) {
        true => {
            ". The pages are charged to the task's control group (__GFP_ACCOUNT): a limit of that \
             group may have refused as well as the machine"
        }
        false => "",
    };
    format!(
        "vmalloc failed for {task}{}; nothing was killed{why}.",
        amount.as_deref().unwrap_or("")
    )
}

/// Slab caches that could not grow.
fn slab(report: &Report) -> String {
    let failed = &report.slabs.failed;
    let names: Vec<String> = failed
        .iter()
        .take(4)
        .map(|failed| failed.name.clone())
        .collect();
    let of_group = failed.iter().find_map(|failed| failed.group.as_deref());
    let mut flags = failed.iter().filter_map(|failed| {
        let message = format!("mode:{}", failed.flags);
        Gfp::in_message(&message, None)
    });
    let or_marks = match flags.any(|gfp| !gfp.direct_reclaim) {
        true => ", or the marks of the zones did, because the request may not wait",
        false => "",
    };
    match of_group {
        Some(group) => format!(
            "Slab caches of control group {group} could not grow ({}): its limit of kernel memory \
             refused{or_marks}. Nothing was killed.",
            names.join(", ")
        ),
        None if names.is_empty() => {
            "A slab cache could not grow; nothing was killed, and its caller has to cope."
                .to_owned()
        }
        None => format!(
            "Slab caches could not grow ({}); nothing was killed, and the callers have to cope.",
            names.join(", ")
        ),
    }
}

/// Whether a program's message tells a kill.
fn kills(head: &str) -> bool {
    ["SIG", "Kill", "kill", "victim", "Marked "]
        .iter()
        .any(|word| head.contains(word))
}

/// The digits behind a key.
fn number_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = text.split_once(key)?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|number| !number.is_empty())
}

/// "Killed GROUP due to memory pressure for SLICE being 51.07% > 50.00% for > 20s …".
fn systemd_oomd(head: &str) -> String {
    let told = head.split_once(" due to ").and_then(|(group, why)| {
        let group = group
            .rsplit_once("Killed ")
            .or(group.rsplit_once("Marked "))?
            .1;
        Some((group.trim_end_matches(" for killing"), why))
    });
    match told {
        Some((group, why)) => format!(
            "systemd-oomd killed, not the kernel: {group}, for {why}. That is a share of time in \
            which tasks waited or of swap, not a lack of free pages."
        ),
        None => "systemd-oomd killed, not the kernel: by its own rules, before the kernel had to."
            .to_owned(),
    }
}

/// What a runtime's word proves, and what it does not.
fn container(report: &Report) -> String {
    let limit = match &report.container_limit {
        Some(limit) => format!(" Its limit is written as {limit}."),
        None => String::new(),
    };
    format!(
        "A container's runtime says OOMKilled: the kernel's OOM killer killed a process of this \
        container. It does not say whether for the container's own limit, a limit above it, or \
        a machine without memory.{limit}"
    )
}

fn held_by_caches(report: &Report) -> Vec<String> {
    let failed = report.slabs.failed.iter();
    let held = failed.filter_map(|it| Some(format!("{} holds {}.", it.name, it.bytes()?)));
    held.take(2).collect()
}

/// What a slab cache's failure shows, and where its zones and order stand: not in its message.
fn of_slab(report: &Report, pages: Option<&str>) -> Vec<String> {
    let mut sentences = held_by_caches(report);
    sentences.push(match pages {
        Some(label) => format!(
            "Which zones refused and which order was asked for stands in the page allocation \
             failure of the same log (--at {label})."
        ),
        None => "The message names neither the zones that refused nor the order, and no page \
                 allocation failure is in this log: SLUB asks for its pages without that warning."
            .to_owned(),
    });
    sentences
}

/// Where to look for what is not in this log. `pages` is the label of a page allocation failure.
pub(super) fn elsewhere(report: &Report, pages: Option<&str>) -> Vec<String> {
    match report.event {
        Event::UserSpace(Killer::Exit137) => vec![
            "Look for \"oom-kill\" or \"Killed process\" in \
            dmesg at that time, and at oom_kill in the group's memory.events."
                .to_owned(),
        ],
        Event::Container => vec![
            "On the node, dmesg of that time tells: \"constraint=CONSTRAINT_MEMCG\" and oom_memcg= \
            for a limit, \"CONSTRAINT_NONE\" for the machine. Exit code 137 alone is any SIGKILL."
                .to_owned(),
        ],
        Event::UserSpace(Killer::SystemdOomd) => vec![
            "systemd decides: ManagedOOMMemoryPressure=, ManagedOOMMemoryPressureLimit= and \
            ManagedOOMSwap= of that slice, oomctl shows them."
                .to_owned(),
        ],
        Event::Fork => vec![
            "The kernel says this once for each group: pids.events counts every refusal, and a \
             program sees EAGAIN (\"Resource temporarily unavailable\")."
                .to_owned(),
        ],
        Event::Slab
            if report
                .slabs
                .failed
                .iter()
                .all(|failed| failed.group.is_none()) =>
        {
            of_slab(report, pages)
        }
        Event::Slab => held_by_caches(report),
        Event::Overcommit => vec![
            "vm.overcommit_memory decides (2: up to CommitLimit; 0: one \
            request larger than RAM and swap). Compare Committed_AS with CommitLimit in \
            /proc/meminfo."
                .to_owned(),
        ],
        _ => Vec::new(),
    }
}
