//! The fair class: which task has a claim to the CPU, by the kernel's two rules
//! (`kernel/sched/fair.c`).
//!
//! All tasks but ksmd have one weight, and one queue serves all CPUs; on one CPU, which is what
//! virtual time has, the decisions are the kernel's.

use alloc::vec::Vec;

use mm::rules::{self, Mechanism};

/// The weights of tasks at nice 0 and at nice 5 (`sched_prio_to_weight`).
const WEIGHT: i64 = 1024;
const NICE_5: i64 = 335;

/// What a waking task must be behind the running one to take its CPU, and what the other constants
/// of the completely fair scheduler are on one CPU, in nanoseconds.
const WAKEUP_GRANULARITY: i64 = 1_000_000;
const LATENCY: i64 = 6_000_000;
const MIN_GRANULARITY: i64 = 750_000;

/// A slice of the deadline scheduler on one CPU.
const SLICE: i64 = 750_000;

/// The most that a sleeper keeps of its claim: a tick.
const MOST_LAG: i64 = 4_000_000;

/// Which task comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The completely fair scheduler, until 6.5: least run time first; sleepers get a credit.
    LeastRuntime,
    /// Earliest eligible virtual deadline first, since 6.6.
    Deadline {
        /// A sleeper that had more than its share stays queued until that is made good (since
        /// 6.12).
        delays: bool,
    },
}

impl Rule {
    /// That of a kernel release.
    pub(crate) fn of(release: &str) -> Self {
        match rules::has(release, Mechanism::EarliestDeadline) {
            false => Self::LeastRuntime,
            true => Self::Deadline {
                delays: rules::has(release, Mechanism::DelayedDequeue),
            },
        }
    }
}

/// What the fair class knows of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// It has or wants a CPU.
    runnable: bool,
    /// It sleeps, but is compared with the others as if it did not.
    delayed: bool,
    /// It is at nice 5.
    is_nice: bool,
    /// CPU time received, as compared with others: time passes faster for one that weighs less.
    vruntime: i64,
    /// CPU time received since that was last looked at.
    unseen: i64,
    /// Its slice's end, in the same time.
    deadline: i64,
    /// Its deadline when it was given a CPU: as long as that is its deadline, it keeps it.
    kept: i64,
    /// What it was short of when it fell asleep.
    lag: i64,
    /// CPU time since it was given a CPU.
    ran: i64,
    ever_ran: bool,
}

impl Entity {
    fn weight(&self) -> i64 {
        if self.is_nice { NICE_5 } else { WEIGHT }
    }

    /// What a time counts for it, as compared with others (`calc_delta_fair`).
    fn scaled(&self, time: i64) -> i64 {
        time * WEIGHT / self.weight()
    }
}

/// The tasks and their claims.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    rule: Rule,
    entities: Vec<Entity>,
    /// The tasks that are compared with each other, of hundreds that sleep none. Of those that are
    /// equal the first comes first: so they lie in the kernel's tree.
    queued: Vec<usize>,
    /// No queued task is further behind (`min_vruntime`).
    floor: i64,
    /// The task for which another lost its CPU: it comes next.
    next: Option<usize>,
}

impl Fair {
    pub(crate) fn new(rule: Rule) -> Self {
        Self {
            rule,
            entities: Vec::new(),
            queued: Vec::new(),
            floor: 0,
            next: None,
        }
    }

    /// Adds a task that sleeps.
    pub(crate) fn add(&mut self) -> usize {
        self.entities.push(Entity::default());
        self.entities.len() - 1
    }

    /// Adds a task that has run before, as the kernel's threads have when they come up at boot.
    pub(crate) fn add_old(&mut self) -> usize {
        let task = self.add();
        self.entities[task].ever_ran = true;
        task
    }

    /// Puts a task at nice 5 that waited while the kernel booted: it has the most claim that a
    /// sleeper keeps.
    pub(crate) fn be_nice(&mut self, task: usize) {
        let entity = &mut self.entities[task];
        entity.is_nice = true;
        entity.lag = entity.scaled(MOST_LAG);
    }

    pub(crate) fn is_runnable(&self, task: usize) -> bool {
        self.entities[task].runnable
    }

    /// Whether a task that sleeps is queued nevertheless.
    pub(crate) fn is_delayed(&self, task: usize) -> bool {
        self.entities[task].delayed
    }

    /// A task wakes, or begins.
    pub(crate) fn wake(&mut self, task: usize) {
        match self.rule {
            Rule::LeastRuntime => self.place_by_runtime(task),
            Rule::Deadline { .. } => self.place_by_deadline(task),
        }
        let woken = &mut self.entities[task];
        (woken.runnable, woken.delayed, woken.ever_ran) = (true, false, true);
        self.enqueue(task);
        self.raise_floor();
    }

    /// A task falls asleep.
    pub(crate) fn sleep(&mut self, task: usize) {
        let has_claim = self.is_eligible(task);
        let lag = self.lag(task);
        let slept = &mut self.entities[task];
        slept.runnable = false;
        slept.delayed = self.rule == Rule::Deadline { delays: true } && !has_claim;
        slept.lag = lag;
        self.enqueue(task);
        self.give_way(task);
        self.next = self.next.filter(|&next| next != task);
        self.raise_floor();
    }

    /// Accounts CPU time of a task that runs.
    pub(crate) fn account(&mut self, task: usize, time: i64) {
        self.entities[task].unseen += time;
    }

    /// Brings the run time of a task that runs up to date; whether its time is up for others that
    /// wait (`update_curr`).
    pub(crate) fn is_over(&mut self, task: usize) -> bool {
        let entity = &mut self.entities[task];
        entity.vruntime += entity.scaled(entity.unseen);
        entity.ran += entity.unseen;
        entity.unseen = 0;
        self.raise_floor();
        if self.rule == Rule::LeastRuntime {
            return false;
        }
        let entity = &mut self.entities[task];
        if entity.vruntime < entity.deadline {
            return false;
        }
        entity.deadline = entity.vruntime + entity.scaled(SLICE);
        self.queued().count() > 1
    }

    /// Whether a running task has to go at a tick.
    pub(crate) fn is_over_at_tick(&mut self, task: usize) -> bool {
        let is_over = self.is_over(task);
        if self.rule != Rule::LeastRuntime {
            return is_over;
        }
        let tasks = self.queued().count() as i64;
        let running = self.entities[task];
        let period = match tasks {
            0..=1 => return false,
            2..=8 => LATENCY,
            _ => MIN_GRANULARITY * tasks,
        };
        let fair = period * running.weight() / self.queue().0;
        let others = self.queued().filter(|&(other, _)| other != task);
        let least = others.map(|(_, other)| other.vruntime).min();
        running.ran > fair
            || running.ran >= MIN_GRANULARITY
                && least.is_some_and(|least| running.vruntime - least > fair)
    }

    /// Whether a task that woke takes the CPU of one that runs at once.
    pub(crate) fn preempts(&mut self, woken: usize, running: usize) -> bool {
        let preempts = match self.rule {
            Rule::LeastRuntime => self.is_far_behind(woken, running),
            Rule::Deadline { .. } => self.earliest(Some(running), |_| true) == Some(woken),
        };
        if preempts {
            self.next = Some(woken);
        }
        preempts
    }

    /// Chooses among the tasks that are `ready`; `running` is the one that has the CPU, if it wants
    /// to keep it.
    pub(crate) fn choose(
        &mut self,
        running: Option<usize>,
        ready: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let next = self.next.take();
        match self.rule {
            Rule::LeastRuntime => {
                let waiting = self.queued().filter(|&(task, _)| ready(task));
                let (least, _) = waiting.min_by_key(|(_, entity)| entity.vruntime)?;
                let favoured = next.filter(|&next| ready(next) && self.entities[next].runnable);
                let favoured = favoured.filter(|&next| !self.is_far_behind(least, next));
                Some(favoured.unwrap_or(least))
            }
            Rule::Deadline { .. } => loop {
                let task = self.earliest(running, &ready)?;
                if !self.entities[task].delayed {
                    return Some(task);
                }
                let entity = &mut self.entities[task];
                (entity.delayed, entity.lag) = (false, 0);
                self.enqueue(task);
            },
        }
    }

    /// A task is given a CPU that another had.
    pub(crate) fn begin(&mut self, task: usize) {
        let entity = &mut self.entities[task];
        entity.ran = 0;
        entity.kept = entity.deadline;
    }

    /// A queued task loses its CPU: it comes behind its equals (`put_prev_entity`).
    pub(crate) fn give_way(&mut self, task: usize) {
        if let Some(place) = self.queued.iter().position(|&queued| queued == task) {
            self.queued[place..].rotate_left(1);
        }
    }

    /// A task has ended: one that takes its place is a new one.
    pub(crate) fn forget(&mut self, task: usize) {
        self.entities[task] = Entity::default();
        self.enqueue(task);
    }

    /// Those of the tasks that have or want a CPU.
    pub(crate) fn runnable(&self) -> impl Iterator<Item = usize> {
        let runnable = self.queued().filter(|(_, entity)| entity.runnable);
        runnable.map(|(task, _)| task)
    }

    fn is_far_behind(&self, task: usize, other: usize) -> bool {
        let (task, other) = (&self.entities[task], &self.entities[other]);
        other.vruntime - task.vruntime > task.scaled(WAKEUP_GRANULARITY)
    }

    /// Tasks that are compared with each other.
    fn queued(&self) -> impl Iterator<Item = (usize, &Entity)> {
        self.queued.iter().map(|&task| (task, &self.entities[task]))
    }

    /// Notes whether a task is compared with the others, as its state says.
    fn enqueue(&mut self, task: usize) {
        let Entity {
            runnable, delayed, ..
        } = self.entities[task];
        let place = self.queued.iter().position(|&queued| queued == task);
        match (runnable || delayed, place) {
            (true, None) => self.queued.push(task),
            (false, Some(place)) => drop(self.queued.remove(place)),
            _ => {}
        }
    }

    /// A sleeper is placed half a period before the others at most, a new task a slice after.
    fn place_by_runtime(&mut self, task: usize) {
        let tasks = self.queued().count() as i64 + 1;
        let entity = &mut self.entities[task];
        let place = match entity.ever_ran {
            true => self.floor - LATENCY / 2,
            false => self.floor + (LATENCY / tasks).max(MIN_GRANULARITY),
        };
        entity.vruntime = entity.vruntime.max(place);
    }

    /// A task comes back with what it was short of; one that is still queued keeps its place, but
    /// has made nothing good by sleeping longer.
    fn place_by_deadline(&mut self, task: usize) {
        if self.entities[task].delayed {
            if self.lag(task) <= 0 {
                return;
            }
            self.entities[task].lag = 0;
            self.entities[task].delayed = false;
            self.enqueue(task);
        }
        let (weight, _) = self.queue();
        let mean = self.mean();
        let entity = &mut self.entities[task];
        // Its own coming moves the mean: what it is placed by must be that much more.
        let lag = match weight {
            0 => 0,
            _ => entity.lag * (weight + entity.weight()) / weight,
        };
        entity.vruntime = mean - lag;
        let slice = if entity.ever_ran { SLICE } else { SLICE / 2 };
        entity.deadline = entity.vruntime + entity.scaled(slice);
    }

    /// Of those that have a claim, the one whose deadline is first; the running one keeps the CPU
    /// until its deadline as long as it has a claim.
    fn earliest(&self, running: Option<usize>, ready: impl Fn(usize) -> bool) -> Option<usize> {
        let (weight, above) = self.queue();
        let has_claim = |entity: &Entity| self.has_claim(entity, weight, above);
        let kept = running.filter(|&task| {
            let entity = &self.entities[task];
            entity.runnable && entity.kept == entity.deadline && has_claim(entity)
        });
        let ready = |&(task, entity): &(usize, &Entity)| entity.delayed || ready(task);
        let claim = |&(_, entity): &(usize, &Entity)| has_claim(entity);
        let deadline =
            |&(task, entity): &(usize, &Entity)| (entity.deadline, running == Some(task));
        let eligible = self
            .queued()
            .filter(ready)
            .filter(claim)
            .min_by_key(deadline);
        // Where those that have a claim run elsewhere, the least unjust choice.
        let any = || self.queued().filter(ready).min_by_key(deadline);
        kept.or_else(|| eligible.or_else(any).map(|(task, _)| task))
    }

    /// Whether a queued task has had no more than its share.
    fn is_eligible(&self, task: usize) -> bool {
        let (weight, above) = self.queue();
        self.has_claim(&self.entities[task], weight, above)
    }

    /// Whether one has had no more than its share where the queue weighs so much and is so much
    /// above the floor in all.
    fn has_claim(&self, entity: &Entity, weight: i64, above: i64) -> bool {
        above >= weight * (entity.vruntime - self.floor)
    }

    /// What the queued tasks weigh, and how far above the floor they are in all, by their weight.
    fn queue(&self) -> (i64, i64) {
        let sum = |(weights, sum): (i64, i64), (_, other): (usize, &Entity)| {
            let weight = other.weight();
            (
                weights + weight,
                sum + weight * (other.vruntime - self.floor),
            )
        };
        self.queued().fold((0, 0), sum)
    }

    /// What a task is short of its share.
    fn lag(&self, task: usize) -> i64 {
        let lag = self.mean() - self.entities[task].vruntime;
        let most = self.entities[task].scaled(MOST_LAG);
        lag.clamp(-most, most)
    }

    /// The mean run time of the queued tasks.
    fn mean(&self) -> i64 {
        match self.queue() {
            (0, _) => self.floor,
            (weight, above) => self.floor + above.div_euclid(weight),
        }
    }

    fn raise_floor(&mut self) {
        let least = self.queued().map(|(_, entity)| entity.vruntime).min();
        self.floor = self.floor.max(least.unwrap_or(self.floor));
    }
}

#[cfg(test)]
mod tests;
