//! Applying: plan, journal, timer, write, read back.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use mm::settings::Setting;
use mm::units::Nanos;

use crate::cell::Cell;
use crate::change::Change;
use crate::event::{Event, Planned, Watch};
use crate::ledger::{Ledger, LedgerError};
use crate::machine::{Failure, Machine, Place, Value};
use crate::recover;
use crate::step::{Role, Step};
use crate::undo::{self, Left};
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
    /// A write failed, and what was written is taken back.
    #[error("{what}; change {id} is taken back{}", but_for(left))]
    TakenBack {
        /// The change.
        id: u32,
        /// What failed.
        what: String,
        /// What was not restored, because somebody else set it.
        left: Vec<Left>,
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

fn but_for(left: &[Left]) -> String {
    match left {
        [] => ": every value is as it was".to_owned(),
        left => {
            let lines = left.iter().map(Left::to_string).collect::<Vec<_>>();
            format!(", but for this: {}", lines.join("; "))
        }
    }
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
/// An [`ApplyError`]; everything is as it was, but for what [`ApplyError::TakenBack`] names. After
/// [`ApplyError::Stuck`] the change stands, with what is left of it.
pub fn apply(machine: &mut impl Machine, request: &Request) -> Result<Option<Change>, ApplyError> {
    let mut ledger = Ledger::open_to_write(machine)?;
    let steps = steps(machine, request)?;
    if steps.iter().all(|step| step.role == Role::Aside) {
        return Ok(None);
    }
    ledger.note_back(machine, &steps)?;
    let now = machine.since_boot();
    let watch = request.watch.map(|(time, band)| Watch {
        until: now + time,
        band,
    });
    let planned = Planned {
        id: ledger.next_id(),
        boot: machine.boot()?,
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
pub(crate) fn steps(
    machine: &mut impl Machine,
    request: &Request,
) -> Result<Vec<Step>, ApplyError> {
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
    let lost = || "it is not in the journal".to_owned();
    let change = ledger.get(id).cloned().ok_or_else(lost)?;
    for (at, step) in change.in_order() {
        match set(machine, step) {
            Ok(value) => {
                let event = Event::Wrote {
                    id,
                    step: at,
                    value,
                };
                let added = ledger.add(machine, Place::Run, event);
                added.map_err(|failure| failure.to_string())?;
            }
            Err(NotSet { why, left }) => {
                stop(machine, ledger, (id, at), left, &why);
                return Err(why);
            }
        }
    }
    ledger.get(id).cloned().ok_or_else(lost)
}

/// Puts a step that failed back, or else notes what it left, and what the kernel changed along with
/// the steps before it, so that it is taken back with them. Where even the journal fails, whoever
/// reads it next looks by itself.
fn stop(
    machine: &mut impl Machine,
    ledger: &mut Ledger,
    (id, at): (u32, usize),
    left: Option<Value>,
    why: &str,
) {
    let Some(change) = ledger.get(id).cloned() else {
        return;
    };
    let mut found = recover::moved(machine, &change);
    if let Some(new) = left {
        let step = Step {
            new: new.clone(),
            ..change.steps[at].clone()
        };
        // What the kernel changes along with others is put back last.
        let is_back = step.role == Role::Asked && undo::restore(machine, &step, true) == Ok(None);
        if !is_back {
            found.push((at, new));
        }
    }
    let why = why.to_owned();
    let stopped = Event::Stopped { id, why, found };
    ledger.add(machine, Place::Run, stopped).ok();
}

/// A step that failed.
pub(crate) struct NotSet {
    /// Why.
    pub(crate) why: String,
    /// What its cell holds since, where that is not what it held before.
    pub(crate) left: Option<Value>,
}

impl From<String> for NotSet {
    fn from(why: String) -> Self {
        Self { why, left: None }
    }
}

/// Writes one step and reads it back: the value that its cell has then.
pub(crate) fn set(machine: &mut impl Machine, step: &Step) -> Result<Value, NotSet> {
    let told = |failure: Failure| failure.to_string();
    match step.role {
        Role::Asked => still(machine, step)?,
        Role::Follows => {}
        Role::Aside => return Ok(step.live(machine).map_err(told)?),
    }
    let held = put(machine, &step.new);
    // A write that failed may have done a part, and one that cannot be read back all of it.
    let live = step.live(machine).unwrap_or_else(|_| step.new.clone());
    let why = match held {
        Ok(held) if step.is_taken_as(&held, &live) => return Ok(live),
        Ok(held) => not_taken(step, &held),
        Err(failure) => failure.to_string(),
    };
    let left = (!step.same(&live, &step.old)).then_some(live);
    Err(NotSet { why, left })
}

/// Writes a value, and reads what its file holds then.
fn put(machine: &mut impl Machine, value: &Value) -> Result<Value, Failure> {
    machine.write(value)?;
    let path = value.path.clone();
    let text = machine.read(&path)?;
    Ok(Value { path, text })
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
        Ok(undo::Undone { left, .. }) => ApplyError::TakenBack { id, what, left },
        Err(error) => ApplyError::Stuck { id, what, error },
    }
}
