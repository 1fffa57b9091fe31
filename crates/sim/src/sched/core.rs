//! The CPUs (`kernel/sched/core.c`): which task has one and until when, which are asleep, and who
//! wakes them.

mod smp;

use alloc::vec;
use alloc::vec::Vec;

use mm::units::Nanos;

use crate::bench::turns::Turns;
use crate::sched::cpu;
use crate::sched::events::{Event, Events};
use crate::sched::fair::{Fair, Rule};
use crate::sched::kthread::{KSMD, Kthreads, OBSERVER};
use crate::sched::psi::{Doing, Pressure, SYSTEM};
use crate::sched::softirq::Interrupts;
use crate::sched::timer::Clock;
use crate::sched::wait::{WaitQueue, WaitsFor};

/// CPUs and the tasks that want them.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    cpus: Vec<Cpu>,
    /// Those that are not parked, by number; no other has a current task.
    busy: Vec<usize>,
    fair: Fair,
    waits: Vec<Wait>,
    clock: Clock,
    /// They take turns, as those of a VM in virtual time.
    turns: Option<Turns>,
    pub(crate) kthreads: Kthreads,
    /// Which tasks wait, and for what.
    pub(crate) queue: WaitQueue,
    interrupts: Interrupts,
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
    /// It has begun and has not ended, and how often it has begun.
    is_alive: bool,
    life: u32,
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

/// How a step of a task left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It can go on.
    Continue,
    /// It waits to be woken.
    Blocked(Sleep),
    /// It has ended.
    Ended,
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
            turns: None,
            kthreads: Kthreads::default(),
            queue: WaitQueue::default(),
            interrupts: Interrupts::default(),
            pressure,
        }
    }

    /// That of a kernel that booted on this many CPUs, with its threads.
    pub(crate) fn after(
        rule: Rule,
        clock: Clock,
        pressure: Pressure,
        cpus: u32,
        kthreads: Kthreads,
    ) -> Self {
        let mut scheduler = Self {
            clock,
            kthreads,
            ..Self::new(cpus, rule, pressure)
        };
        (0..kthreads.len()).for_each(|_| scheduler.add_kernel_thread());
        scheduler.fair.be_nice(KSMD);
        scheduler
    }

    /// Adds a task that is not runnable yet.
    pub(crate) fn add(&mut self) -> usize {
        self.waits.push(Wait::default());
        self.pressure.add_task(SYSTEM);
        self.fair.add()
    }

    /// Adds a thread of the kernel, asleep since boot.
    fn add_kernel_thread(&mut self) {
        self.waits.push(Wait {
            is_alive: true,
            ..Wait::default()
        });
        self.pressure.add_task(SYSTEM);
        self.fair.add_old();
    }

    /// A task that begins is woken; if it has lived before, what was to wake it then does not.
    pub(crate) fn begin(&mut self, entity: usize, now: Nanos, owed: Nanos) {
        let wait = &mut self.waits[entity];
        (wait.is_alive, wait.owed) = (true, owed);
        wait.life += 1;
        self.wake(entity, now);
    }

    /// Wakes a task, unless it has ended (`try_to_wake_up`).
    pub(crate) fn try_to_wake_up(&mut self, entity: usize, now: Nanos) {
        if self.waits[entity].is_alive {
            self.wake(entity, now);
        }
    }

    /// A task's timer has gone off: it wakes if it still lives the life in which it set it.
    pub(crate) fn timer_goes_off(&mut self, entity: usize, life: u32, now: Nanos) {
        if self.waits[entity].life == life {
            self.try_to_wake_up(entity, now);
        }
    }

    /// Lets the task that runs sleep until `due`, which takes what any sleep takes.
    pub(crate) fn sleep_until(&self, events: &mut Events, cpu: &mut cpu::Cpu, due: Nanos) {
        self.wake_at(events, cpu.current.entity, due);
        cpu.spent += cpu.costs.sleep_ps + cpu.costs.switch_ps;
    }

    /// Lets it sleep for `span` from now on. What it takes to set the timer and to wake comes
    /// first; what it takes to leave the CPU passes while it sleeps.
    pub(crate) fn sleep_for(&self, events: &mut Events, cpu: &mut cpu::Cpu, span: Nanos) {
        let wakes = Nanos(cpu.costs.sleep_ps / 1000);
        let due = cpu.now().saturating_add(span).saturating_add(wakes);
        self.sleep_until(events, cpu, due);
    }

    /// Wakes a task at a time, should it still live.
    pub(crate) fn wake_at(&self, events: &mut Events, entity: usize, at: Nanos) {
        let life = self.waits[entity].life;
        events.add(at, Event::Wake { entity, life });
    }

    /// The tasks that waited for this go on (`wake_up_all`).
    pub(crate) fn wake_waiters(&mut self, over: WaitsFor, now: Nanos) {
        let woken = self.queue.take(|waits, _| waits == over);
        self.wake_up(woken, now);
    }

    /// The tasks that wait for wakes of a stream, up to this number, go on.
    pub(crate) fn wake_waiters_for_stream(&mut self, stream: u32, most: u64, now: Nanos) {
        let woken = self.queue.take(|waits, _| {
            matches!(waits, WaitsFor::Wake { stream: of, number } if of == stream && number <= most)
        });
        self.wake_up(woken, now);
    }

    pub(crate) fn wake_up(&mut self, woken: Vec<usize>, now: Nanos) {
        for entity in woken {
            self.try_to_wake_up(entity, now);
        }
    }

    /// Whatever a task waits for, it is not woken for it.
    pub(crate) fn wait_no_more(&mut self, entity: usize) {
        self.queue.remove(entity);
        self.interrupts.wake_no_more(entity);
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
        self.waits[entity].is_alive = false;
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
        self.charge(cpu, entity, from, to);
        if let Some(turns) = &mut self.turns {
            turns.account(to);
        }
    }

    fn charge(&mut self, cpu: usize, entity: usize, from: Nanos, to: Nanos) {
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

    /// A disk's interrupt takes time from the task that runs, which is told; an idle CPU has it to
    /// spare. Disks interrupt the first CPU. The tasks that it wakes go on at its end.
    pub(crate) fn interrupt(
        &mut self,
        events: &mut Events,
        time: Nanos,
        woken: Vec<usize>,
        now: Nanos,
    ) -> Option<usize> {
        let ends = self.interrupts.begin(time, woken, now);
        events.add(ends, Event::InterruptEnds);
        let current = self.cpus[0].current?;
        self.waits[current].owed += time;
        Some(current)
    }

    /// The first interrupt under way is over.
    pub(crate) fn interrupt_ends(&mut self, now: Nanos) {
        let woken = self.interrupts.end();
        self.wake_up(woken, now);
    }

    pub(crate) fn owed(&self, entity: usize) -> Nanos {
        self.waits[entity].owed
    }

    /// Lets a task use the CPU for what it has done already, until `limit` at most; one that has
    /// paid all of it falls asleep, if it was to.
    pub(crate) fn pay(&mut self, cpu: usize, entity: usize, from: Nanos, limit: Nanos) {
        let end = from.saturating_add(self.owed(entity));
        let to = end.min(limit).max(from + Nanos(1));
        self.account(cpu, entity, from, to);
        self.owe(entity, end.saturating_sub(to));
        if to < end {
            return;
        }
        if let Some(sleep) = self.waits[entity].then.take() {
            self.block(entity, to, sleep);
        }
        if entity == OBSERVER {
            self.wake_waiters(WaitsFor::Observer, to);
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
            self.fair.give_way(before);
            self.pressure
                .change(before, now, |doing| doing.on_cpu = false);
        }
        self.pressure.move_to_cpu(entity, cpu, now);
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
