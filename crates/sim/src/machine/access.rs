//! Accesses under way: operation after operation, each a run of pages of a file or a region.

use alloc::boxed::Box;

use mm::units::{Bytes, Nanos, PageSize};
use scenario::access::{self, Operation};
use scenario::outcome::Status;
use scenario::workload::{Access, Target, Think, Via};

use crate::error::Error;
use crate::machine::running::{Area, Running, Underway};
use crate::machine::state::Stop;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::Progress;
use crate::mm::folio::{Flag, PageId};
use crate::mm::memory::state::{Held, Region};
use crate::mm::page_alloc::state::NoPage;
use crate::sampling;
use crate::sched::core::{Flow, Sleep};
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
        let area = self.area(task, &access.target)?;
        self.opened(task, area);
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
        now: Nanos,
    ) -> Result<Flow, Error> {
        let stop = self.run_operations(task, &mut running, now)?;
        let flow = match stop {
            Stop::Budget => Flow::Continue,
            Stop::Wait(sleep) => Flow::Blocked(sleep),
            Stop::Done => {
                let end = self.local_time(now);
                self.recorder
                    .step(running.figures.outcome(&task.name, end, Status::Done));
                self.send_rest(&mut running);
                task.finish_access(running, self.memory.cpu.scale);
                return Ok(Flow::Continue);
            }
            Stop::Killed => {
                task.exiting = Some(0);
                Flow::Continue
            }
        };
        task.access = Some(running);
        Ok(flow)
    }

    /// The time, `spent` included, of a step that began at `now`.
    pub(crate) fn local_time(&self, now: Nanos) -> Nanos {
        now + Nanos(self.memory.cpu.spent / 1000)
    }

    fn run_operations(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
        began: Nanos,
    ) -> Result<Stop, Error> {
        while self.memory.cpu.spent < self.memory.cpu.budget && !self.wakes_a_thread() {
            // On its way back to user space the task looks after its group's high limit.
            let in_call =
                running.operation.is_some() && matches!(running.target, Area::File { .. });
            if self.memory.cpu.current.over_high > 0 && !in_call {
                return Ok(Stop::Budget);
            }
            let Some(mut operation) = running.operation.take() else {
                match self.between_operations(task, running, began) {
                    Some(stop) => return Ok(stop),
                    None => continue,
                }
            };
            let progress = match running.target {
                Area::File { index, .. } if operation.changes_time => {
                    self.change_time(&mut operation, index)
                }
                Area::File { index, .. } => match running.access.via {
                    Via::Syscall if operation.write => {
                        self.write_file(running, &mut operation, index)
                    }
                    Via::Syscall => self.read_file(running, &mut operation, index),
                    Via::Mmap => self.touch_file(task, running, &mut operation, index),
                    Via::Direct => self.transfer_directly(task, running, &mut operation, index),
                },
                Area::Region { .. } => self.touch(task, running, &mut operation),
            };
            let stop = self.stop(task, progress, began)?;
            if task.dying && progress == Progress::Complete {
                return Ok(Stop::Killed);
            }
            if stop.is_none() && operation.cursor >= operation.end {
                let Some(operation) = running.finish_block(operation) else {
                    continue;
                };
                let end = self.local_time(began);
                let scale = self.memory.cpu.scale;
                running.finish_operation(operation, end, scale);
                task.operations += scale;
                task.bytes += operation.bytes * scale;
                running.compute_ps = running.access.compute.0.saturating_mul(1000 * scale);
                if running.compute_ps == 0 && running.access.think != Think::NONE {
                    return Ok(self.think(task, running, end));
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
        began: Nanos,
    ) -> Option<Stop> {
        if running.compute_ps > 0 {
            self.memory.cpu.use_up(&mut running.compute_ps);
            let thinks = running.compute_ps == 0 && running.access.think != Think::NONE;
            return thinks.then(|| self.think(task, running, self.local_time(began)));
        }
        if self.run_hits(task, running, began) || self.run_settled(task, running, began) {
            return None;
        }
        self.begin_operation(task, running, self.local_time(began))
    }

    /// Lets a task sleep between two operations.
    fn think(&mut self, task: &Task<'a>, running: &mut Running<'a>, now: Nanos) -> Stop {
        let pause = self.memory.cpu.pause(&mut running.operations_to_do);
        self.sleep_for(task, pause, now);
        Stop::Wait(Sleep::Idle)
    }

    /// Begins the next block of an operation or the next operation, unless there is none or it is
    /// not due yet.
    fn begin_operation(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
        now: Nanos,
    ) -> Option<Stop> {
        if running.begun.is_none()
            && let Some(stop) = self.may_not_begin(task, running, now)
        {
            return Some(stop);
        }
        let next = running.operations_to_do.next_operation();
        if let Some(drawn) = running.operations_to_do.just_drawn() {
            self.fetch(task, running, drawn);
        }
        let (offset, bytes) =
            access::extent(next.block, running.target.size(), running.access.block);
        self.memory.cpu.spent += self.memory.cpu.costs.loop_ps;
        let began = running
            .begun
            .map_or(self.memory.cpu.now(), |begun| begun.began);
        self.memory.cpu.spent += match (running.target, running.access.via) {
            (Area::File { .. }, Via::Syscall) if next.write => self.memory.cpu.costs.write_call_ps,
            (Area::File { .. }, Via::Syscall | Via::Direct) => self.memory.cpu.costs.syscall_ps,
            _ => self.memory.cpu.costs.operation_ps,
        };
        let end = Bytes(offset + bytes).pages_ceil(PageSize::FOUR_KIB).0;
        let cursor = offset / PageSize::FOUR_KIB.bytes();
        running.operation = Some(Underway {
            began,
            offset,
            cursor,
            end,
            bytes,
            write: next.write,
            changes_time: next.write && running.access.via != Via::Mmap,
            meets_cache: running.access.via == Via::Direct,
            beyond: u64::MAX,
            faulting: false,
        });
        None
    }

    /// Why no operation may begin now.
    fn may_not_begin(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
        now: Nanos,
    ) -> Option<Stop> {
        if running.is_done(now) {
            return Some(Stop::Done);
        }
        let due = running.due();
        if due > now {
            self.sleep_until(task, due);
            return Some(Stop::Wait(Sleep::Idle));
        }
        if task.misses_own(&self.memory, running) {
            return Some(Stop::Budget);
        }
        running.touched = [false; 3];
        None
    }

    /// Loads the state of the first pages of operations to come.
    fn fetch(&self, task: &Task<'a>, running: &Running<'a>, operations: &[Operation]) {
        let base = match (&running.access.target, running.target) {
            (_, Area::File { index, .. }) => self.files[index].base,
            (Target::Region(name), _) => match task.regions.get(name.as_str()) {
                Some(region) => region.base,
                None => return,
            },
            _ => return,
        };
        let first = |operation: &Operation| {
            let (offset, _) =
                access::extent(operation.block, running.target.size(), running.access.block);
            base + (offset / PageSize::FOUR_KIB.bytes()) as PageId
        };
        self.memory.folios.fetch(operations.iter().map(first));
    }

    /// What reads and writes the file with this index for an access.
    pub(crate) fn reader<'r>(
        &'r mut self,
        running: &'r mut Running<'a>,
        index: usize,
    ) -> Reader<'r> {
        Reader {
            memory: &mut self.memory,
            file: &self.files[index],
            readahead: &mut running.readahead,
        }
    }

    fn read_file(
        &mut self,
        running: &mut Running<'a>,
        operation: &mut Underway,
        index: usize,
    ) -> Progress {
        let chunk_end = (operation.cursor + self.batch).min(operation.end);
        let span = operation.span();
        let mut reader = self.reader(running, index);
        reader.read(&mut operation.cursor, chunk_end, span)
    }

    /// A write changes the time stamp of its file before anything else.
    pub(crate) fn change_time(&mut self, operation: &mut Underway, index: usize) -> Progress {
        let progress = self.memory.writeback.update_time(
            &self.memory.cpu,
            &self.memory.objects,
            &self.files[index],
        );
        operation.changes_time = progress != Progress::Complete;
        progress
    }

    /// Writes pages of an operation to a file through the page cache.
    fn write_file(
        &mut self,
        running: &mut Running<'a>,
        operation: &mut Underway,
        index: usize,
    ) -> Progress {
        let mut reader = self.reader(running, index);
        let chunk_end = (operation.cursor + CHUNK).min(operation.end);
        let span = operation.span();
        reader.write(&mut operation.cursor, chunk_end, span, operation.beyond)
    }

    /// Sends the request for the pages of an interrupted window that are locked already.
    pub(crate) fn send_rest(&mut self, running: &mut Running<'a>) {
        let Area::File { index, .. } = running.target else {
            return;
        };
        if let Some(rest) = running.readahead.take_rest() {
            let mut reader = self.reader(running, index);
            reader.request(rest.gap, rest.window.start);
        }
    }

    /// Touches the pages of an operation on a file that is mapped.
    fn touch_file(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
        operation: &mut Underway,
        index: usize,
    ) -> Progress {
        task.mapped.insert(index);
        let mut reader = self.reader(running, index);
        let chunk_end = (operation.cursor + CHUNK).min(operation.end);
        reader.touch(
            &mut operation.cursor,
            chunk_end,
            operation.write,
            &mut operation.faulting,
        )
    }

    /// What an access that came so far has to wait for.
    pub(crate) fn stop(
        &mut self,
        task: &mut Task<'a>,
        progress: Progress,
        began: Nanos,
    ) -> Result<Option<Stop>, Error> {
        match progress {
            Progress::Complete => Ok(None),
            Progress::Submitted => {
                self.memory.cpu.spent += self.memory.cpu.costs.wait_ps;
                Ok(Some(Stop::Wait(Sleep::Io)))
            }
            Progress::Waits(page) => {
                self.memory.cpu.spent += self.memory.cpu.costs.wait_ps;
                self.scheduler.queue.add(WaitsFor::Page(page), task.entity);
                Ok(Some(Stop::Wait(self.wait_for(page))))
            }
            Progress::Pauses(ticks) => {
                let at = self.memory.cpu.clock.expiry(self.local_time(began), ticks);
                self.wake_at(task, at);
                Ok(Some(Stop::Wait(Sleep::Io)))
            }
            Progress::Commits { disk, transaction } => {
                let waits = WaitsFor::Commit { disk, transaction };
                self.scheduler.queue.add(waits, task.entity);
                Ok(Some(Stop::Wait(Sleep::Idle)))
            }
            Progress::Shadowed { disk } => {
                self.scheduler
                    .queue
                    .add(WaitsFor::Shadow { disk }, task.entity);
                Ok(Some(Stop::Wait(Sleep::Io)))
            }
            Progress::NoPage(NoPage::Congested { disk }) => {
                self.scheduler.queue.add(WaitsFor::Disk(disk), task.entity);
                Ok(Some(Stop::Wait(Sleep::Io)))
            }
            Progress::NoPage(NoPage::Again) => Ok(Some(Stop::Budget)),
            Progress::NoPage(NoPage::OutOfMemory) => self.kill_someone(task, began),
            Progress::NoPage(NoPage::OverLimit { group }) => self.over_limit(task, group, began),
        }
    }

    /// Touches the pages of an operation on a region; a page that is not there is faulted in.
    fn touch(
        &mut self,
        task: &mut Task<'a>,
        running: &Running<'a>,
        operation: &mut Underway,
    ) -> Progress {
        let Target::Region(name) = &running.access.target else {
            return Progress::Complete;
        };
        let Some(region) = task.regions.get_mut(name.as_str()) else {
            return Progress::Complete;
        };
        let chunk_end = (operation.cursor + CHUNK).min(operation.end);
        let mut held = Held::default();
        let mut progress = Progress::Complete;
        while operation.cursor < chunk_end
            && progress == Progress::Complete
            && self.memory.cpu.spent < self.memory.cpu.budget
            && self.memory.cpu.current.over_high == 0
        {
            if region.alike(operation.cursor, &self.memory) > 1
                && region.is_touched(operation.cursor, operation.write, &self.memory)
            {
                self.touch_alike(region, operation, chunk_end);
                continue;
            }
            progress = self.touch_page(region, operation, &mut held);
        }
        task.rss += held.pages;
        task.page_tables += held.page_tables;
        progress
    }

    /// Touches the page at the cursor and goes past it, unless it has to be waited for.
    fn touch_page(
        &mut self,
        region: &mut Region,
        operation: &mut Underway,
        held: &mut Held,
    ) -> Progress {
        let (index, write) = (operation.cursor, operation.write);
        let before = held.pages;
        match self.fault_in(region, index, write, &mut operation.faulting, held) {
            Progress::Complete => {}
            wait => return wait,
        }
        let fills = held.pages.saturating_sub(before) * self.bench.fill_ps;
        self.memory.cpu.spent += match write {
            true => self.memory.cpu.costs.touch_ps + fills,
            false => self.memory.cpu.costs.load_ps,
        };
        operation.cursor += 1;
        Progress::Complete
    }

    /// Sees to it that a page is there and known to be used; `faulting` says whether its fault has
    /// been counted.
    pub(crate) fn fault_in(
        &mut self,
        region: &mut Region,
        index: u64,
        write: bool,
        faulting: &mut bool,
        held: &mut Held,
    ) -> Progress {
        if region.is_touched(index, write, &self.memory) {
            return Progress::Complete;
        }
        let first_try = !core::mem::replace(faulting, true);
        let tunables = &self.tunables;
        let progress = (self.memory).fault(region, index, write, first_try, tunables, held);
        *faulting = progress != Progress::Complete;
        progress
    }

    /// Waiting for a page of the working set to come back is a stall for memory.
    fn wait_for(&self, page: PageId) -> Sleep {
        match self.memory.folios.has(page, Flag::Workingset) {
            true => Sleep::Refault,
            false => Sleep::Io,
        }
    }
}
