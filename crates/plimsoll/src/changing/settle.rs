//! Changes whose time is over: the next command that writes takes them back first.

use change::undo::{self, Left, Undone};
use host::Root;
use host::changes::{Changes, Timer};

/// This machine with the lock held, and nothing overdue; what was taken back is told on stderr.
pub(crate) fn machine(root: &Root, timer: Box<dyn Timer>) -> anyhow::Result<Changes> {
    let mut machine = Changes::lock(root, timer)?;
    for undone in undo::settle(&mut machine)? {
        let id = undone.change.id;
        anstream::eprintln!("change {id} is taken back: nobody confirmed it in time");
        for line in left(&undone) {
            anstream::eprintln!("  {line}");
        }
    }
    Ok(machine)
}

/// What was left as it is, a line each.
pub(crate) fn left(undone: &Undone) -> Vec<String> {
    let line = |left: &Left| match left {
        Left::Changed { step, live } => format!(
            "/{} stays {}: somebody set that since, and change {} had set {}",
            live.path, live.text, undone.change.id, step.new.text
        ),
        Left::Covered { step, by } => format!(
            "{} stays: change {by} covers it, and goes back to what was before this one",
            step.cell
        ),
        Left::Line { file, line } => {
            format!("/{file}: somebody wrote `{line}` there; the line stays")
        }
    };
    undone.left.iter().map(line).collect()
}
