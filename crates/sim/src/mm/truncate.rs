//! Pages that are dropped from the page cache though nobody needs memory (`mm/truncate.c`).

use core::ops::Range;

use crate::mm::filemap::state::File;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::parts::Memory;

impl File {
    /// Drops every clean page that is not in use (`invalidate_mapping_pages`, for
    /// `POSIX_FADV_DONTNEED` and `vm.drop_caches`).
    pub(crate) fn drop_pages(&self, memory: &mut Memory) {
        self.drop_range(0..self.pages, memory);
    }

    /// Drops those of a range, in pages of the file.
    pub(crate) fn drop_range(&self, range: Range<u64>, memory: &mut Memory) {
        for page in self.pages_of(range) {
            drop_page(page, memory);
        }
    }
}

fn drop_page(page: PageId, memory: &mut Memory) {
    if memory.folios.has(page, Flag::Mapped)
        || !memory.writeback.is_clean_file(&memory.folios, page)
    {
        return;
    }
    match memory.folios.state(page) {
        State::Inactive | State::Active => {
            memory
                .lruvecs
                .take_from_list(&memory.cpu, &mut memory.zones, &mut memory.folios, page)
        }
        _ => return,
    };
    memory.zones.free(
        &mut memory.cpu,
        &memory.folios,
        &mut memory.groups,
        &mut memory.objects,
        page,
    );
    memory.folios.forget(page);
    memory
        .objects
        .tree_remove(&mut memory.zones, &mut memory.groups, page);
    memory.cpu.spent += memory.cpu.costs.drop_ps;
}
