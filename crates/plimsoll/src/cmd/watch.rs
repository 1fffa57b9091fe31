//! `plimsoll watch`: waits for a change's confirmation, and takes the change back when it does not
//! come. Started by `apply`, never by hand.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use change::event::Watch;
use change::watch::{OVER, Sample};
use change::{Change, Ledger, undo};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;
use host::watcher::{self, Life};
use mm::units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM,
    SIGXCPU, SIGXFSZ,
};

use crate::exit::ExitCode;
use crate::term;

/// Take a change back unless it is confirmed: `apply` starts this
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The change
    id: u32,
    /// Leave the session of the process that started it
    #[arg(long)]
    detached: bool,
}

/// Between two attempts to take a change back.
const AGAIN: Duration = Duration::from_secs(1);

/// How many samples are kept: a kill is looked for over a minute.
const KEPT: usize = 60;

/// The signals that would end or stop a process and can be caught.
const SIGNALS: [i32; 12] = [
    SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGTSTP, SIGXCPU, SIGXFSZ,
    SIGVTALRM, SIGPROF,
];

/// Watches until nothing waits any more: neither an error nor a signal is a confirmation.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.detached {
        // The terminal that hangs up must not end it. It cannot fail: this process leads no group.
        rustix::process::setsid().context("cannot leave the session")?;
        // As the service has it; without it the process is still better than none.
        watcher::spare().ok();
        for signal in SIGNALS {
            signal_hook::flag::register(signal, Arc::default())?;
        }
    }
    let (root, id) = (Root::default(), args.id);
    let _noted = Noted::new(&root, id)?;
    let bell = Bell::new(&root)?;
    // A process that systemd did not start has nothing to tell.
    sd_notify::notify(&[sd_notify::NotifyState::Ready]).ok();
    let mut samples = vec![];
    loop {
        match turn(&root, id, &bell, &mut samples) {
            Ok(true) => {}
            Ok(false) => return Ok(ExitCode::Done),
            Err(error) => {
                term::warn(format_args!("plimsoll: change {id}: {error:#}"));
                std::thread::sleep(AGAIN);
            }
        }
    }
}

/// Looks once, and waits; whether the change still waits.
fn turn(root: &Root, id: u32, bell: &Bell, samples: &mut Vec<Sample>) -> anyhow::Result<bool> {
    let Some(change) = pending(root, id)? else {
        return Ok(false);
    };
    match over(root, &change, samples) {
        Some(why) => take_back(root, &change, &why)?,
        None => bell.wait(&change)?,
    }
    Ok(true)
}

/// The note that says that this process watches; it goes with it, however it ends.
struct Noted<'a> {
    root: &'a Root,
    id: u32,
}

impl<'a> Noted<'a> {
    fn new(root: &'a Root, id: u32) -> anyhow::Result<Self> {
        if watcher::life(root, id) == Life::Runs {
            bail!("another process watches change {id} already");
        }
        watcher::enter(root, id).context("/run/plimsoll")?;
        Ok(Self { root, id })
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        watcher::leave(self.root, self.id);
    }
}

/// The change, as long as it waits.
fn pending(root: &Root, id: u32) -> anyhow::Result<Option<Change>> {
    let ledger = Ledger::open(&mut Changes::look(root))?;
    let change = ledger.get(id).filter(|change| change.is_pending());
    Ok(change.cloned())
}

/// Why it is to be taken back now.
fn over(root: &Root, change: &Change, samples: &mut Vec<Sample>) -> Option<String> {
    let now = since_boot();
    if change.is_overdue(now) {
        return Some("nobody confirmed it in time".to_owned());
    }
    let Watch { band, .. } = watched(change, now)?;
    samples.push(Sample::of(&host::read::sample(root, now)));
    if samples.len() > KEPT {
        samples.remove(0);
    }
    let exceeded = band.exceeded(samples)?;
    let after = exceeded.at.0.saturating_sub(samples[0].at.0) / Nanos::SECOND.0;
    let when = study::record::utc(std::time::SystemTime::now());
    let over = if samples.len() > OVER {
        OVER as u64
    } else {
        after
    };
    Some(format!("{exceeded}, over {over} s at {when}"))
}

/// How it is watched, once it is all written and as long as that was asked for.
fn watched(change: &Change, now: Nanos) -> Option<Watch> {
    change
        .watch
        .filter(|watch| change.is_written() && now < watch.until)
}

/// Waits for the lock: whoever holds it may be confirming.
fn take_back(root: &Root, change: &Change, why: &str) -> anyhow::Result<()> {
    let mut machine = Changes::lock_patiently(root)?;
    if pending(root, change.id)?.is_some() {
        undo::undo(&mut machine, change.id, why)?;
    }
    Ok(())
}

/// What wakes the watcher: the deadline, and a line in the journal.
struct Bell {
    timer: rustix::fd::OwnedFd,
    journal: rustix::fd::OwnedFd,
}

impl Bell {
    fn new(root: &Root) -> anyhow::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC);
        let journal = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(
            &journal,
            root.join("run/plimsoll/journal"),
            WatchFlags::MODIFY | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF,
        )
        .context("/run/plimsoll/journal")?;
        Ok(Self {
            timer: timer.context("cannot make a timer")?,
            journal,
        })
    }

    /// Until something happens; a second at most where what the change does is watched.
    fn wait(&self, change: &Change) -> anyhow::Result<()> {
        let at = Timespec {
            tv_sec: i64::try_from(change.deadline.0 / Nanos::SECOND.0)?,
            tv_nsec: i64::try_from(change.deadline.0 % Nanos::SECOND.0)?,
        };
        let alarm = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: at,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &alarm)?;
        let mut waits = [
            PollFd::new(&self.timer, PollFlags::IN),
            PollFd::new(&self.journal, PollFlags::IN),
        ];
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let is_watched = watched(change, since_boot()).is_some();
        match poll(&mut waits, is_watched.then_some(&second)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = [0_u8; 4096];
        while rustix::io::read(&self.journal, &mut events).is_ok_and(|read| read > 0) {}
        Ok(())
    }
}
