//! What stands, and whether it is still so.

use alloc::vec::Vec;

use crate::ledger::{Change, Ledger, LedgerError};
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
    /// A later change covers it.
    Covered {
        /// The later change.
        by: u32,
    },
    /// It cannot be read.
    Unreadable(Failure),
}

impl Status {
    /// Whether anything is not as this change left it.
    #[must_use]
    pub fn has_drifted(&self) -> bool {
        let drifted = |now: &Now| !matches!(now, Now::AsSet | Now::Covered { .. });
        let steps = self
            .steps
            .iter()
            .filter(|(step, _)| step.role != Role::Aside);
        steps.into_iter().any(|(_, now)| drifted(now)) || self.files.iter().any(|(_, has)| !has)
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
            let steps = change.steps.iter().map(|step| {
                let now = of_step(machine, &ledger, change.id, step);
                (step.clone(), now)
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
    if let Some(by) = ledger.above(id, &step.cell) {
        return Now::Covered { by };
    }
    match step.live(machine) {
        Err(failure) => Now::Unreadable(failure),
        Ok(live) if step.is_of_value(&live) => Now::AsSet,
        Ok(live) if step.same(&live, &step.old) => Now::AsBefore,
        Ok(live) => Now::Changed(live),
    }
}
