//! What a recorder asks about tasks, by `/proc`.

use host::{Root, groups};
use recorder::Tasks;

/// The tasks of a machine.
pub(super) struct Threads<'a>(pub(super) &'a Root);

impl Tasks for Threads<'_> {
    fn exists(&self, thread: u32) -> bool {
        self.0.is_directory(&format!("proc/{thread}"))
    }

    fn group(&self, task: u32) -> Option<String> {
        groups::of(self.0, task)
    }

    fn parent(&self, process: u32) -> Option<u32> {
        let stat = self.0.read(&format!("proc/{process}/stat")).ok()?;
        // The name before it may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_ascii_whitespace().nth(1)?.parse().ok()
    }

    fn program(&self, process: u32) -> Option<String> {
        let name = self.0.read(&format!("proc/{process}/comm")).ok()?;
        Some(name.trim_end().to_owned())
    }
}
