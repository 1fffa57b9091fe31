//! A process's regions come and go (`mm/mmap.c`).

use mm::units::{Bytes, PageSize};
use scenario::workload::Huge;

use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::memory::state::{Held, Region};
use crate::mm::parts::Memory;

impl Memory {
    /// A region of a process of this group, still empty (`mmap_region`); `None` where fewer page
    /// indices are left.
    pub(crate) fn map_region(&mut self, size: Bytes, huge: Huge, group: GroupId) -> Option<Region> {
        let base = self.take_range(size.pages_ceil(PageSize::FOUR_KIB).0)?;
        let mut region = Region::new(base, size, huge, group);
        region.mapped = self.cpu.now();
        Some(region)
    }

    /// Frees the pages and the page tables of a region that was unmapped (`unmap_region`): what it
    /// held.
    pub(crate) fn unmap_region(&mut self, mut region: Region) -> Held {
        let mut held = self.drop_region(&mut region);
        self.zones
            .give_hugetlb(&mut self.cpu, region.hugetlb_pages());
        let tables = region.tables_held();
        held.page_tables += tables;
        self.objects
            .give_page_tables(&mut self.zones, &mut self.groups, tables, region.group);
        self.ksm.leave_region(region.base);
        self.folios.give_range(region.base, region.pages());
        held
    }
}
