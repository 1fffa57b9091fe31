//! A process's regions come and go (`mm/mmap.c`).

use mm::units::{Bytes, PageSize};
use scenario::workload::Huge;

use crate::error::Error;
use crate::machine::placing::too_large;
use crate::machine::task::Task;
use crate::mm::memory::state::Region;
use crate::mm::parts::Memory;

impl Task<'_> {
    /// A region, still empty (`mmap_region`).
    pub(crate) fn new_region(
        &self,
        memory: &mut Memory,
        size: Bytes,
        huge: Huge,
    ) -> Result<Region, Error> {
        let base = memory.take_range(size.pages_ceil(PageSize::FOUR_KIB).0);
        let base = base.ok_or_else(|| too_large(self.place()))?;
        let mut region = Region::new(base, size, huge, self.group);
        region.mapped = memory.cpu.now();
        Ok(region)
    }

    /// Unmaps a region and frees its pages (`do_munmap`); `None` where there is none of that name.
    pub(crate) fn unmap(&mut self, memory: &mut Memory, name: &str) -> Option<()> {
        let region = self.regions.remove(name)?;
        self.free_region(memory, region);
        Some(())
    }

    /// Frees the pages of a region that was unmapped (`unmap_region`).
    pub(crate) fn free_region(&mut self, memory: &mut Memory, mut region: Region) {
        self.drop_region(memory, &mut region);
        memory
            .zones
            .give_hugetlb(&mut memory.cpu, region.hugetlb_pages());
        self.page_tables -= region.tables_held();
        memory.objects.give_page_tables(
            &mut memory.zones,
            &mut memory.groups,
            region.tables_held(),
            region.group,
        );
        memory.ksm.leave_region(region.base);
        memory.folios.give_range(region.base, region.pages());
    }

    /// Frees the pages of a region, which stays (`zap_page_range_single`).
    pub(crate) fn drop_region(&mut self, memory: &mut Memory, region: &mut Region) {
        let held = memory.drop_region(region);
        self.rss -= held.pages;
        self.page_tables -= held.page_tables;
    }
}
