//! Evidence: what people hold of a machine, as text, and the kernel files that are in it.
//!
//! A file, a paste of several, a log or a table of a tool is split into [`Piece`]s, each with the
//! path that its text has in a frame. What a text is follows from its lines ([`kind`]), and from a
//! heading before it or its name where the lines alone do not say. Nothing is lost without a word:
//! what was not taken is in [`Reading::passed`], with the line and the reason.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod clean;
mod close;
pub mod command;
mod containers;
pub mod free;
pub mod gather;
pub mod groups;
pub mod heading;
pub mod kind;
mod lines;
pub mod log;
mod merging;
mod numa;
pub mod path;
mod reading;
pub mod redact;
pub mod series;
mod split;
mod tables;
mod zones;

use mm::catalogue::folder;

pub use gather::frames;
pub use reading::{Passed, Piece, Reading};
pub use split::split;

/// Path of the note that says what evidence was taken for and what of it was passed over:
/// `KIND<tab>SOURCE<tab>WHAT` per line, where KIND is `read` or `passed`.
pub const NOTE: &str = "plimsoll/evidence";

/// Folder of what tools printed: `plimsoll/tools/free` and the like.
pub const TOOLS: &str = "plimsoll/tools/";

/// Folder of texts whose commands set tunables, by the names under which they came: scripts,
/// recipes of images, what cloud-init runs.
pub const COMMANDS: &str = "plimsoll/tools/commands/";

/// Whether a line of a text looks like a command that sets a tunable of memory: `sysctl -w vm.x=1`,
/// `echo 1 > /proc/sys/vm/x`.
#[must_use]
pub fn sets_by_commands(text: &str) -> bool {
    let sets = |line: &str| {
        let by_sysctl = line.contains("sysctl") && line.contains("vm.") && line.contains('=');
        let folders = [folder::VM, folder::KSM, folder::THP, folder::LRU_GEN];
        let into = line.contains('>') || line.contains("tee");
        by_sysctl || into && folders.iter().any(|folder| line.contains(folder))
    };
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| {
        let advises = mm::programs::of(line).is_some();
        !advises && !line.starts_with(['#', ';']) && sets(line)
    })
}

#[cfg(test)]
mod tests;
