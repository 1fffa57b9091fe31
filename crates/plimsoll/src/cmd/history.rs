//! `plimsoll history`: every change, and what became of it.

use std::io::Write as _;

use anyhow::bail;
use change::{Change, Ledger};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;

use crate::changing::told;
use crate::exit::ExitCode;
use crate::term;

/// Show every change of this boot and those that outlived a reboot, and what became of each; needs
/// no root
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The change [default: all of them]
    #[arg(value_name = "ID")]
    id: Option<u32>,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Shows, the latest first.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let ledger = Ledger::open(&mut Changes::look(&Root::default()))?;
    let now = since_boot();
    let mut out = term::out();
    let wanted = |change: &&Change| args.id.is_none_or(|id| change.id == id);
    let changes: Vec<&Change> = ledger.changes().rev().filter(wanted).collect();
    if let (Some(id), true) = (args.id, changes.is_empty()) {
        bail!("there is no change {id}: plimsoll history lists them");
    }
    if args.json {
        let told = changes.into_iter();
        let told = told.map(|change| told::Told::of(change, vec![], now));
        writeln!(out, "{}", shapes::text(&told::Changes::new(told.collect())))?;
        return Ok(ExitCode::Done);
    }
    if changes.is_empty() {
        writeln!(out, "plimsoll has changed nothing here")?;
    }
    for change in changes {
        write!(out, "{}", told::change(change, now, term::columns()))?;
    }
    Ok(ExitCode::Done)
}
