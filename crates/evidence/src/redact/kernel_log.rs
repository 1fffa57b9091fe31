//! Reports of the kernel: what is known line by line is kept, with placeholders for its names.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::clean;
use super::names::Names;
use super::tables::lines;

/// How lines begin that hold numbers and the kernel's own words only.
const PLAIN: &[&str] = &[
    "Mem-Info:",
    "active_anon:",
    "active_file:",
    "unevictable:",
    "slab_reclaimable:",
    "mapped:",
    "kernel_misc_reclaimable:",
    "free:",
    "sec_pagetables:",
    "dirty:",
    "Node ",
    "DMA",
    "Normal",
    "HighMem",
    "Movable",
    "lowmem_reserve[]:",
    "Free swap",
    "Total swap",
    "Swap cache stats:",
    "memory: usage",
    "memory+swap: usage",
    "swap: usage",
    "kmem: usage",
    "Tasks state",
    "[ pid ]",
    "[  pid  ]",
    "Call Trace:",
    "zspages:",
    "inactive_file:",
];

/// Marks behind which a group's path stands.
const GROUPS: &[&str] = &[
    "oom_memcg=",
    "task_memcg=",
    "stats for ",
    "Task in ",
    "limit of ",
    "Killed ",
];

/// The report without names; lines that are not known are left out.
pub(super) fn redacted(text: &str, names: &mut Names) -> String {
    lines(text, |line| {
        let line = clean::unstamped(line).unwrap_or(line).trim();
        let counted = line.split_once(' ').is_some_and(|(count, rest)| {
            count.bytes().all(|byte| byte.is_ascii_digit()) && rest.contains("pages")
        });
        if counted || PLAIN.iter().any(|start| line.starts_with(start)) {
            return Some(groups(line, names));
        }
        task(line, names).or_else(|| said(line, names))
    })
}

/// A row of the table of tasks: its last word is a name.
fn task(line: &str, names: &mut Names) -> Option<String> {
    let (pid, rest) = line.strip_prefix('[')?.split_once(']')?;
    let numbers = rest.split_ascii_whitespace().take(5);
    let is_number = |word: &str| {
        word.trim_start_matches('-')
            .bytes()
            .all(|b| b.is_ascii_digit())
    };
    let row =
        is_number(pid.trim()) && numbers.clone().count() == 5 && numbers.into_iter().all(is_number);
    if !row {
        return None;
    }
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let last = words.iter().rposition(|word| is_number(word))?;
    let name = words
        .get(last + 1..)
        .filter(|name| !name.is_empty())?
        .join(" ");
    let numbers = words[..=last].join(" ");
    Some(format!("[{pid}] {numbers} {}", names.of("process", &name)))
}

/// A line that says what happened, to which process.
fn said(line: &str, names: &mut Names) -> Option<String> {
    for what in [
        " invoked oom-killer:",
        ": page allocation failure",
        ": page allocation stalls",
    ] {
        if let Some((name, rest)) = line.split_once(what) {
            return Some(format!("{}{what}{rest}", names.of("process", name)));
        }
    }
    if let Some(at) = line.find("Comm: ") {
        return comm(line, at + 6, names);
    }
    let killed = [
        "Out of memory",
        "Killed process",
        "Memory cgroup out of memory",
        "oom_reaper:",
        "oom-kill:",
        "Task in ",
        "Memory cgroup stats for",
    ];
    if !killed.iter().any(|start| line.contains(start)) {
        return None;
    }
    let line = within(line, '(', ')', names);
    let line = match line.split_once(",task=") {
        Some((before, rest)) => {
            let (name, rest) = rest.split_once(",pid=")?;
            format!("{before},task={},pid={rest}", names.of("process", name))
        }
        None => line,
    };
    Some(groups(&line, names))
}

/// `CPU: 1 PID: 7 Comm: NAME Not tainted 5.4.0 #1`: what follows the name begins with a word on
/// taint.
fn comm(line: &str, at: usize, names: &mut Names) -> Option<String> {
    let rest = line.get(at..)?;
    let end = [" Not tainted", " Tainted:", " Kdump:"]
        .iter()
        .find_map(|word| rest.find(word))?;
    let name = names.of("process", &rest[..end]);
    Some(format!("{}{name}{}", &line[..at], &rest[end..]))
}

/// The first name between two marks, as in `Killed process 7 (NAME) total-vm:…`, replaced.
fn within(line: &str, open: char, close: char, names: &mut Names) -> String {
    let name = line.split_once(open).and_then(|(before, rest)| {
        let (name, after) = rest.rsplit_once(close)?;
        Some(format!(
            "{before}{open}{}{close}{after}",
            names.of("process", name)
        ))
    });
    name.unwrap_or_else(|| line.to_owned())
}

/// Paths of groups, replaced component by component.
fn groups(line: &str, names: &mut Names) -> String {
    let mut line = line.to_owned();
    for mark in GROUPS {
        let Some(at) = line.find(mark).map(|at| at + mark.len()) else {
            continue;
        };
        let rest = &line[at..];
        if rest.starts_with('/') {
            let end = rest.find([',', ' ', ':']).unwrap_or(rest.len());
            let group = names.group(&rest[..end]);
            line = format!("{}{group}{}", &line[..at], &rest[end..]);
        }
    }
    line
}
