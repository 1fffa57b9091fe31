//! Pressure stall information (`kernel/sched/psi.c`): the time in which tasks of a group could not
//! get on for lack of memory, I/O or CPU.
//!
//! With one CPU the states are the kernel's, exactly. With several the kernel keeps them for each
//! CPU and weighs the CPUs by how busy they are; here the share is taken by the rule that its
//! documentation derives that from: of the CPUs that could be busy, those that are not productive.

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

/// How a machine counts.
#[derive(Clone, Copy, Debug)]
struct Rule {
    cpus: u64,
    /// That a CPU reclaims counts as a full stall exactly; before, up to the ticks that find it at
    /// that (`psi_memstall_tick`).
    sees_reclaim: bool,
}

/// States whose time a group counts: the stalls, and not being idle.
const STATES: usize = STALLS + 1;
const NOT_IDLE: usize = STALLS;
const FULL_OF_MEMORY: usize = Resource::Memory as usize * 2 + 1;

/// The pressure of the system and of each control group.
#[derive(Clone, Debug)]
pub(crate) struct Pressure {
    rule: Rule,
    /// Between power-on and the run's beginning: periods count from power-on.
    booted: Nanos,
    groups: Vec<Group>,
    /// Each task's group, and what it does.
    tasks: Vec<(usize, Doing)>,
}

/// The group of all tasks.
pub(crate) const SYSTEM: usize = 0;

/// A system or a control group.
#[derive(Clone, Debug)]
struct Group {
    pub(crate) parent: Option<usize>,
    counts: Counts,
    /// The time up to which it is accounted.
    until: u64,
    /// Time in each state since it was last collected.
    times: [u64; STATES],
    /// What was collected so far, and what of it the averages know.
    totals: [u64; STALLS],
    averaged: [u64; STALLS],
    averages: [[u64; 3]; STALLS],
    /// When averages were last taken, and when they are due.
    last: u64,
    due: u64,
}

impl Pressure {
    /// A machine with this many CPUs, which was booted that long before time 0.
    pub(crate) fn new(cpus: u32, booted: Nanos) -> Self {
        let mut system = Group::new(None, 0);
        system.until = booted.0;
        Self {
            rule: Rule {
                cpus: u64::from(cpus.max(1)),
                sees_reclaim: true,
            },
            booted,
            groups: alloc::vec![system],
            tasks: Vec::new(),
        }
    }

    /// The pressure of a machine after boot; what the kernel's files show then is gone on from.
    pub(crate) fn after(boot: &Frame, uptime: Nanos, cpus: u32) -> Self {
        let mut pressure = Self::new(cpus, uptime);
        let release = boot.file("proc/sys/kernel/osrelease").unwrap_or_default();
        pressure.rule.sees_reclaim = rules::has(release, Mechanism::StallsWhileReclaiming);
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
        self.groups.push(Group::new(Some(parent), now));
        self.groups.len() - 1
    }

    /// Adds an idle task to a group; the tasks are numbered in the order in which they are added.
    pub(crate) fn add_task(&mut self, group: usize) {
        self.tasks.push((group, Doing::default()));
    }

    /// Moves a task to another group.
    pub(crate) fn move_task(&mut self, task: usize, group: usize, now: Nanos) {
        let doing = self.tasks[task].1;
        self.change(task, now, |doing| *doing = Doing::default());
        self.tasks[task].0 = group;
        self.change(task, now, |now_doing| *now_doing = doing);
    }

    /// Changes what a task does, in its group and in those above (`psi_task_change`).
    pub(crate) fn change(&mut self, task: usize, now: Nanos, change: impl FnOnce(&mut Doing)) {
        let now = self.booted.0 + now.0;
        let (group, doing) = &mut self.tasks[task];
        let before = *doing;
        change(doing);
        let after = *doing;
        if before == after {
            return;
        }
        let mut next = Some(*group);
        while let Some(index) = next {
            let group = &mut self.groups[index];
            group.advance(now, self.rule);
            group.counts.remove(before);
            group.counts.add(after);
            next = group.parent;
        }
    }

    /// The text of a pressure file of a group: `proc/pressure/*`, or `*.pressure` of a control
    /// group. As in the kernel, reading brings the totals up to date.
    pub(crate) fn text(&mut self, group: usize, resource: Resource, now: Nanos) -> String {
        let now = self.booted.0 + now.0;
        let is_system = group == SYSTEM;
        let group = &mut self.groups[group];
        group.advance(now, self.rule);
        group.collect();
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
    fn new(parent: Option<usize>, now: u64) -> Self {
        Self {
            parent,
            counts: Counts::default(),
            until: now,
            times: [0; STATES],
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

    /// Accounts the time up to `now` (`record_times`); averages that fall due on the way are taken
    /// by a work item, which comes with the tick after.
    fn advance(&mut self, now: u64, rule: Rule) {
        while self.due + JIFFY <= now {
            let worker = self.due + JIFFY;
            self.spend(worker, rule);
            self.collect();
            self.average_if_due(worker);
        }
        self.spend(now, rule);
    }

    fn spend(&mut self, now: u64, rule: Rule) {
        // With several CPUs a task that ran ahead on one is accounted up to there already.
        let begun = self.until;
        let span = now.saturating_sub(begun);
        self.until = self.until.max(now);
        if span == 0 || self.counts.busy() == 0 {
            return;
        }
        let (mut shares, threads) = self.counts.stalled(rule.cpus);
        if !rule.sees_reclaim {
            let full = self.counts.stalled_but_for_reclaim(rule.cpus);
            let seen = (now / JIFFY * JIFFY).saturating_sub(begun);
            let reclaims = core::mem::replace(&mut shares[FULL_OF_MEMORY], full) - full;
            self.times[FULL_OF_MEMORY] += seen * reclaims / threads;
        }
        for (time, share) in self.times.iter_mut().zip(shares) {
            *time += span * share / threads;
        }
        self.times[NOT_IDLE] += span;
    }

    /// Adds what was spent to the totals. The kernel weighs it by the ticks in which the CPU was
    /// not idle, so less than one is lost.
    fn collect(&mut self) {
        let times = core::mem::take(&mut self.times);
        if times[NOT_IDLE] >= JIFFY {
            for (total, time) in self.totals.iter_mut().zip(times) {
                *total += time;
            }
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
mod tests {
    use super::*;

    const RUNNING: Doing = Doing {
        running: true,
        on_cpu: true,
        iowait: false,
        memstall: false,
    };
    const WAITING: Doing = Doing {
        on_cpu: false,
        ..RUNNING
    };
    const RECLAIMING: Doing = Doing {
        memstall: true,
        ..RUNNING
    };
    const READING: Doing = Doing {
        running: false,
        on_cpu: false,
        iowait: true,
        memstall: false,
    };
    const REFAULTING: Doing = Doing {
        memstall: true,
        ..READING
    };
    const IDLE: Doing = Doing {
        iowait: false,
        ..READING
    };

    /// Milliseconds in the states of memory, io and cpu: some, full of each.
    fn totals(pressure: &mut Pressure, group: usize, at: u64) -> [u64; 6] {
        let file = |resource| {
            let text = pressure.text(group, resource, Nanos(at * 1_000_000));
            let psi = Psi::parse("a pressure file", &text).expect("the kernel's format");
            [psi.some, psi.full].map(|stall| stall.expect("both lines").total.0 / 1_000_000)
        };
        let files = [Resource::Memory, Resource::Io, Resource::Cpu].map(file);
        core::array::from_fn(|index| files[index / 2][index % 2])
    }

    /// Lets tasks do things from times in milliseconds on, and reads the totals at the end.
    fn timeline(cpus: u32, changes: &[(u64, usize, Doing)], end: u64) -> [u64; 6] {
        let mut pressure = Pressure::new(cpus, Nanos::ZERO);
        (0..4).for_each(|_| pressure.add_task(SYSTEM));
        for &(at, task, doing) in changes {
            pressure.change(task, Nanos(at * 1_000_000), |now| *now = doing);
        }
        totals(&mut pressure, SYSTEM, end)
    }

    #[test]
    fn waiting_for_a_cpu_is_some_pressure_and_never_full_for_the_system() {
        let changes = [
            (0, 0, RUNNING),
            (10, 1, WAITING),
            (30, 0, IDLE),
            (30, 1, RUNNING),
        ];
        assert_eq!(timeline(1, &changes, 100), [0, 0, 0, 0, 20, 0]);
    }

    #[test]
    fn a_read_is_full_while_nobody_wants_the_cpu() {
        let changes = [
            (0, 0, READING),
            (10, 1, RUNNING),
            (25, 1, IDLE),
            (40, 0, RUNNING),
        ];
        assert_eq!(timeline(1, &changes, 100), [0, 0, 40, 25, 0, 0]);
    }

    #[test]
    fn a_refault_is_full_unless_another_task_is_productive() {
        let changes = [
            (0, 0, REFAULTING),
            (10, 1, RUNNING),
            (25, 1, IDLE),
            (40, 0, IDLE),
        ];
        assert_eq!(timeline(1, &changes, 100), [40, 25, 40, 25, 0, 0]);
    }

    #[test]
    fn the_cpu_that_reclaims_stalls_those_that_wait_for_it() {
        let changes = [
            (0, 0, RECLAIMING),
            (5, 1, WAITING),
            (20, 0, IDLE),
            (20, 1, RUNNING),
        ];
        assert_eq!(timeline(1, &changes, 100), [20, 20, 0, 0, 15, 0]);
        let stalled_but_off_the_cpu = [
            (
                0,
                0,
                Doing {
                    memstall: true,
                    ..WAITING
                },
            ),
            (0, 1, RUNNING),
            (30, 0, IDLE),
        ];
        assert_eq!(
            timeline(1, &stalled_but_off_the_cpu, 100),
            [30, 0, 0, 0, 30, 0]
        );
    }

    /// Ticks come at 4 and 8 ms; some pressure is exact.
    #[test]
    fn before_5_13_reclaim_is_a_full_stall_up_to_the_ticks_that_find_it() {
        let full = |from: u64, to: u64| {
            let mut pressure = Pressure::new(1, Nanos::ZERO);
            pressure.rule.sees_reclaim = false;
            pressure.add_task(SYSTEM);
            pressure.change(0, Nanos(from * 1_000_000), |doing| *doing = RECLAIMING);
            pressure.change(0, Nanos(to * 1_000_000), |doing| *doing = RUNNING);
            let [some, full, ..] = totals(&mut pressure, SYSTEM, 50);
            assert_eq!(some, to - from);
            full
        };
        assert_eq!([full(1, 3), full(3, 9), full(5, 7)], [0, 5, 0]);
    }

    #[test]
    fn of_two_cpus_one_that_reclaims_is_half_of_a_full_stall() {
        let changes = [(0, 0, RECLAIMING), (0, 1, RUNNING), (40, 0, IDLE)];
        assert_eq!(timeline(2, &changes, 100), [20, 20, 0, 0, 0, 0]);
    }

    #[test]
    fn a_groups_stall_is_its_parents_but_only_the_group_is_stalled_in_full() {
        let mut pressure = Pressure::new(1, Nanos::ZERO);
        let group = pressure.add_group(SYSTEM, Nanos::ZERO);
        pressure.add_task(group);
        pressure.add_task(SYSTEM);
        pressure.change(1, Nanos::ZERO, |doing| *doing = RUNNING);
        pressure.change(0, Nanos::ZERO, |doing| *doing = REFAULTING);
        pressure.change(0, Nanos(20_000_000), |doing| *doing = WAITING);
        assert_eq!(totals(&mut pressure, group, 50), [20, 20, 20, 20, 30, 30]);
        assert_eq!(totals(&mut pressure, SYSTEM, 50), [20, 0, 20, 0, 30, 0]);
        pressure.move_task(0, SYSTEM, Nanos(50_000_000));
        assert_eq!(totals(&mut pressure, group, 90), [20, 20, 20, 20, 30, 30]);
        assert_eq!(totals(&mut pressure, SYSTEM, 90), [20, 0, 20, 0, 70, 0]);
    }

    /// The figures are those of the load averages' arithmetic, by hand: 100 % for one period from 0
    /// gives 371 / 2048 of it, then it decays by 1677 / 2048.
    #[test]
    fn averages_grow_and_decay_as_load_averages_do() {
        let mut pressure = Pressure::new(1, Nanos::ZERO);
        pressure.add_task(SYSTEM);
        pressure.change(0, Nanos::ZERO, |doing| *doing = REFAULTING);
        let memory = |pressure: &mut Pressure, at| {
            let text = pressure.text(SYSTEM, Resource::Memory, Nanos(at));
            let psi = Psi::parse("memory", &text).expect("the kernel's format");
            let some = psi.some.expect("a line");
            (some.avg10, some.avg60, some.avg300)
        };
        assert_eq!(memory(&mut pressure, PERIOD - JIFFY), (0, 0, 0));
        assert_eq!(memory(&mut pressure, PERIOD), (1811, 327, 68));
        pressure.change(0, Nanos(PERIOD), |doing| *doing = IDLE);
        assert_eq!(memory(&mut pressure, 2 * PERIOD), (1483, 316, 67));
        assert_eq!(memory(&mut pressure, 20 * PERIOD).2, 59);
    }

    #[test]
    fn a_pressure_file_has_two_lines_and_goes_on_from_boot() {
        let mut pressure = Pressure::new(1, Nanos(560_000_000));
        let boot = "some avg10=0.00 avg60=0.00 avg300=0.00 total=43\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=40\n";
        let boot = Psi::parse("io", boot).expect("the kernel's format");
        pressure.begin_with(Resource::Io, &boot);
        pressure.add_task(SYSTEM);
        pressure.change(0, Nanos::ZERO, |doing| *doing = READING);
        pressure.change(0, Nanos(7_001_000), |doing| *doing = RUNNING);
        assert_eq!(
            pressure.text(SYSTEM, Resource::Io, Nanos(7_001_000)),
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=7044\n\
             full avg10=0.00 avg60=0.00 avg300=0.00 total=7041\n"
        );
    }

    #[test]
    fn less_than_a_tick_of_work_between_two_readings_is_lost() {
        let mut pressure = Pressure::new(1, Nanos::ZERO);
        pressure.add_task(SYSTEM);
        pressure.change(0, Nanos::ZERO, |doing| *doing = READING);
        pressure.change(0, Nanos(3_900_000), |doing| *doing = IDLE);
        assert_eq!(totals(&mut pressure, SYSTEM, 50), [0; 6]);
    }
}
