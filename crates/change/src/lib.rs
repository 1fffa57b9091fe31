//! A change: its plan, its journal and its state machine; pure, with its I/O behind a trait.
//!
//! A change is planned, written into the journal, its timer armed, its values written, and then it
//! is confirmed or taken back. The journal of this boot lies where a power cut takes it away
//! ([`Place::Run`]): a change that nobody confirmed is undone by a reboot. What outlives a reboot
//! is written at confirm and not before: the old values ([`Place::Lib`]) and then the native file,
//! whose appearance is the moment at which the change is confirmed.
//!
//! Whoever calls holds the lock of the journals ([`Machine`]); so two of these functions never run
//! at the same time, and an administrator's own write may happen at any time.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod apply;
pub mod cell;
pub mod change;
pub mod confirm;
pub mod event;
pub mod hold;
pub mod journal;
pub mod ledger;
pub mod machine;
pub mod native;
mod recover;
pub mod rehearsal;
pub mod status;
pub mod step;
pub mod trial;
pub mod undo;
pub mod watch;

pub use cell::Cell;
pub use change::{Change, Phase, Written};
pub use hold::Hold;
pub use ledger::Ledger;
pub use machine::{Failure, Kind, Machine, Place, Value};
pub use rehearsal::Rehearsal;
pub use step::{Role, Step};
