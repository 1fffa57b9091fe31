//! Taking a change back.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::change::{Change, Phase};
use crate::event::Event;
use crate::ledger::{Ledger, LedgerError};
use crate::machine::{Failure, Kind, Machine, Place, Value};
use crate::native;
use crate::step::{Role, Step};

/// What became of a change that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The change, as it was.
    pub change: Change,
    /// What was not restored, and why.
    pub left: Vec<Left>,
}

/// Something that was left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// Somebody set another value since.
    Changed {
        /// The step.
        step: Step,
        /// The value now.
        live: Value,
    },
    /// A later change covers it, and goes back to what was before this one.
    Covered {
        /// The step.
        step: Step,
        /// The later change.
        by: u32,
    },
    /// Its file is gone, as that of a removed device, and the value with it.
    Gone {
        /// The file, without the leading slash.
        path: String,
    },
    /// Somebody wrote this line into our block of a native file.
    Line {
        /// The file, without the leading slash.
        file: String,
        /// The line.
        line: String,
    },
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { step, live } => write!(
                f,
                "/{} stays {}: somebody set that since, and it had been set to {}",
                live.path, live.text, step.new.text
            ),
            Self::Covered { step, by } => write!(
                f,
                "{} stays: change {by} covers it, and goes back to what was before this one",
                step.cell
            ),
            Self::Gone { path } => write!(f, "/{path} is gone, and its value with it"),
            Self::Line { file, line } => {
                write!(f, "/{file}: somebody wrote `{line}` there; the line stays")
            }
        }
    }
}

/// Why a change was not taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// The journals.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There is no such change.
    #[error("there is no change {id}: plimsoll history lists them")]
    NoSuch {
        /// The number.
        id: u32,
    },
    /// It is taken back already.
    #[error("change {id} is taken back already: {why}")]
    Already {
        /// The number.
        id: u32,
        /// Why.
        why: String,
    },
    /// Some values could not be written; the others are as they were, and it can be tried again.
    #[error("{}; the rest of change {id} is taken back; try again", told(failures))]
    Stuck {
        /// The number.
        id: u32,
        /// What the system says.
        failures: Vec<Failure>,
    },
}

impl From<Failure> for UndoError {
    fn from(failure: Failure) -> Self {
        Self::Ledger(failure.into())
    }
}

fn told(failures: &[Failure]) -> String {
    let failures = failures.iter().map(Failure::to_string);
    failures.collect::<Vec<_>>().join("; ")
}

/// Takes a change back: its native lines go, each value that is still ours becomes what it was, in
/// reverse order. What somebody else set since is left. One that was cut short is taken up again.
///
/// # Errors
/// An [`UndoError`].
pub fn undo(machine: &mut impl Machine, id: u32, why: &str) -> Result<Undone, UndoError> {
    let mut ledger = Ledger::open_to_write(machine)?;
    let change = ledger.get(id).ok_or(UndoError::NoSuch { id })?.clone();
    let is_lasting = !change.files.is_empty();
    if let Phase::Undone { why } = &change.phase
        && (!is_lasting || ledger.is_undone_for_good(id))
    {
        let why = why.clone();
        return Err(UndoError::Already { id, why });
    }
    if is_lasting {
        // A full disk keeps nobody from taking a change back; the last event will say that it is.
        let _ = ledger.note_undoing(machine, id, why);
    }
    let (mut left, mut failures) = (vec![], vec![]);
    remove_lines(machine, &change, &mut left, &mut failures);
    restore_all(machine, &ledger, &change, &mut left, &mut failures);
    if !failures.is_empty() {
        return Err(UndoError::Stuck { id, failures });
    }
    let at = machine.unix_time();
    let why = why.to_owned();
    let event = Event::Undone { id, at, why };
    ledger.add(machine, Place::Run, event.clone())?;
    if is_lasting {
        ledger.add(machine, Place::Lib, event)?;
    }
    if change.is_pending() {
        machine.disarm(id);
    }
    Ok(Undone { change, left })
}

/// What became of the changes whose time is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Those that were taken back, the latest first.
    pub undone: Vec<Undone>,
    /// Why others were not; each can be tried again.
    pub stuck: Vec<UndoError>,
}

/// Takes back every change whose time is over, the latest first, and completes confirmations that
/// were cut when all but their last line was written. One that cannot be taken back holds up no
/// other.
///
/// # Errors
/// A [`LedgerError`].
pub fn settle(machine: &mut impl Machine) -> Result<Settled, LedgerError> {
    let mut ledger = Ledger::open_to_write(machine)?;
    for id in ledger.unsaid() {
        let at = machine.unix_time();
        ledger.add(machine, Place::Lib, Event::Confirmed { id, at })?;
    }
    let now = machine.since_boot();
    let overdue = ledger
        .changes()
        .rev()
        .filter(|change| change.is_overdue(now));
    let overdue: Vec<u32> = overdue.map(|change| change.id).collect();
    let mut settled = Settled::default();
    for id in overdue {
        match undo(machine, id, "nobody confirmed it in time") {
            Ok(undone) => settled.undone.push(undone),
            Err(stuck) => settled.stuck.push(stuck),
        }
    }
    Ok(settled)
}

/// Every file is tried, whichever fails.
fn remove_lines(
    machine: &mut impl Machine,
    change: &Change,
    left: &mut Vec<Left>,
    failures: &mut Vec<Failure>,
) {
    for file in &change.files {
        match remove_from(machine, change, file) {
            Ok(foreign) => left.extend(foreign.into_iter().map(|line| Left::Line {
                file: file.clone(),
                line,
            })),
            Err(failure) => failures.push(failure),
        }
    }
}

/// The lines of ours that are somebody else's by now, which stay.
fn remove_from(
    machine: &mut impl Machine,
    change: &Change,
    file: &str,
) -> Result<Vec<String>, Failure> {
    let text = machine.native(file)?;
    let Some(text) = text.filter(|text| native::has(text, change.id)) else {
        return Ok(vec![]);
    };
    let kind = native::kind_of(file);
    let ours = change
        .steps
        .iter()
        .map(|step| native::line(kind, &step.new));
    let ours: Vec<String> = ours.collect();
    let (kept, foreign) = native::without(&text, change.id, &ours);
    machine.install(file, kept.as_deref())?;
    Ok(foreign)
}

/// Puts back what was written and is still ours, in reverse order. Whose a value is, is asked
/// before the first write: the kernel changes some by itself when another is written, and those are
/// put back last. Every value is tried, whichever fails.
fn restore_all(
    machine: &mut impl Machine,
    ledger: &Ledger,
    change: &Change,
    left: &mut Vec<Left>,
    failures: &mut Vec<Failure>,
) {
    let mut ours = vec![];
    for step in change.written().rev() {
        match theirs(machine, ledger, change.id, step) {
            Ok(Some(theirs)) => left.push(theirs),
            Ok(None) => ours.push(step),
            Err(failure) => failures.push(failure),
        }
    }
    for step in ours {
        match restore(machine, step, true) {
            Ok(changed) => left.extend(changed),
            Err(failure) => failures.push(failure),
        }
    }
}

/// Why a value is not ours to put back.
fn theirs(
    machine: &mut impl Machine,
    ledger: &Ledger,
    id: u32,
    step: &Step,
) -> Result<Option<Left>, Failure> {
    let live = match step.live(machine) {
        Err(Failure {
            path,
            kind: Kind::Missing,
            ..
        }) => return Ok(Some(Left::Gone { path })),
        live => live?,
    };
    let covered = ledger.above(id, &step.cell, &live);
    let covered = covered.map(|by| Left::Covered {
        step: step.clone(),
        by,
    });
    Ok(covered.or_else(|| changed(step, &live)))
}

/// Whether somebody set a value of their own.
fn changed(step: &Step, live: &Value) -> Option<Left> {
    let is_ours = step.is_of_value(live) || step.same(live, &step.old);
    (!is_ours).then(|| Left::Changed {
        step: step.clone(),
        live: live.clone(),
    })
}

/// Writes the old value, where it is not there, and reads it back.
pub(crate) fn restore(
    machine: &mut impl Machine,
    step: &Step,
    is_written: bool,
) -> Result<Option<Left>, Failure> {
    let live = step.live(machine)?;
    let is_known = step.role == Role::Asked && (is_written || !step.is_told_by_the_kernel());
    let changed = changed(step, &live).filter(|_| is_known);
    if changed.is_some() || step.same(&live, &step.old) {
        return Ok(changed);
    }
    machine.write(&step.old)?;
    let held = step.live(machine)?;
    if step.same(&held, &step.old) {
        return Ok(None);
    }
    let (wanted, path) = (&step.old.text, held.path);
    let reason = format!("the kernel took {wanted} and holds {}", held.text);
    let kind = Kind::Refused;
    Err(Failure { path, reason, kind })
}
