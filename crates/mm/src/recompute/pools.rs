//! Pools of huge pages as a write of their size leaves them.

use crate::catalogue::{Named, Of};
use crate::meminfo::Meminfo;
use crate::snapshot::Snapshot;
use crate::units::Kib;

/// The tunables of the pool of the default size.
const DEFAULT: [&str; 2] = ["vm.nr_hugepages", "vm.nr_hugepages_mempolicy"];

impl Snapshot {
    /// The pool that a tunable sets has this number of pages: what it takes comes off free memory,
    /// and then off the page cache.
    pub(super) fn fill_pool(&mut self, named: Named<'_>, pages: u64) {
        let Some(size) = self.size_of_pool(named) else {
            return;
        };
        let number = self
            .number("vm.nr_hugepages")
            .filter(|_| named.of == Of::Machine);
        let pool = self.pools.entry(size.0).or_default();
        let before = number.unwrap_or(pool.all).max(pool.all);
        pool.free = (pool.free + pages).saturating_sub(before);
        pool.all = pages;
        let Some(meminfo) = &mut self.meminfo else {
            return;
        };
        let kib = |pages: u64| Kib(size.0.saturating_mul(pages));
        match pages.checked_sub(before) {
            Some(more) => meminfo.take(kib(more)),
            None => meminfo.give(kib(before - pages)),
        }
    }

    /// The size of its pages.
    fn size_of_pool(&self, named: Named<'_>) -> Option<Kib> {
        match named.of {
            Of::Machine if DEFAULT.contains(&named.tunable.name) => {
                self.meminfo.as_ref()?.hugepagesize
            }
            Of::One(size) if named.tunable.name == "hugetlb.SIZE.nr_hugepages" => {
                let kib = size.strip_prefix("hugepages-")?.strip_suffix("kB")?;
                kib.parse().ok().map(Kib)
            }
            _ => None,
        }
    }
}

impl Meminfo {
    fn take(&mut self, kib: Kib) {
        let mut rest = kib;
        let places = [
            &mut self.mem_free,
            &mut self.inactive_file,
            &mut self.active_file,
        ];
        for place in places.into_iter().flatten() {
            let part = rest.min(*place);
            *place = place.saturating_sub(part);
            rest = rest.saturating_sub(part);
        }
        let pools = self.hugetlb.unwrap_or(Kib::ZERO);
        self.hugetlb = Some(pools.saturating_add(kib));
    }

    fn give(&mut self, kib: Kib) {
        self.mem_free = self.mem_free.map(|free| free.saturating_add(kib));
        self.hugetlb = self.hugetlb.map(|pools| pools.saturating_sub(kib));
    }
}
