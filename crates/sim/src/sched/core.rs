//! Events in virtual time, and the CPUs: which task has one, and until when.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use mm::units::Nanos;

use crate::machine::boot;
use crate::sched::fair::{Fair, Rule};
use crate::sched::psi::{Doing, Pressure, SYSTEM};
use crate::sched::timer::Clock;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A disk has done a request.
    DiskDone { disk: usize },
    /// A sleeping task wakes, if it still lives the life in which it fell asleep.
    Wake { entity: usize, life: u32 },
    /// A process that starts later starts, unless it was killed before.
    Start { process: usize },
    /// A sample is due.
    Sample,
    /// A second has passed.
    Second,
    /// The control groups' statistics are brought up to date.
    FlushStats,
    /// The flusher of a disk looks again, unless its timer was set again.
    Flush { disk: usize, at: Nanos },
    /// A window of the throttling of a disk's writes ends.
    WriteWindow { disk: usize },
    /// The bandwidth of a disk is estimated.
    EstimateBandwidth { disk: usize },
    /// ksmd goes on to its next batch, unless it was woken before.
    KsmScan { at: Nanos },
    /// kswapd's nap ends, unless it was woken before.
    NapEnds { at: Nanos },
    /// A disk's interrupt is over.
    InterruptEnds,
    /// A transaction of a disk's journal is old.
    Commit { disk: usize, transaction: u64 },
    /// The workload's deadline.
    Deadline,
}

/// Events by time; those of one time in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<ToCome>>,
    added: u64,
}

/// An event that is to come, with its number among those that were added.
#[derive(Clone, Debug)]
struct ToCome {
    at: Nanos,
    added: u64,
    event: Event,
}

impl Ord for ToCome {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.added).cmp(&(other.at, other.added))
    }
}

impl PartialOrd for ToCome {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ToCome {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ToCome {}

impl Events {
    pub(crate) fn add(&mut self, at: Nanos, event: Event) {
        let added = self.added;
        self.heap.push(Reverse(ToCome { at, added, event }));
        self.added += 1;
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(next)| next.at)
    }

    /// Takes the next event if it is due at `now`.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, Event)> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse(next) = self.heap.pop()?;
        Some((next.at, next.event))
    }
}

/// CPUs and the tasks that want them.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    cpus: Vec<Cpu>,
    /// Those that are not parked, by number; no other has a current task.
    busy: Vec<usize>,
    fair: Fair,
    waits: Vec<Wait>,
    clock: Clock,
    /// What the tasks' states mean for pressure.
    pub(crate) pressure: Pressure,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// How far its time has come.
    now: Nanos,
    current: Option<usize>,
    /// The current task has to give way to another.
    yields: bool,
}

/// When a task can go on.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    /// It cannot run before: it is running until then on some CPU.
    ready_at: Nanos,
    /// The CPU that has it as its current task.
    on: Option<usize>,
    /// CPU time of what it has done already, and that it falls asleep when that is paid.
    owed: Nanos,
    then: Option<Sleep>,
    /// Its stall for a page that was read back lasts until it has a CPU again.
    refaults: bool,
}

/// What a task waits for in its sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// A disk.
    Io,
    /// A disk, for a page of the working set that reclaim took.
    Refault,
    /// A timer, another process, more work.
    Idle,
}

/// What a CPU does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Run this entity.
    Run { entity: usize },
    /// Nothing to run before this time at least; without one, before a task wakes.
    Idle { until: Option<Nanos> },
}

impl Scheduler {
    fn new(cpus: u32, rule: Rule, pressure: Pressure) -> Self {
        let count = cpus.max(1) as usize;
        Self {
            cpus: vec![Cpu::default(); count],
            busy: (0..count).collect(),
            fair: Fair::new(rule),
            waits: Vec::new(),
            clock: Clock::default(),
            pressure,
        }
    }

    /// That of a kernel that booted on this many CPUs.
    pub(crate) fn after(boot: &boot::State, cpus: u32) -> Self {
        let rule = Rule::of(&boot.release());
        Self {
            clock: boot.clock(),
            ..Self::new(cpus, rule, Pressure::after(boot, cpus))
        }
    }

    /// Adds a task that is not runnable yet.
    pub(crate) fn add(&mut self) -> usize {
        self.waits.push(Wait::default());
        self.pressure.add_task(SYSTEM);
        self.fair.add()
    }

    /// Adds a thread of the kernel, asleep since boot.
    pub(crate) fn add_kernel_thread(&mut self) -> usize {
        self.waits.push(Wait::default());
        self.pressure.add_task(SYSTEM);
        self.fair.add_old()
    }

    /// Puts a thread of the kernel at nice 5.
    pub(crate) fn be_nice(&mut self, entity: usize) {
        self.fair.be_nice(entity);
    }

    /// The CPU whose time is least far of those that are not parked, and that time.
    pub(crate) fn next_cpu(&self) -> Option<(usize, Nanos)> {
        let busy = self.busy.iter();
        let times = busy.map(|&cpu| (cpu, self.cpus[cpu].now));
        times.min_by_key(|(_, now)| *now)
    }

    pub(crate) fn set_time(&mut self, cpu: usize, now: Nanos) {
        self.cpus[cpu].now = now;
    }

    /// Lets a CPU stand until a task wakes.
    pub(crate) fn park(&mut self, cpu: usize) {
        self.busy.retain(|&busy| busy != cpu);
    }

    /// A task is there to run from `now` on: one of the CPUs that stand looks for it.
    fn unpark(&mut self, now: Nanos) {
        let mut numbers = (0..self.cpus.len()).zip(self.busy.iter().copied().chain([usize::MAX]));
        if let Some((parked, _)) = numbers.find(|(number, busy)| number != busy) {
            self.busy.insert(parked, parked);
            self.cpus[parked].now = self.cpus[parked].now.max(now);
        }
    }

    /// Makes a task runnable from `now` on; one that was to fall asleep does not.
    pub(crate) fn wake(&mut self, entity: usize, now: Nanos) {
        self.waits[entity].then = None;
        if self.fair.is_runnable(entity) {
            return;
        }
        if !self.fair.is_delayed(entity) {
            self.look_at_currents();
        }
        self.fair.wake(entity);
        self.look_at_currents();
        let wait = &mut self.waits[entity];
        wait.ready_at = wait.ready_at.max(now);
        self.pressure.change(entity, now, |doing| {
            (doing.running, doing.iowait) = (true, false);
        });
        self.preempt(entity);
        self.unpark(now);
    }

    /// A task falls asleep, once it has paid what it owes.
    pub(crate) fn block(&mut self, entity: usize, now: Nanos, sleep: Sleep) {
        if !self.fair.is_runnable(entity) {
            return;
        }
        if self.waits[entity].owed > Nanos::ZERO {
            self.waits[entity].then = Some(sleep);
            return;
        }
        self.fair.is_over(entity);
        self.fair.sleep(entity);
        self.pressure.change(entity, now, |doing| {
            (doing.running, doing.on_cpu) = (false, false);
            doing.iowait = sleep != Sleep::Idle;
            doing.memstall |= sleep == Sleep::Refault;
        });
        self.waits[entity].refaults = sleep == Sleep::Refault;
        self.leave_cpu(entity);
    }

    /// Notes when a task that runs began and ended to work for reclaim.
    pub(crate) fn note_stalls(
        &mut self,
        entity: usize,
        stalls: impl Iterator<Item = (Nanos, bool)>,
    ) {
        for (at, begins) in stalls {
            self.pressure
                .change(entity, at, |doing| doing.memstall = begins);
        }
    }

    /// A task ends; if it begins again, it is a new one.
    pub(crate) fn end(&mut self, entity: usize, now: Nanos) {
        self.waits[entity].owed = Nanos::ZERO;
        self.block(entity, now, Sleep::Idle);
        self.pressure
            .change(entity, now, |doing| *doing = Doing::default());
        (self.waits[entity].then, self.waits[entity].refaults) = (None, false);
        self.fair.forget(entity);
    }

    pub(crate) fn is_runnable(&self, entity: usize) -> bool {
        self.fair.is_runnable(entity)
    }

    /// Chooses for a CPU whose time is `now`: its task goes on, unless it must give way.
    pub(crate) fn pick(&mut self, cpu: usize, now: Nanos) -> Pick {
        let Cpu {
            current, yields, ..
        } = self.cpus[cpu];
        let elsewhere = |task: usize| self.waits[task].on.is_some_and(|on| on != cpu);
        let ready = |task: usize| self.waits[task].ready_at <= now && !elsewhere(task);
        if let Some(task) = current.filter(|_| yields) {
            self.fair.is_over(task);
        }
        let going_on = current.filter(|&task| self.fair.is_runnable(task) && ready(task));
        let chosen = match going_on {
            Some(task) if !yields => Some(task),
            _ => self.fair.choose(going_on, ready),
        };
        let Some(entity) = chosen else {
            let waiting = self.fair.runnable().filter(|&task| !elsewhere(task));
            let until = waiting.map(|task| self.waits[task].ready_at).min();
            if let Some(current) = self.cpus[cpu].current.take() {
                self.waits[current].on = None;
            }
            return Pick::Idle { until };
        };
        self.cpus[cpu].yields = false;
        if current != Some(entity) {
            self.switch(cpu, entity, now);
        }
        Pick::Run { entity }
    }

    /// Accounts that the entity ran from `from` to `to` on a CPU.
    pub(crate) fn account(&mut self, cpu: usize, entity: usize, from: Nanos, to: Nanos) {
        self.fair.account(entity, to.saturating_sub(from).0 as i64);
        self.waits[entity].ready_at = to;
        self.cpus[cpu].now = to;
        let ticked = self.clock.jiffies(from) != self.clock.jiffies(to);
        if ticked && self.fair.is_over_at_tick(entity) {
            self.cpus[cpu].yields = true;
        }
    }

    /// Notes CPU time of work that a task has done, but that others may interrupt.
    pub(crate) fn owe(&mut self, entity: usize, time: Nanos) {
        self.waits[entity].owed = time;
    }

    /// An interrupt takes time from the task that runs, which is told; an idle CPU has it to spare.
    /// Disks interrupt the first CPU.
    pub(crate) fn interrupt(&mut self, time: Nanos) -> Option<usize> {
        let current = self.cpus[0].current?;
        self.waits[current].owed += time;
        Some(current)
    }

    pub(crate) fn owed(&self, entity: usize) -> Nanos {
        self.waits[entity].owed
    }

    /// Lets a task that has paid what it owed fall asleep, if it was to.
    pub(crate) fn has_paid(&mut self, entity: usize, now: Nanos) {
        self.waits[entity].owed = Nanos::ZERO;
        if let Some(sleep) = self.waits[entity].then.take() {
            self.block(entity, now, sleep);
        }
    }

    fn look_at_currents(&mut self) {
        for &cpu in &self.busy {
            let cpu = &mut self.cpus[cpu];
            if let Some(current) = cpu.current {
                cpu.yields |= self.fair.is_over(current);
            }
        }
    }

    /// A task that woke takes a CPU from another, if none is idle and it has the claim.
    fn preempt(&mut self, woken: usize) {
        let is_idle = |&cpu: &usize| self.cpus[cpu].current.is_none();
        if self.busy.len() < self.cpus.len() || self.busy.iter().any(is_idle) {
            return;
        }
        for cpu in self.cpus.iter_mut().filter(|cpu| !cpu.yields) {
            if let Some(current) = cpu.current
                && self.fair.preempts(woken, current)
            {
                cpu.yields = true;
                return;
            }
        }
    }

    fn switch(&mut self, cpu: usize, entity: usize, now: Nanos) {
        let before = self.cpus[cpu].current.replace(entity);
        self.waits[entity].on = Some(cpu);
        self.fair.begin(entity);
        if let Some(before) = before {
            self.waits[before].on = None;
            self.pressure
                .change(before, now, |doing| doing.on_cpu = false);
        }
        let refaulted = core::mem::take(&mut self.waits[entity].refaults);
        self.pressure.change(entity, now, |doing| {
            doing.on_cpu = true;
            doing.memstall &= !refaulted;
        });
    }

    fn leave_cpu(&mut self, entity: usize) {
        if let Some(cpu) = self.waits[entity].on.take() {
            (self.cpus[cpu].current, self.cpus[cpu].yields) = (None, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_then_of_addition() {
        let mut events = Events::default();
        events.add(Nanos(20), Event::Sample);
        let wake = |entity| Event::Wake { entity, life: 1 };
        events.add(Nanos(10), wake(1));
        events.add(Nanos(10), wake(2));
        assert_eq!(events.take_due(Nanos(9)), None);
        assert_eq!(events.take_due(Nanos(30)), Some((Nanos(10), wake(1))));
        assert_eq!(events.take_due(Nanos(30)), Some((Nanos(10), wake(2))));
        assert_eq!(events.take_due(Nanos(30)), Some((Nanos(20), Event::Sample)));
        assert_eq!(events.next_time(), None);
    }
}
