//! A machine under a scenario: its step loop, its tasks and threads, and what is written into its
//! files.

pub(crate) mod access;
pub(crate) mod boot;
pub(crate) mod cgroups;
pub(crate) mod daemons;
pub(crate) mod flusher;
pub(crate) mod interrupt;
pub(crate) mod invariants;
pub(crate) mod ksmd;
pub(crate) mod kswapd;
pub(crate) mod oom_kill;
pub(crate) mod placing;
pub(crate) mod processes;
pub(crate) mod recorder;
pub(crate) mod refusals;
pub(crate) mod roles;
pub(crate) mod settled;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod system;
pub(crate) mod task;
pub(crate) mod tunables;
