//! `plimsoll undo`: changes are taken back.

use std::io::Write as _;

use anyhow::{Context as _, bail};
use change::undo::{self, Undone};
use change::{Ledger, Machine, Rehearsal};
use host::Root;
use host::changes::{Changes, NoTimer};
use host::facts::since_boot;

use crate::changing::{self, settle, told};
use crate::exit::{ExitCode, heard};
use crate::term;

/// Undo changes: restore every old value and remove their lines from native files
///
/// A value that somebody else has set since then stays, and is named. Changes may be undone in any
/// order.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The changes, in this order [default: the latest that stands]
    #[arg(value_name = "ID")]
    ids: Vec<u32>,
    /// Undo every change that stands, the latest first
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Show what would be restored, and change nothing; needs no root
    #[arg(long)]
    dry_run: bool,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Takes back.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let root = Root::default();
    if args.dry_run {
        let mut machine = Rehearsal::new(Changes::look(&root));
        let ids = args.chosen(&mut machine)?;
        let done = take_back(&mut machine, &ids);
        for write in machine.writes.iter().filter(|_| !args.json) {
            writeln!(term::out(), "/{} would be {}", write.path, write.text)?;
        }
        for file in machine.files().filter(|_| !args.json) {
            writeln!(term::out(), "/{file} would lose its lines")?;
        }
        return args.tell(&mut machine, done);
    }
    changing::check_place(&root, "undo")?;
    let (mut machine, settled) = settle::machine(&root, Box::new(NoTimer))?;
    // What was overdue is taken back already: whoever asks for it, or for the latest, has it.
    let asked = |undone: &Undone| args.ids.is_empty() || args.ids.contains(&undone.change.id);
    let mut undone: Vec<Undone> = settled.undone.into_iter().filter(asked).collect();
    let mut ids = match args.ids.is_empty() && !args.all && !undone.is_empty() {
        true => vec![],
        false => args.chosen(&mut machine)?,
    };
    ids.retain(|id| undone.iter().all(|undone| undone.change.id != *id));
    let rest = take_back(&mut machine, &ids);
    undone.extend(rest.undone);
    let stuck = rest.stuck;
    args.tell(&mut machine, Done { undone, stuck })
}

/// What was taken back, and why the rest was not.
#[derive(Debug, Default)]
struct Done {
    undone: Vec<Undone>,
    stuck: Vec<String>,
}

impl Done {
    /// `changes 3, 5 are taken back`.
    fn taken_back(&self) -> String {
        let ids = self.undone.iter().map(|undone| undone.change.id);
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        match ids.as_slice() {
            [one] => format!("change {one} is taken back"),
            several => format!("changes {} are taken back", several.join(", ")),
        }
    }
}

fn take_back(machine: &mut impl Machine, ids: &[u32]) -> Done {
    let mut done = Done::default();
    for id in ids {
        match undo::undo(machine, *id, "asked for") {
            Ok(undone) => done.undone.push(undone),
            Err(stuck) => done.stuck.push(stuck.to_string()),
        }
    }
    done
}

impl Args {
    fn chosen(&self, machine: &mut impl Machine) -> anyhow::Result<Vec<u32>> {
        let mut ids: Vec<u32> = vec![];
        for id in &self.ids {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        let ledger = Ledger::open(machine)?;
        let standing = ledger.changes().rev().filter(|change| change.stands());
        let standing: Vec<u32> = standing.map(|change| change.id).collect();
        match self.all {
            true => ids = standing,
            false if ids.is_empty() => ids.extend(standing.first()),
            false => {}
        }
        Ok(ids)
    }

    fn tell(&self, machine: &mut impl Machine, done: Done) -> anyhow::Result<ExitCode> {
        let told = self.tell_all(machine, &done.undone);
        let told = match done.undone.is_empty() || self.dry_run {
            true => told,
            false => heard(told, done.taken_back()),
        };
        let none = "no change stands: there is nothing to take back";
        match (done.stuck.as_slice(), told) {
            ([], told) => told?,
            (stuck, Err(unheard)) => bail!("{}; {unheard:#}", stuck.join("; ")),
            (stuck, Ok(())) => bail!("{}", stuck.join("; ")),
        }
        match (done.undone.as_slice(), self.all) {
            ([], false) => bail!(none),
            ([], true) if !self.json => writeln!(term::out(), "{none}")?,
            _ => {}
        }
        Ok(ExitCode::Done)
    }

    fn tell_all(&self, machine: &mut impl Machine, undone: &[Undone]) -> anyhow::Result<()> {
        let ledger = Ledger::open(machine)?;
        let now = since_boot();
        let mut all = vec![];
        for undone in undone {
            let id = undone.change.id;
            let left: Vec<String> = undone.left.iter().map(ToString::to_string).collect();
            if !self.json {
                self.tell_one(id, &left)?;
            }
            let change = ledger.get(id).context("the journal has lost the change")?;
            all.push(told::Told::of(change, left, now));
        }
        if self.json {
            writeln!(term::out(), "{}", shapes::text(&told::Changes::new(all)))?;
        }
        Ok(())
    }

    fn tell_one(&self, id: u32, left: &[String]) -> anyhow::Result<()> {
        let is = if self.dry_run { "would be" } else { "is" };
        let rest = match left {
            [] => ": every old value is restored",
            _ => ", but for this:",
        };
        writeln!(term::out(), "change {id} {is} taken back{rest}")?;
        for line in left {
            writeln!(term::out(), "  {line}")?;
        }
        Ok(())
    }
}
