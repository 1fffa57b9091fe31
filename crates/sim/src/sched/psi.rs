//! Pressure stall information (`kernel/sched/psi.c`): the time in which tasks of a group could not
//! get on for lack of memory, I/O or CPU.
//!
//! Each CPU has states of its own, by the tasks that it has or had last, and counts by how long it
//! was not idle.

mod counts;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use mm::capture::Frame;
use mm::psi::{PATHS, Psi, Stall};
use mm::rules::{self, Mechanism};
use mm::units::Nanos;

pub(crate) use counts::Doing;
use counts::{Counts, STALLS};

/// A tick at 250 Hz, as distributions build their kernels.
const JIFFY: u64 = 4_000_000;

/// How often averages are taken: 2 s and a tick (`PSI_FREQ`).
const PERIOD: u64 = 501 * JIFFY;

/// One in the kernel's fixed-point numbers, which have 11 bits of fraction.
const ONE: u64 = 1 << 11;

/// What is left of an average of 10, 60 and 300 s after 2 s: `ONE / exp(2 s / span)`, rounded.
const DECAY: [u64; 3] = [1677, 1981, 2034];

/// What a group can stall for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Io,
    Memory,
    Cpu,
}

/// States whose time a group counts: the stalls, and not being idle.
const STATES: usize = STALLS + 1;
const NOT_IDLE: usize = STALLS;
const FULL_OF_MEMORY: usize = Resource::Memory as usize * 2 + 1;

/// The pressure of the system and of each control group.
#[derive(Clone, Debug)]
pub(crate) struct Pressure {
    cpus: usize,
    /// That a CPU reclaims counts as a full stall exactly; before, up to the ticks that find it at
    /// that (`psi_memstall_tick`).
    sees_reclaim: bool,
    /// Between power-on and the run's beginning: periods count from power-on.
    booted: Nanos,
    groups: Vec<Group>,
    tasks: Vec<Task>,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    group: usize,
    /// The one that it has or had last.
    cpu: usize,
    doing: Doing,
}

/// The group of all tasks.
pub(crate) const SYSTEM: usize = 0;

/// A system or a control group.
#[derive(Clone, Debug)]
struct Group {
    pub(crate) parent: Option<usize>,
    cpus: Vec<Cpu>,
    /// What was collected so far, and what of it the averages know.
    totals: [u64; STALLS],
    averaged: [u64; STALLS],
    averages: [[u64; 3]; STALLS],
    /// When averages were last taken, and when they are due.
    last: u64,
    due: u64,
}

/// The tasks of a group on one CPU (`psi_group_cpu`).
#[derive(Clone, Debug, Default)]
struct Cpu {
    counts: Counts,
    /// The time up to which it is accounted.
    until: u64,
    /// Time in each state since it was last collected.
    times: [u64; STATES],
}

impl Pressure {
    /// A machine with this many CPUs, which was booted that long before time 0.
    pub(crate) fn new(cpus: u32, booted: Nanos) -> Self {
        let cpus = cpus.max(1) as usize;
        let mut system = Group::new(None, 0, cpus);
        system.cpus.iter_mut().for_each(|cpu| cpu.until = booted.0);
        Self {
            cpus,
            sees_reclaim: true,
            booted,
            groups: alloc::vec![system],
            tasks: Vec::new(),
        }
    }

    /// The pressure of a machine after boot; what the kernel's files show then is gone on from.
    pub(crate) fn after(boot: &Frame, uptime: Nanos, cpus: u32) -> Self {
        let mut pressure = Self::new(cpus, uptime);
        let release = boot.file("proc/sys/kernel/osrelease").unwrap_or_default();
        pressure.sees_reclaim = rules::has(release, Mechanism::StallsWhileReclaiming);
        let resources = [Resource::Memory, Resource::Io, Resource::Cpu];
        for (path, resource) in PATHS.into_iter().zip(resources) {
            let psi = boot.file(path).map(|text| Psi::parse(path, text));
            if let Some(Ok(psi)) = psi {
                pressure.begin_with(resource, &psi);
            }
        }
        pressure
    }

    /// Lets the system's stalls go on from what a file of /proc/pressure showed at time 0.
    fn begin_with(&mut self, resource: Resource, psi: &Psi) {
        for (full, stall) in [psi.some, psi.full].into_iter().enumerate() {
            let stall = stall.unwrap_or_default();
            self.groups[SYSTEM].begin_with(resource as usize * 2 + full, &stall);
        }
        if self.booted.0 >= PERIOD {
            let group = &mut self.groups[SYSTEM];
            group.last = self.booted.0 / PERIOD * PERIOD;
            group.due = group.last + PERIOD;
            group.averaged = group.totals;
        }
    }

    /// Adds a control group below another, or below the system.
    pub(crate) fn add_group(&mut self, parent: usize, now: Nanos) -> usize {
        let now = self.booted.0 + now.0;
        self.groups.push(Group::new(Some(parent), now, self.cpus));
        self.groups.len() - 1
    }

    /// Adds an idle task to a group; the tasks are numbered in the order in which they are added.
    pub(crate) fn add_task(&mut self, group: usize) {
        self.tasks.push(Task {
            group,
            cpu: 0,
            doing: Doing::default(),
        });
    }

    /// Moves a task to another group.
    pub(crate) fn move_task(&mut self, task: usize, group: usize, now: Nanos) {
        self.take_along(task, now, |task| task.group = group);
    }

    /// A task gets this CPU.
    pub(crate) fn move_to_cpu(&mut self, task: usize, cpu: usize, now: Nanos) {
        if self.tasks[task].cpu != cpu {
            self.take_along(task, now, |task| task.cpu = cpu);
        }
    }

    /// Moves a task with what it does.
    fn take_along(&mut self, task: usize, now: Nanos, moves: impl FnOnce(&mut Task)) {
        let was = self.tasks[task].doing;
        self.change(task, now, |doing| *doing = Doing::default());
        moves(&mut self.tasks[task]);
        self.change(task, now, |doing| *doing = was);
    }

    /// Changes what a task does, in its group and in those above (`psi_task_change`).
    pub(crate) fn change(&mut self, task: usize, now: Nanos, change: impl FnOnce(&mut Doing)) {
        let now = self.booted.0 + now.0;
        let Task { group, cpu, doing } = &mut self.tasks[task];
        let before = *doing;
        change(doing);
        let after = *doing;
        if before == after {
            return;
        }
        let mut next = Some(*group);
        while let Some(index) = next {
            let group = &mut self.groups[index];
            group.keep_averages(now, self.sees_reclaim);
            let cpu = &mut group.cpus[*cpu];
            cpu.spend(now, self.sees_reclaim);
            cpu.counts.remove(before);
            cpu.counts.add(after);
            next = group.parent;
        }
    }

    /// The text of a pressure file of a group: `proc/pressure/*`, or `*.pressure` of a control
    /// group. As in the kernel, reading brings the totals up to date.
    pub(crate) fn text(&mut self, group: usize, resource: Resource, now: Nanos) -> String {
        let now = self.booted.0 + now.0;
        let is_system = group == SYSTEM;
        let group = &mut self.groups[group];
        group.keep_averages(now, self.sees_reclaim);
        group.collect(now, self.sees_reclaim);
        group.average_if_due(now);
        let mut text = String::new();
        for (full, word) in ["some", "full"].into_iter().enumerate() {
            let state = resource as usize * 2 + full;
            // For the system as a whole a full stall for the CPU has no meaning.
            match is_system && full == 1 && resource == Resource::Cpu {
                true => write_line(&mut text, word, [0; 3], 0),
                false => write_line(
                    &mut text,
                    word,
                    group.averages[state],
                    group.totals[state] / 1000,
                ),
            }
        }
        text
    }
}

fn write_line(text: &mut String, word: &str, averages: [u64; 3], micros: u64) {
    let [a, b, c] = averages.map(|average| {
        let hundredths = (average % ONE) * 100 / ONE;
        alloc::format!("{}.{hundredths:02}", average / ONE)
    });
    let _ = writeln!(text, "{word} avg10={a} avg60={b} avg300={c} total={micros}");
}

impl Group {
    fn new(parent: Option<usize>, now: u64, cpus: usize) -> Self {
        let cpu = Cpu {
            until: now,
            ..Cpu::default()
        };
        Self {
            parent,
            cpus: alloc::vec![cpu; cpus],
            totals: [0; STALLS],
            averaged: [0; STALLS],
            averages: [[0; 3]; STALLS],
            last: now,
            due: now + PERIOD,
        }
    }

    fn begin_with(&mut self, state: usize, stall: &Stall) {
        let fixed = |hundredths: u32| (u64::from(hundredths) * ONE).div_ceil(100);
        self.totals[state] = stall.total.0;
        self.averages[state] = [stall.avg10, stall.avg60, stall.avg300].map(fixed);
    }

    /// Takes the averages that fell due up to `now`: a work item does, which comes with the tick
    /// after.
    fn keep_averages(&mut self, now: u64, sees_reclaim: bool) {
        while self.due + JIFFY <= now {
            let worker = self.due + JIFFY;
            self.collect(worker, sees_reclaim);
            self.average_if_due(worker);
        }
    }

    /// Adds what was spent up to `now` to the totals (`collect_percpu_times`). A CPU weighs by the
    /// ticks in which it was not idle, so less than one is lost.
    fn collect(&mut self, now: u64, sees_reclaim: bool) {
        let mut all = 0;
        let mut sums = [0; STALLS];
        for cpu in &mut self.cpus {
            cpu.spend(now, sees_reclaim);
            let times = core::mem::take(&mut cpu.times);
            let ticks = times[NOT_IDLE] / JIFFY;
            all += ticks;
            for (sum, time) in sums.iter_mut().zip(times) {
                *sum += time * ticks;
            }
        }
        for (total, sum) in self.totals.iter_mut().zip(sums) {
            *total += sum.checked_div(all).unwrap_or(0);
        }
    }

    fn average_if_due(&mut self, now: u64) {
        if now < self.due {
            return;
        }
        let missed = (now - self.due) / PERIOD;
        let period = now - (self.last + missed * PERIOD);
        self.due += (1 + missed) * PERIOD;
        self.last = now;
        for (state, averages) in self.averages.iter_mut().enumerate() {
            // What is more than the period has room for goes into the next one.
            let stalled = (self.totals[state] - self.averaged[state]).min(period);
            self.averaged[state] += stalled;
            for (average, decay) in averages.iter_mut().zip(DECAY) {
                (0..missed).for_each(|_| *average = decayed(*average, decay, 0));
                *average = decayed(*average, decay, stalled * 100 / period * ONE);
            }
        }
    }
}

impl Cpu {
    /// Accounts the time up to `now` (`record_times`).
    fn spend(&mut self, now: u64, sees_reclaim: bool) {
        // A task that ran ahead on it may be accounted up to there already.
        let begun = self.until;
        let span = now.saturating_sub(begun);
        self.until = self.until.max(now);
        if span == 0 || self.counts.are_idle() {
            return;
        }
        let stalled = self.counts.stalled();
        for (time, _) in self.times.iter_mut().zip(stalled).filter(|(_, is)| *is) {
            *time += span;
        }
        if !sees_reclaim && stalled[FULL_OF_MEMORY] && !self.counts.waits_for_memory() {
            let seen = (now / JIFFY * JIFFY).saturating_sub(begun);
            self.times[FULL_OF_MEMORY] -= span - seen;
        }
        self.times[NOT_IDLE] += span;
    }
}

/// The average after another period, as the load averages are computed: it is rounded up while it
/// grows.
fn decayed(average: u64, decay: u64, new: u64) -> u64 {
    let sum = average * decay + new * (ONE - decay);
    match new >= average {
        true => sum.div_ceil(ONE),
        false => sum / ONE,
    }
}

#[cfg(test)]
mod tests;
