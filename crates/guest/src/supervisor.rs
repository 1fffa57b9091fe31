//! Starts the workload's processes, serves their requests, takes samples, and sees them end.

use std::fmt::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use guard::daemons::Daemons;
use mm::units::Nanos;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, waitpid,
};
use rustix::thread::futex;
use scenario::Scenario;
use scenario::outcome::Status;
use scenario::workload::{Action, Daemon, Start};

use crate::clock::{Alarm, RunClock, Stopwatch, monotonic};
use crate::daemons;
use crate::error::{Error, is_unknown};
use crate::fork::fork;
use crate::held::{available, hold, hold_beyond_available};
use crate::meter::{DONE, Meter};
use crate::outcomes::Outcomes;
use crate::place::Place;
use crate::plan::Plan;
use crate::process::{self, Process};
use crate::recorder::{Recorder, report};
use crate::settings::{self, Prepared};
use crate::shared::{Shared, TAKE};

/// Runs a scenario's workload to its end and records it.
///
/// # Errors
/// What keeps the workload from being started or watched at all; what happens to its processes is
/// recorded instead.
pub fn perform(
    scenario: &Scenario,
    place: &Place,
    prepared: &Prepared,
    recorder: &mut Recorder,
) -> Result<(), Error> {
    let _beyond = hold_beyond_available(scenario, place)?;
    let plan = Plan::new(scenario, available(place)?);
    let supervisor = Supervisor::new(&plan, place, prepared, recorder)?;
    supervisor.run()
}

struct Supervisor<'a> {
    plan: &'a Plan<'a>,
    place: &'a Place,
    prepared: &'a Prepared,
    recorder: &'a mut Recorder,
    shared: Shared,
    /// Processes ring it when they ask for something.
    bell: OwnedFd,
    /// Goes off when something is due.
    alarm: Alarm,
    clock: RunClock,
    stopwatch: Stopwatch,
    states: Vec<State>,
    next_sample: Nanos,
    outcomes: Outcomes,
    daemons: Daemons,
}

/// Where a process instance stands.
#[derive(Debug)]
enum State {
    /// Waits for demand, or was never wanted.
    Idle,
    /// Starts by itself at this time.
    Due(Nanos),
    Running(Running),
    Ended,
}

#[derive(Debug)]
struct Running {
    pid: Pid,
    pidfd: OwnedFd,
    /// What becomes of its steps if a signal ends it.
    killed: Killed,
}

/// Who ends a process by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    /// The kernel: its steps were cut short.
    ByKernel,
    /// The workload or its deadline: its steps ended as intended.
    ByWorkload,
}

impl Running {
    /// The process's number, as `/proc` writes it.
    fn number(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }
}

impl<'a> Supervisor<'a> {
    fn new(
        plan: &'a Plan<'a>,
        place: &'a Place,
        prepared: &'a Prepared,
        recorder: &'a mut Recorder,
    ) -> Result<Self, Error> {
        let instances = plan.instances.len();
        let streams = plan.scenario.recorded.streams.len();
        let shared = Shared::new(instances, plan.levels, streams);
        let state = |instance: &crate::plan::Instance<'_>| match instance.process.start {
            Start::After(delay) => State::Due(delay),
            Start::OnDemand => State::Idle,
        };
        Ok(Self {
            plan,
            place,
            prepared,
            recorder,
            shared: shared.map_err(Error::on("memory shared with the processes"))?,
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(Error::on("an eventfd"))?,
            alarm: Alarm::new().map_err(Error::on("a timer"))?,
            states: plan.instances.iter().map(state).collect(),
            next_sample: plan.scenario.sample_every.max(Nanos::MILLI),
            stopwatch: Stopwatch::new(&place.root),
            outcomes: Outcomes::default(),
            daemons: Daemons::default(),
            clock: RunClock::begins(monotonic()),
        })
    }

    fn run(mut self) -> Result<(), Error> {
        punctual()?;
        let _held = hold(self.plan.scenario.held_pages())?;
        self.recorder.snapshot(Nanos::ZERO, None, self.progress());
        self.begin();
        self.start_those_due()?;
        while !self.is_over() {
            self.wait()?;
            self.see_who_ended()?;
            self.serve();
            self.start_those_due()?;
            self.sample_if_due();
        }
        self.end_all()?;
        let steps = self.outcomes.note();
        self.recorder
            .finish(self.clock.now(), self.progress(), steps);
        Ok(())
    }

    /// Rests until the moment that the seed drew: the run begins.
    fn begin(&mut self) {
        let ready = monotonic();
        self.recorder.ready = ready;
        self.clock = RunClock::begins(self.plan.scenario.begins(ready));
        self.clock.sleep_until(Nanos::ZERO);
    }

    fn is_over(&self) -> bool {
        let waits = |state: &State| matches!(state, State::Due(_) | State::Running(_));
        let deadline = self.plan.scenario.workload.deadline;
        let over = self.recorder.is_unavailable() || !self.states.iter().any(waits);
        over || deadline.is_some_and(|end| self.clock.now() >= end)
    }

    /// Sleeps until a process ends or asks for something, or something is due.
    fn wait(&mut self) -> Result<(), Error> {
        let mut until = self.next_sample;
        if let Some(deadline) = self.plan.scenario.workload.deadline {
            until = until.min(deadline);
        }
        let mut fds = vec![
            PollFd::new(&self.bell, PollFlags::IN),
            PollFd::new(&self.alarm, PollFlags::IN),
        ];
        for state in &self.states {
            match state {
                State::Due(at) => until = until.min(*at),
                State::Running(running) => fds.push(PollFd::new(&running.pidfd, PollFlags::IN)),
                State::Idle | State::Ended => {}
            }
        }
        self.alarm
            .set(self.clock, until)
            .map_err(Error::on("a timer"))?;
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(Error::on("poll")(errno)),
        }
    }

    fn start_those_due(&mut self) -> Result<(), Error> {
        for instance in 0..self.states.len() {
            if matches!(self.states[instance], State::Due(at) if at <= self.clock.now()) {
                let name = &self.plan.instances[instance].name;
                self.start(instance)
                    .map_err(Error::on(format!("starting {name}")))?;
            }
        }
        Ok(())
    }

    fn start(&mut self, instance: usize) -> Result<(), Errno> {
        let desk = &self.shared.desks[instance];
        desk.request.store(0, Relaxed);
        desk.depth.store(0, Relaxed);
        desk.failed_step.store(0, Relaxed);
        desk.failed_errno.store(0, Relaxed);
        desk.message[0].store(0, Relaxed);
        let pid = fork(|| self.be_process(instance))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let running = Running {
            pid,
            pidfd,
            killed: Killed::ByKernel,
        };
        let name = &self.plan.instances[instance].name;
        self.recorder.started(name, running.number());
        self.states[instance] = State::Running(running);
        Ok(())
    }

    /// The life of a process of the workload.
    fn be_process(&self, instance: usize) -> Result<(), ()> {
        let clocks = (self.clock, self.stopwatch);
        let meter = Meter::new(&self.shared, instance, clocks, self.bell.as_fd());
        let who = &self.plan.instances[instance];
        if let Err(why) = process::settle(self.place, who.process, &who.name) {
            meter.fail(None, &why);
            return Err(());
        }
        Process::new(self.plan, instance, self.place, self.prepared, meter).run()
    }

    fn see_who_ended(&mut self) -> Result<(), Error> {
        for instance in 0..self.states.len() {
            let State::Running(running) = &self.states[instance] else {
                continue;
            };
            let status = waitpid(Some(running.pid), WaitOptions::NOHANG);
            if let Some((_, status)) = status.map_err(Error::on("waitpid"))? {
                self.ended(instance, status);
            }
        }
        Ok(())
    }

    fn ended(&mut self, instance: usize, status: WaitStatus) {
        let end = self.clock.now();
        let State::Running(running) = std::mem::replace(&mut self.states[instance], State::Ended)
        else {
            return;
        };
        self.recorder.ended(&self.plan.instances[instance].name);
        self.shared.desks[instance].request.store(0, Relaxed);
        self.outcomes.take(self.plan, &self.shared, instance);
        let signal = status.terminating_signal();
        let cut_short = match running.killed {
            Killed::ByWorkload => Status::Done,
            Killed::ByKernel => Status::Killed(
                signal
                    .and_then(|signal| u8::try_from(signal).ok())
                    .unwrap_or(0),
            ),
        };
        self.outcomes
            .cut_short(self.plan, &self.shared, instance, (end, &cut_short));
        if signal.is_none() && status.exit_status() != Some(0) {
            self.note_failure(instance);
        }
    }

    fn serve(&mut self) {
        let mut rings = [0; 8];
        // Read only to be rung again; what is asked stands on the desks.
        let _ = rustix::io::read(&self.bell, &mut rings);
        for instance in 0..self.states.len() {
            self.outcomes.take(self.plan, &self.shared, instance);
            let answer = match self.shared.desks[instance].request.load(Acquire) {
                0 => None,
                TAKE => Some(Ok(())),
                request => self.serve_step(request - 1),
            };
            if let Some(answer) = answer {
                self.answer(instance, answer);
            }
        }
    }

    /// Does what a step asks for; `None` while there is no answer yet.
    fn serve_step(&mut self, step: u32) -> Option<Result<(), Errno>> {
        let plan = self.plan;
        match &plan.step(step).action {
            Action::Snapshot => self.snapshot(plan.label(step)),
            Action::Daemon(daemon) => return Some(self.decide(*daemon)),
            Action::Start { process } => {
                let mut instances = plan.instances_of(process);
                return Some(instances.try_for_each(|instance| self.start_on_demand(instance)));
            }
            Action::Kill { process } => plan.instances_of(process).for_each(|it| self.kill(it)),
            Action::Wait { process } => {
                let mut instances = plan.instances_of(process);
                return instances
                    .all(|instance| self.is_gone(instance))
                    .then_some(Ok(()));
            }
            _ => return Some(Err(Errno::NOSYS)),
        }
        Some(Ok(()))
    }

    /// Lets a daemon decide; why it cannot is noted.
    fn decide(&mut self, daemon: Daemon) -> Result<(), Errno> {
        let instances = self.plan.instances.iter().zip(&self.states);
        let guests = instances.filter_map(|(instance, state)| match state {
            State::Running(running) if instance.process.offers_pages() => Some(running.number()),
            _ => None,
        });
        let host = daemons::host(&self.place.root, self.clock.now(), guests);
        let decided = host.map(|host| self.daemons.decide(daemon, &host));
        let written = decided.and_then(|settings| settings::apply(self.place, &settings));
        written.map_err(|why| {
            self.recorder.error(&why.text);
            why.errno
        })
    }

    fn answer(&self, instance: usize, answer: Result<(), Errno>) {
        let desk = &self.shared.desks[instance];
        let word = answer.map_or_else(|errno| errno.raw_os_error().cast_unsigned(), |()| DONE);
        desk.request.store(0, Relaxed);
        desk.answer.store(word, Release);
        // A process that does not wait any more needs no waking.
        let _ = futex::wake(&desk.answer, futex::Flags::empty(), 1);
    }

    /// Starts an instance, or starts it again after its end; one that runs is left alone.
    fn start_on_demand(&mut self, instance: usize) -> Result<(), Errno> {
        match self.states[instance] {
            State::Running(_) => Ok(()),
            _ => self.start(instance),
        }
    }

    /// Kills an instance; one that is not started yet never will be by itself.
    fn kill(&mut self, instance: usize) {
        match &mut self.states[instance] {
            State::Running(running) => {
                running.killed = Killed::ByWorkload;
                // Where it has just ended there is nothing left to kill.
                let _ = kill_process(running.pid, Signal::KILL);
            }
            State::Due(_) => self.states[instance] = State::Ended,
            State::Idle | State::Ended => {}
        }
    }

    fn is_gone(&self, instance: usize) -> bool {
        matches!(self.states[instance], State::Idle | State::Ended)
    }

    /// The deadline: kills what still runs and sees it end.
    fn end_all(&mut self) -> Result<(), Error> {
        self.serve();
        (0..self.states.len()).for_each(|instance| self.kill(instance));
        for instance in 0..self.states.len() {
            let State::Running(running) = &self.states[instance] else {
                continue;
            };
            let status = waitpid(Some(running.pid), WaitOptions::empty());
            if let Some((_, status)) = status.map_err(Error::on("waitpid"))? {
                self.ended(instance, status);
            }
        }
        Ok(())
    }

    fn sample_if_due(&mut self) {
        let now = self.clock.now();
        if now >= self.next_sample {
            self.recorder.sample(now, self.progress());
            let every = self.plan.scenario.sample_every.max(Nanos::MILLI);
            let missed = (now - self.next_sample).0 / every.0;
            self.next_sample += Nanos(every.0 * (missed + 1));
        }
    }

    fn snapshot(&mut self, label: &str) {
        self.recorder
            .snapshot(self.clock.now(), Some(label), self.progress());
    }

    fn progress(&self) -> String {
        let mut text = String::with_capacity(32 * self.states.len());
        for (instance, desk) in self.plan.instances.iter().zip(&*self.shared.desks) {
            let (operations, bytes) = (desk.operations.load(Relaxed), desk.bytes.load(Relaxed));
            let _ = writeln!(text, "{} {operations} {bytes}", instance.name);
        }
        text
    }

    fn note_failure(&mut self, instance: usize) {
        let desk = &self.shared.desks[instance];
        let name = &self.plan.instances[instance].name;
        let why = match desk.message() {
            why if why.is_empty() => "it ended, and the console says why".to_owned(),
            why => why,
        };
        let step = desk.failed_step.load(Acquire).checked_sub(1);
        let path = step.map_or("start", |step| self.plan.path(step));
        let text = format!("{name}, step {path}: {why}");
        let errno = desk.failed_errno.load(Relaxed);
        let is_unknown = errno > 0 && is_unknown(Errno::from_raw_os_error(errno));
        let action = step.map(|step| &self.plan.step(step).action);
        if matches!(action, Some(Action::ApplyArm | Action::Set(_))) && is_unknown {
            self.recorder.unavailable(&why);
        } else if step.is_none_or(|step| is_administration(&self.plan.step(step).action)) {
            self.recorder.error(&text);
        } else {
            report(&text);
            self.recorder.failed(name, path, &why);
        }
    }
}

/// Lets this process be woken when it asked to be, not up to 50 µs later; its children inherit it.
fn punctual() -> Result<(), Error> {
    let least = std::num::NonZeroU64::new(1);
    rustix::thread::set_current_timer_slack(least).map_err(Error::on("timer slack"))
}

/// Whether a step that fails means that the study was not performed as it says, rather than that
/// memory or a limit was reached.
fn is_administration(action: &Action) -> bool {
    match action {
        Action::Snapshot
        | Action::ApplyArm
        | Action::ApplyDefaults
        | Action::Set(_)
        | Action::SetCgroup { .. }
        | Action::Daemon(_)
        | Action::Guard(_)
        | Action::Close { .. }
        | Action::DropCaches
        | Action::RunOnNode { .. }
        | Action::Start { .. }
        | Action::Wait { .. }
        | Action::Kill { .. } => true,
        Action::Access(_)
        | Action::Replay(_)
        | Action::Map(_)
        | Action::Unmap { .. }
        | Action::Advise { .. }
        | Action::Lock { .. }
        | Action::Sync { .. }
        | Action::Reclaim { .. }
        | Action::Sleep(_)
        | Action::Repeat { .. } => false,
    }
}
