//! Advice on memory and files (`mm/madvise.c`, `mm/fadvise.c`).

use crate::mm::filemap::Reader;
use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memory::state::Region;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::readahead::Window;
use crate::sched::cpu::Cpu;

/// The largest request of a disk, `io_pages`: 1280 KiB (`BLK_DEF_MAX_SECTORS`).
const OPTIMAL_IO_PAGES: u64 = 320;

impl Reader<'_> {
    /// Reads the first pages of a file ahead, as many as one request of its disk takes whatever was
    /// asked for (`force_page_cache_ra`): on 6.1 1.25 of 64 MiB.
    pub(crate) fn force_readahead(&mut self) -> Result<(), NoPage> {
        let end = self.file.end().min(OPTIMAL_IO_PAGES);
        let base = self.file.base;
        let is_missing = |at: &u64| !self.memory.folios.is_resident(base + *at as PageId);
        let Some(start) = (0..end).find(is_missing) else {
            return Ok(());
        };
        let mark = None;
        self.fetch(start, |_, _| Window { start, end, mark })
    }
}

impl Lruvecs {
    /// `MADV_COLD`: the region's pages were not used, whatever was noticed so far.
    pub(crate) fn cool(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        region: &Region,
    ) {
        for page in region.base..region.base + region.pages() as PageId {
            match folios.state(page) {
                State::Inactive if cpu.rules.lru_gen.enabled => {
                    self.take_from_list(cpu, zones, folios, page);
                    self.add_to_list(cpu, zones, folios, page, folios.kind(page).inactive());
                }
                State::Active => {
                    self.take_from_list(cpu, zones, folios, page);
                    folios.set(page, Flag::Workingset);
                    self.add_to_list(cpu, zones, folios, page, folios.kind(page).inactive());
                }
                State::Inactive => {}
                _ => continue,
            }
            folios.clear(page, Flag::Accessed);
            folios.clear(page, Flag::Referenced);
        }
    }
}

impl Memory {
    /// `MADV_PAGEOUT`: the region's pages go to swap, as far as there is any.
    pub(crate) fn page_out_region(&mut self, region: &Region) {
        if !self.swap.can_swap() {
            return;
        }
        for page in region.base..region.base + region.pages() as PageId {
            if !matches!(self.folios.state(page), State::Inactive | State::Active)
                || self.folios.has(page, Flag::Unmapped)
            {
                continue;
            }
            if let Some(first) = self.objects.huge_first(page) {
                self.folios
                    .split_huge(&mut self.cpu, &mut self.objects, first);
            }
            let lru =
                self.lruvecs
                    .take_from_list(&self.cpu, &mut self.zones, &mut self.folios, page);
            self.folios.clear(page, Flag::Accessed);
            self.folios.clear(page, Flag::Referenced);
            if self.reclaim_page(page) == crate::mm::vmscan::shrink_list::Fate::NoSlot {
                self.lruvecs
                    .add_to_list(&self.cpu, &mut self.zones, &mut self.folios, page, lru);
            }
            let entity = self.cpu.current.entity;
            self.io.forget(&mut self.cpu, &self.folios, entity);
        }
        self.zones.free_batch(&self.cpu);
        self.io.unplug(&mut self.cpu, &self.folios);
    }
}
