//! The loop: a sample, what the policies decide, and its execution.

use std::time::Duration;

use guard::request::Request;
use guard::{Config, Decision, Group, Guard, Held, Looked, Policy, Sample, Touch};
use host::facts::since_boot;
use mm::units::{Bytes, Nanos};
use sd_notify::NotifyState;

use crate::arguments::Arguments;
use crate::configuration;
use crate::counters::Counters;
use crate::hands::Hands;
use crate::journal::tell;
use crate::log;
use crate::place::{self, Place};
use crate::process::{self, Signals, Woken};
use crate::sampling::Sampling;
use crate::socket::Socket;
use crate::spared::Spared;
use crate::state::State;
use crate::status::{Of, Status};
use crate::watch::Watch;

/// How often files and mounts are looked at again, and named files.
const LOOK_EVERY: Nanos = Nanos(Nanos::SECOND.0);
const NAME_EVERY: Nanos = Nanos(60 * Nanos::SECOND.0);
const SWAPPINESS: &str = "vm.swappiness";

/// A guard that runs.
struct Daemon {
    config: Config,
    guard: Guard,
    sampling: Sampling,
    counters: Counters,
    watch: Watch,
    hands: Hands,
    /// `None` with `--dry-run`, as the socket.
    status: Option<Status>,
    socket: Option<Socket>,
    total: Bytes,
    room: Room,
    looked_at: Nanos,
    named_at: Option<Nanos>,
}

/// What a tick fills, kept so that it is allocated once.
#[derive(Debug, Default)]
struct Room {
    touches: Vec<Touch>,
    looked: Vec<Looked>,
    groups: Vec<Option<Group>>,
    held: Vec<Held>,
    decisions: Vec<Decision>,
}

/// Runs until a signal ends it.
///
/// # Errors
/// One line: why it cannot begin, or go on.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    // Since 5.13 fanotify begins for everybody, and then may watch no file system.
    if !rustix::process::geteuid().is_root() {
        return Err("only root may watch and lock everybody's files; run as root".to_owned());
    }
    let signals = Signals::new().map_err(|error| host::reason(&error))?;
    let config = configuration::read(&arguments.config, arguments.only)?;
    if arguments.lasts.is_some() {
        process::end_with_parent().map_err(|error| host::reason(&error))?;
    }
    let (state, place) = take(arguments)?;
    let mut hands = Hands::new(state);
    let mut daemon = Daemon {
        guard: Guard::new(&config),
        sampling: Sampling::new(config.groups())?,
        counters: Counters::new(&config)?,
        watch: Watch::new(&config, &mut hands.reclaim)?,
        hands,
        status: None,
        socket: None,
        total: Bytes::ZERO,
        room: Room::default(),
        config,
        looked_at: Nanos::ZERO,
        named_at: None,
    };
    if let Some(place) = &place {
        daemon.status = Some(Status::new(place));
        daemon.socket = Some(Socket::new(place)?);
        process::harden();
    }
    daemon.tell_hands();
    daemon.say_what_is_on();
    tell(NotifyState::Ready);
    let done = daemon.go_on(&signals, arguments);
    tell(NotifyState::Stopping);
    let restored = daemon.hands.let_go();
    if arguments.lasts.is_some() {
        daemon.say_what_was_done(restored.is_ok());
    }
    done.and(restored)
}

/// The machine for this guard alone, and where it writes; with `--dry-run` it writes nothing.
fn take(arguments: &Arguments) -> Result<(Option<State>, Option<Place>), String> {
    if arguments.dry_run {
        return log::open(None).map(|()| (None, None));
    }
    let lock = place::only_one()?;
    let place = Place::make(&arguments.state)?;
    log::open(Some(&place))?;
    let state = State::take(lock, &place)?;
    Ok((Some(state), Some(place)))
}

impl Daemon {
    fn go_on(&mut self, signals: &Signals, arguments: &Arguments) -> Result<(), String> {
        let watchdog = sd_notify::watchdog_enabled().map(|most| most / 4);
        let mut fed = Nanos::ZERO;
        let began = since_boot();
        loop {
            let now = since_boot();
            let is_over = |lasts: Nanos| now.saturating_sub(began) >= lasts;
            if arguments.lasts.is_some_and(is_over) {
                return Ok(());
            }
            if watchdog.is_some_and(|every| elapsed(fed, now) >= every) {
                tell(NotifyState::Watchdog);
                fed = now;
            }
            let next = self.tick(now)?;
            self.write_status(now);
            let most = Duration::from_nanos(next.0);
            let most = watchdog.map_or(most, |every| most.min(every));
            match self.wait(signals, most)? {
                Woken::Tick => {}
                Woken::End => return Ok(()),
                Woken::Reload => self.reload(arguments)?,
                Woken::Asked => self.answer(),
            }
        }
    }

    /// Waits for a signal or a question, at most this long; what files are used meanwhile is taken
    /// before there is too much of it.
    fn wait(&mut self, signals: &Signals, most: Duration) -> Result<Woken, String> {
        let until = since_boot() + Nanos(u64::try_from(most.as_nanos()).unwrap_or(u64::MAX));
        loop {
            let left = until.saturating_sub(since_boot());
            let pace = self.watch.pace().filter(|pace| *pace < left);
            let most = Duration::from_nanos(pace.unwrap_or(left).0);
            let woken = signals.wait(most, self.socket.as_ref());
            let woken = woken.map_err(|error| host::reason(&error))?;
            if woken != Woken::Tick || pace.is_none() {
                return Ok(woken);
            }
            let (locks, to) = (&self.hands.locks, &mut self.room.touches);
            self.watch.drain(locks, to)?;
        }
    }

    /// One sample and what follows from it; when the next one is due.
    fn tick(&mut self, now: Nanos) -> Result<Nanos, String> {
        if now.saturating_sub(self.looked_at) >= LOOK_EVERY {
            self.looked_at = now;
            if self.watch.refresh()? {
                // What is named may have come.
                self.named_at = None;
            }
            self.hands.find_stale(&self.watch.mounts);
        }
        let named_since = self.named_at.map(|at| now.saturating_sub(at));
        if named_since.is_none_or(|since| since >= NAME_EVERY) {
            self.named_at = Some(now);
            let keep = self.config.floor.iter().flat_map(|floor| &floor.keep);
            let keep: Vec<String> = keep.cloned().collect();
            self.watch
                .name(&keep, &self.hands.locks, &mut self.room.touches);
        }
        self.watch
            .drain(&self.hands.locks, &mut self.room.touches)?;
        self.room.looked.clear();
        loop {
            let next = self.sample()?;
            self.room.touches.clear();
            self.watch.forget_uses();
            if next > Nanos::ZERO || self.room.looked.is_empty() {
                self.hands.opened.clear();
                return Ok(next);
            }
        }
    }

    /// A sample, and what the policies want. What was looked at is taken, and replaced by what is
    /// looked at now.
    fn sample(&mut self) -> Result<Nanos, String> {
        let Room {
            touches,
            looked,
            groups,
            held,
            decisions,
        } = &mut self.room;
        groups.clear();
        held.clear();
        decisions.clear();
        self.sampling.groups(self.watch.mounts.cgroup2(), groups);
        self.hands.locks.held(held);
        let swappiness = self.sampling.swappiness()?;
        let memory = self.sampling.memory()?;
        self.total = memory.total;
        let dropped = std::mem::take(&mut self.hands.dropped);
        let at = since_boot();
        let is_due = self.guard.is_due(at);
        if is_due {
            self.counters.refresh(at, &self.hands.pretended)?;
        }
        let due = is_due.then_some(&self.counters);
        let sample = Sample {
            at,
            memory,
            swappiness: *self.hands.pretended.get(SWAPPINESS).unwrap_or(&swappiness),
            groups,
            touches,
            looked,
            held,
            must_drop: self.watch.must_drop,
            dropped: &dropped,
            watermarks: due.and_then(Counters::watermarks),
            writeback: due.and_then(Counters::writeback),
            merging: due.and_then(Counters::merging),
        };
        let next = self.guard.decide(&sample, decisions);
        looked.clear();
        for decision in &*decisions {
            let answer = self.hands.act(decision, &self.watch, &self.sampling);
            looked.extend(answer);
        }
        let bounds = |decision: &Decision| decision.policy == Policy::Writeback;
        if decisions.iter().any(bounds) {
            self.counters.forget();
        }
        for policy in std::mem::take(&mut self.hands.unset) {
            self.guard.rest(policy, at);
        }
        self.hands.done(since_boot());
        Ok(next)
    }

    /// SIGHUP: another configuration begins from nothing; a wrong one changes nothing.
    fn reload(&mut self, arguments: &Arguments) -> Result<(), String> {
        let read = configuration::read(&arguments.config, arguments.only).and_then(|config| {
            let sampling = Sampling::new(config.groups())?;
            let counters = Counters::new(&config)?;
            let watch = Watch::new(&config, &mut self.hands.reclaim)?;
            Ok((config, sampling, counters, watch))
        });
        let (config, sampling, counters, watch) = match read {
            Ok(read) => read,
            Err(error) => {
                log::line(format_args!("{error}; the old configuration stays"));
                return Ok(());
            }
        };
        if config == self.config {
            log::line(format_args!("the configuration is the same"));
            return Ok(());
        }
        self.hands.let_go()?;
        // Its groups are others.
        self.hands.reclaimed_total.clear();
        self.guard = Guard::new(&config);
        let released = std::mem::take(&mut self.watch.released);
        (self.config, self.sampling) = (config, sampling);
        (self.counters, self.watch) = (counters, watch);
        self.watch.released = released;
        self.named_at = None;
        self.tell_hands();
        self.say_what_is_on();
        Ok(())
    }

    fn write_status(&mut self, now: Nanos) {
        let of = Of {
            config: &self.config,
            guard: &self.guard,
            hands: &self.hands,
            watch: &self.watch,
            total: self.total,
        };
        if let Some(status) = &mut self.status {
            status.write(now, &of);
        }
    }

    /// Does what is asked at the socket.
    fn answer(&mut self) {
        let Self {
            socket,
            hands,
            watch,
            ..
        } = self;
        let Some(socket) = socket else { return };
        socket.serve(|request| match request {
            Request::Release(place) => {
                watch.released.add(place);
                let (locked, files) = hands.release(place);
                format!("released {files} {}", locked.0)
            }
            Request::Keep(place) => {
                watch.released.remove(place);
                "kept".to_owned()
            }
        });
    }

    /// The end of a run of one policy, in one line.
    fn say_what_was_done(&self, is_restored: bool) {
        let tally = log::tally();
        let done = tally.done.iter().map(|((_, action), sum)| match sum.bytes {
            Bytes::ZERO => format!("{action}: {}", sum.times),
            bytes => format!("{action}: {} ({bytes})", sum.times),
        });
        let mut done: Vec<String> = done.collect();
        let failed: u64 = tally.failed.values().map(|sum| sum.times).sum();
        if done.is_empty() {
            done.push("nothing was to be done".to_owned());
        }
        if failed > 0 {
            done.push(format!("failed: {failed}"));
        }
        let done = done.join(", ");
        let end = match (self.status.is_some(), is_restored) {
            (false, _) => "none of it was done: it was a dry run",
            (true, true) => "all of it is taken back",
            (true, false) => "not all of it is taken back",
        };
        log::line(format_args!("the run is over; {done}; {end}"));
    }

    /// What of the configuration the hands have to know.
    fn tell_hands(&mut self) {
        let floor = self.config.floor.as_ref();
        self.hands.spared = Spared::new(floor.map_or(&[], |floor| &floor.except));
        self.hands.groups = self.config.groups().map(str::to_owned).collect();
    }

    fn say_what_is_on(&self) {
        let on: Vec<&str> = self
            .guard
            .policies()
            .map(|(policy, _)| policy.word())
            .collect();
        match on.is_empty() {
            true => log::line(format_args!("the configuration turns no policy on")),
            false => log::line(format_args!("on: {}", on.join(", "))),
        }
        if let Some(disks) = self.watch.watched() {
            log::line(format_args!("watched file systems: {disks}"));
        }
    }
}

fn elapsed(from: Nanos, to: Nanos) -> Duration {
    Duration::from_nanos(to.saturating_sub(from).0)
}
