//! Changes whose time is over: the next command that writes takes them back first.

use change::undo;
use host::Root;
use host::changes::{Changes, Timer};

/// This machine with the lock held, and nothing overdue; what was taken back is told on stderr.
pub(crate) fn machine(root: &Root, timer: Box<dyn Timer>) -> anyhow::Result<Changes> {
    let mut machine = Changes::lock(root, timer)?;
    for undone in undo::settle(&mut machine)? {
        let id = undone.change.id;
        anstream::eprintln!("change {id} is taken back: nobody confirmed it in time");
        for left in &undone.left {
            anstream::eprintln!("  {left}");
        }
    }
    Ok(machine)
}
