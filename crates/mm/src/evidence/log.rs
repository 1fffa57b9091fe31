//! Kernel logs among evidence: which lines begin one, and the frames that its reports make.

use alloc::string::String;
use alloc::vec::Vec;

use super::clean;
use crate::capture::Frame;
use crate::kernel_log;
pub use crate::kernel_log::PATH;

/// What only a kernel that lacks memory says, or the end of a process for it.
const SAID: &[&str] = &[
    "invoked oom-killer",
    "page allocation failure",
    "page allocation stalls",
    "Out of memory: Kill",
    "Out of memory: kill",
    "Memory cgroup out of memory",
    "Mem-Info:",
    "lowmem_reserve[]:",
    "oom-kill:constraint",
    "blocked for more than",
    "Node 0 active_anon:",
    "active_anon:",
    "oom_reaper:",
    "oom-killer:",
    "systemd-oomd",
    "earlyoom",
    "OOMKilled",
    "The node was low on resource: memory",
    "__vm_enough_memory",
];

/// Whether a log says anything of memory.
#[must_use]
pub fn says_something(text: &str) -> bool {
    SAID.iter().any(|said| text.contains(said))
}

/// Whether a line is of a kernel log: stamped as one, or with a report of memory.
#[must_use]
pub fn begins(line: &str) -> bool {
    clean::unstamped(line).is_some()
        || line.contains("\"__REALTIME_TIMESTAMP\"")
        || SAID.iter().any(|said| line.contains(said))
}

/// The frames of a log's reports; one with the whole log where it has no report.
#[must_use]
pub fn frames(text: &str) -> Vec<Frame> {
    let frames = kernel_log::frames(text);
    if !frames.is_empty() {
        return frames;
    }
    let mut frame = Frame::default();
    frame.files.insert(String::from(PATH), text.into());
    alloc::vec![frame]
}
