//! A machine under a scenario: its step loop, its tasks and what they do, and what is written into
//! its files.

pub(crate) mod access;
mod advice;
pub(crate) mod daemons;
pub(crate) mod errands;
pub(crate) mod exit;
pub(crate) mod figures;
pub(crate) mod guarding;
mod hits;
pub(crate) mod no_page;
mod oom_kill;
pub(crate) mod placing;
pub(crate) mod recorder;
pub(crate) mod refusals;
mod replay;
pub(crate) mod replaying;
pub(crate) mod running;
pub(crate) mod settled;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod sync;
pub(crate) mod system;
pub(crate) mod task;
pub(crate) mod tasks;
pub(crate) mod tunables;
