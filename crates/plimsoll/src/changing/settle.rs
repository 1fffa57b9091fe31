//! Changes whose time is over: the next command that writes takes them back first.

use std::collections::BTreeSet;

use change::undo::{self, Settled};
use change::{Change, Ledger};
use host::Root;
use host::changes::{Changes, Timer};
use host::watcher;

use crate::term::warn;

/// This machine with the lock held, and what was overdue; that is told on stderr. What commands
/// that were killed left is gone.
pub(crate) fn machine(root: &Root, timer: Box<dyn Timer>) -> anyhow::Result<(Changes, Settled)> {
    let mut machine = Changes::lock(root, timer)?;
    let settled = undo::settle(&mut machine)?;
    for undone in &settled.undone {
        let id = undone.change.id;
        warn(format_args!(
            "change {id} is taken back: nobody confirmed it in time"
        ));
        for left in &undone.left {
            warn(format_args!("  {left}"));
        }
    }
    for stuck in &settled.stuck {
        warn(format_args!(
            "nobody confirmed a change in time, and it stands: {stuck}"
        ));
    }
    let ledger = Ledger::open(&mut machine)?;
    let files: BTreeSet<&String> = ledger.changes().flat_map(|change| &change.files).collect();
    files.into_iter().for_each(|file| machine.sweep(file));
    watcher::sweep(root, |id| ledger.get(id).is_some_and(Change::is_pending));
    Ok((machine, settled))
}
