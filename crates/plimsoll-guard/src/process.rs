//! The daemon as a process: it is itself never reclaimed, killed for memory or kept waiting.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit};

use crate::socket::Socket;
use crate::sys;

/// Why the daemon was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The time is over.
    Tick,
    /// It is to end.
    End,
    /// It is to read its configuration again.
    Reload,
    /// Somebody asks at the socket.
    Asked,
}

/// The signals, as something to wait for.
#[derive(Debug)]
pub(crate) struct Signals(OwnedFd);

impl Signals {
    /// From now on they wait here; so does `SIGIO`, which says that somebody waits for the end of a
    /// lease, and would end the process.
    pub(crate) fn new() -> io::Result<Self> {
        sys::signalfd(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGIO]).map(Self)
    }

    /// Waits for a signal or a question, at most this long.
    pub(crate) fn wait(&self, most: Duration, socket: Option<&Socket>) -> io::Result<Woken> {
        let timeout = Timespec {
            tv_sec: most.as_secs().try_into().unwrap_or(1),
            tv_nsec: most.subsec_nanos().into(),
        };
        let asked = socket.iter().flat_map(|socket| socket.files());
        let fds = std::iter::once(self.0.as_fd()).chain(asked);
        let fds = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = fds.collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Woken::Tick),
            Ok(_) if fds[0].revents().is_empty() => return Ok(Woken::Asked),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        rustix::io::read(&self.0, &mut record)?;
        let [first, second, third, fourth, ..] = record;
        let signal = u32::from_ne_bytes([first, second, third, fourth]);
        Ok(match signal.cast_signed() {
            libc::SIGHUP => Woken::Reload,
            libc::SIGIO => Woken::Tick,
            _ => Woken::End,
        })
    }
}

/// Ends when the process that started it ends, however that ends.
///
/// # Errors
/// The system refuses, or that process is gone already.
pub(crate) fn end_with_parent() -> io::Result<()> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
    match rustix::process::getppid() == parent {
        true => Ok(()),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Makes it hard to harm. What is not permitted is left: the daemon works without.
pub(crate) fn harden() {
    // A lock keeps a descriptor.
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    rustix::process::setrlimit(Resource::Nofile, raised).ok();
    fs::write("/proc/self/oom_score_adj", "-1000").ok();
    rustix::process::setpriority_process(None, -20).ok();
    // What is mapped now, and nothing later: a lock on all would read whole files in.
    rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT).ok();
}
