//! `plimsoll watch`: waits for a change's confirmation, and takes the change back when it does not
//! come. Started by `apply`, never by hand.

use std::fs::File;
use std::time::Duration;

use anyhow::{Context as _, bail};
use change::event::Watch;
use change::watch::{OVER, Sample};
use change::{Change, Ledger, undo};
use host::Root;
use host::changes::Changes;
use host::facts::since_boot;
use mm::units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FlockOperation, flock};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::changing::timer::lock_path;
use crate::exit::ExitCode;

/// Take a change back unless it is confirmed: `apply` starts this
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The change
    id: u32,
    /// Leave the session of whoever started it
    #[arg(long)]
    detached: bool,
}

/// Between two attempts to take a change back.
const AGAIN: Duration = Duration::from_secs(1);

/// How many samples are kept: a kill is looked for over a minute.
const KEPT: usize = 60;

/// Watches until nothing waits any more.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.detached {
        // The terminal that hangs up must not end it. It cannot fail: this process leads no group.
        rustix::process::setsid().context("cannot leave the session")?;
    }
    let (root, id) = (Root::default(), args.id);
    let _held = hold(&root, id)?;
    let bell = Bell::new(&root)?;
    if pending(&root, id)?.is_some() {
        // A process that systemd did not start has nothing to tell.
        sd_notify::notify(&[sd_notify::NotifyState::Ready]).ok();
    }
    let mut samples = vec![];
    while let Some(change) = pending(&root, id)? {
        if let Some(why) = over(&root, &change, &mut samples) {
            take_back(&root, &change, &why);
        } else {
            bell.wait(&change)?;
        }
    }
    // A lock file that nobody holds any more says nothing.
    std::fs::remove_file(root.join(&lock_path(id))).ok();
    Ok(ExitCode::Done)
}

/// The lock that says that this process watches. Whoever looks whether it is held holds it for a
/// moment.
fn hold(root: &Root, id: u32) -> anyhow::Result<File> {
    let path = root.join(&lock_path(id));
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    for _ in 0..100 {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        }
    }
    bail!("another process watches change {id} already");
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
    let when = lab::record::utc(std::time::SystemTime::now());
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
fn take_back(root: &Root, change: &Change, why: &str) {
    let undone = Changes::lock_patiently(root)
        .map_err(anyhow::Error::from)
        .and_then(|mut machine| {
            let is_pending = pending(root, change.id)?.is_some();
            let undone = is_pending.then(|| undo::undo(&mut machine, change.id, why));
            Ok(undone.transpose()?)
        });
    if let Err(error) = undone {
        anstream::eprintln!("plimsoll: change {}: {error:#}", change.id);
        std::thread::sleep(AGAIN);
    }
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
