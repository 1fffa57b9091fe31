//! What the parts of a machine keep, and what a step of a task comes to.

use crate::fs::fs_writeback::state::Syncing;
use crate::sched::core::Sleep;
use mm::units::Bytes;
use mm::units::Nanos;
use scenario::outcome::Latency;
use scenario::outcome::Status;
use scenario::outcome::StepOutcome;

/// What stops the operations of an access for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its budget: it can go on.
    Budget,
    /// It will be woken.
    Wait(Sleep),
    /// The access is complete.
    Done,
    /// The OOM killer chose this task.
    Killed,
}

/// A task that makes files durable.
#[derive(Clone, Debug)]
pub(crate) struct Durable<'a> {
    pub(crate) syncing: Syncing,
    pub(crate) label: Option<&'a str>,
    pub(crate) began: Nanos,
    /// The page cache is dropped afterwards.
    pub(crate) drops: bool,
}

impl Durable<'_> {
    pub(crate) fn outcome(&self, task: &str, end: Nanos) -> Option<StepOutcome> {
        Some(StepOutcome {
            process: task.into(),
            label: self.label?.into(),
            start: self.began,
            end,
            operations: 1,
            bytes: Bytes::ZERO,
            status: Status::Done,
            latency: Latency::default(),
        })
    }
}
