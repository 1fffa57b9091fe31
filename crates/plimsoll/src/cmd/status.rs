//! `plimsoll status`: what we set, what it is now, and who changed it.

use std::io::Write as _;

use change::Role;
use change::status::{Status, status};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;
use host::watcher::{self, Life};
use mm::units::Nanos;

use crate::changing::{native, told};
use crate::exit::ExitCode;
use crate::term::{self, bad};

/// Show the changes that stand, and whether their values still hold; needs no root
///
/// The exit code is 1 where a value was changed since or a later change covers it, where a change
/// is only partly written or waits for confirmation without a timer, or where another file wins at
/// the next boot.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Shows.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    let standing = status(&mut Changes::look(&root))?;
    let now = since_boot();
    let troubles: Vec<Vec<String>> = standing.iter().map(|it| trouble(it, &root, now)).collect();
    let mut out = term::out();
    if args.json {
        let told = standing.iter().zip(&troubles);
        let told = told.map(|(it, trouble)| told::Told::of(&it.change, trouble.clone(), now));
        writeln!(out, "{}", shapes::text(&told::Changes::new(told.collect())))?;
    } else if standing.is_empty() {
        writeln!(out, "no change of plimsoll's stands")?;
    } else {
        for (it, trouble) in standing.iter().zip(&troubles) {
            write!(out, "{}", told::change(&it.change, now, term::columns()))?;
            for line in trouble {
                writeln!(out, "  {} {line}", bad("!"))?;
            }
        }
    }
    let is_well = troubles.iter().all(Vec::is_empty);
    Ok(if is_well {
        ExitCode::Done
    } else {
        ExitCode::No
    })
}

/// What is not as this change set it, a line each.
fn trouble(standing: &Status, root: &Root, now: Nanos) -> Vec<String> {
    let change = &standing.change;
    let mut lines = told::drift(standing);
    if change.is_overdue(now) {
        let id = change.id;
        lines.push(format!(
            "nothing took it back in time: plimsoll undo {id} does"
        ));
    } else if change.is_pending() {
        lines.extend(unwatched(root, change.id));
    }
    if let Some(why) = change.stopped.as_ref().filter(|_| change.is_pending()) {
        lines.push(format!("it is not all written: {why}"));
    }
    if !change.files.is_empty() && !change.is_pending() {
        let asked = change.steps.iter().any(|step| step.role != Role::Aside);
        lines.extend(native::loses(root, change).filter(|_| asked));
    }
    lines
}

/// What is wrong with what waits to take a change back.
fn unwatched(root: &Root, id: u32) -> Option<String> {
    match watcher::life(root, id) {
        Life::Runs => None,
        Life::Gone => Some(format!(
            "nothing waits to take it back: plimsoll confirm {id} or plimsoll undo {id}"
        )),
        Life::Unknown(why) => Some(format!(
            "whether anything waits to take it back cannot be told: {why}"
        )),
    }
}
