//! `plimsoll undo`: a change is taken back.

use std::io::Write as _;

use anyhow::{Context as _, bail};
use change::{Ledger, undo};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;

use crate::changing::{self, settle, told};
use crate::exit::ExitCode;
use crate::term;

/// Undo a change: restore every old value and remove its lines from native files
///
/// A value that was set by somebody else since stays, and is named. Changes may be undone in any
/// order.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The change [default: the latest that stands]
    #[arg(value_name = "ID")]
    id: Option<u32>,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Takes back.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    changing::check_place(&root, "undo")?;
    let mut machine = settle::machine(&root, Box::new(host::changes::NoTimer))?;
    let id = args.id.map_or_else(|| latest(&mut machine), Ok)?;
    let undone = undo::undo(&mut machine, id, "asked for")?;
    let left: Vec<String> = undone.left.iter().map(ToString::to_string).collect();
    let ledger = Ledger::open(&mut machine)?;
    let change = ledger.get(id).context("the journal has lost the change")?;
    let now = since_boot();
    if args.json {
        let told = told::Told::of(change, left, now);
        let text = serde_json::to_string(&told::Changes::new(vec![told]))?;
        writeln!(term::out(), "{text}")?;
        return Ok(ExitCode::Done);
    }
    let mut out = term::out();
    match left.is_empty() {
        true => writeln!(
            out,
            "change {id} is taken back: every old value is restored"
        )?,
        false => writeln!(out, "change {id} is taken back, but for this:")?,
    }
    for line in left {
        writeln!(out, "  {line}")?;
    }
    Ok(ExitCode::Done)
}

fn latest(machine: &mut Changes) -> anyhow::Result<u32> {
    let ledger = Ledger::open(machine)?;
    let standing = ledger.changes().rev().find(|change| change.stands());
    match standing {
        Some(change) => Ok(change.id),
        None => bail!("no change stands: there is nothing to take back"),
    }
}
