//! What stands, and whether it is still so.

use alloc::vec::Vec;

use crate::change::{Change, Written};
use crate::ledger::{Ledger, LedgerError};
use crate::machine::{Failure, Machine, Value};
use crate::native;
use crate::step::{Role, Step};

/// A change that stands, against this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The change.
    pub change: Change,
    /// Its steps, each with what it is now.
    pub steps: Vec<(Step, Now)>,
    /// Its native files, and whether each has its lines.
    pub files: Vec<(alloc::string::String, bool)>,
    /// Whether its time is over.
    pub is_overdue: bool,
}

/// What a value is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// As it was set.
    AsSet,
    /// The old value.
    AsBefore,
    /// Something else: somebody changed it.
    Changed(Value),
    /// It was never written: whoever applied the change was stopped, or another step failed.
    Unwritten,
    /// A later change covers it.
    Covered {
        /// The later change.
        by: u32,
    },
    /// It cannot be read.
    Unreadable(Failure),
}

impl Status {
    /// Whether anything is not as this change set it, because somebody changed it, a later change
    /// covers it, or it was never written.
    #[must_use]
    pub fn has_drifted(&self) -> bool {
        let mut steps = self.steps.iter();
        let drifted = |(step, now): &(Step, Now)| step.role != Role::Aside && *now != Now::AsSet;
        steps.any(drifted) || self.files.iter().any(|(_, has)| !has)
    }
}

/// Every change that stands, oldest first.
///
/// # Errors
/// A [`LedgerError`].
pub fn status(machine: &mut impl Machine) -> Result<Vec<Status>, LedgerError> {
    let ledger = Ledger::open(machine)?;
    let now = machine.since_boot();
    let changes = ledger.changes().filter(|change| change.stands());
    changes
        .map(|change| {
            let steps = change.steps.iter().zip(&change.written);
            let steps = steps.map(|(step, written)| match written {
                Written::No => (step.clone(), Now::Unwritten),
                _ => (step.clone(), of_step(machine, &ledger, change.id, step)),
            });
            let steps = steps.collect();
            let mut files = Vec::new();
            for file in &change.files {
                let text = machine.native(file)?.unwrap_or_default();
                files.push((file.clone(), native::has(&text, change.id)));
            }
            Ok(Status {
                change: change.clone(),
                steps,
                files,
                is_overdue: change.is_overdue(now),
            })
        })
        .collect()
}

fn of_step(machine: &mut impl Machine, ledger: &Ledger, id: u32, step: &Step) -> Now {
    let live = match step.live(machine) {
        Ok(live) => live,
        Err(failure) => return Now::Unreadable(failure),
    };
    match ledger.above(id, &step.cell, &live) {
        Some(by) => Now::Covered { by },
        None if step.is_of_value(&live) => Now::AsSet,
        None if step.same(&live, &step.old) => Now::AsBefore,
        None => Now::Changed(live),
    }
}
