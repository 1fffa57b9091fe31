//! What a tunable's value comes to in bytes on this machine.

use crate::formula::mul_div;
use crate::settings::Setting;
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Kib, Pages};

impl Snapshot {
    /// The bytes that a value of a tunable of the machine comes to here: for those that set
    /// watermarks the sum of the high marks, which MemAvailable leaves out; for dirty limits the
    /// threshold; for others the memory that they set aside, promise or allow. `None` where a value
    /// has no such amount, or a file is missing.
    #[must_use]
    pub fn worth(&self, name: &str, value: &str) -> Option<Bytes> {
        let number: u64 = value.trim().parse().ok()?;
        let with = || {
            let (tunable, value) = (name.into(), value.trim().into());
            self.after(&[Setting { tunable, value }])
        };
        let threshold = |of: fn(&Self) -> Option<Pages>| Some(of(&with())?.bytes(self.page));
        match name {
            "vm.min_free_kbytes" | "vm.watermark_scale_factor" => with().high_marks(),
            "vm.watermark_boost_factor" => {
                Some(Bytes(mul_div(self.high_marks()?.0, number, 10_000)))
            }
            "vm.dirty_ratio" | "vm.dirty_bytes" => {
                threshold(|after| Some(after.thresholds()?.dirty))
            }
            "vm.dirty_background_ratio" | "vm.dirty_background_bytes" => {
                threshold(|after| Some(after.thresholds()?.background))
            }
            "vm.nr_hugepages" | "vm.nr_hugepages_mempolicy" | "vm.nr_overcommit_hugepages" => {
                let size = self.meminfo.as_ref()?.hugepagesize?;
                Some(Bytes(size.bytes().0.saturating_mul(number)))
            }
            "vm.overcommit_ratio" | "vm.overcommit_kbytes" => with().commit_limit().map(Kib::bytes),
            "vm.admin_reserve_kbytes" | "vm.user_reserve_kbytes" => Some(Kib(number).bytes()),
            "zswap.max_pool_percent" => {
                let total = self.meminfo.as_ref()?.mem_total?.bytes();
                Some(Bytes(mul_div(total.0, number, 100)))
            }
            "vm.pagecache_limit_mb" => Some(Bytes(number.saturating_mul(1 << 20))),
            _ => None,
        }
    }

    /// The high marks of all zones, without boost. A zone cannot keep more than it has.
    fn high_marks(&self) -> Option<Bytes> {
        let marks = self.zones()?.iter();
        let marks = marks.map(|zone| zone.unboosted().high.min(zone.managed));
        Some(marks.sum::<Pages>().bytes(self.page))
    }
}
