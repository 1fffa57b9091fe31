//! Several CPUs: which goes on next, how long it is not disturbed, and which of them stand.

use mm::units::Nanos;

use super::{Cpu, Scheduler};
use crate::bench::turns::Turns;
use crate::sched::cpu::BUDGET;
use crate::sched::events::Events;

/// How far a CPU may get ahead of others that run at the same time.
const AHEAD: Nanos = Nanos(BUDGET / 1000);

impl Scheduler {
    /// Lets the CPUs take turns from now on.
    pub(crate) fn take_turns(&mut self) {
        self.turns = (self.cpus.len() > 1).then(|| Turns::new(self.cpus.len()));
    }

    /// The CPU that goes on next, and its time: the one whose time is least far of those that are
    /// not parked, or the one whose turn it is.
    pub(crate) fn next_cpu(&self) -> Option<(usize, Nanos)> {
        let time = |cpu: usize| self.cpus[cpu].now;
        if let Some(turns) = &self.turns {
            return turns.next(&self.busy, time);
        }
        let times = self.busy.iter().map(|&cpu| (cpu, time(cpu)));
        times.min_by_key(|(_, now)| *now)
    }

    /// A CPU goes on; where CPUs take turns, the task that it has has waited for its turn since it
    /// ran, and knows nothing of that.
    pub(crate) fn go_on(&mut self, cpu: usize, now: Nanos, events: &Events) {
        let Some(turns) = &mut self.turns else {
            return;
        };
        turns.begin(cpu, now, events.limit(self.clock, now));
        let Cpu {
            current, now: from, ..
        } = self.cpus[cpu];
        if let Some(current) = current.filter(|_| from < now) {
            self.charge(cpu, current, from, now);
        }
    }

    /// Until when what runs from `from` on has its CPU for itself: the next tick or event, or the
    /// end of its turn.
    pub(crate) fn undisturbed(&self, events: &Events, from: Nanos) -> Nanos {
        let limit = events.limit(self.clock, from);
        let turn = self.turns.as_ref().and_then(Turns::until);
        turn.map_or(limit, |until| until.min(limit))
    }

    /// Until when it may run before the other CPUs are looked at. What it does is done at once, so
    /// where they run at the same time it must not get far ahead.
    pub(crate) fn limit(&self, events: &Events, from: Nanos) -> Nanos {
        let limit = self.undisturbed(events, from);
        match self.turns.is_none() && self.busy.len() > 1 {
            true => limit.min(from + AHEAD),
            false => limit,
        }
    }

    fn set_time(&mut self, cpu: usize, now: Nanos) {
        self.cpus[cpu].now = now;
    }

    /// Lets a CPU stand until a task wakes.
    fn park(&mut self, cpu: usize) {
        self.busy.retain(|&busy| busy != cpu);
    }

    /// A task is there to run from `now` on: one of the CPUs that stand looks for it.
    pub(super) fn unpark(&mut self, now: Nanos) {
        let mut numbers = (0..self.cpus.len()).zip(self.busy.iter().copied().chain([usize::MAX]));
        if let Some((parked, _)) = numbers.find(|(number, busy)| number != busy) {
            self.busy.insert(parked, parked);
            self.cpus[parked].now = self.cpus[parked].now.max(now);
        }
    }

    /// Lets a CPU that finds nothing to run stand: until this time at least, until something
    /// happens, or until a task wakes.
    pub(crate) fn idle(&mut self, cpu: usize, now: Nanos, until: Option<Nanos>, next: Nanos) {
        if let Some(turns) = &mut self.turns {
            turns.pass();
        }
        match until {
            Some(until) => self.set_time(cpu, until.min(next).max(now + Nanos(1))),
            None => self.park(cpu),
        }
    }
}
