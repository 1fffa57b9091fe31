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

/// For each change that waits and of which a step is in doubt: what was written of it.
pub(crate) fn stops(machine: &mut impl Machine, ledger: &Ledger) -> Result<Vec<Event>, Failure> {
    let mut stops = Vec::new();
    let waits = |change: &&Change| change.is_pending() && change.is_of_this_boot;
    let in_doubt = |change: &&Change| change.written.contains(&Written::InDoubt);
    for change in ledger.changes().filter(waits).filter(in_doubt) {
        stops.push(Event::Stopped {
            id: change.id,
            why: "the command that wrote it was stopped".to_owned(),
            found: found(machine, change)?,
        });
    }
    Ok(stops)
}

/// The steps in doubt that were written, with what their cells hold.
fn found(machine: &mut impl Machine, change: &Change) -> Result<Vec<(usize, Value)>, Failure> {
    let mut found = Vec::new();
    let mut is_first = true;
    for (at, step) in change.in_order() {
        if change.written[at] != Written::InDoubt {
            continue;
        }
        let may_be = match step.role {
            // The kernel changes it when another is written.
            Role::Aside => !found.is_empty() || change.written.contains(&Written::Yes),
            Role::Asked | Role::Follows => core::mem::take(&mut is_first),
        };
        if may_be && let Some(live) = written(machine, step)? {
            found.push((at, live));
        }
    }
    Ok(found)
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
