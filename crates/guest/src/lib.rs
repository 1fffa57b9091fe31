//! PID 1 inside the VM: mounts, settings, workload, sampling.
//!
//! [`init()`] is the life of PID 1: it sets the machine up, performs the workload with real
//! processes and real system calls, hands back a capture, and powers off whatever happens.
//! [`perform`] is the part that needs no VM; tests call it with directories of their own.
//!
//! # Who does what
//!
//! One process, the supervisor, forks every process instance, serves their requests (start, wait,
//! kill, snapshot), takes the samples and sees them end. A process of the workload interprets its
//! steps; what it counts lies in memory shared with the supervisor and made of atomics, so that it
//! may be killed at any moment. Everything in the guest is a function of the orders and the
//! kernel: in virtual time two runs are the same to the byte.
//!
//! # What it costs
//!
//! Measured on Debian's 6.1 in virtual time, where an instruction takes a nanosecond: a sample 175
//! µs of CPU time and 5 KB of memory, a snapshot 5 ms and 12 KB; the supervisor keeps 2.6 MiB
//! locked and takes 1 MiB at a time for frames. Where pages are offered to be merged a sample takes
//! 350 µs (420 on 6.12). Each run notes the first two itself ([`scenario::outcome::OBSERVER`]).
//! An operation costs 240 ns of the interpreter's own (touching one present page, everything
//! included), of which 95 ns count as latency.

mod access;
mod availability;
mod cgroups;
mod clock;
mod compute;
mod daemons;
mod error;
mod files;
mod fork;
mod guard;
mod held;
mod init;
mod mapping;
mod merging;
mod meter;
mod mount;
mod orders;
mod outbox;
mod outcomes;
mod place;
mod plan;
mod process;
mod recorded;
mod recorder;
mod region;
mod settings;
mod shared;
mod supervisor;
mod tracing;
mod waits;
mod write;

pub use cgroups::make_cgroups;
pub use error::Error;
pub use init::{init, is_init};
pub use orders::Clock;
pub use place::Place;
pub use recorder::{ERROR, Recorder, SKIPPED};
pub use settings::{Prepared, prepare};
pub use supervisor::perform;
