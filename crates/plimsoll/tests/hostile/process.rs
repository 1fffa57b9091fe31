//! Programs that are run to their end, and those that are not waited for.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The attacker.
pub(crate) const NOBODY: u32 = 65534;

/// What is kept of an output.
const KEPT: u64 = 4 << 20;

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

impl Ended {
    /// What it printed on both streams.
    pub(crate) fn said(&self) -> String {
        let both = [&self.out[..], &self.err].concat();
        String::from_utf8_lossy(&both).into_owned()
    }
}

/// As the attacker. The standard library drops the groups where it sets a user.
pub(crate) fn as_nobody(command: &mut Command) -> &mut Command {
    command.uid(NOBODY).gid(NOBODY)
}

/// Runs a program to its end; `None` where it does not come in time, and the program is killed.
pub(crate) fn ends(command: &mut Command, within: Duration) -> Option<Ended> {
    let (mut out, mut err) = (scratch(), scratch());
    let stream = |file: &File| Stdio::from(file.try_clone().expect("a descriptor"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stream(&out))
        .stderr(stream(&err))
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let code = wait(&mut child, within)?;
    let kept = |file: &mut File| {
        let mut bytes = Vec::new();
        file.rewind().expect("a file");
        file.take(KEPT).read_to_end(&mut bytes).expect("a file");
        bytes
    };
    Some(Ended {
        code,
        out: kept(&mut out),
        err: kept(&mut err),
    })
}

/// Waits for the end of a program; `None` where it does not come in time, and it is killed.
pub(crate) fn wait(child: &mut Child, within: Duration) -> Option<Option<i32>> {
    if let Some(status) = child.try_wait().expect("a child") {
        return Some(status.code());
    }
    let pid = Pid::from_child(child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("a child that nobody waited for");
    let most = Timespec::try_from(within).expect("a time");
    let ready = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&most));
    if ready.expect("poll") == 0 {
        child.kill().expect("a child");
        child.wait().expect("a child");
        return None;
    }
    Some(child.wait().expect("a child").code())
}

/// Whether something becomes so within a time; it is looked at a hundred times a second.
pub(crate) fn becomes(within: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let since = std::time::Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if since.elapsed() > within {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A short text that no terminal acts on.
pub(crate) fn harmless(text: &str) -> String {
    let text: String = text.chars().take(400).collect();
    text.escape_debug().to_string()
}

fn scratch() -> File {
    // Outside of what the attacks fill and cover.
    tempfile::tempfile_in(Path::new("/tmp/own")).expect("a file")
}
