//! Which file sets what at boot: systemd-sysctl, procps, tmpfiles.d, udev, TuneD and others, each
//! as it is. Pure: from a tree of texts.
//!
//! - [`Tree`] is what a machine's configuration looks like: files, links, directories.
//!   [`places::WHERE`] lists what a host hands over.
//! - [`sysctl_d::load`] says what a loader writes into `/proc/sys`, in order, each with its
//!   [`Origin`], and what becomes of every other line and file.
//!
//! Paths are written as in a capture, from `/` and without the leading slash, those of tunables
//! too: `etc/sysctl.d/50-db.conf`, `proc/sys/vm/swappiness`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod drop_ins;
pub mod glob;
pub mod live;
pub mod load;
pub mod origin;
pub mod places;
pub mod sysctl_d;
pub mod tree;

pub use live::Live;
pub use load::{Fate, Load, Lost, Source, Why, Write};
pub use origin::Origin;
pub use tree::{Entry, Found, Tree};
