//! Kernel logs among evidence: which lines begin one, and the frames that its reports make.

use alloc::vec::Vec;

use super::clean;
use mm::capture::Frame;
use mm::kernel_log;
pub use mm::kernel_log::PATH;

/// Whether a line is of a kernel log: stamped as one, or with a report of memory.
#[must_use]
pub fn begins(line: &str) -> bool {
    clean::unstamped(line).is_some()
        || line.contains("\"__REALTIME_TIMESTAMP\"")
        || line.starts_with("lowmem_reserve[]:")
        || kernel_log::is_log(line)
}

/// Whether a line that looks like a kernel file's is the log's: a report prints `memory.stat` of
/// the group whose limit was reached.
#[must_use]
pub fn keeps(text: &str, line: &str) -> bool {
    let last = text.lines().next_back().unwrap_or_default();
    let message = |line| clean::unstamped(line).unwrap_or(line).trim();
    let is_item = |line: &str| {
        let number = line.split_once(' ').map(|(_, number)| number);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let of_group = |line: &str| line.contains("Memory cgroup stats for ") || is_item(line);
    is_item(message(line)) && (of_group(message(last)) || clean::unstamped(line).is_some())
}

/// The frames of a log's reports.
#[must_use]
pub fn frames(text: &str) -> Vec<Frame> {
    kernel_log::frames(text)
}
