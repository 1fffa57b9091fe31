//! The machine as a whole: it runs the workload's tasks and the kernel's threads on its CPUs, in
//! virtual time.

use alloc::string::String;
use alloc::vec::Vec;

use guard::daemons::Daemons;
use mm::capture::Capture;
use mm::units::{Bytes, Nanos};
use scenario::Scenario;
use scenario::calibration::Costs;
use scenario::machine::FileSystem;
use scenario::outcome::Status;
use scenario::traced::Traced;
use scenario::workload::Start;

use crate::bench::state::Bench;
use crate::bench::tap::Tap;
use crate::block::blk_mq::complete_request;
use crate::block::disk::Disk;
use crate::error::Error;
use crate::fs::fs_writeback::thread::wb_workfn;
use crate::fs::jbd2::kjournald2;
use crate::machine::guarding::state::Fanotify;
use crate::machine::oom_kill::OomControl;
use crate::machine::placing::{add_swap, files, list_boot_pages};
use crate::machine::recorder::Recorder;
use crate::machine::refusals::writes_files;
use crate::machine::replaying::Streams;
use crate::machine::task::{Task, TaskState};
use crate::machine::tasks::Tasks;
use crate::machine::tunables::Tunables;
use crate::mm::filemap::state::File;
use crate::mm::invariants;
use crate::mm::ksm::thread::ksm_scan_thread;
use crate::mm::lruvec::state::FLUSH_PERIOD;
use crate::mm::memcontrol::group_id::ROOT;
use crate::mm::mm_init;
use crate::mm::parts::Memory;
use crate::mm::vmscan::kswapd::kswapd;
use crate::rules::Rules;
use crate::sched::core::{Flow, Pick, Scheduler, Sleep};
use crate::sched::cpu::{BUDGET, Cpu};
use crate::sched::events::{Event, Events};
use crate::sched::fair::Rule;
use crate::sched::kthread::{KSWAPD, Kthreads, Role};
use crate::sched::psi::Pressure;

/// Decisions of the scheduler after which a run is given up.
const STEPS: u64 = 1 << 32;

/// The time at which a run is given up: 146 years, so that sums of two times do not overflow.
const END_OF_TIME: Nanos = Nanos(1 << 62);

/// A machine under a scenario.
#[derive(Debug)]
pub(crate) struct System<'a> {
    /// What is run, on these files.
    pub(crate) scenario: &'a Scenario,
    pub(crate) files: Vec<File>,
    /// `MemAvailable` when the run began: sizes may be shares of it.
    pub(crate) available: Bytes,
    /// The kernel.
    pub(crate) memory: Memory,
    pub(crate) scheduler: Scheduler,
    pub(crate) events: Events,
    pub(crate) tunables: Tunables,
    /// What uses it.
    pub(crate) tasks: Tasks<'a>,
    pub(crate) streams: Streams,
    pub(crate) daemons: Daemons,
    pub(crate) fanotify: Fanotify,
    /// What looks at it.
    pub(crate) bench: Bench,
    pub(crate) recorder: Recorder,
    /// What each task meets, in a run that is traced.
    pub(crate) tap: Option<Tap>,
    over: bool,
    /// Decisions of the scheduler and steps of tasks, so far.
    pub(crate) steps: u64,
}

impl<'a> System<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        costs: &Costs,
        boot: &mm_init::State,
        scale: u64,
        bench: Bench,
    ) -> Result<Self, Error> {
        let mut memory = memory_after(boot, scenario, costs, scale);
        memory.set_groups(&scenario.workload.cgroups)?;
        memory.lruvecs.groups_were_made(boot.groups_made());
        let files = files(scenario, &mut memory)?;
        add_swap(scenario, &files, &mut memory)?;
        let kthreads = Kthreads::new(match writes_files(scenario) {
            true => scenario.machine.disks.len(),
            false => 0,
        });
        let cpus = scenario.machine.cpus;
        let pressure = Pressure::after(&boot.frame, boot.uptime, cpus);
        let rule = Rule::of(&boot.release());
        let mut scheduler = Scheduler::after(rule, boot.clock(), pressure, cpus, kthreads);
        if bench.takes_turns {
            scheduler.take_turns();
        }
        let tasks = Tasks::new(scenario, &memory.groups, &mut scheduler)?;
        let mut system = Self {
            scenario,
            files,
            available: Bytes::ZERO,
            memory,
            scheduler,
            events: Events::default(),
            tunables: Tunables::new(&boot.frame, disk_names(scenario)),
            tasks,
            streams: Streams::of(&scenario.recorded),
            daemons: Daemons::default(),
            fanotify: Fanotify::new(&scenario.workload),
            bench,
            recorder: Recorder::new(boot, &scenario.workload),
            tap: None,
            over: false,
            steps: 0,
        };
        system.tunables.begin(&mut system.memory);
        list_boot_pages(&mut system.memory)?;
        let (files, disks) = (&system.files, scenario.machine.disks.len());
        let came = boot.disks_came();
        system.memory.writeback.begin(files, disks, came);
        system.memory.place_journals();
        system.memory.writeback.begin_throttling(
            &system.memory.cpu,
            &system.memory.zones,
            &system.memory.groups,
            boot.dirty_limit,
        );
        system
            .tunables
            .write_initial(scenario, &mut system.memory)?;
        bench.hold_recorded(&mut system.memory, scenario);
        let available = system.recorder.available(&system.memory);
        bench.hold_beyond_available(&mut system.memory, scenario, available)?;
        system.available = system.recorder.available(&system.memory);
        Ok(system)
    }

    /// Runs to the end of the workload.
    pub(crate) fn run(&mut self) -> Result<(), Error> {
        self.begin()?;
        for _ in 0..STEPS {
            let now = match self.scheduler.next_cpu() {
                Some((_, now)) => now,
                None => self.events.next(),
            };
            if now >= END_OF_TIME {
                return Err(endless("146 years"));
            }
            self.fire_events(now)?;
            if self.over || self.tasks.are_over() {
                self.finish(now);
                return Ok(());
            }
            let Some((cpu, now)) = self.scheduler.next_cpu() else {
                continue;
            };
            self.steps += 1;
            self.scheduler.go_on(cpu, now, &self.events);
            match self.scheduler.pick(cpu, now) {
                Pick::Run { entity } => self.run_on(cpu, entity, now)?,
                Pick::Idle { until } => {
                    let next = self.events.next();
                    self.scheduler.idle(cpu, now, until, next);
                }
            }
        }
        Err(endless("2^32 steps of the scheduler"))
    }

    pub(crate) fn into_traced(self) -> (Capture, Traced) {
        let traced = self.tap.map(Tap::into_traced);
        (self.recorder.into_capture(), traced.unwrap_or_default())
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.bench.begin(&mut self.memory, self.scenario);
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

    fn finish(&mut self, now: Nanos) {
        for index in 0..self.tasks.len() {
            let task = self.tasks.get(index);
            if task.is_some_and(|task| task.state == TaskState::Alive) {
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
                Event::DiskDone { disk } => {
                    let (scheduler, events) = (&mut self.scheduler, &mut self.events);
                    complete_request(&mut self.memory, scheduler, events, disk, at);
                }
                Event::Wake { entity, life } => self.scheduler.timer_goes_off(entity, life, at),
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
                Event::Sample => self.sample(at)?,
                Event::Deadline => self.over = true,
                Event::InterruptEnds => self.scheduler.interrupt_ends(at),
                event => {
                    let (scheduler, events) = (&mut self.scheduler, &mut self.events);
                    fire_timer(&mut self.memory, scheduler, events, event, at);
                }
            }
            self.follow_orders(at);
        }
        Ok(())
    }

    fn sample(&mut self, now: Nanos) -> Result<(), Error> {
        self.recorder.count_frame()?;
        invariants::conservation(&self.memory);
        self.memory.io.check(&self.scheduler.queue);
        let pressure = &mut self.scheduler.pressure;
        self.recorder
            .sample(now, &self.memory, &self.tasks, pressure);
        let next = now.saturating_add(self.scenario.sample_every.max(Nanos(1)));
        self.events.add(next, Event::Sample);
        let cost = self.memory.cpu.costs.sample_ps;
        self.bench
            .observe(&self.recorder, &mut self.scheduler, cost, now);
        Ok(())
    }

    fn run_on(&mut self, cpu: usize, entity: usize, from: Nanos) -> Result<(), Error> {
        if self.scheduler.owed(entity) > Nanos::ZERO {
            let limit = self.scheduler.undisturbed(&self.events, from);
            self.scheduler.pay(cpu, entity, from, limit);
            return Ok(());
        }
        if let Some(tap) = &mut self.tap {
            tap.begins(&self.memory, entity, from);
        }
        let (to, flow) = self.run_entity(entity, from)?;
        if let Some(tap) = &mut self.tap {
            tap.ends(&self.memory, entity, to);
        }
        let cut = match flow {
            Flow::Ended => to,
            _ => {
                let limit = self.scheduler.undisturbed(&self.events, from);
                interrupted_at(&self.memory.cpu, limit, to)
            }
        };
        self.scheduler.account(cpu, entity, from, cut);
        self.scheduler.owe(entity, to.saturating_sub(cut));
        if let Flow::Blocked(sleep) = flow {
            self.scheduler.block(entity, cut, sleep);
        }
        if entity == KSWAPD && flow == Flow::Blocked(Sleep::Idle) {
            let clock = self.memory.cpu.clock;
            let kswapd = &mut self.memory.zones.kswapd;
            kswapd.falls_asleep(clock, &mut self.events, to);
        }
        self.memory
            .zones
            .kswapd
            .wake_if_due(&mut self.scheduler, cut);
        self.memory
            .ksm
            .wake_if_due(&self.memory.cpu, &mut self.scheduler, cut);
        self.follow_orders(cut);
        Ok(())
    }

    fn run_entity(&mut self, entity: usize, from: Nanos) -> Result<(Nanos, Flow), Error> {
        let role = self.scheduler.kthreads.role(entity);
        let (memory, scheduler) = (&mut self.memory, &mut self.scheduler);
        let events = &mut self.events;
        Ok(match role {
            Role::Kswapd => {
                let tasks = &mut self.tasks;
                let out_of_memory = |memory: &mut Memory, scheduler: &mut Scheduler, now| {
                    OomControl::new(tasks, scheduler, memory, ROOT).out_of_memory_for_kswapd(now);
                };
                kswapd(memory, scheduler, events, out_of_memory, from)
            }
            Role::Ksmd => ksm_scan_thread(memory, scheduler, events, from),
            // It has paid what it owed.
            Role::Observer => (from, Flow::Blocked(Sleep::Idle)),
            Role::Flusher { disk } => wb_workfn(memory, scheduler, events, disk, from),
            Role::Journal { disk } => kjournald2(memory, scheduler, events, disk, from),
            Role::Task { index } => self.run_task(entity, index, from)?,
        })
    }

    fn run_task(
        &mut self,
        entity: usize,
        index: usize,
        from: Nanos,
    ) -> Result<(Nanos, Flow), Error> {
        let memory = &mut self.memory;
        let mut task = self.tasks.switch_to(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.allocation,
            index,
        );
        let (mut now, mut flow) = (from, Flow::Continue);
        while flow == Flow::Continue
            && now < self.scheduler.limit(&self.events, from)
            && !wakes_a_thread(&self.memory, &self.scheduler)
        {
            let limit = self.scheduler.limit(&self.events, from);
            let left = limit.saturating_sub(now);
            self.memory.cpu.unbroken = 0;
            self.memory.cpu.began = now;
            self.memory.cpu.budget = BUDGET.min(left.0 * 1000);
            self.steps += 1;
            flow = self.step(&mut task, now)?;
            if let Some(tap) = &mut self.tap {
                tap.stalls(entity, &self.memory.cpu.stalls);
            }
            self.scheduler
                .note_stalls(entity, self.memory.cpu.stalls.drain(..));
            now += task.pay(self.memory.cpu.take_spent());
            self.memory.io.expect_disks(&mut self.events);
        }
        self.tasks.switch_from(&mut self.memory, index, task);
        Ok((now, flow))
    }

    /// Wakes the threads and sets the timers that writeback has asked for, and wakes the tasks that
    /// a disk lets go on.
    fn follow_orders(&mut self, now: Nanos) {
        self.memory.io.wake_up(&mut self.scheduler, now);
        self.memory
            .writeback
            .follow_orders(&mut self.scheduler, &mut self.events, now);
    }

    fn start_due(&mut self, process: usize, now: Nanos) -> Result<(), Error> {
        let (memory, scheduler) = (&mut self.memory, &mut self.scheduler);
        self.tasks
            .start_due(memory, scheduler, &self.bench, process, now)
    }
}

/// A timer of a thread, a disk or a journal goes off.
fn fire_timer(
    memory: &mut Memory,
    scheduler: &mut Scheduler,
    events: &mut Events,
    event: Event,
    now: Nanos,
) {
    match event {
        Event::Flush { disk, at } => memory.writeback.flush_is_due(scheduler, disk, at),
        Event::WriteWindow { disk } => memory.io.window_ends(events, disk, now),
        Event::EstimateBandwidth { disk } => memory.writeback.renew_bandwidth(&memory.cpu, disk),
        Event::KsmScan { at } => memory.ksm.timer(&memory.cpu, scheduler, at),
        Event::ThrottleEnds { at } => memory.zones.kswapd.throttle_ends(scheduler, at),
        Event::NapEnds { at } => memory.zones.kswapd_timer(&mut memory.cpu, scheduler, at),
        Event::Commit { disk, transaction } => memory.writeback.commit_old(disk, transaction),
        _ => {}
    }
}

/// What a task does between two looks at the clock comes at once, its time does not: where
/// something happens in it, the rest is paid later, as the task may have to give way. Only the
/// copying at its end, and a walk through page tables, is not interrupted.
fn interrupted_at(cpu: &Cpu, limit: Nanos, to: Nanos) -> Nanos {
    let unbroken = Nanos(cpu.unbroken / 1000);
    match limit.saturating_add(unbroken) < to {
        true => limit,
        false => to,
    }
}

/// Whether a thread of the kernel was woken that may take the CPU at once.
pub(super) fn wakes_a_thread(memory: &Memory, scheduler: &Scheduler) -> bool {
    let wakes = memory.writeback.wakes_someone();
    wakes || memory.zones.kswapd.was_woken(scheduler) || memory.ksm.was_woken(scheduler)
}

/// The memory of a machine after boot, with its disks; each page stands for `scale` real ones.
fn memory_after(boot: &mm_init::State, scenario: &Scenario, costs: &Costs, scale: u64) -> Memory {
    let mut memory = Memory::new(boot.zones.clone(), boot.layout.clone(), *costs);
    memory.cpu.cpus = u64::from(scenario.machine.cpus.max(1));
    memory
        .zones
        .sample(&mut memory.cpu, &mut memory.objects, scale);
    memory.cpu.rules = Rules::of(&boot.release());
    memory
        .zones
        .lay_out_zones(&memory.cpu, &boot.free, boot.not_for_users);
    memory.cpu.clock = boot.clock();
    (0..boot.seconds_of_rest()).for_each(|_| memory.zones.tick());
    memory.cpu.may_yield = true;
    memory.writeback.inodes_in_use = boot.inodes_in_use;
    memory.objects.buffers.none = scenario.machine.file_system != FileSystem::Ext4;
    let disks = scenario.machine.disks.iter();
    memory.io.disks = disks
        .map(|spec| Disk::new(spec, memory.cpu.clock, memory.cpu.scale))
        .collect();
    memory
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
