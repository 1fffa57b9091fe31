//! PID 1 inside the VM: mounts, settings, workload, sampling.
//!
//! [`init`] is the life of PID 1: it sets the machine up, performs the workload with real processes
//! and real system calls, hands back a capture, and powers off whatever happens. [`perform`] is the
//! part that needs no VM; tests call it with directories of their own.

mod access;
mod clock;
mod error;
mod files;
mod fork;
mod init;
mod mapping;
mod meter;
mod mount;
mod orders;
mod outbox;
mod outcomes;
mod place;
mod plan;
mod process;
mod recorder;
mod region;
mod settings;
mod shared;
mod supervisor;

pub use error::Error;
pub use init::{init, is_init};
pub use orders::{Clock, Orders};
pub use place::Place;
pub use recorder::{ERROR, FAILED, OBSERVER, Recorder, SKIPPED};
pub use settings::{Prepared, make_cgroups, prepare};
pub use supervisor::perform;
