//! Applying: plan, journal, timer, write, read back.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use mm::settings::Setting;
use mm::units::Nanos;

use crate::cell::Cell;
use crate::event::{Event, Planned, Watch};
use crate::ledger::{Change, Ledger, LedgerError};
use crate::machine::{Failure, Machine, Place, Value};
use crate::step::{Role, Step};
use crate::undo;
use crate::watch::Band;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The settings, by the catalogue's names, in the order in which they are written.
    pub settings: Vec<Setting>,
    /// How long the change waits for a confirmation.
    pub confirm: Nanos,
    /// Why it is made; may be empty.
    pub why: String,
    /// Whether it is to outlive a reboot once it is confirmed.
    pub lasts: bool,
    /// For how long what it does is watched, and by which limits.
    pub watch: Option<(Nanos, Band)>,
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The journals.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Something was asked for that no change can do.
    #[error("{setting}: no tunable that can be set and taken back")]
    Unknown {
        /// The setting.
        setting: Setting,
    },
    /// A value could not be read, so there is nothing to go back to.
    #[error("nothing was written: {0}")]
    Read(Failure),
    /// The timer does not run.
    #[error("nothing was written: the timer that takes the change back cannot be armed: {0}")]
    Unarmed(Failure),
    /// A write failed, and the steps before it were taken back.
    #[error("{what}; nothing is changed: what was written before it is taken back (change {id})")]
    TakenBack {
        /// The change.
        id: u32,
        /// What failed.
        what: String,
    },
    /// A write failed, and so did the way back.
    #[error("{what}; taking back what was written failed too: {error}; run plimsoll undo {id}")]
    Stuck {
        /// The change.
        id: u32,
        /// What failed.
        what: String,
        /// Why the way back failed.
        error: undo::UndoError,
    },
}

impl From<Failure> for ApplyError {
    fn from(failure: Failure) -> Self {
        Self::Ledger(failure.into())
    }
}

/// Makes a change, which then waits for a confirmation. `None`: every value is as it was asked for
/// already, and nothing was written.
///
/// # Errors
/// An [`ApplyError`]; unless it says [`ApplyError::Stuck`] everything is as it was.
pub fn apply(machine: &mut impl Machine, request: &Request) -> Result<Option<Change>, ApplyError> {
    let mut ledger = Ledger::open(machine)?;
    let steps = steps(machine, request)?;
    if steps.iter().all(|step| step.role == Role::Aside) {
        return Ok(None);
    }
    let now = machine.since_boot();
    let watch = request.watch.map(|(time, band)| Watch {
        until: now + time,
        band,
    });
    let planned = Planned {
        id: ledger.next_id(),
        boot: machine.boot(),
        at: machine.unix_time(),
        deadline: now + request.confirm,
        why: request.why.clone(),
        lasts: request.lasts,
        watch,
        steps,
    };
    let (id, deadline) = (planned.id, planned.deadline);
    ledger.add(machine, Place::Run, Event::Planned(planned))?;
    if let Err(failure) = machine.arm(id, deadline) {
        let at = machine.unix_time();
        let why = format!("its timer could not be armed: {failure}");
        ledger.add(machine, Place::Run, Event::Undone { id, at, why })?;
        return Err(ApplyError::Unarmed(failure));
    }
    match write(machine, &mut ledger, id) {
        Ok(change) => Ok(Some(change)),
        Err(what) => Err(take_back(machine, id, what)),
    }
}

/// The steps of a request, without those that are so already. What the kernel changes by itself
/// stands first, so that it is put back last.
fn steps(machine: &mut impl Machine, request: &Request) -> Result<Vec<Step>, ApplyError> {
    let (mut asked, mut touched): (Vec<Step>, Vec<Cell>) = (vec![], vec![]);
    for setting in &request.settings {
        let unknown = || ApplyError::Unknown {
            setting: setting.clone(),
        };
        let cell = Cell::of(&setting.tunable).ok_or_else(unknown)?;
        let named = mm::catalogue::named(&setting.tunable).ok_or_else(unknown)?;
        let (path, text) = (named.path(), setting.value.clone());
        let new = Value { path, text };
        touched.extend(named.touched().filter_map(|it| Cell::of(&it.to_string())));
        asked.retain(|step| step.cell != cell.name);
        asked.extend(step(machine, &cell, Some(new))?);
    }
    let mut steps: Vec<Step> = vec![];
    for cell in touched {
        if steps.iter().any(|step| step.cell == cell.name) {
            continue;
        }
        match asked.iter().position(|step| step.cell == cell.name) {
            Some(at) => steps.push(Step {
                role: Role::Follows,
                ..asked.remove(at)
            }),
            // What this kernel does not have cannot change by itself.
            None => steps.extend(step(machine, &cell, None).ok().flatten()),
        }
    }
    steps.append(&mut asked);
    Ok(steps)
}

/// What is done to a cell; `None` where it is so already.
pub(crate) fn step(
    machine: &mut impl Machine,
    cell: &Cell,
    new: Option<Value>,
) -> Result<Option<Step>, ApplyError> {
    let old = cell
        .read(|path| machine.read(path))
        .map_err(ApplyError::Read)?;
    let role = new.as_ref().map_or(Role::Aside, |_| Role::Asked);
    let new = new.unwrap_or_else(|| old.clone());
    if role == Role::Asked && is_so(machine, cell, &old, &new)? {
        return Ok(None);
    }
    let cell = cell.name.clone();
    Ok(Some(Step {
        cell,
        old,
        new,
        role,
    }))
}

/// Whether a cell has a value already; a view of it is asked itself.
fn is_so(
    machine: &mut impl Machine,
    cell: &Cell,
    old: &Value,
    new: &Value,
) -> Result<bool, ApplyError> {
    if !cell.has_views || old.path == new.path {
        return Ok(cell.same(old, new));
    }
    let text = machine.read(&new.path).map_err(ApplyError::Read)?;
    let path = new.path.clone();
    Ok(cell.same(&Value { path, text }, new))
}

/// Writes the steps and reads each back; then notes what changed by itself.
fn write(machine: &mut impl Machine, ledger: &mut Ledger, id: u32) -> Result<Change, String> {
    let steps = ledger.get(id).map(|change| change.steps.clone());
    let steps: Vec<(usize, Step)> = steps.unwrap_or_default().into_iter().enumerate().collect();
    for role in [Role::Asked, Role::Follows, Role::Aside] {
        for (at, step) in steps.iter().filter(|(_, step)| step.role == role) {
            let value = set(machine, step)?;
            let event = Event::Wrote {
                id,
                step: *at,
                value,
            };
            let added = ledger.add(machine, Place::Run, event);
            added.map_err(|failure| failure.to_string())?;
        }
    }
    let change = ledger.get(id).cloned();
    change.ok_or_else(|| "it is not in the journal".to_owned())
}

/// Writes one step and reads it back: the value that its cell has then.
pub(crate) fn set(machine: &mut impl Machine, step: &Step) -> Result<Value, String> {
    let told = |failure: Failure| failure.to_string();
    match step.role {
        Role::Asked => still(machine, step)?,
        Role::Follows => {}
        Role::Aside => return step.live(machine).map_err(told),
    }
    machine.write(&step.new).map_err(told)?;
    let path = step.new.path.clone();
    let text = machine.read(&path).map_err(told)?;
    let held = Value { path, text };
    let live = step.live(machine).map_err(told)?;
    // In bytes a device's part is rounded to a share: that it moved is all that can be asked.
    let is_rounded = step.is_told_by_the_kernel() && !step.same(&live, &step.old);
    match step.same(&held, &step.new) || is_rounded {
        true => Ok(live),
        false => Err(not_taken(step, &held)),
    }
}

/// What is overwritten must be what is gone back to.
fn still(machine: &mut impl Machine, step: &Step) -> Result<(), String> {
    let live = step.live(machine).map_err(|f| f.to_string())?;
    let Value { path, text } = &live;
    match step.same(&live, &step.old) {
        true => Ok(()),
        false => Err(format!("/{path}: somebody set it to {text} just now")),
    }
}

fn not_taken(step: &Step, held: &Value) -> String {
    let Value { path, text } = &step.new;
    let held_text = held.text.trim();
    let how = match step.same(held, &step.old) {
        true => "it kept the old value, as it does with one it cannot use",
        false => "it adjusted the value",
    };
    format!("/{path}: the kernel took {text} and holds {held_text}: {how}")
}

fn take_back(machine: &mut impl Machine, id: u32, what: String) -> ApplyError {
    match undo::undo(machine, id, &what) {
        Ok(_) => ApplyError::TakenBack { id, what },
        Err(error) => ApplyError::Stuck { id, what, error },
    }
}
