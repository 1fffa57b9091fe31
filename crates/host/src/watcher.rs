//! Which process waits to take a change back: its number and the moment at which it started, in a
//! file that only root can write. A lock proves nothing, for whoever may open a file may hold one.

use std::ffi::OsString;
use std::io;

use files::{Attributes, Folder, Lasts};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use crate::changes::RUN;
use crate::{Root, reason, write};

/// What the names of the files begin with; the change's number follows.
const PREFIX: &str = "watch-";

/// The longest file that is read.
const LONGEST: u64 = 64;

/// Whether the watcher of a change runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Life {
    /// It does.
    Runs,
    /// It does not.
    Gone,
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// Notes that this process watches a change.
///
/// # Errors
/// What the system says.
pub fn enter(root: &Root, id: u32) -> io::Result<()> {
    let own = getpid();
    let start = start(root, own)?.ok_or(io::ErrorKind::NotFound)?;
    note(root, id, &format!("{} {start}\n", own.as_raw_nonzero()))
}

/// Makes room for the note of a process that is about to be started.
///
/// # Errors
/// What the system says, as when `/run` is full.
pub fn expect(root: &Root, id: u32) -> io::Result<()> {
    note(root, id, "0 0\n")
}

fn note(root: &Root, id: u32, text: &str) -> io::Result<()> {
    let folder = Folder::at(root.path())?.make_trusted(RUN)?;
    let attributes = Attributes::mode(0o644);
    folder.replace(&name(id), text.as_bytes(), attributes, Lasts::Process)
}

/// Keeps the OOM killer away from this process: it is there for when memory runs out.
///
/// # Errors
/// What the system says.
pub fn spare() -> io::Result<()> {
    write::raw(&Root::default(), "proc/self/oom_score_adj", "-1000")
}

/// Removes the note; one that is not there is no error.
pub fn leave(root: &Root, id: u32) {
    let folder = Folder::at(root.path()).and_then(|top| top.trusted(RUN));
    folder.and_then(|folder| folder.remove(&name(id))).ok();
}

/// Removes what watchers that were killed left, but for the changes that still wait.
pub fn sweep(root: &Root, waits: impl Fn(u32) -> bool) {
    for name in root.names(RUN) {
        let id = name.strip_prefix(PREFIX).and_then(|id| id.parse().ok());
        if let Some(id) = id.filter(|id| !waits(*id)) {
            leave(root, id);
        }
    }
}

/// Whether the watcher of a change runs.
#[must_use]
pub fn life(root: &Root, id: u32) -> Life {
    match look(root, id) {
        Ok(life) => life,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Life::Gone,
        Err(error) => Life::Unknown(reason(&error)),
    }
}

fn look(root: &Root, id: u32) -> io::Result<Life> {
    let folder = Folder::at(root.path())?.trusted(RUN)?;
    let text = folder.read_trusted(&name(id), LONGEST)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let noted = text.trim().split_once(' ').and_then(|(pid, start)| {
        let pid = Pid::from_raw(pid.parse().ok()?)?;
        Some((pid, start.parse::<u64>().ok()?))
    });
    let Some((pid, noted)) = noted else {
        return Ok(Life::Gone);
    };
    // As long as this is open its number is nobody else's.
    let _held = pidfd_open(pid, PidfdFlags::empty());
    match start(root, pid) {
        Ok(start) if start == Some(noted) => Ok(Life::Runs),
        Ok(_) => Ok(Life::Gone),
        Err(_) if is_gone(pid) => Ok(Life::Gone),
        Err(error) => {
            let pid = pid.as_raw_nonzero();
            Ok(Life::Unknown(format!(
                "/proc/{pid}/stat: {}",
                reason(&error)
            )))
        }
    }
}

fn is_gone(pid: Pid) -> bool {
    pidfd_open(pid, PidfdFlags::empty()).is_err_and(|error| error == Errno::SRCH)
}

/// When a process started, in ticks since boot; `None` where it has ended.
fn start(root: &Root, pid: Pid) -> io::Result<Option<u64>> {
    let stat = root.read(&format!("proc/{}/stat", pid.as_raw_nonzero()))?;
    // The name is in brackets, and may hold whatever it likes.
    let (_, rest) = stat.rsplit_once(')').unwrap_or_default();
    let mut fields = rest.split_whitespace();
    let state = fields.next();
    let start = fields.nth(18).and_then(|field| field.parse().ok());
    Ok(start.filter(|_| !matches!(state, Some("Z" | "X"))))
}

fn name(id: u32) -> OsString {
    format!("{PREFIX}{id}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::{put, root};
    use std::os::unix::fs::PermissionsExt as _;

    /// A root with this process in its /proc.
    fn place() -> (tempfile::TempDir, Root, u32) {
        let stat = std::fs::read_to_string("/proc/self/stat").expect("a file");
        let pid = std::process::id();
        let (directory, root) = root(&[(&format!("proc/{pid}/stat"), &stat)]);
        (directory, root, pid)
    }

    #[test]
    fn a_watcher_runs_where_its_process_started_when_the_note_says() {
        let (_directory, root, pid) = place();
        assert_eq!(life(&root, 1), Life::Gone);
        expect(&root, 1).expect("room");
        assert_eq!(life(&root, 1), Life::Gone);
        enter(&root, 1).expect("noted");
        assert_eq!(life(&root, 1), Life::Runs);
        // Another process has its number now.
        put(&root, "run/plimsoll/watch-1", &format!("{pid} 1\n"));
        assert_eq!(life(&root, 1), Life::Gone);
        // No process has this one.
        put(&root, "run/plimsoll/watch-1", "4194305 1\n");
        assert_eq!(life(&root, 1), Life::Gone);
        sweep(&root, |_| false);
        assert!(root.names("run/plimsoll").is_empty());
    }

    #[test]
    fn what_others_may_have_written_and_what_proc_hides_is_not_known() {
        let (_directory, root, pid) = place();
        enter(&root, 1).expect("noted");
        let path = root.join("run/plimsoll/watch-1");
        let mode = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&path, mode).expect("its mode");
        let Life::Unknown(why) = life(&root, 1) else {
            panic!("it is believed");
        };
        assert!(why.contains("writable by others"), "{why}");
        enter(&root, 1).expect("noted");
        std::fs::remove_file(root.join(&format!("proc/{pid}/stat"))).expect("it was there");
        assert!(matches!(life(&root, 1), Life::Unknown(_)));
    }
}
