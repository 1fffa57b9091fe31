//! Which page tables there are, and which processes use them.

use crate::mm::folio::PageId;
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::page_writeback::Tags;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

/// Pages that a page-table page maps.
pub(crate) const ENTRIES: PageId = 512;

/// The page tables of files' mappings: of each file that is mapped its first page, in order, and
/// the tables of the processes that map it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rmap {
    pub(crate) files: Vec<(PageId, Vec<Table>)>,
}

/// What a process has of a file in its page tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// The process, as an entity of the scheduler.
    pub(crate) owner: usize,
    pub(crate) present: Tags,
    pub(crate) writable: Tags,
    /// Used since somebody last looked; right while the page's [`Flag::Accessed`] is set.
    pub(crate) young: Tags,
    /// Its page-table pages, each for this many pages of the file, and the group that pays for
    /// them.
    pub(crate) tables: Tags,
    /// Places of this many pages in memory that it touched since a walk last went by: the accessed
    /// bit of the entries above its page tables (`pmd_young`).
    pub(crate) used: Tags,
    pub(crate) group: GroupId,
}

/// A process's table of a file: the file's first page, and which table it is. Good until another
/// file is mapped, or a process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) base: PageId,
    pub(crate) file: usize,
    pub(crate) slot: usize,
}

impl Rmap {
    /// How many of the files begin at a page or before it: the last of them is the page's.
    fn behind(&self, page: PageId) -> usize {
        self.files.partition_point(|(base, _)| *base <= page)
    }

    /// The page's place in its file, and what the processes that map the file have of it.
    pub(crate) fn tables(&self, page: PageId) -> (PageId, &[Table]) {
        match self.files[..self.behind(page)].last() {
            Some((base, tables)) => (page - *base, tables),
            None => (0, &[]),
        }
    }

    pub(crate) fn tables_mut(&mut self, page: PageId) -> (PageId, &mut [Table]) {
        let behind = self.behind(page);
        match self.files[..behind].last_mut() {
            Some((base, tables)) => (page - *base, tables),
            None => (0, &mut []),
        }
    }

    pub(crate) fn table(&mut self, mapping: Mapping) -> Option<&mut Table> {
        self.files.get_mut(mapping.file)?.1.get_mut(mapping.slot)
    }
}

impl Rmap {
    /// Whether the process may touch a page that it maps without a fault.
    pub(crate) fn may_touch(&mut self, mapping: Mapping, page: PageId, write: bool) -> bool {
        let index = page - mapping.base;
        let table = self.table(mapping);
        table.is_some_and(|table| !write || table.writable.has(index))
    }

    /// Whether the process maps a page.
    pub(crate) fn maps(&mut self, mapping: Mapping, page: PageId) -> bool {
        let index = page - mapping.base;
        self.table(mapping)
            .is_some_and(|table| table.present.has(index))
    }

    /// The process touches pages of a file, by way of the entries above its page tables: what the
    /// CPU held of them went when another process ran.
    pub(crate) fn use_tables(&mut self, mapping: Mapping, pages: Range<PageId>) {
        if let Some(table) = self.table(mapping) {
            let places = pages.start / ENTRIES..pages.end.div_ceil(ENTRIES);
            places.for_each(|place| table.used.set(place));
        }
    }

    /// The processes of a group that touched pages of files at a place since a walk last went by.
    pub(crate) fn table_users(&self, place: PageId, group: GroupId) -> BTreeSet<usize> {
        let tables = self.files.iter().flat_map(|(_, tables)| tables);
        tables
            .filter(|table| table.group == group && table.used.has(place))
            .map(|table| table.owner)
            .collect()
    }

    /// A walk goes by a group's page tables.
    pub(crate) fn forget_table_users(&mut self, group: GroupId) {
        let tables = self.files.iter_mut().flat_map(|(_, tables)| tables);
        tables
            .filter(|table| table.group == group)
            .for_each(|table| table.used = Tags::default());
    }

    /// How many processes have used a page of a file whose [`Flag::Accessed`] was set just now.
    pub(crate) fn users(&self, page: PageId) -> usize {
        let (index, tables) = self.tables(page);
        tables.iter().filter(|table| table.young.has(index)).count()
    }
}
