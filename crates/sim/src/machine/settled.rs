//! Operations that need not wait: every page that they use is there. What they touch in a region is
//! known to be used already, and what they read of a file is at most marked as used.
//!
//! Each operation goes this way as long as nothing can come between it and its end; the first that
//! does not is begun as any other ([`System::run_settled`] leaves it alone).

use mm::units::{Bytes, Nanos, PageSize};
use scenario::access::{self, Operation};
use scenario::workload::{Target, Think, Via};

use crate::machine::running::{Area, Running, Underway};
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::state::{Progress, Span};
use crate::mm::folio::{Folios, PageId};
use crate::mm::memory::state::Region;
use crate::mm::parts::Memory;

/// What the operations of an access go to, and their costs in picoseconds.
pub(super) struct Settled<'t> {
    pub(super) place: Place<'t>,
    size: Bytes,
    block: Bytes,
    /// Before the time of an operation is taken, and at its beginning.
    pub(super) loop_ps: u64,
    pub(super) begin_ps: u64,
    /// For each page that is read, and for each that is written.
    pub(super) page_ps: [u64; 2],
    /// For each page that becomes active.
    activate_ps: u64,
}

/// An operation that need not wait.
#[derive(Clone, Copy)]
struct Hit {
    /// Its pages, from the target's first.
    first: u64,
    end: u64,
    /// Its bytes.
    span: Span,
    /// The file some of whose pages are not known to be used yet.
    changes: Option<usize>,
    /// The time that its pages take in picoseconds, and that all of it takes at most.
    pages_ps: u64,
    most: u64,
}

/// Where the pages are.
#[derive(Clone, Copy)]
pub(super) enum Place<'t> {
    /// In the page cache: a file that is read, and its first page.
    File {
        index: usize,
        base: PageId,
    },
    Region(&'t Region),
}

impl<'a> System<'a> {
    /// Performs operations that need not wait, as many as are drawn already and end within the
    /// budget; whether there was one.
    pub(crate) fn run_settled(
        &mut self,
        task: &mut Task<'a>,
        running: &mut Running<'a>,
        began: Nanos,
    ) -> bool {
        let Some(settled) = self.settled(task, running) else {
            return false;
        };
        let mut next = settled.next(running, &self.memory);
        if next.is_none() {
            return false;
        }
        let Some(mut turns) = task.turns(&self.memory, running) else {
            return false;
        };
        let (operations, bytes) = (running.figures.operations, running.figures.bytes);
        let mut last = None;
        while let Some(hit) = next
            && self.memory.cpu.spent + hit.most < self.memory.cpu.budget
            && !running.is_done(self.local_time(began))
            && turns.are_mapped(&self.memory)
        {
            self.memory.cpu.spent += settled.loop_ps;
            let from = self.memory.cpu.now();
            self.memory.cpu.spent += settled.begin_ps;
            match hit.changes {
                Some(index) => {
                    if let Some(hit) = last.filter(|hit: &Hit| hit.changes.is_none()) {
                        running.readahead.note_read(hit.span.to);
                    }
                    self.read_whole(running, index, hit);
                }
                None => self.memory.cpu.spent += hit.pages_ps,
            }
            let took = self.local_time(began).saturating_sub(from);
            running.figures.count_latency(took);
            running.figures.count(1, hit.span.to - hit.span.from);
            running.operations_to_do.go_past();
            turns.go_on();
            last = Some(hit);
            next = settled.next(running, &self.memory);
        }
        let is_file = matches!(settled.place, Place::File { .. });
        task.operations += running.figures.operations - operations;
        task.bytes += running.figures.bytes - bytes;
        if let Some(hit) = last.filter(|hit| is_file && hit.changes.is_none()) {
            self.note_read(running, hit);
        }
        last.is_some()
    }

    /// Reads pages that are all there, some of which are used for the first time in a while.
    fn read_whole(&mut self, running: &mut Running<'a>, index: usize, hit: Hit) {
        let (mut cursor, batch) = (hit.first, self.batch);
        let mut reader = self.reader(running, index);
        while cursor < hit.end {
            let chunk_end = (cursor + batch).min(hit.end);
            let progress = reader.read(&mut cursor, chunk_end, hit.span);
            debug_assert_eq!(progress, Progress::Complete, "no page has to be waited for");
        }
    }

    /// Touches the pages from the cursor on that share their use with it, as long as there is time.
    pub(super) fn touch_alike(&mut self, region: &Region, operation: &mut Underway, end: u64) {
        let costs = &self.memory.cpu.costs;
        let each = match operation.write {
            true => costs.touch_ps,
            false => costs.load_ps,
        };
        let alike = region.alike(operation.cursor, &self.memory);
        let left = self.memory.cpu.budget - self.memory.cpu.spent;
        let pages = alike
            .min(end - operation.cursor)
            .min(left.div_ceil(each.max(1)));
        self.memory.cpu.spent += pages * each;
        operation.cursor += pages;
    }

    /// The last of some operations has read its pages.
    fn note_read(&mut self, running: &mut Running<'a>, hit: Hit) {
        let pages = hit.end - hit.first;
        let copied_last = match pages % self.batch {
            0 => self.batch.min(pages),
            rest => rest,
        };
        self.memory.cpu.unbroken = copied_last * self.memory.cpu.costs.cached_read_ps;
        if pages > 0 {
            running.readahead.note_read(hit.span.to);
        }
    }

    /// What the operations of an access come to, if some of them may need not wait: `read()`s of a
    /// file and touches of a region, which follow each other at once, all of memory being near.
    pub(super) fn settled<'t>(
        &self,
        task: &'t Task<'a>,
        running: &Running<'a>,
    ) -> Option<Settled<'t>> {
        let (access, memory) = (running.access, &self.memory);
        let at_once = access.rate == 0 && access.think == Think::NONE && access.blocks == 1;
        let at_once = at_once && access.compute == Nanos::ZERO;
        let is_plain = memory.cpu.scale == 1 && !memory.zones.nodes.are_several();
        if !at_once || !is_plain || task.dying || memory.cpu.current.over_high > 0 {
            return None;
        }
        let costs = &memory.cpu.costs;
        let (place, begin_ps, page_ps) = match (running.target, &access.target) {
            (Area::File { index, .. }, _)
                if access.via == Via::Syscall && !running.readahead.is_interrupted() =>
            {
                let base = self.files[index].base;
                let read = costs.cached_read_ps;
                (Place::File { index, base }, costs.syscall_ps, [read; 2])
            }
            (Area::Region { .. }, Target::Region(name)) => {
                let region = task.regions.get(name.as_str())?;
                let touch = [costs.load_ps, costs.touch_ps];
                (Place::Region(region), costs.operation_ps, touch)
            }
            _ => return None,
        };
        Some(Settled {
            place,
            size: running.target.size(),
            block: access.block,
            loop_ps: costs.loop_ps,
            begin_ps,
            page_ps,
            activate_ps: costs.activate_ps,
        })
    }
}

impl Settled<'_> {
    /// The next operation, if it is drawn already and need not wait.
    #[inline]
    fn next(&self, running: &Running<'_>, memory: &Memory) -> Option<Hit> {
        let Operation { block, write } = running.operations_to_do.drawn()?;
        let (offset, bytes) = access::extent(block, self.size, self.block);
        let first = offset / PageSize::FOUR_KIB.bytes();
        let end = Bytes(offset + bytes).pages_ceil(PageSize::FOUR_KIB).0;
        let mut changes = None;
        match self.place {
            Place::File { index, base } => {
                let pages = base + first as PageId..base + end as PageId;
                let raws = memory.folios.raws(pages);
                if write || !raws.iter().all(|&raw| Folios::is_calm(raw)) {
                    return None;
                }
                let are_settled = raws.iter().all(|&raw| Folios::is_read(raw));
                changes = (!are_settled).then_some(index);
            }
            Place::Region(it) => {
                if !it.are_touched(first..end, write, memory) {
                    return None;
                }
            }
        }
        let pages_ps = (end - first) * self.page_ps[usize::from(write)];
        let most = self.loop_ps + self.begin_ps + pages_ps;
        Some(Hit {
            first,
            end,
            span: Span {
                from: offset,
                to: offset + bytes,
            },
            changes,
            pages_ps,
            most: most + (end - first) * self.activate_ps,
        })
    }
}
