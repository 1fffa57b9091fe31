//! Events in virtual time, and who has a CPU: fair shares as the kernel's fair class gives them.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use mm::units::Nanos;

/// The longest a task runs before another that waits gets its turn (`sched_min_granularity` on one
/// or two CPUs).
pub(crate) const SLICE: Nanos = Nanos(3_000_000);

/// A task that wakes is placed at most this much virtual run time before the others.
const SLEEPER_CREDIT: u64 = 3_000_000;

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
    /// The workload's deadline.
    Deadline,
}

/// Events by time; those of one time in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<(Nanos, u64)>>,
    /// The event of each sequence number that is still to come.
    events: alloc::collections::BTreeMap<u64, Event>,
    added: u64,
}

impl Events {
    pub(crate) fn add(&mut self, at: Nanos, event: Event) {
        self.heap.push(Reverse((at, self.added)));
        self.events.insert(self.added, event);
        self.added += 1;
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next event if it is due at `now`.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, Event)> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse((at, sequence)) = self.heap.pop()?;
        self.events.remove(&sequence).map(|event| (at, event))
    }
}

/// What the scheduler knows of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    runnable: bool,
    /// CPU time received, as compared with others.
    vruntime: u64,
    /// It cannot run before: it is running until then on some CPU.
    ready_at: Nanos,
}

/// CPUs and the tasks that want them.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    /// How far each CPU's time has come.
    cpus: Vec<Nanos>,
    entities: Vec<Entity>,
}

/// What a CPU does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Run this entity.
    Run { entity: usize },
    /// Nothing to run before this time at least, if ever.
    Idle { until: Option<Nanos> },
}

impl Scheduler {
    pub(crate) fn new(cpus: u32) -> Self {
        let count = cpus.max(1) as usize;
        Self {
            cpus: vec![Nanos::ZERO; count],
            entities: Vec::new(),
        }
    }

    /// Adds a task that is not runnable yet.
    pub(crate) fn add(&mut self) -> usize {
        self.entities.push(Entity::default());
        self.entities.len() - 1
    }

    /// The CPU whose time is least far, and that time.
    pub(crate) fn next_cpu(&self) -> (usize, Nanos) {
        let (cpu, now) = self
            .cpus
            .iter()
            .enumerate()
            .min_by_key(|(_, now)| **now)
            .expect("a CPU");
        (cpu, *now)
    }

    pub(crate) fn set_time(&mut self, cpu: usize, now: Nanos) {
        self.cpus[cpu] = now;
    }

    /// Makes a task runnable from `now` on.
    pub(crate) fn wake(&mut self, entity: usize, now: Nanos) {
        let floor = self.least_vruntime().saturating_sub(SLEEPER_CREDIT);
        let woken = &mut self.entities[entity];
        if !woken.runnable {
            woken.runnable = true;
            woken.vruntime = woken.vruntime.max(floor);
            woken.ready_at = woken.ready_at.max(now);
        }
    }

    pub(crate) fn block(&mut self, entity: usize) {
        self.entities[entity].runnable = false;
    }

    pub(crate) fn is_runnable(&self, entity: usize) -> bool {
        self.entities[entity].runnable
    }

    /// Chooses for a CPU whose time is `now`: the runnable task that has had least.
    pub(crate) fn pick(&self, now: Nanos) -> Pick {
        let runnable = || {
            self.entities
                .iter()
                .enumerate()
                .filter(|(_, entity)| entity.runnable)
        };
        let ready = runnable().filter(|(_, entity)| entity.ready_at <= now);
        match ready.min_by_key(|(_, entity)| entity.vruntime) {
            Some((entity, _)) => Pick::Run { entity },
            None => Pick::Idle {
                until: runnable().map(|(_, entity)| entity.ready_at).min(),
            },
        }
    }

    /// Accounts that the entity ran from `from` to `to` on a CPU.
    pub(crate) fn account(&mut self, cpu: usize, entity: usize, from: Nanos, to: Nanos) {
        let ran = &mut self.entities[entity];
        ran.vruntime += to.saturating_sub(from).0;
        ran.ready_at = to;
        self.cpus[cpu] = to;
    }

    fn least_vruntime(&self) -> u64 {
        let runnable = self.entities.iter().filter(|entity| entity.runnable);
        let all = self.entities.iter().map(|entity| entity.vruntime).max();
        runnable
            .map(|entity| entity.vruntime)
            .min()
            .or(all)
            .unwrap_or(0)
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

    #[test]
    fn two_busy_tasks_share_a_cpu_evenly_and_a_sleeper_goes_first() {
        let mut scheduler = Scheduler::new(1);
        let tasks = [scheduler.add(), scheduler.add(), scheduler.add()];
        scheduler.wake(tasks[0], Nanos(0));
        scheduler.wake(tasks[1], Nanos(0));
        let mut ran = [0; 3];
        for _ in 0..100 {
            let (cpu, now) = scheduler.next_cpu();
            let Pick::Run { entity } = scheduler.pick(now) else {
                panic!("two are busy")
            };
            ran[entity] += 1;
            scheduler.account(cpu, entity, now, now + SLICE);
        }
        assert_eq!(ran, [50, 50, 0]);
        let (_, now) = scheduler.next_cpu();
        scheduler.wake(tasks[2], now);
        assert_eq!(scheduler.pick(now), Pick::Run { entity: tasks[2] });
    }
}
