//! A change, as the journals tell it.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use mm::units::Nanos;

use crate::event::{Planned, Watch};
use crate::machine::Value;
use crate::step::{Role, Step};

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number, from 1.
    pub id: u32,
    /// When it was planned, in seconds since 1970.
    pub at: u64,
    /// When it is taken back unless it is confirmed, since boot.
    pub deadline: Nanos,
    /// Why it was made; may be empty.
    pub why: String,
    /// Whether it is to outlive a reboot once it is confirmed.
    pub lasts: bool,
    /// How what it does is watched.
    pub watch: Option<Watch>,
    /// What it does; where it goes back to follows the changes below that are taken back.
    pub steps: Vec<Step>,
    /// What each step's cell held when it was planned.
    pub before: Vec<Value>,
    /// Whether each step was written.
    pub written: Vec<Written>,
    /// Why its writing ended before all of it was written.
    pub stopped: Option<String>,
    /// Where it stands.
    pub phase: Phase,
    /// The native files that keep it over a reboot; none where it does not outlive one.
    pub files: Vec<String>,
    /// Whether it was planned in this boot.
    pub is_of_this_boot: bool,
}

/// Whether a step was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Its value was read back.
    Yes,
    /// It was not reached, or failed and left nothing: it covers nothing, and there is nothing to
    /// take back.
    No,
    /// Whoever wrote it was killed, and nobody has looked since.
    InDoubt,
}

/// Where a change stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Planned, and perhaps written, in part or whole.
    Pending,
    /// Kept until somebody undoes it.
    Confirmed,
    /// Taken back.
    Undone {
        /// Why, in words.
        why: String,
    },
}

impl Change {
    pub(crate) fn of(planned: &Planned, is_of_this_boot: bool) -> Self {
        Self {
            id: planned.id,
            at: planned.at,
            deadline: planned.deadline,
            why: planned.why.clone(),
            lasts: planned.lasts,
            watch: planned.watch,
            steps: planned.steps.clone(),
            before: planned.steps.iter().map(|step| step.old.clone()).collect(),
            written: vec![Written::InDoubt; planned.steps.len()],
            stopped: None,
            phase: Phase::Pending,
            files: Vec::new(),
            is_of_this_boot,
        }
    }

    /// Whether it is not taken back.
    #[must_use]
    pub fn stands(&self) -> bool {
        !matches!(self.phase, Phase::Undone { .. })
    }

    /// Whether it waits for a confirmation.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.phase == Phase::Pending
    }

    /// Whether all of it was written.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.stopped.is_none() && self.written.iter().all(|written| *written == Written::Yes)
    }

    /// Whether its time is over: the deadline of this boot has passed, or the boot itself.
    #[must_use]
    pub fn is_overdue(&self, now: Nanos) -> bool {
        self.is_pending() && (!self.is_of_this_boot || self.deadline <= now)
    }

    /// Its steps by number, in the order in which they are written: what the kernel changes along
    /// with others comes last.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (usize, &Step)> {
        let roles = [Role::Asked, Role::Follows, Role::Aside].into_iter();
        roles.flat_map(|role| {
            let steps = self.steps.iter().enumerate();
            steps.filter(move |(_, step)| step.role == role)
        })
    }

    /// The steps that were written, in their order, or may have been.
    pub fn written(&self) -> impl DoubleEndedIterator<Item = &Step> {
        let steps = self.steps.iter().zip(&self.written);
        steps
            .filter(|(_, written)| **written != Written::No)
            .map(|(step, _)| step)
    }

    /// What it did to a cell.
    #[must_use]
    pub fn wrote(&self, cell: &str) -> Option<&Step> {
        self.written().find(|step| step.cell == cell)
    }

    pub(crate) fn wrote_mut(&mut self, cell: &str) -> Option<&mut Step> {
        let steps = self.steps.iter_mut().zip(&self.written);
        let mut written = steps.filter(|(_, written)| **written != Written::No);
        written
            .find(|(step, _)| step.cell == cell)
            .map(|(step, _)| step)
    }

    /// The event that plans it, with these steps.
    pub(crate) fn planned(&self, boot: &str, steps: Vec<Step>) -> Planned {
        Planned {
            id: self.id,
            boot: boot.to_owned(),
            at: self.at,
            deadline: self.deadline,
            why: self.why.clone(),
            lasts: self.lasts,
            watch: self.watch,
            steps,
        }
    }
}
