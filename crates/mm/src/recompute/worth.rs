//! What a tunable's value comes to in bytes on this machine.

use alloc::vec::Vec;

use crate::formula::dirty::{self, Amount, Thresholds};
use crate::formula::watermarks::{self, Steps, ZoneSize};
use crate::rules::Rule;
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Kib, Pages};
use crate::zoneinfo::Watermarks;

impl Snapshot {
    /// The marks of each zone of zoneinfo with other values of `vm.min_free_kbytes` and
    /// `vm.watermark_scale_factor`, without boost. The zones are taken as they are.
    #[must_use]
    pub fn marks_with(&self, min_free: Kib, scale_factor: u64) -> Option<Vec<Watermarks>> {
        let zones = self.zones()?;
        let sizes: Vec<ZoneSize> = zones.iter().map(ZoneSize::from).collect();
        let rule = watermarks::Rule {
            min_free: min_free.pages_floor(self.page),
            scale_factor,
            movable: watermarks::MovableRule::observed(zones),
        };
        let steps = self.marks().map_or(Steps::Scaled, |marks| marks.steps);
        Some(watermarks::watermarks_by(steps, &sizes, rule))
    }

    /// The dirty thresholds with other amounts, background first, of what is dirtyable now.
    #[must_use]
    pub fn thresholds_with(&self, amounts: [Amount; 2]) -> Option<Thresholds> {
        let by = self.thresholds_by()?;
        let percent = by.rows.iter().find_map(|row| match row.rule {
            Rule::Percent(rule) => Some(rule),
            _ => None,
        });
        let percent = percent.unwrap_or_default();
        Some(dirty::thresholds_by(
            percent,
            amounts,
            by.dirtyable,
            self.page,
        ))
    }

    /// The bytes that a value of a tunable of the machine comes to here: for those that set
    /// watermarks the sum of the high marks, which MemAvailable leaves out; for dirty limits the
    /// threshold; for others the memory that they set aside, promise or allow. `None` where a value
    /// has no such amount, or a file is missing.
    #[must_use]
    pub fn worth(&self, name: &str, value: &str) -> Option<Bytes> {
        let number: u64 = value.trim().parse().ok()?;
        let threshold = |amount, which: fn(Thresholds) -> Pages| {
            let [background, limit] = self.amounts()?;
            let amounts = match name.contains("background") {
                true => [amount, limit],
                false => [background, amount],
            };
            Some(which(self.thresholds_with(amounts)?).bytes(self.page))
        };
        match name {
            "vm.min_free_kbytes" => self.high_with(Kib(number), self.scale_factor()),
            "vm.watermark_scale_factor" => self.high_with(self.min_free_set()?, number),
            "vm.watermark_boost_factor" => {
                let high = self.high_with(self.min_free_set()?, self.scale_factor())?;
                Some(Bytes(crate::formula::mul_div(high.0, number, 10_000)))
            }
            "vm.dirty_ratio" => threshold(Amount::Ratio(number), |it| it.dirty),
            "vm.dirty_bytes" => threshold(Amount::Bytes(Bytes(number)), |it| it.dirty),
            "vm.dirty_background_ratio" => threshold(Amount::Ratio(number), |it| it.background),
            "vm.dirty_background_bytes" => {
                threshold(Amount::Bytes(Bytes(number)), |it| it.background)
            }
            "vm.nr_hugepages" | "vm.nr_hugepages_mempolicy" | "vm.nr_overcommit_hugepages" => {
                let size = self.meminfo.as_ref()?.get("Hugepagesize")?;
                Some(Bytes(size.bytes().0.saturating_mul(number)))
            }
            "vm.overcommit_ratio" => self.commit_limit(Amount::Ratio(number)),
            "vm.overcommit_kbytes" => self.commit_limit(Amount::Bytes(Kib(number).bytes())),
            "vm.admin_reserve_kbytes" | "vm.user_reserve_kbytes" => Some(Kib(number).bytes()),
            "zswap.max_pool_percent" => {
                let total = self.meminfo.as_ref()?.mem_total?.bytes();
                Some(Bytes(crate::formula::mul_div(total.0, number, 100)))
            }
            "vm.pagecache_limit_mb" => Some(Bytes(number.saturating_mul(1 << 20))),
            _ => None,
        }
    }

    /// What MemAvailable leaves out for the marks: the high ones of all zones.
    fn high_with(&self, min_free: Kib, scale_factor: u64) -> Option<Bytes> {
        let (zones, marks) = (self.zones()?, self.marks_with(min_free, scale_factor)?);
        // A zone cannot keep more than it has.
        let high = zones
            .iter()
            .zip(marks)
            .map(|(zone, marks)| marks.high.min(zone.managed));
        Some(high.sum::<Pages>().bytes(self.page))
    }

    fn min_free_set(&self) -> Option<Kib> {
        self.number("vm.min_free_kbytes").map(Kib)
    }

    fn scale_factor(&self) -> u64 {
        self.number("vm.watermark_scale_factor").unwrap_or(10)
    }

    /// Both dirty amounts as they are set.
    #[must_use]
    pub fn amounts(&self) -> Option<[Amount; 2]> {
        let pair = |ratio, bytes| {
            let bytes = Bytes(self.number(bytes).unwrap_or(0));
            Some(Amount::from_pair(self.number(ratio)?, bytes))
        };
        Some([
            pair("vm.dirty_background_ratio", "vm.dirty_background_bytes")?,
            pair("vm.dirty_ratio", "vm.dirty_bytes")?,
        ])
    }

    /// `vm_commit_limit`: of the memory that is not set aside as huge pages, and all swap.
    fn commit_limit(&self, amount: Amount) -> Option<Bytes> {
        let meminfo = self.meminfo.as_ref()?;
        let set_aside = meminfo.get("Hugetlb").unwrap_or_default().bytes();
        let ram = meminfo.mem_total?.bytes().saturating_sub(set_aside);
        let of_ram = match amount {
            Amount::Ratio(percent) => Bytes(crate::formula::mul_div(ram.0, percent, 100)),
            Amount::Bytes(bytes) => bytes,
        };
        Some(of_ram.saturating_add(meminfo.swap_total?.bytes()))
    }
}
