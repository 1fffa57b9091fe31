//! Confirming a change, and making it outlive a reboot.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use conf::Kind;

use crate::change::{Change, Phase};
use crate::event::Event;
use crate::ledger::{Ledger, LedgerError};
use crate::machine::{Failure, Machine, Place, Value};
use crate::native;
use crate::step::{Role, Step};

/// The native files that are to keep a change; those in which it has no line are not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// For `/proc/sys`, without the leading slash.
    pub sysctl: String,
    /// For `/sys`.
    pub tmpfiles: String,
}

impl Files {
    /// Those that keep one of these values, each a tunable's file and a text.
    pub fn used(&self, values: &[(&str, &str)]) -> impl Iterator<Item = &str> {
        let files = [
            (&self.sysctl, Kind::Sysctl),
            (&self.tmpfiles, Kind::Tmpfiles),
        ];
        let keeps = |kind| {
            values
                .iter()
                .any(|(path, _)| native::kind_for(path) == Some(kind))
        };
        let used = files.map(|(file, kind)| keeps(kind).then_some(file.as_str()));
        used.into_iter().flatten()
    }
}

/// Why a change was not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmError {
    /// The journals.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There is no such change.
    #[error("there is no change {id}: plimsoll status lists those that wait")]
    NoSuch {
        /// The number.
        id: u32,
    },
    /// It is taken back already.
    #[error("change {id} cannot be confirmed: it is taken back: {why}")]
    TooLate {
        /// The number.
        id: u32,
        /// Why.
        why: String,
    },
    /// Whoever applied it was stopped half-way, or one of its writes failed.
    #[error("change {id} is not all written: plimsoll undo {id}, then apply it again")]
    HalfWritten {
        /// The number.
        id: u32,
    },
    /// Somebody changed a value since.
    #[error(
        "change {id} cannot be confirmed: /{} is {} now and not {}: somebody changed it; \
         plimsoll undo {id} leaves that as it is",
        live.path, live.text, wanted.text
    )]
    Changed {
        /// The number.
        id: u32,
        /// What it was set to.
        wanted: Value,
        /// The value now.
        live: Value,
    },
    /// No native file can keep one of its values.
    #[error(
        "change {id} cannot outlive a reboot: /{path} is a device's own, and no file that is read \
         at boot reaches a device that comes later; confirm it without --persist"
    )]
    NotLasting {
        /// The number.
        id: u32,
        /// The tunable's file.
        path: String,
    },
}

impl From<Failure> for ConfirmError {
    fn from(failure: Failure) -> Self {
        Self::Ledger(failure.into())
    }
}

/// Confirms a change; with `files` it outlives a reboot.
///
/// # Errors
/// A [`ConfirmError`]; the change waits on as it did.
pub fn confirm(
    machine: &mut impl Machine,
    id: u32,
    files: Option<&Files>,
) -> Result<Change, ConfirmError> {
    let mut ledger = Ledger::open_to_write(machine)?;
    let change = ledger.get(id).ok_or(ConfirmError::NoSuch { id })?.clone();
    if let Phase::Undone { why } = change.phase {
        return Err(ConfirmError::TooLate { id, why });
    }
    if change.is_overdue(machine.since_boot()) {
        let why = "its time is over".into();
        return Err(ConfirmError::TooLate { id, why });
    }
    if !change.is_written() {
        return Err(ConfirmError::HalfWritten { id });
    }
    check(machine, &ledger, &change)?;
    if let Some(files) = files {
        make_lasting(machine, &mut ledger, &change, files)?;
    }
    let at = machine.unix_time();
    if change.is_of_this_boot {
        ledger.add(machine, Place::Run, Event::Confirmed { id, at })?;
    }
    machine.disarm(id);
    Ok(ledger.get(id).cloned().unwrap_or(change))
}

/// Every value that no later change covers is still ours.
fn check(machine: &mut impl Machine, ledger: &Ledger, change: &Change) -> Result<(), ConfirmError> {
    let id = change.id;
    for step in change.steps.iter().filter(|step| step.role != Role::Aside) {
        let live = step.live(machine)?;
        if !step.is_of_value(&live) && ledger.above(id, &step.cell, &live).is_none() {
            let wanted = step.new.clone();
            return Err(ConfirmError::Changed { id, wanted, live });
        }
    }
    Ok(())
}

/// The old values first, then the native files: when all of them are there it is confirmed.
fn make_lasting(
    machine: &mut impl Machine,
    ledger: &mut Ledger,
    change: &Change,
    files: &Files,
) -> Result<(), ConfirmError> {
    let id = change.id;
    let mut of_file: Vec<(&str, Kind, Vec<&Value>)> = vec![
        (&files.sysctl, Kind::Sysctl, vec![]),
        (&files.tmpfiles, Kind::Tmpfiles, vec![]),
    ];
    for step in change.steps.iter().filter(|step| step.role != Role::Aside) {
        let path = || step.new.path.clone();
        let kind = native::kind_for(&step.new.path);
        let kind = kind.ok_or_else(|| ConfirmError::NotLasting { id, path: path() })?;
        let file = of_file.iter_mut().find(|(_, it, _)| *it == kind);
        file.into_iter()
            .for_each(|(_, _, values)| values.push(&step.new));
    }
    of_file.retain(|(_, _, values)| !values.is_empty());
    let steps = change.steps.iter().map(|step| Step {
        old: ledger.lasting_old(id, step),
        ..step.clone()
    });
    let event = Event::Lasting {
        planned: change.planned(&machine.boot()?, steps.collect()),
        files: of_file.iter().map(|(file, ..)| (*file).into()).collect(),
    };
    ledger.add(machine, Place::Lib, event)?;
    for (file, kind, values) in of_file {
        let text = machine.native(file)?;
        let text = native::with(text.as_deref(), kind, id, &change.why, &values);
        machine.install(file, Some(&text))?;
    }
    let at = machine.unix_time();
    ledger.add(machine, Place::Lib, Event::Confirmed { id, at })?;
    Ok(())
}
