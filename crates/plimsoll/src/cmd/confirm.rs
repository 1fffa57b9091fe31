//! `plimsoll confirm`: a change stays.

use std::io::Write as _;

use anyhow::bail;
use change::{Change, Ledger, confirm};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;

use crate::changing::{self, native, settle, told};
use crate::exit::{ExitCode, heard};
use crate::term;

/// Confirm a change, so that it is not taken back
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The change [default: the only one that waits]
    #[arg(value_name = "ID")]
    id: Option<u32>,
    /// Keep it over reboots, in a file of sysctl.d or tmpfiles.d
    #[arg(long)]
    persist: bool,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Confirms.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    changing::check_place(&root, "confirm")?;
    let (mut machine, _) = settle::machine(&root, Box::new(host::changes::NoTimer))?;
    let id = args.id.map_or_else(|| only_pending(&mut machine), Ok)?;
    let ledger = Ledger::open(&mut machine)?;
    let change = ledger.get(id);
    let lasts = args.persist || change.is_some_and(|change| change.lasts);
    let files = change.filter(|_| lasts);
    let files = files
        .map(|change| native::files_of(&root, change))
        .transpose()?;
    let confirmed = confirm::confirm(&mut machine, id, files.as_ref())?;
    let done = format!("change {id} is confirmed");
    heard(args.tell(&confirmed), done)?;
    Ok(ExitCode::Done)
}

impl Args {
    fn tell(&self, confirmed: &Change) -> anyhow::Result<()> {
        let (mut out, now) = (term::out(), since_boot());
        if self.json {
            let told = told::Told::of(confirmed, vec![], now);
            return Ok(writeln!(
                out,
                "{}",
                shapes::text(&told::Changes::new(vec![told]))
            )?);
        }
        write!(out, "{}", told::change(confirmed, now, term::columns()))?;
        for file in &confirmed.files {
            writeln!(out, "  in /{file}")?;
        }
        Ok(())
    }
}

fn only_pending(machine: &mut Changes) -> anyhow::Result<u32> {
    let ledger = Ledger::open(machine)?;
    let pending: Vec<u32> = ledger
        .changes()
        .filter(|change| change.is_pending())
        .map(|change| change.id)
        .collect();
    match pending.as_slice() {
        [one] => Ok(*one),
        [] => {
            bail!("no change waits for a confirmation: plimsoll history says what became of them")
        }
        several => bail!(
            "several changes wait: say which, {}",
            several
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}
