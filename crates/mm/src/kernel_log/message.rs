//! Which messages belong to a report, told by their shape alone.

use super::linux_2_4;
use super::text::leading_number;

/// What a message is to the log it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// "X invoked oom-killer: …".
    OomHead,
    /// "X: page allocation failure: …".
    FailureHead,
    /// "X: page allocation stalls for …".
    StallHead,
    /// "X: vmalloc: allocation failure…", and "vmalloc error: …" since 5.13.
    VmallocHead,
    /// "SLUB: Unable to allocate memory on node…".
    SlabHead,
    /// "SysRq : Show Memory": somebody asks for a dump.
    DumpHead,
    /// "Out of memory: …", "Memory cgroup out of memory: …": the choice of a victim.
    Chosen,
    /// "Killed process …" alone.
    Killed,
    /// A refusal by overcommit.
    Overcommit,
    /// A task that is stuck.
    Hung,
    /// A CPU that is stuck.
    Lockup,
    /// CMA found no run of pages.
    Cma,
    /// "cgroup: fork rejected by pids controller in /GROUP".
    Fork,
    /// What a container's runtime says of its end.
    Container,
    /// A function of the call trace that tells what refused.
    Trace,
    /// Part of a report.
    Body,
    /// Nothing to do with memory.
    Other,
}

/// What refused, as far as words other than the numbers tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refused {
    /// Nothing tells.
    #[default]
    Untold,
    /// Zones: "Out of memory" without a group, or the page allocator in the call trace.
    Zones,
    /// The limit of a control group, by the call trace.
    Group,
}

/// How the lines of a report begin that have no other sign.
const BODY: [&str; 35] = [
    "Mem-Info",
    "Mem-info",
    "lowmem_reserve[]",
    "Node ",
    "DMA",
    "Normal",
    "HighMem",
    "Movable",
    "Free swap",
    "Total swap",
    "Swap cache stats",
    "[ pid",
    "[  pid",
    "oom-kill:",
    "memory: usage",
    "memory+swap: usage",
    "swap: usage",
    "kmem: usage",
    "Memory cgroup stats for",
    "Task in /",
    "Tasks in /",
    "Tasks state",
    "oom_reaper:",
    "Pid: ",
    "CPU: ",
    "Call Trace",
    "cpuset=",
    "Kernel panic - not syncing",
    "System is deadlocked on memory",
    "Memory limit reached of cgroup",
    "Hardware name: ",
    "Unreclaimable slab info",
    "SysRq : Manual OOM",
    "sysrq: Manual OOM",
    "OOM request ignored",
];

/// The first items of the summary's lines, in pages and so without "kB".
const SUMMARY: [&str; 13] = [
    "active_anon:",
    "inactive_anon:",
    "Active:",
    "active_file:",
    "unevictable:",
    "slab_reclaimable:",
    "mapped:",
    "free:",
    "kernel_misc_reclaimable:",
    "sec_pagetables:",
    "dirty:",
    "anon:",
    "pgpromote",
];

/// What the message is.
pub(super) fn kind(text: &str) -> Kind {
    if let Some(kind) = event(text) {
        return kind;
    }
    let body = BODY.iter().any(|start| text.starts_with(start))
        || is_summary(text)
        || is_row(text)
        || is_count(text)
        || super::slab::is_line(text)
        || (text.contains("cpuset=") && text.contains("mems_allowed="));
    match body {
        true => Kind::Body,
        false if of_trace(text).is_some() => Kind::Trace,
        false => Kind::Other,
    }
}

/// Messages that begin or end a report, or are one.
fn event(text: &str) -> Option<Kind> {
    const OOM: [&str; 3] = [
        "invoked oom-killer:",
        "invoked OOM killer:",
        "invoked oom: gfp_mask",
    ];
    if OOM.iter().any(|words| text.contains(words)) {
        return Some(Kind::OomHead);
    }
    if text.contains("vmalloc: allocation failure") || text.contains("vmalloc error: size ") {
        return Some(Kind::VmallocHead);
    }
    if text.contains(": page allocation failure") || linux_2_4::order(text).is_some() {
        return Some(Kind::FailureHead);
    }
    if text.contains(": page allocation stalls for ") {
        return Some(Kind::StallHead);
    }
    if text.starts_with("SLUB: Unable to allocate") || text.starts_with("SLAB: Unable to allocate")
    {
        return Some(Kind::SlabHead);
    }
    if is_dump_head(text) {
        return Some(Kind::DumpHead);
    }
    if is_choice(text) {
        return Some(Kind::Chosen);
    }
    if text.starts_with("Killed process ") || linux_2_4::victim(text).is_some() {
        return Some(Kind::Killed);
    }
    if text.contains("enough memory for the allocation") {
        return Some(Kind::Overcommit);
    }
    if text.contains("blocked for more than ") && text.contains(" seconds") {
        return Some(Kind::Hung);
    }
    if text.contains("alloc failed, req-size: ") {
        return Some(Kind::Cma);
    }
    if fork_rejected(text).is_some() {
        return Some(Kind::Fork);
    }
    if text.contains("OOMKilled") && !text.contains("OOMKilled\": false") {
        return Some(Kind::Container);
    }
    let lockup = text.contains("soft lockup - CPU#") || text.contains("detected stalls on CPUs");
    lockup.then_some(Kind::Lockup)
}

/// The control group whose `pids.max` refused a fork; the kernel says it once for each group.
pub(super) fn fork_rejected(text: &str) -> Option<&str> {
    let group = text.strip_prefix("cgroup: fork rejected by pids controller in ")?;
    Some(group.trim_ascii()).filter(|group| group.starts_with('/'))
}

/// "SysRq : Show Memory", "sysrq: Show Memory" or both in one.
fn is_dump_head(text: &str) -> bool {
    let sysrq = text.starts_with("SysRq :") || text.starts_with("sysrq:");
    sysrq && text.ends_with("Show Memory")
}

/// Whether a message alone says that the OOM killer runs: parts of a report that no dump and no
/// failed allocation has.
pub(super) fn tells_oom(text: &str) -> bool {
    const STARTS: [&str; 8] = [
        "oom-kill:",
        "Task in /",
        "Tasks in /",
        "memory: usage ",
        "Memory cgroup stats for ",
        "Tasks state",
        "[ pid",
        "[  pid",
    ];
    const TRACE: [&str; 4] = [
        "out_of_memory+",
        "oom_kill_process+",
        "oom_kill_process.",
        "mem_cgroup_oom_synchronize+",
    ];
    let kinds = [Kind::OomHead, Kind::Chosen, Kind::Killed];
    event(text).is_some_and(|kind| kinds.contains(&kind))
        || STARTS.iter().any(|start| text.starts_with(start))
        || text.contains("Manual OOM")
        || (!is_stale(text) && TRACE.iter().any(|name| text.contains(name)))
}

/// Whether a line of a call trace was found on the stack and may be older than the call.
fn is_stale(text: &str) -> bool {
    text.starts_with("? ") || text.contains("] ? ")
}

fn is_choice(text: &str) -> bool {
    let place = [
        "Memory cgroup out of memory",
        "Out of memory",
        "Out of Memory",
    ];
    let rest = place.iter().find_map(|words| text.strip_prefix(words));
    let goes_on = [":", " and no killable", " (oom_kill_allocating_task)"];
    rest.is_some_and(|rest| goes_on.iter().any(|words| rest.starts_with(words)))
}

/// What refused, by a function of the call trace. Functions after "? " were found on the stack and
/// may be older than the call.
pub(super) fn of_trace(text: &str) -> Option<Refused> {
    const GROUP: [&str; 2] = ["mem_cgroup_out_of_memory", "mem_cgroup_oom_synchronize"];
    const ZONES: [&str; 2] = ["__alloc_pages_slowpath", "__alloc_pages_may_oom"];
    let has = |names: &[&str]| names.iter().any(|name| text.contains(name));
    if is_stale(text) {
        return None;
    }
    match (has(&GROUP), has(&ZONES)) {
        (true, _) => Some(Refused::Group),
        (false, true) => Some(Refused::Zones),
        _ => None,
    }
}

/// The limit of memory that a description of a container or pod names: `memory:  100Mi` or
/// `"Memory": 104857600,`.
pub(super) fn container_limit(text: &str) -> Option<&str> {
    let value = text
        .strip_prefix("memory:")
        .or_else(|| text.strip_prefix("\"Memory\":"))?
        .trim_matches([' ', ',', '"']);
    let (_, unit) = leading_number(value)?;
    let units = ["", "k", "Ki", "M", "Mi", "G", "Gi", "T", "Ti"];
    (units.contains(&unit) && value != "0").then_some(value)
}

fn is_summary(text: &str) -> bool {
    let start = SUMMARY.iter().find(|start| text.starts_with(**start));
    let number = start.and_then(|start| leading_number(&text[start.len()..]));
    number.is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with(' '))
}

/// "[ 1234] 0 1234 …", a row of the table of processes.
pub(super) fn is_row(text: &str) -> bool {
    let row = text
        .strip_prefix('[')
        .and_then(|rest| leading_number(rest.trim_ascii_start()));
    row.is_some_and(|(_, rest)| rest.starts_with(']'))
}

/// "1234 pages RAM", "1234 total pagecache pages", "anon 1234".
fn is_count(text: &str) -> bool {
    match leading_number(text) {
        Some((_, rest)) => rest.starts_with(" pages ") || rest == " total pagecache pages",
        None => is_stat(text),
    }
}

/// A line of the group's `memory.stat`.
pub(super) fn is_stat(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(name, value)| {
        let named = name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit());
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        named && !name.is_empty() && digits && !value.is_empty()
    })
}

/// Whether a line without a prefix goes on where a mail or a terminal broke the one before.
pub(super) fn goes_on(before: &str, text: &str) -> bool {
    if kind(text) != Kind::Other {
        return false;
    }
    let first = text.split(' ').next().unwrap_or(text);
    let pair = first.contains([':', '=', '*', '?']) && !first.ends_with("):") && first != "=";
    let reserve = || {
        let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        before.starts_with("lowmem_reserve") && text.split(' ').all(number)
    };
    let value = first.trim_end_matches([',', ')']).ends_with("kB") || first.starts_with("(");
    if row_goes_on(before, text) {
        return true;
    }
    let limit = before.starts_with("Task in /") && !before.contains(" limit of ");
    pair || value || limit || first == "=" || reserve()
}

/// Whether a row of the table of processes, or its heading, was broken before its last column: the
/// name.
fn row_goes_on(before: &str, text: &str) -> bool {
    let number = |word: &str| {
        word.trim_start_matches('-')
            .bytes()
            .all(|b| b.is_ascii_digit())
    };
    let last = before.rsplit(' ').next().unwrap_or_default();
    let heading = before.starts_with("[ pid") || before.starts_with("[  pid");
    let first = text.split(' ').next().unwrap_or_default();
    match (heading, is_row(before)) {
        (true, _) => last != "name" && !first.is_empty(),
        (_, true) => number(last) && number(first),
        _ => false,
    }
}

/// "Node 0" alone: kernels from 4.9 on that lost the marks of continued lines, and the logs that
/// keep such lines apart, break behind it.
pub(super) fn is_bare_node(text: &str) -> bool {
    let node = text.strip_prefix("Node ").and_then(leading_number);
    node.is_some_and(|(_, rest)| rest.trim_ascii().is_empty())
}

/// Whether a line is a piece of a list that such a kernel broke: the numbers of a reserve, the
/// blocks of a zone.
pub(super) fn is_piece(before: &str, text: &str) -> bool {
    let digits = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    if before.starts_with("lowmem_reserve[]") {
        return text.split(' ').all(digits);
    }
    let list = before.ends_with(':') || before.contains("kB (") || before.contains('*');
    let block = leading_number(text).is_some_and(|(_, rest)| rest.starts_with('*'));
    let total = text.starts_with("= ") && text.ends_with("kB");
    let types = text.starts_with('(') && text.len() < 12;
    list && (block || total || types)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_by_their_shape() {
        assert_eq!(
            kind("x invoked oom-killer: gfp_mask=0xd0, order=0"),
            Kind::OomHead
        );
        assert_eq!(
            kind("x: page allocation failure. order:2, mode:0x20"),
            Kind::FailureHead
        );
        assert_eq!(
            kind("Out of memory: Kill process 1 (x) score 9"),
            Kind::Chosen
        );
        assert_eq!(
            kind("Memory cgroup out of memory: Killed process 1 (x)"),
            Kind::Chosen
        );
        assert_eq!(kind("[ 1234]     0  1234 1 1 1 0 0 x"), Kind::Body);
        assert_eq!(kind("12 pages RAM"), Kind::Body);
        assert_eq!(kind("anon 12345"), Kind::Body);
        assert_eq!(kind(" dump_stack+0x41/0x60"), Kind::Other);
        assert_eq!(kind("free:1 slab_reclaimable:2"), Kind::Body);
    }

    #[test]
    fn a_broken_line_goes_on() {
        let zone = "Node 0 DMA free:15900kB min:64kB";
        assert!(goes_on(zone, "low:80kB high:96kB"));
        assert!(goes_on(zone, "unevictable:0kB"));
        assert!(goes_on("lowmem_reserve[]: 0 2974", "7000 7000"));
        assert!(goes_on("Node 0 DMA: 1*4kB (U)", "(U) 0*8kB = 4kB"));
        assert!(!goes_on(zone, "lowmem_reserve[]: 0"));
        assert!(!goes_on(zone, "some words of a mail"));
    }
}
