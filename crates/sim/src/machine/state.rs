//! What a step of a task comes to, and a step that makes files durable.

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

/// A task that makes files durable.
#[derive(Clone, Debug)]
pub(crate) struct Durable<'a> {
    pub(super) syncing: Syncing,
    label: Option<&'a str>,
    began: Nanos,
    /// The page cache is dropped afterwards.
    pub(super) drops: bool,
}

impl<'a> Durable<'a> {
    /// Begins with the file with this index.
    pub(super) fn of_file(file: usize, label: Option<&'a str>, began: Nanos) -> Self {
        Self {
            syncing: Syncing::new(file..file + 1),
            label,
            began,
            drops: false,
        }
    }

    /// Begins with all of this many files; the page cache is dropped afterwards.
    pub(super) fn of_all(files: usize, label: Option<&'a str>, began: Nanos) -> Self {
        Self {
            syncing: Syncing::new(0..files),
            label,
            began,
            drops: true,
        }
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
