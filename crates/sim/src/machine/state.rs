//! What a step of a task comes to, and a step that writes files out.

use alloc::boxed::Box;

use mm::units::{Bytes, Nanos};
use scenario::outcome::{Latency, Status, StepOutcome};

use crate::fs::fs_writeback::state::Syncing;
use crate::sched::core::{Flow, Sleep};

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

impl Stop {
    /// How it leaves the task.
    pub(crate) fn flow(stop: Option<Self>) -> Flow {
        match stop {
            Some(Self::Wait(sleep)) => Flow::Blocked(sleep),
            _ => Flow::Continue,
        }
    }
}

/// A task that writes files out.
#[derive(Clone, Debug)]
pub(crate) struct WritingOut<'a> {
    pub(super) syncing: Syncing,
    label: Option<&'a str>,
    began: Nanos,
    pub(super) then: Drops,
}

/// The clean pages that are dropped once files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drops {
    None,
    OfFile(usize),
    All,
}

impl<'a> WritingOut<'a> {
    pub(super) fn new(
        syncing: Syncing,
        then: Drops,
        label: Option<&'a str>,
        began: Nanos,
    ) -> Box<Self> {
        Box::new(Self {
            syncing,
            label,
            began,
            then,
        })
    }

    pub(super) fn outcome(&self, task: &str, end: Nanos) -> Option<StepOutcome> {
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
