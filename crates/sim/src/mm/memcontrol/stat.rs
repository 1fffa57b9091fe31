//! `memory.stat`: what a group and those below it hold, and what was done to them.

use crate::mm::lru::Kind;

macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident = $name:literal in $unit:expr),* $(,)?) => {
        /// A group's own counts; those of the groups below are added when they are told.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Stat {
            $($(#[$doc])* pub(crate) $field: u64,)*
        }

        impl Stat {
            /// Adds another group's.
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// The lines of `memory.stat` that stand for one count each.
            pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($name, self.$field * $unit)),*].into_iter()
            }
        }
    };
}

/// Bytes of a page, and what is counted by itself.
pub(super) const PAGES: u64 = 4096;
const TIMES: u64 = 1;

counts! {
    /// Pages that are mapped and anonymous.
    anon = "anon" in PAGES,
    file = "file" in PAGES,
    page_tables = "pagetables" in PAGES,
    file_mapped = "file_mapped" in PAGES,
    file_dirty = "file_dirty" in PAGES,
    file_writeback = "file_writeback" in PAGES,
    swap_cached = "swapcached" in PAGES,
    /// Anonymous pages that are parts of huge ones.
    anon_thp = "anon_thp" in PAGES,
    unevictable = "unevictable" in PAGES,
    workingset_refault_anon = "workingset_refault_anon" in TIMES,
    workingset_refault_file = "workingset_refault_file" in TIMES,
    workingset_activate_anon = "workingset_activate_anon" in TIMES,
    workingset_activate_file = "workingset_activate_file" in TIMES,
    workingset_restore_anon = "workingset_restore_anon" in TIMES,
    workingset_restore_file = "workingset_restore_file" in TIMES,
    pgscan_kswapd = "pgscan_kswapd" in TIMES,
    pgscan_direct = "pgscan_direct" in TIMES,
    pgsteal_kswapd = "pgsteal_kswapd" in TIMES,
    pgsteal_direct = "pgsteal_direct" in TIMES,
    pgfault = "pgfault" in TIMES,
    pgmajfault = "pgmajfault" in TIMES,
    pgrefill = "pgrefill" in TIMES,
    pgactivate = "pgactivate" in TIMES,
    pgdeactivate = "pgdeactivate" in TIMES,
    thp_fault_alloc = "thp_fault_alloc" in TIMES,
}

impl Stat {
    pub(crate) fn count_refault(&mut self, kind: Kind) {
        match kind {
            Kind::Anon => self.workingset_refault_anon += 1,
            Kind::File => self.workingset_refault_file += 1,
        }
    }

    pub(crate) fn count_activation(&mut self, kind: Kind) {
        match kind {
            Kind::Anon => self.workingset_activate_anon += 1,
            Kind::File => self.workingset_activate_file += 1,
        }
    }

    pub(crate) fn count_restore(&mut self, kind: Kind) {
        match kind {
            Kind::Anon => self.workingset_restore_anon += 1,
            Kind::File => self.workingset_restore_file += 1,
        }
    }
}
