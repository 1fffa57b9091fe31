//! What each step of a process does to the machine.

use alloc::string::String;
use mm::settings::Setting;
use mm::units::{Bytes, Nanos, PageSize};
use scenario::contents::Contents;
use scenario::outcome::{Latency, Status, StepOutcome};
use scenario::workload::{Action, Advice, Huge, Map, Step, Target, Until};

use crate::error::Error;
use crate::machine::running::Area;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::mlock::Fill;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::sched::core::{Flow, Sleep};
use crate::sched::wait::WaitsFor;

/// `ENOMEM`.
const NO_MEMORY: i32 = 12;

impl<'a> System<'a> {
    /// Takes the task one step further.
    pub(crate) fn step(&mut self, task: &mut Task<'a>, now: Nanos) -> Result<Flow, Error> {
        if task.exiting.is_some() {
            return Ok(self.exit(task, now));
        }
        if let Some(flow) = self.run_errands(task, now)? {
            return Ok(flow);
        }
        if let Some(flow) = self.touch_own(task, now)? {
            return Ok(flow);
        }
        if let Some(running) = task.access.take() {
            return self.go_on(task, running, now);
        }
        if let Some(replaying) = task.replaying.take() {
            return self.go_on_replaying(task, replaying, now);
        }
        if let Some(durable) = task.durable.take() {
            return self.sync(task, durable, now);
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

    /// The time that writing them takes.
    fn pay_for(&mut self, settings: &[Setting]) {
        self.memory.cpu.spent += self.memory.cpu.costs.set_ps * settings.len() as u64;
    }

    /// Writes the arm's settings.
    pub(crate) fn apply_arm(&mut self) -> Result<(), Error> {
        for setting in &self.scenario.arm_settings.0 {
            self.tunables.write(setting, &mut self.memory)?;
        }
        Ok(())
    }

    fn begin_step(
        &mut self,
        task: &mut Task<'a>,
        step: &'a Step,
        now: Nanos,
    ) -> Result<Flow, Error> {
        if let Action::Access(access) = &step.action
            && self.make_tables(task, access)?
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
                return Ok(self.next_round(task, now));
            }
            Action::Sync { .. } | Action::DropCaches => {
                let file = match &step.action {
                    Action::Sync { file } => Some(self.file(task, file)?),
                    _ => None,
                };
                self.begin_sync(task, file, label, now);
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
                if let Some(flow) = self.block(task, step, began, now)? {
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
        let end = self.local_time(now);
        if matches!(step.action, Action::Snapshot) {
            if self.observe_snapshot(end) {
                self.scheduler.queue.add(WaitsFor::Observer, task.entity);
                task.go_past_step();
                return Ok(Flow::Blocked(Sleep::Idle));
            }
        } else if task.errand.is_some() {
            task.ordered = label.map(|label| (label, began));
        } else {
            self.record_step(task, label, began, end);
        }
        task.go_past_step();
        Ok(Flow::Continue)
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
        if task.began_to_fill.is_none() && !self.map(task, map)? {
            self.end_task(task, now, &Status::Failed(NO_MEMORY));
            return Ok(Some(Flow::Ended));
        }
        if !map.populate {
            return Ok(None);
        }
        let flow = self.fill(task, &map.region, Fill::Populate, now)?;
        task.began_to_fill = flow.is_some().then_some(began);
        Ok(flow)
    }

    /// Performs a step that may block; how it left the task, or `None` where it is over.
    fn block(
        &mut self,
        task: &mut Task<'a>,
        step: &'a Step,
        began: Nanos,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        let flow = match &step.action {
            Action::Wait { process } if self.has_to_wait(task, process)? => {
                Some(Flow::Blocked(Sleep::Idle))
            }
            Action::Lock { target } => self.lock(task, target, now)?,
            Action::Advise { target, .. } => self.will_need(task, target, now)?,
            Action::Sleep(span) => {
                self.sleep_for(task, *span, self.local_time(now));
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

    /// A step without operations is over.
    pub(crate) fn record_step(
        &mut self,
        task: &Task<'a>,
        label: Option<&str>,
        began: Nanos,
        end: Nanos,
    ) {
        let step = label.map(|label| step_without_operations(&task.name, label, began, end));
        self.recorder.step(step);
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
            Action::ApplyArm => {
                self.pay_for(&self.scenario.arm_settings.0);
                self.apply_arm()?;
            }
            Action::ApplyDefaults => self.apply_defaults(),
            Action::Set(settings) => {
                self.pay_for(settings);
                for setting in settings {
                    self.tunables.write(setting, &mut self.memory)?;
                }
            }
            Action::RunOnNode { node } => self.run_on_node(task, *node)?,
            Action::Unmap { region } => {
                let unmapped = task.unmap(&mut self.memory, region);
                unmapped.ok_or_else(|| no_region(region, task))?;
            }
            Action::Start { process } => self.start_process(task, process, now)?,
            Action::Daemon(daemon) => self.decide(*daemon, now)?,
            Action::Close { file } => {
                let index = self.file(task, file)?;
                task.close(index);
                self.closed(index);
            }
            Action::Advise { target, advice } => self.advise(task, target, *advice)?,
            Action::SetCgroup { cgroup, file } => {
                self.write_cgroup(task, cgroup, &file.0, &file.1)?;
            }
            Action::Reclaim {
                cgroup,
                amount,
                swappiness,
            } => {
                let text = reclaim_text(amount.0, *swappiness);
                self.write_cgroup(task, cgroup, "memory.reclaim", &text)?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn write_cgroup(
        &mut self,
        task: &mut Task<'a>,
        path: &str,
        file: &str,
        text: &str,
    ) -> Result<(), Error> {
        let (groups, rules) = (&mut self.memory.groups, &self.memory.cpu.rules);
        task.write_cgroup(groups, rules, path, file, text)
    }

    fn apply_defaults(&mut self) {
        self.pay_for(&self.scenario.arm_settings.0);
        self.tunables.restore(&mut self.memory);
    }

    fn run_on_node(&mut self, task: &Task<'a>, node: u32) -> Result<(), Error> {
        let is_there = self.memory.zones.run_on_node(node);
        is_there.then_some(()).ok_or_else(|| no_node(node, task))
    }

    fn start_process(&mut self, task: &Task<'a>, name: &str, now: Nanos) -> Result<(), Error> {
        self.memory.cpu.spent += self.memory.cpu.costs.spawn_ps;
        self.memory.allocate_in_passing();
        let process = self.process(name).ok_or_else(|| no_process(name, task))?;
        let (memory, scheduler) = (&mut self.memory, &mut self.scheduler);
        self.tasks
            .start(memory, scheduler, &self.bench, process, now)
    }

    /// Kills a process; true if the task that asks is of it and has ended with it.
    fn kill_all(&mut self, task: &mut Task<'a>, name: &str, now: Nanos) -> Result<bool, Error> {
        let process = self.process(name).ok_or_else(|| no_process(name, task))?;
        self.kill_process(process, now);
        let own = process == task.process;
        if own {
            self.end_task(task, now, &Status::Done);
        }
        Ok(own)
    }

    /// Whether a process that a task waits for has not ended.
    fn has_to_wait(&self, task: &Task<'a>, process: &str) -> Result<bool, Error> {
        let index = self
            .process(process)
            .ok_or_else(|| no_process(process, task))?;
        Ok(!self.tasks.has_ended(index))
    }

    fn end_of_steps(&mut self, task: &mut Task<'a>, now: Nanos) -> Flow {
        if task
            .frames
            .last()
            .is_some_and(|frame| frame.repeat.is_some())
        {
            return self.next_round(task, now);
        }
        if task.holds_memory() {
            // It pays for this as for any step, and others that wake meanwhile run first.
            task.exit_mm(&mut self.memory, &self.files);
            return Flow::Continue;
        }
        self.end_task(task, now, &Status::Done);
        Flow::Ended
    }

    /// Begins the next round of the innermost repetition, or leaves it.
    fn next_round(&mut self, task: &mut Task<'a>, now: Nanos) -> Flow {
        let frame = task.frames.last_mut().expect("the repetition's frame");
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
        task.frames.pop();
        self.recorder
            .step(task.repetition_outcome(&repeat, now, Status::Done));
        task.go_past_step();
        Flow::Continue
    }

    /// Maps a region, in place of one of its name; false where the process's address space is too
    /// small.
    fn map(&mut self, task: &mut Task<'a>, map: &'a Map) -> Result<bool, Error> {
        task.unmap(&mut self.memory, &map.region);
        let size = map.size.at(self.available);
        let held: u64 = task.regions.values().map(|region| region.size.0).sum();
        let size = self.memory.cpu.sampled_size(size);
        let limit = task.spec.address_space;
        let limit = limit.map(|limit| self.memory.cpu.sampled_size(limit));
        if limit.is_some_and(|limit| held.saturating_add(size.0) > limit.0) {
            return Ok(false);
        }
        let pages = size.pages_ceil(PageSize::FOUR_KIB).0;
        let hugetlb = match map.huge {
            Huge::Hugetlb => pages.div_ceil(HUGE_PAGES),
            _ => 0,
        };
        if !self.memory.reserve_hugetlb(hugetlb) {
            return Ok(false);
        }
        let mut region = task.new_region(&mut self.memory, size, map.huge)?;
        region.contents = Contents::new(map, &task.name, pages);
        if map.mergeable {
            self.memory.ksm.make_mergeable(task.entity, &region);
        }
        task.regions.insert(&map.region, region);
        Ok(true)
    }

    fn file(&self, task: &Task<'a>, name: &str) -> Result<usize, Error> {
        let mut files = self.scenario.machine.files.iter();
        let index = files.position(|file| file.name == name);
        index.ok_or_else(|| unknown("file", name, task))
    }

    /// What an access or an advice is about.
    pub(crate) fn area(&self, task: &Task<'a>, target: &Target) -> Result<Area, Error> {
        match target {
            Target::File(name) => {
                let index = self.file(task, name)?;
                let size = self.scenario.machine.files[index].size;
                Ok(Area::File { index, size })
            }
            Target::Region(name) => {
                let region = task.regions.get(name.as_str());
                let region = region.ok_or_else(|| no_region(name, task))?;
                Ok(Area::Region { size: region.size })
            }
        }
    }
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

/// The figures of a step that is no access.
pub(super) fn step_without_operations(
    process: &str,
    label: &str,
    start: Nanos,
    end: Nanos,
) -> StepOutcome {
    StepOutcome {
        process: process.into(),
        label: label.into(),
        start,
        end,
        operations: 0,
        bytes: Bytes::ZERO,
        status: Status::Done,
        latency: Latency::default(),
    }
}

fn no_process(name: &str, task: &Task<'_>) -> Error {
    unknown("process", name, task)
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
