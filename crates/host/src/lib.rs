//! This machine: the only reader of /proc and /sys, the only writer of a tunable.
//!
//! Everything goes through a [`Root`], so that tests, containers and mounted images put another
//! directory in the place of `/`. What is read comes out as a capture's frame, kernel files as
//! text; what it means is said by `mm`. Nothing here parses a kernel file for its meaning. What
//! processes hold in memory comes out as hashes of pages, never as contents.

pub mod ages;
pub mod changes;
pub mod configuration;
pub mod covered;
pub mod drop_ins;
pub mod facts;
pub mod groups;
pub mod kept;
pub mod looking;
pub mod mounts;
pub mod one_name;
pub mod page_cache;
pub mod pages;
pub mod processes;
pub mod read;
pub mod reclaim;
mod root;
pub mod sysctls;
pub mod units;
pub mod watcher;
pub mod write;

pub use root::{Root, reason};
