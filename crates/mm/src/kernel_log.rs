//! Kernel logs: OOM kills, allocations that failed, and what looks like a kill and is none.
//!
//! [`frames`] takes a log in any form (`dmesg`, `journalctl`, syslog, netconsole, mail) apart into
//! one frame for each event; [`Report::parse`] reads an event of any kernel from 2.6.32 on, and
//! [`Cause::of`] computes from its own numbers why the kernel refused.
//!
//! ```
//! use plimsoll_mm::kernel_log::{self, Report};
//! let log = "[   12.500000] x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n";
//! let frames = kernel_log::frames(log);
//! let report = Report::parse(&frames[0].files[kernel_log::PATH]).expect("an OOM kill");
//! assert_eq!(report.task, "x");
//! ```

mod cause;
mod date;
mod events;
mod gfp;
mod group;
mod holders;
mod joined;
mod journal;
mod line;
mod linux_2_4;
mod message;
mod nodes;
mod panic;
mod prefix;
mod report;
mod slab;
mod tasks;
mod text;
mod user_space;
mod zone;
mod zone_check;

use alloc::format;
use alloc::vec::Vec;

use crate::capture::Frame;

pub use self::cause::{Cause, Refusal, Whose, has_high_memory};
pub use self::gfp::{Gfp, Table};
pub use self::group::{Counter, Group};
pub use self::holders::{Holder, Holders};
pub use self::message::Refused;
pub use self::nodes::NodeSet;
pub use self::panic::Panic;
pub use self::report::{Dump, Event, Report};
pub use self::slab::{Cache, Failed, Slabs};
pub use self::tasks::{Killed, Process, Processes};
pub use self::user_space::Killer;
pub use self::zone::{Blocks, HugePages, Node, Zone};
pub use self::zone_check::{Answer, COSTLY_ORDER, ZoneCheck};

/// Path of an event's messages in its frame.
pub const PATH: &str = "dev/kmsg";

/// Whether a text is a kernel log that holds something of memory.
#[must_use]
pub fn is_log(text: &str) -> bool {
    text.split('\n').any(is_telling)
}

/// Whether a line alone begins or makes an event.
fn is_telling(line: &str) -> bool {
    const WORDS: [&str; 25] = [
        "-order allocation failed",
        "oom",
        "fork rejected",
        "emory",
        "page allocation",
        "Killed",
        "Kill",
        "kill",
        "blocked for more",
        "lockup",
        "137",
        " free:",
        "evict",
        "memory: usage",
        "alloc failed",
        "SIGKILL",
        "OOMKilled",
        "Task in /",
        "[ pid",
        "active_anon:",
        "Mem-Info",
        "vmalloc",
        "SLUB:",
        "SLAB:",
        "ysRq",
    ];
    if !WORDS.iter().any(|word| line.contains(word)) {
        return false;
    }
    !events::events(line).0.is_empty()
}

/// One frame for each event, in the log's order, with its messages at [`PATH`].
#[must_use]
pub fn frames(text: &str) -> Vec<Frame> {
    let (events, left_out) = events::events(text);
    let mut frames: Vec<Frame> = Vec::with_capacity(events.len());
    for (number, event) in (1..).zip(events) {
        frames.push(Frame {
            at: event.at,
            label: Some(format!("{}-{number}", event.label)),
            files: [(PATH.into(), event.text)].into(),
        });
    }
    if let Some(text) = frames
        .last_mut()
        .and_then(|frame| frame.files.get_mut(PATH))
        && left_out > 0
    {
        text.push_str(&format!(
            "\n(and {left_out} more messages, which were left out)"
        ));
    }
    frames
}

#[cfg(test)]
mod tests;
