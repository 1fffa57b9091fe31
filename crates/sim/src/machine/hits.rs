//! Operations of one page each that is there: touches that change nothing, and `read()`s that do no
//! more than note its use. As [`Running::run_settled`] does them, without its loop over pages.

use mm::units::PageSize;
use scenario::access::Operation;

use crate::machine::running::Running;
use crate::machine::settled::{Place, Settled};
use crate::machine::task::Task;
use crate::mm::filemap::state::{File, Span};
use crate::mm::folio::{Folios, PageId};
use crate::mm::memory::state::Table;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::parts::Memory;

const PAGE: u64 = PageSize::FOUR_KIB.bytes();

/// Operations between two looks at what the bench has of its own: as many as are drawn at a time.
const TOGETHER: u64 = 64;

impl<'a> Running<'a> {
    /// Performs operations that hit a page, as many as are drawn already and begin within the
    /// budget; whether there was one.
    pub(crate) fn run_hits(
        &mut self,
        task: &mut Task<'a>,
        memory: &mut Memory,
        files: &[File],
    ) -> bool {
        let is_paged = self.access.block.0 == PAGE;
        if !is_paged || !self.target.size().0.is_multiple_of(PAGE) {
            return false;
        }
        let Some(hits) = Settled::of(task, self, memory, files) else {
            return false;
        };
        let start_ps = hits.loop_ps + hits.begin_ps;
        let budget = memory.cpu.budget.saturating_sub(start_ps);
        let next = self.operations_to_do.drawn();
        if memory.cpu.spent >= budget
            || next.is_none_or(|next| hits.is_settled(next, &memory.folios).is_none())
        {
            return false;
        }
        let least_ps = start_ps + hits.page_ps[0].min(hits.page_ps[1]);
        let fit = 1 + (budget - memory.cpu.spent) / least_ps.max(1);
        let left = self.left().div_ceil(PAGE);
        let most = fit.min(left).min(TOGETHER);
        let turns = task.turns(memory, self);
        if turns.is_none_or(|turns| !turns.stay_mapped(most, memory)) {
            return false;
        }
        let mut done = 0;
        let mut noted = None;
        while done < most
            && memory.cpu.spent < budget
            && !self.is_done(memory.cpu.now())
            && let Some(next) = self.operations_to_do.drawn()
            && let Some(is_settled) = hits.is_settled(next, &memory.folios)
        {
            memory.cpu.spent += hits.loop_ps;
            let from = memory.cpu.now();
            memory.cpu.spent += hits.begin_ps;
            match (hits.place, is_settled) {
                (Place::File { index, .. }, false) => {
                    if let Some(block) = noted.take() {
                        self.readahead.note_read((block + 1) * PAGE);
                    }
                    let (mut cursor, end) = (next.block, next.block + 1);
                    let mut reader = self.reader(memory, &files[index]);
                    reader.read(&mut cursor, end, Span::of_pages(next.block..end));
                }
                _ => {
                    memory.cpu.spent += hits.page_ps[usize::from(next.write)];
                    noted = Some(next.block);
                }
            }
            let took = memory.cpu.now().saturating_sub(from);
            self.figures.count_latency(took);
            self.operations_to_do.go_past();
            done += 1;
        }
        let is_file = matches!(hits.place, Place::File { .. });
        let copying = hits.page_ps[0];
        self.figures.count(done, done * PAGE);
        task.operations += done;
        task.bytes += done * PAGE;
        if let Some(block) = noted.filter(|_| is_file) {
            memory.cpu.unbroken = copying;
            self.readahead.note_read((block + 1) * PAGE);
        }
        done > 0
    }
}

impl Settled<'_> {
    /// Whether an operation changes nothing; `None` where its page is to be waited for, or more is
    /// to be done than to note its use.
    #[inline]
    fn is_settled(&self, operation: Operation, folios: &Folios) -> Option<bool> {
        let Operation { block, write } = operation;
        match self.place {
            Place::File { base, .. } => {
                let raw = folios.raw(base + block as PageId);
                (!write && Folios::is_calm(raw)).then_some(Folios::is_read(raw))
            }
            Place::Region(region) => {
                let table = region.tables[(block / HUGE_PAGES) as usize];
                let raw = folios.raw(region.base + block as PageId);
                let is_paged = matches!(table, Table::None | Table::Base);
                (is_paged && Folios::is_touched(raw, write)).then_some(true)
            }
        }
    }
}
