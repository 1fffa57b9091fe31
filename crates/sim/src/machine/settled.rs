//! Operations that need not wait: every page that they use is there. What they touch in a region is
//! known to be used already, and what they read of a file is at most marked as used.
//!
//! Each operation goes this way as long as nothing can come between it and its end; the first that
//! does not is begun as any other ([`Running::run_settled`] leaves it alone).

use mm::units::{Bytes, Nanos, PageSize};
use scenario::access::{self, Operation};
use scenario::workload::{Target, Think, Via};

use crate::machine::running::{Area, Running};
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{File, Progress, Span};
use crate::mm::folio::{Folios, PageId};
use crate::mm::memory::state::Region;
use crate::mm::parts::Memory;
use crate::mm::readahead::Readahead;
use crate::sched::cpu::Cpu;

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

impl<'a> Running<'a> {
    /// Performs operations that need not wait, as many as are drawn already and end within the
    /// budget; whether there was one.
    pub(super) fn run_settled(
        &mut self,
        task: &mut Task<'a>,
        memory: &mut Memory,
        files: &[File],
    ) -> bool {
        let Some(settled) = Settled::of(task, self, memory, files) else {
            return false;
        };
        let mut next = settled.next(self, memory);
        if next.is_none() {
            return false;
        }
        let Some(mut turns) = task.turns(memory, self) else {
            return false;
        };
        let (operations, bytes) = (self.figures.operations, self.figures.bytes);
        let mut last = None;
        while let Some(hit) = next
            && memory.cpu.spent + hit.most < memory.cpu.budget
            && !self.is_done(memory.cpu.now())
            && turns.are_mapped(memory)
        {
            memory.cpu.spent += settled.loop_ps;
            let from = memory.cpu.now();
            memory.cpu.spent += settled.begin_ps;
            match hit.changes {
                Some(index) => {
                    if let Some(hit) = last.filter(|hit: &Hit| hit.changes.is_none()) {
                        self.readahead.note_read(hit.span.to);
                    }
                    hit.read_whole(self.reader(memory, &files[index]));
                }
                None => memory.cpu.spent += hit.pages_ps,
            }
            let took = memory.cpu.now().saturating_sub(from);
            self.figures.count_latency(took);
            self.figures.count(1, hit.span.to - hit.span.from);
            self.operations_to_do.go_past();
            turns.go_on();
            last = Some(hit);
            next = settled.next(self, memory);
        }
        let is_file = matches!(settled.place, Place::File { .. });
        task.operations += self.figures.operations - operations;
        task.bytes += self.figures.bytes - bytes;
        if let Some(hit) = last.filter(|hit| is_file && hit.changes.is_none()) {
            hit.note_read(&mut memory.cpu, &mut self.readahead);
        }
        last.is_some()
    }
}

impl Hit {
    /// Reads pages that are all there, some of which are used for the first time in a while.
    fn read_whole(self, mut reader: Reader<'_>) {
        let (mut cursor, batch) = (self.first, reader.memory.cpu.rules.folio_batch());
        while cursor < self.end {
            let chunk_end = (cursor + batch).min(self.end);
            let progress = reader.read(&mut cursor, chunk_end, self.span);
            debug_assert_eq!(progress, Progress::Complete, "no page has to be waited for");
        }
    }

    /// The last of some operations has read its pages.
    fn note_read(self, cpu: &mut Cpu, readahead: &mut Readahead) {
        let (pages, batch) = (self.end - self.first, cpu.rules.folio_batch());
        let copied_last = match pages % batch {
            0 => batch.min(pages),
            rest => rest,
        };
        cpu.unbroken = copied_last * cpu.costs.cached_read_ps;
        if pages > 0 {
            readahead.note_read(self.span.to);
        }
    }
}

impl<'t> Settled<'t> {
    /// What the operations of an access come to, if some of them may need not wait: `read()`s of a
    /// file and touches of a region, which follow each other at once, all of memory being near.
    pub(super) fn of(
        task: &'t Task<'_>,
        running: &Running<'_>,
        memory: &Memory,
        files: &[File],
    ) -> Option<Self> {
        let access = running.access;
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
                let base = files[index].base;
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
        Some(Self {
            place,
            size: running.target.size(),
            block: access.block,
            loop_ps: costs.loop_ps,
            begin_ps,
            page_ps,
            activate_ps: costs.activate_ps,
        })
    }

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
