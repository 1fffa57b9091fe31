//! `plimsoll history`: every change, and what became of it.

use std::io::Write as _;

use change::Ledger;
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
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Shows, the latest first.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let ledger = Ledger::open(&mut Changes::look(&Root::default()))?;
    let now = since_boot();
    let mut out = term::out();
    if args.json {
        let told = ledger.changes().rev();
        let told = told.map(|change| told::Told::of(change, vec![], now));
        let text = serde_json::to_string(&told::Changes::new(told.collect()))?;
        writeln!(out, "{text}")?;
        return Ok(ExitCode::Done);
    }
    if ledger.changes().next().is_none() {
        writeln!(out, "plimsoll has changed nothing here")?;
    }
    for change in ledger.changes().rev() {
        write!(out, "{}", told::change(change, now, term::columns()))?;
    }
    Ok(ExitCode::Done)
}
