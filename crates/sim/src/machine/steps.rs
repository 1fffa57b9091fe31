//! What each step of a process does to the machine.

use alloc::string::String;

use mm::settings::Setting;
use mm::units::{Bytes, Nanos, PageSize};
use scenario::Scenario;
use scenario::contents::Contents;
use scenario::machine::Machine;
use scenario::outcome::{Latency, Status, StepOutcome};
use scenario::workload::{Action, Advice, Huge, Map, Step, Target, Until};

use crate::bench::observer::snapshot_cost;
use crate::error::Error;
use crate::fs::fs_writeback::state::Syncing;
use crate::machine::recorder::Recorder;
use crate::machine::running::Area;
use crate::machine::state::{Drops, Stop, WritingOut};
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::state::Progress;
use crate::mm::mlock::Fill;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::parts::Memory;
use crate::sched::core::{Flow, Sleep};
use crate::sched::cpu::Cpu;
use crate::sched::wait::WaitsFor;

/// `ENOMEM`.
const NO_MEMORY: i32 = 12;

impl<'a> System<'a> {
    /// Takes the task one step further.
    pub(crate) fn step(&mut self, task: &mut Task<'a>, now: Nanos) -> Result<Flow, Error> {
        if task.exiting.is_some() {
            return Ok(self.exit(task));
        }
        if let Some(flow) = self.run_errands(task)? {
            return Ok(flow);
        }
        if let Some(progress) = task.touch_own(&mut self.memory) {
            let stop = self.stop(task, progress)?;
            return Ok(task.stopped(stop));
        }
        if let Some(running) = task.access.take() {
            return self.go_on(task, running);
        }
        if let Some(replaying) = task.replaying.take() {
            return self.go_on_replaying(task, replaying);
        }
        if let Some(writing_out) = task.writing_out.take() {
            return self.write_out(task, writing_out);
        }
        let frame = task
            .frames
            .last()
            .expect("a running task is inside its steps");
        match frame.steps.get(frame.at) {
            Some(step) => self.begin_step(task, step, now),
            None => Ok(self.end_of_steps(task, now)),
        }
    }

    fn begin_step(
        &mut self,
        task: &mut Task<'a>,
        step: &'a Step,
        now: Nanos,
    ) -> Result<Flow, Error> {
        if let Action::Access(access) = &step.action
            && (self.bench).make_tables(&mut self.memory, task, &self.scenario.machine, access)?
        {
            return Ok(Flow::Continue);
        }
        let began = *task.began.get_or_insert(task.began_to_fill.unwrap_or(now));
        if self.memory.ksm.holds_mutex(&step.action, self.scenario) {
            self.scheduler.queue.add(WaitsFor::Ksmd, task.entity);
            return Ok(Flow::Blocked(Sleep::Idle));
        }
        task.began = None;
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps;
        let label = step.label.as_deref();
        match &step.action {
            Action::Access(access) => return self.begin_access(task, access, label, now),
            Action::Replay(replay) => return self.begin_replay(task, replay, label, now),
            Action::Repeat { until, steps } => {
                task.begin_repeat(*until, steps, label, now);
                return Ok(task.next_round(&mut self.recorder, now));
            }
            Action::Sync { file } => {
                let file = task.file(&self.scenario.machine, file)?;
                self.memory.cpu.spent += self.memory.cpu.costs.fsync_call_ps;
                let syncing = Syncing::new([file]);
                task.writing_out = Some(WritingOut::new(syncing, Drops::None, label, now));
                return Ok(Flow::Continue);
            }
            Action::DropCaches => {
                let syncing = Syncing::new(0..self.files.len());
                task.writing_out = Some(WritingOut::new(syncing, Drops::All, label, now));
                return Ok(Flow::Continue);
            }
            Action::Advise {
                target: Target::File(file),
                advice: Advice::DontNeed,
            } => {
                let file = task.file(&self.scenario.machine, file)?;
                let syncing = Syncing::beginning(file, 0..self.files[file].pages);
                task.writing_out = Some(WritingOut::new(syncing, Drops::OfFile(file), label, now));
                return Ok(Flow::Continue);
            }
            Action::Guard(config) => {
                task.began = Some(began);
                return self.guard(task, config, now);
            }
            Action::Map(map) => {
                if let Some(flow) = self.map_and_fill(task, map, began, now)? {
                    return Ok(flow);
                }
            }
            action if may_block(action) => {
                if let Some(flow) = self.block(task, step, began)? {
                    return Ok(flow);
                }
            }
            Action::Kill { process } => {
                if self.kill_all(task, process, now)? {
                    return Ok(Flow::Ended);
                }
            }
            action => self.act(task, action, label, now)?,
        }
        Ok(self.finish_step(task, step, began))
    }

    /// A step is over, as far as its task has nothing more to do for it.
    fn finish_step(&mut self, task: &mut Task<'a>, step: &'a Step, began: Nanos) -> Flow {
        let (label, end) = (step.label.as_deref(), self.memory.cpu.now());
        if matches!(step.action, Action::Snapshot) {
            let cost = snapshot_cost(&self.memory.cpu, &self.tasks);
            if (self.bench).observe(&self.recorder, &mut self.scheduler, cost, end) {
                self.scheduler.queue.add(WaitsFor::Observer, task.entity);
                task.go_past_step();
                return Flow::Blocked(Sleep::Idle);
            }
        } else if task.errand.is_some() {
            task.ordered = label.map(|label| (label, began));
        } else {
            self.recorder.step(task.outcome(label, began, end));
        }
        task.go_past_step();
        Flow::Continue
    }

    /// Maps a region, and fills it where it is to be; how it left the task, or `None` where it is
    /// over.
    fn map_and_fill(
        &mut self,
        task: &mut Task<'a>,
        map: &'a Map,
        began: Nanos,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        if task.began_to_fill.is_none() && !task.map(&mut self.memory, map, self.available)? {
            self.end_task(task, now, &Status::Failed(NO_MEMORY));
            return Ok(Some(Flow::Ended));
        }
        if !map.populate {
            return Ok(None);
        }
        let progress = task.fill(&mut self.memory, &map.region, Fill::Populate);
        let flow = self.stop_filling(task, progress)?;
        task.began_to_fill = flow.is_some().then_some(began);
        Ok(flow)
    }

    /// Performs a step that may block; how it left the task, or `None` where it is over.
    fn block(
        &mut self,
        task: &mut Task<'a>,
        step: &'a Step,
        began: Nanos,
    ) -> Result<Option<Flow>, Error> {
        let (memory, files, machine) = (&mut self.memory, &self.files, &self.scenario.machine);
        let flow = match &step.action {
            Action::Wait { process } => {
                let process = self::process(self.scenario, process, task)?;
                (!self.tasks.has_ended(process)).then_some(Flow::Blocked(Sleep::Idle))
            }
            Action::Lock { target } => {
                let progress = task.lock(memory, files, machine, target)?;
                self.stop_filling(task, progress)?
            }
            Action::Advise { target, .. } => {
                match task.will_need(memory, files, machine, target)? {
                    Progress::Complete => None,
                    progress => Some(Stop::flow(self.stop(task, progress)?)),
                }
            }
            Action::Sleep(span) => {
                let Self {
                    memory,
                    scheduler,
                    events,
                    ..
                } = self;
                scheduler.sleep_for(events, &mut memory.cpu, *span);
                task.ordered = step.label.as_deref().map(|label| (label, began));
                task.go_past_step();
                return Ok(Some(Flow::Blocked(Sleep::Idle)));
            }
            _ => None,
        };
        // It comes back to the same step.
        task.began = flow.is_some().then_some(began);
        Ok(flow)
    }

    /// A task that fills memory met this; `None` where it is done.
    fn stop_filling(
        &mut self,
        task: &mut Task<'a>,
        progress: Progress,
    ) -> Result<Option<Flow>, Error> {
        let stop = self.stop(task, progress)?;
        if stop == Some(Stop::Killed) {
            self.end_task(task, self.memory.cpu.now(), &Status::Killed(9));
            return Ok(Some(Flow::Ended));
        }
        Ok(stop.map(|stop| Stop::flow(Some(stop))))
    }

    /// The actions that are over at once, but for what a task then has to do for its groups.
    fn act(
        &mut self,
        task: &mut Task<'a>,
        action: &'a Action,
        label: Option<&str>,
        now: Nanos,
    ) -> Result<(), Error> {
        match action {
            Action::Snapshot => {
                // It holds the groups' memory.stat, which is fresh for every reader.
                self.memory.lruvecs.flush_stats(
                    &self.memory.cpu,
                    &self.memory.zones,
                    &self.memory.writeback,
                );
                self.recorder.count_frame()?;
                let pressure = &mut self.scheduler.pressure;
                self.recorder.snapshot(
                    now,
                    label,
                    &self.memory,
                    &self.tunables,
                    &self.tasks,
                    pressure,
                );
                self.recorder.add_progress(&self.tasks, task);
            }
            Action::ApplyArm => self.set(&self.scenario.arm_settings.0)?,
            Action::ApplyDefaults => {
                pay_for(&mut self.memory.cpu, &self.scenario.arm_settings.0);
                self.tunables.restore(&mut self.memory);
            }
            Action::Set(settings) => self.set(settings)?,
            Action::RunOnNode { node } => {
                let is_there = self.memory.zones.run_on_node(*node);
                is_there.then_some(()).ok_or_else(|| no_node(*node, task))?;
            }
            Action::Unmap { region } => {
                let unmapped = task.unmap(&mut self.memory, region);
                unmapped.ok_or_else(|| no_region(region, task))?;
            }
            Action::Start { process } => self.start_process(task, process, now)?,
            Action::Daemon(daemon) => self.decide(*daemon, now)?,
            Action::Close { file } => {
                let index = task.file(&self.scenario.machine, file)?;
                task.close(index);
                self.fanotify.closed(index);
            }
            Action::Advise { target, advice } => {
                let area = task.area(&self.scenario.machine, target)?;
                task.advise(&mut self.memory, area, target, *advice)?;
            }
            Action::SetCgroup { cgroup, file } => {
                task.write_cgroup(&mut self.memory, cgroup, &file.0, &file.1)?;
            }
            Action::Reclaim {
                cgroup,
                amount,
                swappiness,
            } => {
                let text = reclaim_text(amount.0, *swappiness);
                task.write_cgroup(&mut self.memory, cgroup, "memory.reclaim", &text)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn set(&mut self, settings: &[Setting]) -> Result<(), Error> {
        pay_for(&mut self.memory.cpu, settings);
        self.tunables.write_all(settings, &mut self.memory)
    }

    fn start_process(&mut self, task: &Task<'a>, name: &str, now: Nanos) -> Result<(), Error> {
        self.memory.cpu.spent += self.memory.cpu.costs.spawn_ps;
        self.memory.allocate_in_passing();
        let process = process(self.scenario, name, task)?;
        let (memory, scheduler) = (&mut self.memory, &mut self.scheduler);
        self.tasks
            .start(memory, scheduler, &self.bench, process, now)
    }

    /// Kills a process; true if the task that asks is of it and has ended with it.
    fn kill_all(&mut self, task: &mut Task<'a>, name: &str, now: Nanos) -> Result<bool, Error> {
        let process = process(self.scenario, name, task)?;
        self.kill_process(process, now);
        let own = process == task.process;
        if own {
            self.end_task(task, now, &Status::Done);
        }
        Ok(own)
    }

    fn end_of_steps(&mut self, task: &mut Task<'a>, now: Nanos) -> Flow {
        if task
            .frames
            .last()
            .is_some_and(|frame| frame.repeat.is_some())
        {
            return task.next_round(&mut self.recorder, now);
        }
        if task.holds_memory() {
            // It pays for this as for any step, and others that wake meanwhile run first.
            task.exit_mm(&mut self.memory, &self.files);
            return Flow::Continue;
        }
        self.end_task(task, now, &Status::Done);
        Flow::Ended
    }
}

impl<'a> Task<'a> {
    /// Begins the next round of the innermost repetition, or leaves it.
    fn next_round(&mut self, recorder: &mut Recorder, now: Nanos) -> Flow {
        let frame = self.frames.last_mut().expect("the repetition's frame");
        let repeat = frame.repeat.as_mut().expect("the frame repeats");
        let over = match repeat.until {
            Until::Times(rounds) => repeat.rounds >= rounds,
            Until::Elapsed(span) => now.saturating_sub(repeat.began) >= span,
            Until::Forever => false,
        };
        if !over {
            repeat.rounds += 1;
            frame.at = 0;
            return Flow::Continue;
        }
        let repeat = repeat.clone();
        self.frames.pop();
        recorder.step(self.repetition_outcome(&repeat, now, Status::Done));
        self.go_past_step();
        Flow::Continue
    }

    /// Maps a region, in place of one of its name; false where the process's address space is too
    /// small.
    fn map(&mut self, memory: &mut Memory, map: &'a Map, available: Bytes) -> Result<bool, Error> {
        self.unmap(memory, &map.region);
        let size = map.size.at(available);
        let held: u64 = self.regions.values().map(|region| region.size.0).sum();
        let size = memory.cpu.sampled_size(size);
        let limit = self.spec.address_space;
        let limit = limit.map(|limit| memory.cpu.sampled_size(limit));
        if limit.is_some_and(|limit| held.saturating_add(size.0) > limit.0) {
            return Ok(false);
        }
        let pages = size.pages_ceil(PageSize::FOUR_KIB).0;
        let hugetlb = match map.huge {
            Huge::Hugetlb => pages.div_ceil(HUGE_PAGES),
            _ => 0,
        };
        if !memory.reserve_hugetlb(hugetlb) {
            return Ok(false);
        }
        let mut region = self.new_region(memory, size, map.huge)?;
        region.contents = Contents::new(map, &self.name, pages);
        if map.mergeable {
            memory.ksm.make_mergeable(self.entity, &region);
        }
        self.regions.insert(&map.region, region);
        Ok(true)
    }

    /// The index of one of the machine's files.
    fn file(&self, machine: &Machine, name: &str) -> Result<usize, Error> {
        let index = machine.files.iter().position(|file| file.name == name);
        index.ok_or_else(|| unknown("file", name, self))
    }

    /// What an access or an advice is about.
    pub(crate) fn area(&self, machine: &Machine, target: &Target) -> Result<Area, Error> {
        match target {
            Target::File(name) => {
                let index = self.file(machine, name)?;
                let size = machine.files[index].size;
                Ok(Area::File { index, size })
            }
            Target::Region(name) => {
                let region = self.regions.get(name.as_str());
                let region = region.ok_or_else(|| no_region(name, self))?;
                Ok(Area::Region { size: region.size })
            }
        }
    }

    /// The figures of a labelled step without operations.
    pub(super) fn outcome(
        &self,
        label: Option<&str>,
        start: Nanos,
        end: Nanos,
    ) -> Option<StepOutcome> {
        Some(StepOutcome {
            process: self.name.clone(),
            label: label?.into(),
            start,
            end,
            operations: 0,
            bytes: Bytes::ZERO,
            status: Status::Done,
            latency: Latency::default(),
        })
    }
}

/// The time that writing settings takes.
fn pay_for(cpu: &mut Cpu, settings: &[Setting]) {
    cpu.spent += cpu.costs.set_ps * settings.len() as u64;
}

/// Whether a step without operations may wait for something.
fn may_block(action: &Action) -> bool {
    match action {
        Action::Wait { .. } | Action::Lock { .. } | Action::Sleep(_) => true,
        Action::Advise { advice, .. } => *advice == Advice::WillNeed,
        _ => false,
    }
}

/// What is written into `memory.reclaim`.
pub(super) fn reclaim_text(bytes: u64, swappiness: Option<u8>) -> String {
    match swappiness {
        Some(value) => alloc::format!("{bytes} swappiness={value}"),
        None => alloc::format!("{bytes}"),
    }
}

/// Index of a process by name.
fn process(scenario: &Scenario, name: &str, task: &Task<'_>) -> Result<usize, Error> {
    let mut processes = scenario.workload.processes.iter();
    let index = processes.position(|process| process.name == name);
    index.ok_or_else(|| unknown("process", name, task))
}

fn no_region(name: &str, task: &Task<'_>) -> Error {
    unknown("region", name, task)
}

fn no_node(node: u32, task: &Task<'_>) -> Error {
    unknown("NUMA node", &alloc::format!("{node}"), task)
}

fn unknown(kind: &str, name: &str, task: &Task<'_>) -> Error {
    Error::Unknown {
        what: alloc::format!("{kind} {name}"),
        place: task.place(),
    }
}
