//! Pages that are dropped from the page cache though nobody needs memory (`mm/truncate.c`).

use alloc::vec::Vec;
use core::ops::Range;

use crate::mm::filemap::state::File;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::parts::Memory;
use crate::mm::slub::SlabId;

impl File {
    /// Drops every clean page that is not in use, and what is known of evicted ones
    /// (`invalidate_mapping_pages`, for `POSIX_FADV_DONTNEED` and `vm.drop_caches`).
    pub(crate) fn drop_pages(&self, memory: &mut Memory) {
        self.drop_range(0..self.pages, memory);
    }

    /// Drops the pages behind its end, dirty ones too, and what is known of evicted ones
    /// (`truncate_inode_pages`). What is being written stays until then; a kernel waits for it.
    pub(crate) fn truncate_pages(&self, memory: &mut Memory) {
        let range = self.end()..self.pages;
        for page in self.pages_of(range.clone()) {
            if memory.writeback.is_dirty_file(&memory.folios, page) {
                memory
                    .writeback
                    .cancel_dirty(&mut memory.zones, &mut memory.folios, page);
            }
        }
        self.drop_range(range, memory);
    }

    /// Drops those of a range, in pages of the file. Nodes of the tree that are empty then are
    /// given back together, after the pages: they wait until nobody can be looking (RCU).
    pub(crate) fn drop_range(&self, range: Range<u64>, memory: &mut Memory) {
        let mut nodes: Vec<SlabId> = Vec::new();
        for page in self.pages_of(range) {
            match memory.folios.state(page) {
                State::Shadow => drop_shadow(page, memory),
                _ if !drop_page(page, memory) => continue,
                _ => {}
            }
            nodes.extend(memory.objects.leave_tree(&mut memory.groups, page));
        }
        for node in nodes {
            memory.objects.give_tree_node(&mut memory.zones, node);
        }
    }
}

/// What is known of an evicted page goes (`clear_shadow_entry`).
fn drop_shadow(page: PageId, memory: &mut Memory) {
    if memory.objects.is_last_of_node(page) {
        let lists = &mut memory.lruvecs;
        lists.unlist_shadow_node(&memory.groups, &memory.objects, page);
    }
    memory.folios.forget(page);
}

/// Whether it was dropped.
fn drop_page(page: PageId, memory: &mut Memory) -> bool {
    if memory.folios.has(page, Flag::Mapped)
        || !memory.writeback.is_clean_file(&memory.folios, page)
    {
        return false;
    }
    match memory.folios.state(page) {
        State::Inactive | State::Active => {
            memory
                .lruvecs
                .take_from_list(&memory.cpu, &mut memory.zones, &mut memory.folios, page)
        }
        _ => return false,
    };
    memory.zones.free(
        &mut memory.cpu,
        &memory.folios,
        &mut memory.groups,
        &mut memory.objects,
        page,
    );
    memory.folios.forget(page);
    memory.cpu.spent += memory.cpu.costs.drop_ps;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::page_alloc::pcp::{Pcp, Tuning};

    /// A zone with per-CPU lists of this release, and a file of half its pages that was read.
    fn read(release: &str, pages: u64) -> (Memory, File) {
        let mut memory = Memory::with_cache(2 * pages, 10, pages, 0);
        let mut lists = Pcp::new(31, 4000, Tuning::of(release));
        lists.set_limits(4000, 2 * pages);
        memory.zones.drain();
        memory.zones[0].pcp = lists;
        let file = File {
            base: 0,
            pages,
            size: pages * 4096,
            disk: 0,
            offset: 0,
        };
        (memory, file)
    }

    #[test]
    fn what_is_dropped_goes_back_to_the_zone_with_the_nodes_of_its_tree() {
        for release in ["6.1", "6.12"] {
            let (mut memory, file) = read(release, 32_768);
            file.drop_pages(&mut memory);
            assert_eq!(memory.zones.file_pages(), 0);
            let listed = memory.zones[0].pcp.count();
            assert!(listed < 64, "{release}: {listed}");
            crate::mm::invariants::conservation(&memory);
        }
    }

    #[test]
    fn what_was_evicted_is_not_known_any_more() {
        let (mut memory, file) = read("6.12", 4096);
        memory.zones[0].high = 6000;
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        while memory.zones.kswapd.is_awake() {
            memory.kswapd_step();
        }
        let evicted = |memory: &Memory| {
            let states = (0..4096).map(|page| memory.folios.state(page));
            states.filter(|state| *state == State::Shadow).count()
        };
        assert!(evicted(&memory) > 1000);
        file.drop_pages(&mut memory);
        assert_eq!((evicted(&memory), memory.objects.slab_pages()), (0, 10));
        crate::mm::invariants::conservation(&memory);
    }
}
