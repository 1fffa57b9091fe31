//! Accesses under way: operation after operation, each a run of pages of a file or a region.

use alloc::boxed::Box;

use mm::units::{Bytes, Nanos, PageSize};
use scenario::access::{self, Operation};
use scenario::outcome::Status;
use scenario::workload::{Access, Target, Think, Via};

use crate::bench::state::Bench;
use crate::error::Error;
use crate::machine::oom_kill::Victim;
use crate::machine::running::{Area, Running, Underway};
use crate::machine::state::Stop;
use crate::machine::system::{System, wakes_a_thread};
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::direct::DIRECT_PAGES;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::folio::{Flag, Folios, PageId};
use crate::mm::memcontrol::group_id::ROOT;
use crate::mm::memory::state::{Held, Region};
use crate::mm::page_alloc::state::NoPage;
use crate::mm::parts::Memory;
use crate::sampling;
use crate::sched::core::{Flow, Scheduler, Sleep};
use crate::sched::cpu::Cpu;
use crate::sched::events::Events;
use crate::sched::wait::WaitsFor;

/// Pages that are handled between two looks at the clock.
const CHUNK: u64 = 32;

impl<'a> System<'a> {
    pub(crate) fn begin_access(
        &mut self,
        task: &mut Task<'a>,
        access: &'a Access,
        label: Option<&'a str>,
        now: Nanos,
    ) -> Result<Flow, Error> {
        let area = task.area(&self.scenario.machine, &access.target)?;
        self.fanotify.opened(task, area);
        let scale = self.memory.cpu.scale;
        let amount = match access.amount {
            Some(amount) => amount.at(self.available),
            None => Bytes(area.size().0.saturating_mul(scale)),
        };
        let amount = match scale {
            1 => amount,
            _ => sampling::reachable(access, amount),
        };
        task.begin_access(access, label, area, amount, now, self.scenario.seed);
        self.bench
            .make_buffer(&mut self.memory, task, access, area)?;
        Ok(Flow::Continue)
    }

    /// Takes an access further, until something stops it.
    pub(crate) fn go_on(
        &mut self,
        task: &mut Task<'a>,
        mut running: Box<Running<'a>>,
    ) -> Result<Flow, Error> {
        let stop = self.run_operations(task, &mut running)?;
        if stop == Stop::Done {
            let end = self.memory.cpu.now();
            self.recorder
                .step(running.figures.outcome(&task.name, end, Status::Done));
            running.send_rest(&mut self.memory, &self.files);
            task.finish_access(running, self.memory.cpu.scale);
            return Ok(Flow::Continue);
        }
        task.access = Some(running);
        Ok(task.stopped(Some(stop)))
    }

    fn run_operations(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
    ) -> Result<Stop, Error> {
        while self.memory.cpu.spent < self.memory.cpu.budget
            && !wakes_a_thread(&self.memory, &self.scheduler)
        {
            // On its way back to user space the task looks after its group's high limit.
            let in_call =
                running.operation.is_some() && matches!(running.target, Area::File { .. });
            if self.memory.cpu.current.over_high > 0 && !in_call {
                return Ok(Stop::Budget);
            }
            let Some(mut operation) = running.operation.take() else {
                match self.between_operations(task, running) {
                    Some(stop) => return Ok(stop),
                    None => continue,
                }
            };
            let progress = match running.target {
                Area::File { index, .. } => {
                    running.use_file(task, &mut self.memory, &self.files, index, &mut operation)
                }
                Area::Region { .. } => task.touch(
                    &mut self.memory,
                    &self.bench,
                    running.access,
                    &mut operation,
                ),
            };
            let stop = self.stop(task, progress)?;
            if task.dying && progress == Progress::Complete {
                return Ok(Stop::Killed);
            }
            if stop.is_none() && operation.cursor >= operation.end {
                let Some(operation) = running.finish_block(operation) else {
                    continue;
                };
                let scale = self.memory.cpu.scale;
                running.finish_operation(operation, self.memory.cpu.now(), scale);
                task.operations += scale;
                task.bytes += operation.bytes * scale;
                running.compute_ps = running.access.compute.0.saturating_mul(1000 * scale);
                if running.compute_ps == 0 && running.access.think != Think::NONE {
                    let Self {
                        memory,
                        scheduler,
                        events,
                        ..
                    } = self;
                    return Ok(running.think(&mut memory.cpu, scheduler, events));
                }
                continue;
            }
            running.operation = Some(operation);
            if let Some(stop) = stop {
                return Ok(stop);
            }
        }
        Ok(Stop::Budget)
    }

    /// What a task without an operation does: it computes, goes on in the cache, or begins the
    /// next.
    fn between_operations(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
    ) -> Option<Stop> {
        let Self {
            memory,
            files,
            scheduler,
            events,
            ..
        } = self;
        if running.compute_ps > 0 {
            memory.cpu.use_up(&mut running.compute_ps);
            let thinks = running.compute_ps == 0 && running.access.think != Think::NONE;
            return thinks.then(|| running.think(&mut memory.cpu, scheduler, events));
        }
        if running.run_hits(task, memory, files) || running.run_settled(task, memory, files) {
            return None;
        }
        let stop = running.may_not_begin(task, memory, scheduler, events);
        if stop.is_none() {
            running.begin_operation(task, memory, files);
        }
        stop
    }

    /// What an access that came so far has to wait for.
    pub(crate) fn stop(
        &mut self,
        task: &mut Task<'a>,
        progress: Progress,
    ) -> Result<Option<Stop>, Error> {
        let Self {
            memory,
            scheduler,
            events,
            tap,
            ..
        } = self;
        let stop = match progress {
            Progress::Complete => return Ok(None),
            Progress::Submitted => {
                memory.cpu.spent += memory.cpu.costs.wait_ps;
                Stop::Wait(Sleep::Io)
            }
            Progress::Waits(page) => {
                memory.cpu.spent += memory.cpu.costs.wait_ps;
                scheduler.queue.add(WaitsFor::Page(page), task.entity);
                Stop::Wait(sleep_for_disk(memory.folios.has(page, Flag::Workingset)))
            }
            Progress::Pauses(ticks) => {
                let now = memory.cpu.now();
                let at = memory.cpu.clock.expiry(now, ticks);
                if let Some(tap) = tap {
                    tap.pauses(task.entity, now, at.saturating_sub(now));
                }
                scheduler.wake_at(events, task.entity, at);
                Stop::Wait(Sleep::Io)
            }
            Progress::Commits { disk, transaction } => {
                let waits = WaitsFor::Commit { disk, transaction };
                scheduler.queue.add(waits, task.entity);
                Stop::Wait(Sleep::Idle)
            }
            Progress::Shadowed { disk } => {
                scheduler.queue.add(WaitsFor::Shadow { disk }, task.entity);
                Stop::Wait(Sleep::Io)
            }
            Progress::NoPage(NoPage::Congested { disk, refaults }) => {
                scheduler.queue.add(WaitsFor::Disk(disk), task.entity);
                Stop::Wait(sleep_for_disk(refaults))
            }
            Progress::NoPage(NoPage::Throttled { ticks }) => {
                let now = memory.cpu.now();
                let at = memory.cpu.clock.expiry(now, ticks);
                if let Some(tap) = tap {
                    tap.throttles(task.entity, now, ticks);
                }
                scheduler.wake_at(events, task.entity, at);
                Stop::Wait(Sleep::Idle)
            }
            Progress::NoPage(NoPage::Again) => Stop::Budget,
            Progress::NoPage(NoPage::OutOfMemory) => {
                let victim = self.out_of_memory(task, ROOT)?;
                return Ok((victim == Victim::Own).then_some(Stop::Killed));
            }
            Progress::NoPage(NoPage::OverLimit { group }) => return self.over_limit(task, group),
        };
        Ok(Some(stop))
    }
}

/// Waiting for a page of the working set to come back is a stall for memory.
fn sleep_for_disk(refaults: bool) -> Sleep {
    match refaults {
        true => Sleep::Refault,
        false => Sleep::Io,
    }
}

impl<'a> Running<'a> {
    /// Lets the task that runs sleep between two operations.
    fn think(&mut self, cpu: &mut Cpu, scheduler: &Scheduler, events: &mut Events) -> Stop {
        let pause = cpu.pause(&mut self.operations_to_do);
        scheduler.sleep_for(events, cpu, pause);
        Stop::Wait(Sleep::Idle)
    }

    /// Why neither the next block of an operation nor the next operation may begin now.
    fn may_not_begin(
        &mut self,
        task: &mut Task<'a>,
        memory: &mut Memory,
        scheduler: &Scheduler,
        events: &mut Events,
    ) -> Option<Stop> {
        if self.begun.is_some() {
            return None;
        }
        let now = memory.cpu.now();
        if self.is_done(now) {
            return Some(Stop::Done);
        }
        let due = self.due();
        if due > now {
            scheduler.sleep_until(events, &mut memory.cpu, due);
            return Some(Stop::Wait(Sleep::Idle));
        }
        if task.misses_own(memory, self) {
            return Some(Stop::Budget);
        }
        self.touched = [false; 3];
        None
    }

    /// Begins the next block of an operation or the next operation.
    fn begin_operation(&mut self, task: &Task<'a>, memory: &mut Memory, files: &[File]) {
        let next = self.operations_to_do.next_operation();
        if let Some(drawn) = self.operations_to_do.just_drawn() {
            self.fetch(task, &memory.folios, files, drawn);
        }
        let (offset, bytes) = access::extent(next.block, self.target.size(), self.access.block);
        let cpu = &mut memory.cpu;
        cpu.spent += cpu.costs.loop_ps;
        let began = self.begun.map_or(cpu.now(), |begun| begun.began);
        cpu.spent += match (self.target, self.access.via) {
            (Area::File { .. }, Via::Syscall) if next.write => cpu.costs.write_call_ps,
            (Area::File { .. }, Via::Syscall | Via::Direct) => cpu.costs.syscall_ps,
            _ => cpu.costs.operation_ps,
        };
        let end = Bytes(offset + bytes).pages_ceil(PageSize::FOUR_KIB).0;
        let cursor = offset / PageSize::FOUR_KIB.bytes();
        self.operation = Some(Underway {
            began,
            offset,
            cursor,
            end,
            bytes,
            write: next.write,
            changes_time: next.write && self.access.via != Via::Mmap,
            meets_cache: self.access.via == Via::Direct,
            beyond: u64::MAX,
            faulting: false,
        });
    }

    /// Loads the state of the first pages of operations to come.
    fn fetch(&self, task: &Task<'a>, folios: &Folios, files: &[File], operations: &[Operation]) {
        let base = match (&self.access.target, self.target) {
            (_, Area::File { index, .. }) => files[index].base,
            (Target::Region(name), _) => match task.regions.get(name.as_str()) {
                Some(region) => region.base,
                None => return,
            },
            _ => return,
        };
        let first = |operation: &Operation| {
            let (offset, _) =
                access::extent(operation.block, self.target.size(), self.access.block);
            base + (offset / PageSize::FOUR_KIB.bytes()) as PageId
        };
        folios.fetch(operations.iter().map(first));
    }

    /// What reads and writes its file.
    pub(crate) fn reader<'r>(&'r mut self, memory: &'r mut Memory, file: &'r File) -> Reader<'r> {
        Reader {
            memory,
            file,
            readahead: &mut self.readahead,
        }
    }

    /// Goes on with an operation on the file with this index.
    fn use_file(
        &mut self,
        task: &mut Task<'a>,
        memory: &mut Memory,
        files: &[File],
        index: usize,
        operation: &mut Underway,
    ) -> Progress {
        match self.access.via {
            Via::Direct if !operation.changes_time => {
                return self.transfer_directly(memory, files, index, operation);
            }
            Via::Mmap => {
                task.mapped.insert(index);
            }
            _ => {}
        }
        let via = self.access.via;
        operation.go_on(self.reader(memory, &files[index]), via)
    }

    /// Goes on with an operation past the page cache, once that has none of its range.
    fn transfer_directly(
        &mut self,
        memory: &mut Memory,
        files: &[File],
        index: usize,
        operation: &mut Underway,
    ) -> Progress {
        let file = &files[index];
        if operation.meets_cache {
            let range = operation.cursor..operation.end.min(file.pages);
            let underway = &mut self.writing_out;
            let progress = file.write_and_wait(memory, index, range.clone(), underway);
            if progress == Progress::Complete {
                if operation.write {
                    file.drop_range(range, memory);
                }
                operation.meets_cache = false;
            }
            return progress;
        }
        let end = operation.end.min(operation.cursor + DIRECT_PAGES);
        if operation.faulting {
            operation.faulting = false;
            operation.cursor = end;
            return Progress::Complete;
        }
        operation.faulting = true;
        file.submit_direct(memory, operation.cursor..end, operation.write);
        Progress::Submitted
    }

    /// Sends the request for the pages of an interrupted window that are locked already.
    pub(crate) fn send_rest(&mut self, memory: &mut Memory, files: &[File]) {
        if let Area::File { index, .. } = self.target {
            self.reader(memory, &files[index]).send_rest();
        }
    }
}

impl Underway {
    /// Goes on with pages of a file, by calls or through a mapping.
    pub(crate) fn go_on(&mut self, mut reader: Reader<'_>, via: Via) -> Progress {
        if self.changes_time {
            return self.change_time(reader.memory, reader.file);
        }
        let is_read = via == Via::Syscall && !self.write;
        let batch = match is_read {
            true => reader.memory.cpu.rules.folio_batch(),
            false => CHUNK,
        };
        let stop = (self.cursor + batch).min(self.end);
        let span = self.span();
        match via {
            Via::Syscall if is_read => reader.read(&mut self.cursor, stop, span),
            Via::Syscall => reader.write(&mut self.cursor, stop, span, self.beyond),
            _ => reader.touch(&mut self.cursor, stop, self.write, &mut self.faulting),
        }
    }

    /// A write changes the time stamp of its file before anything else.
    fn change_time(&mut self, memory: &mut Memory, file: &File) -> Progress {
        let progress = memory
            .writeback
            .update_time(&memory.cpu, &memory.objects, file);
        self.changes_time = progress != Progress::Complete;
        progress
    }

    /// Touches the page at the cursor and goes past it, unless it has to be waited for; `fill_ps`
    /// is what filling a new one takes.
    fn touch_page(
        &mut self,
        memory: &mut Memory,
        region: &mut Region,
        fill_ps: u64,
        held: &mut Held,
    ) -> Progress {
        let before = held.pages;
        let progress = memory.fault_in(region, self.cursor, self.write, &mut self.faulting, held);
        if progress != Progress::Complete {
            return progress;
        }
        let fills = held.pages.saturating_sub(before) * fill_ps;
        memory.cpu.spent += match self.write {
            true => memory.cpu.costs.touch_ps + fills,
            false => memory.cpu.costs.load_ps,
        };
        self.cursor += 1;
        Progress::Complete
    }

    /// Touches the pages from the cursor on that share their use with it, as long as there is time.
    fn touch_alike(&mut self, memory: &mut Memory, region: &Region) {
        let costs = &memory.cpu.costs;
        let each = match self.write {
            true => costs.touch_ps,
            false => costs.load_ps,
        };
        let alike = region.alike(self.cursor, memory);
        let left = (memory.cpu.budget - memory.cpu.spent).div_ceil(each.max(1));
        let pages = alike.min(self.end - self.cursor).min(left);
        memory.cpu.spent += pages * each;
        self.cursor += pages;
    }
}

impl Task<'_> {
    /// Touches the pages of an operation on a region; a page that is not there is faulted in.
    fn touch(
        &mut self,
        memory: &mut Memory,
        bench: &Bench,
        access: &Access,
        operation: &mut Underway,
    ) -> Progress {
        let Target::Region(name) = &access.target else {
            return Progress::Complete;
        };
        let Some(region) = self.regions.get_mut(name.as_str()) else {
            return Progress::Complete;
        };
        let chunk_end = (operation.cursor + CHUNK).min(operation.end);
        let mut held = Held::default();
        let mut progress = Progress::Complete;
        while operation.cursor < chunk_end
            && progress == Progress::Complete
            && memory.cpu.spent < memory.cpu.budget
            && memory.cpu.current.over_high == 0
        {
            if region.alike(operation.cursor, memory) > 1
                && region.is_touched(operation.cursor, operation.write, memory)
            {
                operation.touch_alike(memory, region);
                continue;
            }
            progress = operation.touch_page(memory, region, bench.fill_ps, &mut held);
        }
        self.hold(held);
        progress
    }
}
