//! Which file sets what at boot: systemd-sysctl, procps, tmpfiles.d, udev, TuneD and others, each
//! as it is. Pure: from a tree of texts.
//!
//! - [`Tree`] is what a machine's configuration looks like: files, links, directories.
//!   [`places::WHERE`] lists what a host hands over.
//! - [`who()`] answers for one tunable: who wins at the next boot, who comes second, who else
//!   names it and why that does not count. [`boot::boot`] is the whole boot.
//! - [`stage::STAGES`] are the programs in the order of boot; each makes a [`Load`] of a tree.
//! - [`sysctl_d::load`] says what a loader writes into `/proc/sys`, in order, each with its
//!   [`Origin`], and what becomes of every other line and file.
//! - [`tmpfiles::load`] says the same of systemd-tmpfiles.
//! - [`winning_name`] finds a name for a file of our own that wins, or says what beats it.
//!
//! Paths are written as in a capture, from `/` and without the leading slash, those of tunables
//! too: `etc/sysctl.d/50-db.conf`, `proc/sys/vm/swappiness`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod boot;
pub mod command_line;
mod drop_ins;
pub mod glob;
mod ini;
pub mod ksmtuned;
pub mod live;
pub mod load;
pub mod origin;
pub mod places;
pub mod saptune;
pub mod scripts;
pub mod stage;
pub mod sysctl_d;
pub mod tmpfiles;
pub mod tree;
pub mod tuned;
pub mod udev;
pub mod units;
pub mod value;
pub mod who;
pub mod winning;
pub mod zram;

pub use live::Live;
pub use load::{Fate, Load, Lost, Source, Why, Write};
pub use origin::Origin;
pub use stage::Stage;
pub use tree::{Entry, Found, Tree};
pub use who::{Answer, Mention, Next, Role, who};
pub use winning::{Beaten, Kind, winning_name};
