//! How far a change came whose writing was cut short.
//!
//! Each step is read back before the next is written. So of the steps that the journal does not
//! know to be written only the first may be, and its cell tells.

use alloc::borrow::ToOwned as _;
use alloc::vec::Vec;

use crate::change::{Change, Written};
use crate::event::Event;
use crate::ledger::Ledger;
use crate::machine::{Failure, Kind, Machine, Value};
use crate::step::{Role, Step};

/// The changes that wait and of which a step is in doubt.
pub(crate) fn doubtful(ledger: &Ledger) -> Vec<Change> {
    let waits = |change: &&Change| change.is_pending() && change.is_of_this_boot;
    let in_doubt = |change: &&Change| change.written.contains(&Written::InDoubt);
    let doubtful = ledger.changes().filter(waits).filter(in_doubt);
    doubtful.cloned().collect()
}

/// What was written of a change of which a step is in doubt.
///
/// # Errors
/// A cell cannot be read, so that nothing is known.
pub(crate) fn stopped(machine: &mut impl Machine, change: &Change) -> Result<Event, Failure> {
    let mut in_order = change.in_order();
    let is_next = |(at, step): &(usize, &Step)| {
        change.written[*at] == Written::InDoubt && step.role == Role::Asked
    };
    let mut found = Vec::new();
    if let Some((at, step)) = in_order.find(is_next)
        && let Some(live) = written(machine, step)?
    {
        found.push((at, live));
    }
    let is_begun = !found.is_empty() || change.written.contains(&Written::Yes);
    if is_begun {
        found.extend(moved(machine, change));
    }
    Ok(Event::Stopped {
        id: change.id,
        why: "the command that wrote it was stopped".to_owned(),
        found,
    })
}

/// What the kernel changed along with the steps that were written, and nobody noted.
pub(crate) fn moved(machine: &mut impl Machine, change: &Change) -> Vec<(usize, Value)> {
    let steps = change.steps.iter().enumerate();
    let along = steps
        .filter(|(at, step)| step.role != Role::Asked && change.written[*at] == Written::InDoubt);
    let moved = along.filter_map(|(at, step)| Some((at, written(machine, step).ok()??)));
    moved.collect()
}

/// What a cell holds, where that is what this step wrote.
fn written(machine: &mut impl Machine, step: &Step) -> Result<Option<Value>, Failure> {
    let live = match step.live(machine) {
        Err(failure) if failure.kind == Kind::Missing => return Ok(None),
        live => live?,
    };
    let is_ours = match step.is_told_by_the_kernel() {
        true => !step.same(&live, &step.old),
        false => step.is_of_value(&live),
    };
    Ok(is_ours.then_some(live))
}
