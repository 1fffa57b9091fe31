//! Standard error, which nobody need read: a line that does not fit is dropped. A pipe that is full
//! or a terminal that stands still would keep the daemon waiting, its signals with it.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::sync::OnceLock;

use mm::text::harmless;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

/// The same pipe or terminal, opened again: not to wait is a flag of an open file, and that of
/// standard error is others' too.
static OWN: OnceLock<Option<File>> = OnceLock::new();

/// Writes what fits now. That nobody reads it is no reason to stop.
pub(crate) fn write(text: &str) {
    let (stderr, text) = (io::stderr(), harmless(text));
    match OWN.get_or_init(|| own().ok().flatten()) {
        Some(file) => (&*file).write(text.as_bytes()).ok(),
        None if has_room(&stderr) => stderr.lock().write(text.as_bytes()).ok(),
        None => None,
    };
}

fn own() -> rustix::io::Result<Option<File>> {
    let kind = FileType::from_raw_mode(fstat(io::stderr().as_fd())?.st_mode);
    if !matches!(kind, FileType::Fifo | FileType::CharacterDevice) {
        return Ok(None);
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let own = open("/proc/self/fd/2", flags, Mode::empty())?;
    Ok(Some(own.into()))
}

/// Whether a line can be written without waiting: a socket says so while most of it is free.
fn has_room(stderr: &io::Stderr) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::OUT)];
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}
