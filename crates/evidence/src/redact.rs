//! A capture without names of people's things: command lines, processes, control groups, hosts,
//! users, mount points and files.
//!
//! Names become placeholders that are the same wherever the name stands: `group-1`, `process-1`.
//! What may hold a name and is not known line by line is left out whole.

mod kernel_log;
mod names;
mod tables;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::{NOTE, TOOLS, log, path};
use mm::capture::{Capture, Frame};
use names::GROUPS;

pub(crate) use names::Names;

/// Notes that hold no name.
const PLAIN_NOTES: &[&str] = &[
    "plimsoll/facts",
    "plimsoll/tools/free",
    "plimsoll/tools/vmstat",
];

/// The capture without names.
#[must_use]
pub fn redacted(capture: &Capture) -> Capture {
    let mut names = Names::default();
    let frames = capture
        .frames
        .iter()
        .map(|frame| redacted_frame(frame, &mut names));
    Capture {
        frames: frames.collect(),
    }
}

fn redacted_frame(frame: &Frame, names: &mut Names) -> Frame {
    let label = frame.label.as_deref().map(|label| label_of(label, names));
    let mut files = BTreeMap::new();
    for (path, text) in &frame.files {
        if let Some((path, text)) = file(path, text, names) {
            files.insert(path, text);
        }
    }
    Frame {
        at: frame.at,
        label,
        files,
    }
}

/// A label is the name of a folder or a host, but for those of reports.
fn label_of(label: &str, names: &mut Names) -> String {
    let kind = label.split_once('-').map_or("", |(kind, _)| kind);
    let number = label.rsplit('-').next().unwrap_or_default();
    let of_report = ["oom", "allocation", "failure", "hung", "event"].contains(&kind)
        && number.bytes().all(|byte| byte.is_ascii_digit());
    match of_report {
        true => label.to_owned(),
        false => names.of("moment", label),
    }
}

/// A file with its path; `None` where it is left out.
fn file(path: &str, text: &str, names: &mut Names) -> Option<(String, String)> {
    let same = |text: String| Some((path.to_owned(), text));
    match path {
        "proc/cmdline" | "proc/mounts" | "proc/self/mounts" | "proc/version" => None,
        "proc/swaps" => same(tables::swaps(text, names)),
        "proc/self/cgroup" => same(tables::own_groups(text, names)),
        "sys/kernel/debug/lru_gen" => same(tables::generations(text, names)),
        "plimsoll/unreadable" | "plimsoll/groups" => same(tables::paths(text, names)),
        NOTE => same(tables::note(text, names)),
        log::PATH => same(kernel_log::redacted(text, names)),
        _ if path.starts_with(GROUPS) => Some((names.group_file(path), text.to_owned())),
        _ if path.starts_with("proc/sys/") && path != "proc/sys/kernel/osrelease" => {
            let plain = |c: char| c.is_ascii_digit() || c.is_whitespace() || "-.".contains(c);
            text.chars()
                .all(plain)
                .then(|| (path.to_owned(), text.to_owned()))
        }
        _ if path::is_configuration(path) => tables::configuration(path, text, names),
        "plimsoll/tools/ps" | "plimsoll/tools/top" => same(tables::processes(text, names)),
        "plimsoll/tools/sar" => same(tables::sar(text)),
        _ if path.starts_with(TOOLS) && !PLAIN_NOTES.contains(&path) => None,
        _ if of_process(path) => None,
        _ => same(text.to_owned()),
    }
}

/// Files of a process that have its name, or those of the files that it maps.
fn of_process(path: &str) -> bool {
    let named = ["/smaps", "/status", "/stat", "/cgroup", "/cmdline"];
    path.starts_with("proc/") && named.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests;
