//! The pool.

use alloc::vec::Vec;

/// The pool, in huge pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hugetlb {
    /// The zone of each page of the pool.
    pub(crate) zones: Vec<usize>,
    /// Pages in use.
    used: u64,
    /// Pages that mapped regions will use.
    pub(crate) reserved: u64,
    /// Pages that a mapping may add beyond the pool (`vm.nr_overcommit_hugepages`), and those that
    /// some have added.
    pub(crate) overcommit: u64,
    pub(crate) surplus: u64,
}

impl Hugetlb {
    pub(crate) fn total(&self) -> u64 {
        self.zones.len() as u64
    }

    pub(crate) fn free(&self) -> u64 {
        self.total() - self.used
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Sets pages of the pool aside; false where too few are left.
    pub(crate) fn reserve(&mut self, pages: u64) -> bool {
        let fits = self.free() - self.reserved >= pages;
        self.reserved += if fits { pages } else { 0 };
        fits
    }

    /// A region uses one of its pages.
    pub(crate) fn take(&mut self) {
        self.reserved -= 1;
        self.used += 1;
    }

    /// A region keeps the reservation of a page that it used.
    pub(crate) fn untake(&mut self) {
        self.used -= 1;
        self.reserved += 1;
    }
}
