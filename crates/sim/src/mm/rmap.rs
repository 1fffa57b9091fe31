//! Which processes map which pages of files (`mm/rmap.c`): each has page tables of its own, so each
//! faults for itself, and a page that is evicted or written leaves all of them.

pub(crate) mod state;

use alloc::vec::Vec;

use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId};
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::rmap::state::{ENTRIES, Mapping, Rmap, Table};
use crate::sched::cpu::Cpu;

impl Rmap {
    /// The running process's table of the file that begins with this page.
    pub(crate) fn mapping(&mut self, cpu: &Cpu, base: PageId) -> Mapping {
        let (owner, group, files) = (cpu.current.space, cpu.current.group, &mut self.files);
        let file = match files.binary_search_by_key(&base, |(base, _)| *base) {
            Ok(file) => file,
            Err(file) => {
                files.insert(file, (base, Vec::new()));
                file
            }
        };
        let tables = &mut files[file].1;
        let known = tables.iter().position(|table| table.owner == owner);
        let slot = known.unwrap_or_else(|| {
            tables.push(Table {
                owner,
                group,
                ..Table::default()
            });
            tables.len() - 1
        });
        Mapping { base, file, slot }
    }

    /// Whether a touch of a page changes nothing: the process maps it, for a write so that it may
    /// write, and it is known to use it.
    pub(crate) fn is_mapped_and_used(
        &self,
        folios: &Folios,
        mapping: Mapping,
        page: PageId,
        write: bool,
    ) -> bool {
        let file = self.files.get(mapping.file);
        let Some(table) = file.and_then(|(_, tables)| tables.get(mapping.slot)) else {
            return false;
        };
        let index = page - mapping.base;
        folios.has(page, Flag::Accessed)
            && table.young.has(index)
            && if write {
                table.writable.has(index)
            } else {
                table.present.has(index)
            }
    }

    /// Maps a page for the process, which uses it.
    pub(crate) fn map_page(
        &mut self,
        folios: &mut Folios,
        mapping: Mapping,
        page: PageId,
        writable: bool,
    ) {
        self.use_mapped(folios, mapping, page);
        let index = page - mapping.base;
        let Some(table) = self.table(mapping) else {
            return;
        };
        if writable {
            table.writable.set(index);
        }
        table.present.set(index);
        if !folios.has(page, Flag::Mapped) {
            folios.set(page, Flag::Mapped);
            folios.file_mapped += 1;
        }
    }

    /// Sees to it that the process has the page-table page that maps a page of the file
    /// (`pte_alloc`).
    pub(crate) fn extend_tables(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        groups: &mut Groups,
        objects: &mut Objects,
        mapping: Mapping,
        page: PageId,
    ) {
        let at = (page - mapping.base) / ENTRIES;
        let table = self.table(mapping);
        if table.is_some_and(|table| !table.tables.has(at))
            && objects.take_page_table(cpu, zones, groups).is_ok()
            && let Some(table) = self.table(mapping)
        {
            table.tables.set(at);
        }
    }

    /// The process uses a page that it maps.
    pub(crate) fn use_mapped(&mut self, folios: &mut Folios, mapping: Mapping, page: PageId) {
        if !folios.has(page, Flag::Accessed) {
            let (index, tables) = self.tables_mut(page);
            tables.iter_mut().for_each(|table| table.young.clear(index));
            folios.set(page, Flag::Accessed);
        }
        if let Some(table) = self.table(mapping) {
            table.young.set(page - mapping.base);
        }
    }

    /// Whether a process has used a page of a file, and nobody has noticed; none where it does not
    /// map the page.
    pub(crate) fn has_used(&self, folios: &Folios, page: PageId, owner: usize) -> Option<bool> {
        let (index, tables) = self.tables(page);
        let table = tables.iter().find(|table| table.owner == owner)?;
        let young = folios.has(page, Flag::Accessed) && table.young.has(index);
        table.present.has(index).then_some(young)
    }

    /// The processes that have used a page of a file, and nobody has noticed.
    pub(crate) fn users_of(&self, folios: &Folios, page: PageId) -> Vec<usize> {
        let (index, tables) = self.tables(page);
        let is_young = |table: &&Table| table.present.has(index) && table.young.has(index);
        let users = tables.iter().filter(is_young);
        match folios.has(page, Flag::Accessed) {
            true => users.map(|table| table.owner).collect(),
            false => Vec::new(),
        }
    }

    /// That a process used a page of a file has been noticed; the page counts as used as long as
    /// another's use has not been.
    pub(crate) fn forget_use(&mut self, folios: &mut Folios, page: PageId, owner: usize) {
        let (index, tables) = self.tables_mut(page);
        for table in tables.iter_mut().filter(|table| table.owner == owner) {
            table.young.clear(index);
        }
        if self.users_of(folios, page).is_empty() {
            folios.clear(page, Flag::Accessed);
        }
    }

    /// Takes a page of a file out of all page tables (`try_to_unmap`).
    pub(crate) fn unmap_everywhere(&mut self, cpu: &mut Cpu, folios: &mut Folios, page: PageId) {
        if folios.take(page, Flag::Mapped) {
            folios.file_mapped -= 1;
            let (index, tables) = self.tables_mut(page);
            for table in tables {
                if table.present.has(index) {
                    cpu.spent += cpu.costs.unmap_ps;
                }
                table.present.clear(index);
                table.writable.clear(index);
            }
        }
    }

    /// Nobody may write to a page without a fault any longer (`page_mkclean`).
    pub(crate) fn write_protect(&mut self, folios: &Folios, page: PageId) {
        if folios.has(page, Flag::Mapped) {
            let (index, tables) = self.tables_mut(page);
            tables
                .iter_mut()
                .for_each(|table| table.writable.clear(index));
        }
    }

    /// A process that maps the file's pages from `base` on ends: the pages that only it maps are no
    /// longer mapped. Those that it used, and that are still there.
    pub(crate) fn end_mapping(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        groups: &mut Groups,
        objects: &mut Objects,
        owner: usize,
        base: PageId,
    ) -> Vec<PageId> {
        let mut files = self.files.iter_mut();
        let Some((_, tables)) = files.find(|(of, _)| *of == base) else {
            return Vec::new();
        };
        let Some(at) = tables.iter().position(|table| table.owner == owner) else {
            return Vec::new();
        };
        let gone = tables.swap_remove(at);
        let mut used = Vec::new();
        for index in gone.present.iter() {
            let page = base + index;
            if gone.young.has(index) && folios.has(page, Flag::Accessed) {
                used.push(page);
            }
            let mut others = tables.iter().filter(|table| table.present.has(index));
            if others.clone().next().is_none() {
                folios.clear(page, Flag::Mapped);
                folios.file_mapped -= 1;
            }
            // Its own use has gone over to the page.
            if !others.any(|table| table.young.has(index)) {
                folios.clear(page, Flag::Accessed);
            }
        }
        objects.give_page_tables(zones, groups, gone.tables.len(), gone.group);
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::parts::Memory;

    #[test]
    fn each_process_faults_for_itself_and_a_written_page_is_protected_from_all() {
        let mut memory = Memory::with_cache(10_000, 10, 30, 0);
        let first = memory.rmap.mapping(&memory.cpu, 0);
        memory.cpu.current.space = 7;
        let second = memory.rmap.mapping(&memory.cpu, 0);
        memory.rmap.map_page(&mut memory.folios, first, 5, true);
        memory.rmap.map_page(&mut memory.folios, second, 5, true);
        assert!(memory.rmap.maps(first, 5) && memory.rmap.maps(second, 5));
        assert_eq!((memory.folios.file_mapped, memory.rmap.users(5)), (1, 2));
        memory.rmap.write_protect(&memory.folios, 5);
        assert!(
            memory
                .rmap
                .is_mapped_and_used(&memory.folios, first, 5, false)
        );
        assert!(
            !memory
                .rmap
                .is_mapped_and_used(&memory.folios, second, 5, true)
        );
        assert_eq!(
            memory.rmap.end_mapping(
                &mut memory.zones,
                &mut memory.folios,
                &mut memory.groups,
                &mut memory.objects,
                7,
                0
            ),
            [5]
        );
        assert_eq!(memory.folios.file_mapped, 1, "the first process maps it");
        memory
            .rmap
            .unmap_everywhere(&mut memory.cpu, &mut memory.folios, 5);
        assert!(!memory.rmap.maps(first, 5));
        assert_eq!(memory.folios.file_mapped, 0);
    }

    #[test]
    fn each_process_that_maps_a_page_makes_its_reclaim_dearer() {
        let mut memory = Memory::with_cache(10_000, 10, 30, 0);
        memory.cpu.costs.unmap_ps = 7;
        for owner in [0, 7] {
            memory.cpu.current.space = owner;
            let mapping = memory.rmap.mapping(&memory.cpu, 0);
            memory.rmap.map_page(&mut memory.folios, mapping, 5, false);
        }
        memory
            .rmap
            .unmap_everywhere(&mut memory.cpu, &mut memory.folios, 5);
        assert_eq!(memory.cpu.spent, 14);
        memory
            .rmap
            .unmap_everywhere(&mut memory.cpu, &mut memory.folios, 5);
        assert_eq!(memory.cpu.spent, 14, "nobody maps it any longer");
    }

    #[test]
    fn a_process_has_a_page_table_for_each_512_pages_it_faults_on_until_it_ends() {
        let mut memory = Memory::with_cache(10_000, 10, 30, 0);
        let (first, tables) = (memory.rmap.mapping(&memory.cpu, 0), |memory: &Memory| {
            memory.objects.page_table_pages
        });
        let slabs = memory.zones[0].kernel;
        (5..=600).for_each(|page| {
            memory.rmap.extend_tables(
                &mut memory.cpu,
                &mut memory.zones,
                &mut memory.groups,
                &mut memory.objects,
                first,
                page,
            )
        });
        assert_eq!(tables(&memory), 2);
        memory.cpu.current.space = 7;
        let second = memory.rmap.mapping(&memory.cpu, 0);
        memory.rmap.extend_tables(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.groups,
            &mut memory.objects,
            second,
            5,
        );
        assert_eq!((tables(&memory), memory.zones[0].kernel - slabs), (3, 3));
        memory.rmap.end_mapping(
            &mut memory.zones,
            &mut memory.folios,
            &mut memory.groups,
            &mut memory.objects,
            7,
            0,
        );
        assert_eq!(tables(&memory), 2);
    }

    #[test]
    fn what_a_process_used_counts_once_when_it_ends() {
        let mut memory = Memory::with_cache(10_000, 10, 30, 0);
        let first = memory.rmap.mapping(&memory.cpu, 0);
        memory.rmap.map_page(&mut memory.folios, first, 5, false);
        memory.folios.clear(5, Flag::Accessed);
        memory.cpu.current.space = 7;
        let second = memory.rmap.mapping(&memory.cpu, 0);
        memory.rmap.map_page(&mut memory.folios, second, 5, false);
        assert_eq!(
            memory.rmap.end_mapping(
                &mut memory.zones,
                &mut memory.folios,
                &mut memory.groups,
                &mut memory.objects,
                7,
                0
            ),
            [5],
            "to be marked as accessed"
        );
        assert!(!memory.folios.has(5, Flag::Accessed), "no entry says so");
        assert!(memory.rmap.maps(first, 5));
    }

    #[test]
    fn who_used_a_page_is_forgotten_when_somebody_has_looked() {
        let mut memory = Memory::with_cache(10_000, 10, 30, 0);
        let first = memory.rmap.mapping(&memory.cpu, 0);
        memory.rmap.map_page(&mut memory.folios, first, 5, false);
        memory.folios.clear(5, Flag::Accessed);
        assert!(
            !memory
                .rmap
                .is_mapped_and_used(&memory.folios, first, 5, false)
        );
        memory.cpu.current.space = 7;
        let second = memory.rmap.mapping(&memory.cpu, 0);
        memory.rmap.map_page(&mut memory.folios, second, 5, false);
        assert_eq!(memory.rmap.users(5), 1);
    }
}
