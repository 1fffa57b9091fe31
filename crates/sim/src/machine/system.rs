//! The machine as a whole: it runs the workload's tasks and the kernel's threads on its CPUs, in
//! virtual time.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use mm::calibration::Costs;
use mm::capture::Capture;
use mm::machine::FileSystem;
use mm::outcome::Status;
use mm::scenario::Scenario;
use mm::units::{Bytes, Nanos};
use mm::workload::Start;

use crate::block::disk::Disk;
use crate::error::Error;
use crate::machine::boot;
use crate::machine::invariants;
use crate::machine::placing::{add_swap, files, list_boot_pages};
use crate::machine::recorder::Recorder;
use crate::machine::refusals::writes_files;
use crate::machine::roles::{KSMD, KSWAPD, OBSERVER, Role, WaitsFor};
use crate::machine::state::Daemons;
use crate::machine::state::Flow;
use crate::machine::state::Interrupts;
use crate::machine::task::{Task, TaskState};
use crate::machine::tunables::Tunables;
use crate::mm::filemap::state::File;
use crate::mm::filemap::{self};
use crate::mm::lruvec::state::FLUSH_PERIOD;
use crate::mm::parts::Memory;
use crate::rules::Rules;
use crate::sched::core::{Event, Events, Pick, Scheduler, Sleep};
use crate::sched::timer::TICK;

/// The most CPU time between two looks at the clock, in picoseconds: 30 microseconds.
pub(crate) const BUDGET: u64 = 30_000_000;

/// Decisions of the scheduler after which a run is given up.
const STEPS: u64 = 1 << 32;

/// Samples and snapshots after which a run is given up: at 8 KiB each they fill most of a gigabyte.
const FRAMES: u64 = 100_000;

/// The time at which a run is given up: 146 years, so that sums of two times do not overflow.
const END_OF_TIME: Nanos = Nanos(1 << 62);

/// A machine under a scenario.
#[derive(Debug)]
pub(crate) struct System<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) memory: Memory,
    pub(crate) files: Vec<File>,
    /// A task is taken out while it runs; boxed, so that this moves a pointer.
    pub(crate) tasks: Vec<Option<Box<Task<'a>>>>,
    pub(crate) scheduler: Scheduler,
    pub(crate) events: Events,
    pub(crate) tunables: Tunables,
    pub(crate) recorder: Recorder,
    pub(crate) daemons: Daemons,
    /// `MemAvailable` when the run began: sizes may be shares of it.
    pub(crate) available: Bytes,
    /// Who waits for what somebody else does, as entities of the scheduler.
    pub(crate) waiters: Vec<(WaitsFor, usize)>,
    pub(crate) interrupts: Interrupts,
    /// How many flushers there are, and journals: one for each disk, where files are written to.
    pub(crate) flushers: usize,
    /// Pages that a read copies between two of its looks at the scheduler.
    pub(crate) batch: u64,
    /// The machine is measured: the bench is there too ([`crate::bench`]).
    pub(crate) measured: bool,
    frames: u64,
    over: bool,
}

impl<'a> System<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        costs: &Costs,
        boot: &boot::State,
        scale: u64,
        measured: bool,
    ) -> Result<Self, Error> {
        let mut memory = Memory::new(boot.zones.clone(), boot.layout.clone(), *costs);
        memory.cpu.cpus = u64::from(scenario.machine.cpus.max(1));
        memory
            .zones
            .sample(&mut memory.cpu, &mut memory.objects, scale);
        memory.cpu.rules = Rules::of(&boot.release());
        memory.zones.lay_out_zones(&memory.cpu, &boot.free);
        memory.cpu.clock = boot.clock();
        (0..boot.seconds_of_rest()).for_each(|_| memory.zones.tick());
        memory.cpu.may_yield = true;
        memory.writeback.inodes_in_use = boot.inodes_in_use;
        memory.objects.buffers.none = scenario.machine.file_system != FileSystem::Ext4;
        let disks = scenario.machine.disks.iter();
        memory.io.disks = disks
            .map(|spec| Disk::new(spec, memory.cpu.clock, memory.cpu.scale))
            .collect();
        memory.set_groups(&scenario.workload.cgroups)?;
        let files = files(scenario, &mut memory)?;
        add_swap(scenario, &files, &mut memory)?;
        let mut system = Self {
            scenario,
            memory,
            files,
            tasks: Vec::new(),
            scheduler: Scheduler::after(boot, scenario.machine.cpus),
            events: Events::default(),
            tunables: Tunables::new(&boot.frame, disk_names(scenario)),
            recorder: Recorder::new(boot, &scenario.workload),
            daemons: Daemons::default(),
            available: Bytes::ZERO,
            waiters: Vec::new(),
            interrupts: Interrupts::default(),
            flushers: match writes_files(&scenario.workload) {
                true => scenario.machine.disks.len(),
                false => 0,
            },
            batch: filemap::folio_batch(&boot.release()),
            measured,
            frames: 0,
            over: false,
        };
        system.tunables.begin(&mut system.memory);
        list_boot_pages(&mut system.memory)?;
        let (files, disks) = (&system.files, scenario.machine.disks.len());
        let came = boot.disks_came();
        system.memory.writeback.begin(files, disks, came);
        system.memory.place_journals();
        (0..Role::Task { index: 0 }.entity(system.flushers)).for_each(|_| {
            system.scheduler.add_kernel_thread();
        });
        system.scheduler.be_nice(KSMD);
        system.make_tasks()?;
        system.memory.writeback.begin_throttling(
            &system.memory.cpu,
            &system.memory.zones,
            &system.memory.groups,
            boot.dirty_limit,
        );
        system.write_initial_settings()?;
        system.available = system.recorder.available(&system.memory);
        Ok(system)
    }

    /// Runs to the end of the workload.
    pub(crate) fn run(&mut self) -> Result<(), Error> {
        self.begin()?;
        for _ in 0..STEPS {
            let now = match self.scheduler.next_cpu() {
                Some((_, now)) => now,
                None => self.next_event(),
            };
            if now >= END_OF_TIME {
                return Err(endless("146 years"));
            }
            self.fire_events(now)?;
            if self.over || self.is_finished() {
                self.finish(now);
                return Ok(());
            }
            let Some((cpu, now)) = self.scheduler.next_cpu() else {
                continue;
            };
            match self.scheduler.pick(cpu, now) {
                Pick::Run { entity } => self.run_on(cpu, entity, now)?,
                Pick::Idle { until } => self.idle(cpu, now, until),
            }
        }
        Err(endless("2^32 steps of the scheduler"))
    }

    pub(crate) fn into_capture(self) -> Capture {
        self.recorder.into_capture()
    }

    /// Notes that a sample or a snapshot is taken; they are bounded, as they stay in memory.
    pub(crate) fn count_frame(&mut self) -> Result<(), Error> {
        self.frames += 1;
        match self.frames > FRAMES {
            true => Err(endless("100000 samples and snapshots")),
            false => Ok(()),
        }
    }

    /// Lets a task that goes to sleep at `now` wake that much later. What it takes to set the timer
    /// and to wake comes first; what it takes to leave the CPU passes while it sleeps.
    pub(crate) fn sleep_for(&mut self, task: &Task<'a>, span: Nanos, now: Nanos) {
        let Costs {
            sleep_ps,
            switch_ps,
            ..
        } = self.memory.cpu.costs;
        self.wake_at(
            task,
            now.saturating_add(span)
                .saturating_add(Nanos(sleep_ps / 1000)),
        );
        self.memory.cpu.spent += sleep_ps + switch_ps;
    }

    /// Lets a task sleep until an operation is due, which takes the CPU what any sleep takes.
    pub(crate) fn sleep_until(&mut self, task: &Task<'a>, due: Nanos) {
        self.wake_at(task, due);
        let costs = &self.memory.cpu.costs;
        self.memory.cpu.spent += costs.sleep_ps + costs.switch_ps;
    }

    /// Wakes a task at a time, should it still live.
    pub(crate) fn wake_at(&mut self, task: &Task<'a>, at: Nanos) {
        let (entity, life) = (task.entity, task.life);
        self.events.add(at, Event::Wake { entity, life });
    }

    fn write_initial_settings(&mut self) -> Result<(), Error> {
        for setting in &self.scenario.base.0 {
            self.tunables.write_base(setting, &mut self.memory)?;
        }
        if !crate::machine::refusals::applies_arm(&self.scenario.workload) {
            self.apply_arm()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.begin_supervisor();
        if let Some(deadline) = self.scenario.workload.deadline {
            self.events.add(deadline, Event::Deadline);
        }
        for (process, spec) in self.scenario.workload.processes.iter().enumerate() {
            match spec.start {
                Start::After(Nanos::ZERO) => self.start_due(process, Nanos::ZERO)?,
                Start::After(delay) => self.events.add(delay, Event::Start { process }),
                Start::OnDemand => {}
            }
        }
        self.events.add(Nanos::ZERO, Event::Sample);
        let clock = self.memory.cpu.clock;
        let second = clock.next(Nanos::ZERO, Nanos::SECOND);
        self.events.add(second, Event::Second);
        self.memory.lruvecs.flush_stats(
            &self.memory.cpu,
            &self.memory.zones,
            &self.memory.writeback,
        );
        let flush = clock.next(Nanos::ZERO, FLUSH_PERIOD);
        self.events.add(flush, Event::FlushStats);
        Ok(())
    }

    fn is_finished(&self) -> bool {
        let to_come = |state| matches!(state, TaskState::Alive | TaskState::Due);
        !self.tasks.iter().flatten().any(|task| to_come(task.state))
    }

    fn finish(&mut self, now: Nanos) {
        for index in 0..self.tasks.len() {
            if self.tasks[index]
                .as_ref()
                .is_some_and(|task| task.state == TaskState::Alive)
            {
                self.kill(index, now, &Status::Done);
            }
        }
        self.memory.allocate_in_passing();
        self.memory.cpu.stalls.clear();
        invariants::conservation(&self.memory);
        let pressure = &mut self.scheduler.pressure;
        self.recorder
            .finish(now, &self.memory, &self.tunables, &self.tasks, pressure);
    }

    fn fire_events(&mut self, now: Nanos) -> Result<(), Error> {
        while let Some((at, event)) = self.events.take_due(now) {
            self.memory.cpu.began = at;
            match event {
                Event::DiskDone { disk } => self.disk_done(disk, at),
                Event::Wake { entity, life } => self.wake_sleeper(entity, life, at),
                Event::Start { process } => self.start_due(process, at)?,
                Event::FlushStats => {
                    self.memory.lruvecs.flush_stats(
                        &self.memory.cpu,
                        &self.memory.zones,
                        &self.memory.writeback,
                    );
                    self.events.add(at + FLUSH_PERIOD, Event::FlushStats);
                }
                Event::Second => {
                    self.memory.zones.tick();
                    self.events.add(at + Nanos::SECOND, Event::Second);
                }
                Event::Flush { disk, at } => self.flush_is_due(disk, at),
                Event::WriteWindow { disk } => self.window_ends(disk, at),
                Event::EstimateBandwidth { disk } => self
                    .memory
                    .writeback
                    .renew_bandwidth(&self.memory.cpu, disk),
                Event::KsmScan { at } => self.ksm_scan_is_due(at),
                Event::NapEnds { at } => self.kswapd_nap_ends(at),
                Event::InterruptEnds => self.interrupt_ends(at),
                Event::Commit { disk, transaction } => {
                    self.memory.writeback.commit_old(disk, transaction)
                }
                Event::Sample => self.sample(at)?,
                Event::Deadline => self.over = true,
            }
            self.follow_orders(at);
        }
        Ok(())
    }

    fn sample(&mut self, now: Nanos) -> Result<(), Error> {
        self.count_frame()?;
        invariants::conservation(&self.memory);
        let pressure = &mut self.scheduler.pressure;
        self.recorder
            .sample(now, &self.memory, &self.tasks, pressure);
        let next = now.saturating_add(self.scenario.sample_every.max(Nanos(1)));
        self.events.add(next, Event::Sample);
        self.observe(self.memory.cpu.costs.sample_ps, now);
        Ok(())
    }

    fn idle(&mut self, cpu: usize, now: Nanos, until: Option<Nanos>) {
        let Some(until) = until else {
            return self.scheduler.park(cpu);
        };
        let next = until.min(self.next_event());
        self.scheduler.set_time(cpu, next.max(now + Nanos(1)));
    }

    fn next_event(&self) -> Nanos {
        let next = self.events.next_time();
        next.expect("a sample is always to come")
    }

    fn run_on(&mut self, cpu: usize, entity: usize, from: Nanos) -> Result<(), Error> {
        let owed = self.scheduler.owed(entity);
        if owed > Nanos::ZERO {
            self.pay(cpu, entity, from, owed);
            return Ok(());
        }
        let (to, flow) = match self.role(entity) {
            Role::Kswapd => self.run_kswapd(from),
            Role::Ksmd => self.run_ksmd(from),
            // It has paid what it owed.
            Role::Observer => (from, Flow::Blocked(Sleep::Idle)),
            Role::Flusher { disk } => self.run_flusher(disk, from),
            Role::Journal { disk } => self.run_journal(disk, from),
            Role::Task { index } => self.run_task(entity, index, from)?,
        };
        let cut = match flow {
            Flow::Ended => to,
            _ => self.interrupted_at(from, to),
        };
        self.scheduler.account(cpu, entity, from, cut);
        self.scheduler.owe(entity, to.saturating_sub(cut));
        if let Flow::Blocked(sleep) = flow {
            self.scheduler.block(entity, cut, sleep);
        }
        if entity == KSWAPD && flow == Flow::Blocked(Sleep::Idle) {
            self.kswapd_sleeps(to);
        }
        self.wake_kswapd_if_due(cut);
        self.wake_ksmd_if_due(cut);
        self.follow_orders(cut);
        Ok(())
    }

    /// Lets a task use the CPU for what it has done already.
    fn pay(&mut self, cpu: usize, entity: usize, from: Nanos, owed: Nanos) {
        let end = from.saturating_add(owed);
        let to = end.min(self.limit(from)).max(from + Nanos(1));
        self.scheduler.account(cpu, entity, from, to);
        self.scheduler.owe(entity, end.saturating_sub(to));
        if to >= end {
            self.scheduler.has_paid(entity, to);
            if entity == OBSERVER {
                self.wake_waiters(WaitsFor::Observer, to);
            }
        }
    }

    /// What a task does between two looks at the clock comes at once, its time does not: where
    /// something happens in it, the rest is paid later, as the task may have to give way. Only the
    /// copying at its end, and a walk through page tables, is not interrupted.
    fn interrupted_at(&self, from: Nanos, to: Nanos) -> Nanos {
        let limit = self.limit(from);
        let unbroken = Nanos(self.memory.cpu.unbroken / 1000);
        match limit.saturating_add(unbroken) < to {
            true => limit,
            false => to,
        }
    }

    fn run_task(
        &mut self,
        entity: usize,
        index: usize,
        from: Nanos,
    ) -> Result<(Nanos, Flow), Error> {
        let mut task = self.take_in_hand(index);
        let (mut now, mut flow) = (from, Flow::Continue);
        while flow == Flow::Continue && now < self.limit(from) && !self.wakes_a_thread() {
            self.memory.cpu.unbroken = 0;
            self.memory.cpu.began = now;
            self.memory.cpu.budget = BUDGET.min(self.limit(from).saturating_sub(now).0 * 1000);
            flow = self.step(&mut task, now)?;
            self.note_stalls(entity);
            now += task.pay(self.memory.cpu.take_spent());
            self.expect_disks();
        }
        self.put_away(index, task);
        Ok((now, flow))
    }

    fn note_stalls(&mut self, entity: usize) {
        self.scheduler
            .note_stalls(entity, self.memory.cpu.stalls.drain(..));
    }

    /// Whether a thread of the kernel was woken that may take the CPU at once.
    pub(crate) fn wakes_a_thread(&self) -> bool {
        let wakes = self.memory.writeback.wakes_someone();
        wakes || self.kswapd_was_woken() || self.ksmd_was_woken()
    }

    /// Until when a task that began at `from` may run: the next tick, or the next event.
    pub(crate) fn limit(&self, from: Nanos) -> Nanos {
        let tick = self.memory.cpu.clock.next(from, TICK);
        let event = self.events.next_time();
        event.map_or(tick, |event| event.min(tick))
    }

    /// Expects what the disks began to serve.
    pub(crate) fn expect_disks(&mut self) {
        for (done, disk) in self.memory.io.dispatched.drain(..) {
            self.events.add(done, Event::DiskDone { disk });
        }
        for (disk, device) in self.memory.io.disks.iter_mut().enumerate() {
            if let Some(ends) = device.take_window() {
                self.events.add(ends, Event::WriteWindow { disk });
            }
        }
    }
}

fn disk_names(scenario: &Scenario) -> Vec<String> {
    let disks = scenario.machine.disks.iter();
    disks.map(|disk| disk.name.clone()).collect()
}

fn endless(limit: &'static str) -> Error {
    Error::Endless { limit }
}

impl Task<'_> {
    /// Turns CPU time in picoseconds into whole nanoseconds, at least one; keeps the rest.
    fn pay(&mut self, spent: u64) -> Nanos {
        let owed = self.owed_ps + spent.max(1000);
        self.owed_ps = owed % 1000;
        Nanos(owed / 1000)
    }
}

/// The name of a place in a scenario, for errors.
pub(crate) fn place(task: &Task<'_>) -> String {
    alloc::format!("process {}", task.name)
}
