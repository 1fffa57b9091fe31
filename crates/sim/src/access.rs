//! Accesses under way: operation after operation, each a run of pages of a file or a region.

use mm::access;
use mm::outcome::Status;
use mm::units::{Bytes, Nanos, PageSize};
use mm::workload::Access;

use crate::error::Error;
use crate::filemap::{Progress, Reader};
use crate::folio::PageId;
use crate::system::{Flow, System};
use crate::task::{Area, Running, Task, Underway};

/// Pages that are handled between two looks at the clock.
const CHUNK: u64 = 32;

/// CPU time after which an access lets the scheduler look, in picoseconds: 30 microseconds.
const BUDGET: u64 = 30_000_000;

/// What stops the operations of an access for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// Its budget: it can go on.
    Budget,
    /// A disk, a pause: it will be woken.
    Wait,
    /// The access is complete.
    Done,
    /// The OOM killer chose this task.
    Killed,
}

impl<'a> System<'a> {
    pub(crate) fn begin_access(
        &mut self,
        task: &mut Task<'a>,
        access: &'a Access,
        label: Option<&'a str>,
        now: Nanos,
    ) -> Result<Flow, Error> {
        let area = self.area(task, &access.target)?;
        let amount = access
            .amount
            .map_or(area.size(), |amount| amount.at(self.available));
        task.begin_access(access, label, area, amount, now, self.scenario.seed);
        Ok(Flow::Continue)
    }

    /// Takes an access further, until something stops it.
    pub(crate) fn go_on(
        &mut self,
        task: &mut Task<'a>,
        mut running: Running<'a>,
        now: Nanos,
    ) -> Result<Flow, Error> {
        let stop = self.run_operations(task, &mut running, now)?;
        let flow = match stop {
            Stop::Budget => Flow::Continue,
            Stop::Wait => Flow::Blocked,
            Stop::Done => {
                let end = self.local_time(now);
                self.recorder
                    .step(running.outcome(&task.name, end, Status::Done));
                task.finish_access(running);
                return Ok(Flow::Continue);
            }
            Stop::Killed => Flow::Ended,
        };
        task.access = Some(running);
        if stop == Stop::Killed {
            self.end_task(task, self.local_time(now), &Status::Killed(9));
        }
        Ok(flow)
    }

    /// The time, `spent` included, of a step that began at `now`.
    fn local_time(&self, now: Nanos) -> Nanos {
        now + Nanos(self.memory.spent / 1000)
    }

    fn run_operations(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
        began: Nanos,
    ) -> Result<Stop, Error> {
        while self.memory.spent < BUDGET && !self.kswapd_was_woken() {
            let now = self.local_time(began);
            let Some(mut operation) = running.operation.take() else {
                if let Some(stop) = self.begin_operation(task, running, now) {
                    return Ok(stop);
                }
                continue;
            };
            let stop = match running.target {
                Area::File { index, .. } => {
                    self.read_file(task, running, &mut operation, index, began)?
                }
                Area::Region { base, .. } => {
                    self.touch(task, running, &mut operation, base, began)?
                }
            };
            if stop.is_none() && operation.cursor >= operation.end {
                let end = self.local_time(began);
                running.finish_operation(operation, end);
                task.operations += 1;
                task.bytes += operation.bytes;
                if running.access.think > Nanos::ZERO {
                    self.wake_at(task, end.saturating_add(running.access.think));
                    return Ok(Stop::Wait);
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

    /// Begins the next operation, unless there is none or it is not due yet.
    fn begin_operation(
        &mut self,
        task: &Task<'a>,
        running: &mut Running<'a>,
        now: Nanos,
    ) -> Option<Stop> {
        if running.is_done(now) {
            return Some(Stop::Done);
        }
        let due = running.due();
        if due > now {
            self.wake_at(task, due);
            return Some(Stop::Wait);
        }
        let next = running.operations_to_do.next_operation();
        let (offset, bytes) =
            access::extent(next.block, running.target.size(), running.access.block);
        self.memory.spent += match running.target {
            Area::File { .. } => self.memory.costs.syscall_ps,
            Area::Region { .. } => self.memory.costs.operation_ps,
        };
        let end = Bytes(offset + bytes).pages_ceil(PageSize::FOUR_KIB).0;
        let cursor = offset / PageSize::FOUR_KIB.bytes();
        running.operation = Some(Underway {
            began: now,
            cursor,
            end,
            bytes,
        });
        None
    }

    fn read_file(
        &mut self,
        task: &Task<'a>,
        running: &mut Running<'a>,
        operation: &mut Underway,
        index: usize,
        began: Nanos,
    ) -> Result<Option<Stop>, Error> {
        let mut reader = Reader {
            memory: &mut self.memory,
            disks: &mut self.disks,
            file: &mut self.files[index],
            index,
            readahead: &mut running.readahead,
            began,
            submitted: &mut self.submitted,
        };
        let chunk_end = (operation.cursor + CHUNK).min(operation.end);
        match reader.read(&mut operation.cursor, chunk_end, operation.end) {
            Progress::Complete => Ok(None),
            Progress::WaitsUntil(done) => {
                self.waiters.push((index, done, task.entity));
                Ok(Some(Stop::Wait))
            }
            Progress::OutOfMemory => self.kill_someone(task, began),
        }
    }

    /// Touches the pages of an operation on a region; a page that is not there is faulted in.
    fn touch(
        &mut self,
        task: &mut Task<'a>,
        running: &Running<'a>,
        operation: &mut Underway,
        base: PageId,
        began: Nanos,
    ) -> Result<Option<Stop>, Error> {
        let chunk_end = (operation.cursor + CHUNK).min(operation.end);
        while operation.cursor < chunk_end {
            let page = base + operation.cursor as PageId;
            if !self.memory.folios.is_resident(page)
                && !self.fault(task, &running.access.target, operation.cursor)
            {
                return self.kill_someone(task, began);
            }
            self.memory.spent += self.memory.costs.touch_ps;
            operation.cursor += 1;
        }
        Ok(None)
    }

    fn kill_someone(&mut self, task: &Task<'a>, began: Nanos) -> Result<Option<Stop>, Error> {
        let own = self.out_of_memory(task, self.local_time(began))?;
        Ok(own.then_some(Stop::Killed))
    }
}
