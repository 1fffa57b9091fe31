//! What the formulas give once settings are written, before anything else has moved.

use alloc::string::String;

use crate::catalogue;
use crate::formula::watermarks::Steps;
use crate::settings::Setting;
use crate::snapshot::Snapshot;
use crate::units::{Kib, Pages};

impl Snapshot {
    /// The machine right after these settings are written: its tunables, its pools of huge pages,
    /// its marks and reserves, MemAvailable and the commit limit by the formulas. What takes time
    /// (reclaim, writeback, merging) has not begun.
    #[must_use]
    pub fn after(&self, settings: &[Setting]) -> Self {
        let mut after = self.clone();
        for setting in settings {
            after.set(setting);
        }
        after.remake_marks(self.marks().map(|marks| marks.steps));
        // What was printed is of before, and must not choose the rule.
        after
            .meminfo
            .iter_mut()
            .for_each(|it| it.mem_available = None);
        let available = after.available().map(|terms| terms.total.kib(after.page));
        if let Some(meminfo) = &mut after.meminfo {
            meminfo.mem_available = available;
            let limit = self.commit_limit_of(&after.tunables);
            meminfo.commit_limit = limit.or(meminfo.commit_limit);
        }
        after
    }

    /// The most that may be promised under `vm.overcommit_memory` = 2: `vm_commit_limit` in
    /// `mm/util.c`, with all swap there is.
    #[must_use]
    pub fn commit_limit(&self) -> Option<Kib> {
        self.commit_limit_of(&self.tunables)
    }

    fn set(&mut self, setting: &Setting) {
        let Some(named) = catalogue::named(&setting.tunable) else {
            return;
        };
        let name = named.tunable.name;
        if let Ok(pages) = setting.value.parse() {
            self.fill_pool(named, pages);
        }
        self.tunables.insert(name, setting.value.clone());
        let partner = named.tunable.partner.and_then(catalogue::find);
        if let Some(partner) = partner.filter(|_| setting.value != "0") {
            self.tunables.insert(partner.name, "0".into());
        }
    }

    /// As `setup_per_zone_wmarks` and `setup_per_zone_lowmem_reserve` do. A boost stays.
    fn remake_marks(&mut self, steps: Option<Steps>) {
        let marks = steps.and_then(|steps| self.marks_of(steps));
        let rows = self.protection();
        let Some(info) = &mut self.zoneinfo else {
            return;
        };
        for (zone, marks) in info.zones.iter_mut().zip(marks.unwrap_or_default()) {
            zone.watermarks = marks;
        }
        for (zone, row) in info.zones.iter_mut().zip(rows.unwrap_or_default()) {
            zone.protection = row;
        }
    }

    fn commit_limit_of(
        &self,
        tunables: &alloc::collections::BTreeMap<&'static str, String>,
    ) -> Option<Kib> {
        let meminfo = self.meminfo.as_ref()?;
        let number = |name: &str| tunables.get(name)?.parse::<u64>().ok();
        let share = match number("vm.overcommit_kbytes") {
            Some(kbytes) if kbytes > 0 => kbytes,
            _ => {
                let huge = meminfo.hugetlb.unwrap_or(Kib(0));
                let pages = meminfo.mem_total?.saturating_sub(huge);
                let pages = pages.pages_floor(self.page);
                let ratio = number("vm.overcommit_ratio")?;
                Pages(pages.0.saturating_mul(ratio) / 100).kib(self.page).0
            }
        };
        let swap = meminfo.swap_total.unwrap_or(Kib(0));
        Some(Kib(share.saturating_add(swap.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;
    use alloc::borrow::ToOwned;

    const CAPTURE: &str = include_str!("../../../../fixtures/hosts/vm-24gib-6.18/capture.txt");

    fn snapshot() -> Snapshot {
        let capture = Capture::parse(CAPTURE).expect("a capture");
        Snapshot::parse(&capture.frames[0])
    }

    fn set(tunable: &str, value: u64) -> [Setting; 1] {
        [Setting {
            tunable: tunable.to_owned(),
            value: alloc::format!("{value}"),
        }]
    }

    #[test]
    fn nothing_set_leaves_what_the_kernel_printed() {
        let (before, after) = (snapshot(), snapshot().after(&[]));
        assert_eq!(before.watermarks(), after.watermarks());
        assert_eq!(before.available(), after.available());
        let meminfo = before.meminfo.as_ref().expect("meminfo");
        assert_eq!(before.commit_limit(), meminfo.commit_limit);
    }

    #[test]
    fn a_larger_reserve_is_taken_off_once_and_a_half_and_off_both_caches_too() {
        let before = snapshot();
        let min_free = before.number("vm.min_free_kbytes").expect("a tunable");
        let more = 100 << 10;
        let after = before.after(&set("vm.min_free_kbytes", min_free + more));
        let available = |it: &Snapshot| it.available().expect("all terms").total.kib(it.page).0;
        let lost = available(&before) - available(&after);
        // 1.5 times for the high marks; 1.25 times for the low ones off each cache, if that has it.
        assert!((more * 3 / 2..=more * 4).contains(&lost), "{lost} kB");
    }

    #[test]
    fn one_side_of_a_pair_switches_the_other_off() {
        let after = snapshot().after(&set("vm.dirty_bytes", 64 << 20));
        assert_eq!(after.tunable("vm.dirty_ratio"), Some("0"));
        let thresholds = after.thresholds().expect("all tunables");
        assert_eq!(thresholds.dirty.bytes(after.page).0, 64 << 20);
    }

    #[test]
    fn a_pool_of_huge_pages_is_taken_off_what_is_available_and_off_the_commit_limit() {
        let before = snapshot();
        let after = before.after(&set("vm.nr_hugepages", 1024));
        let kib = |it: &Snapshot| {
            let available = it.available().expect("all terms").total.kib(it.page);
            (available.0, it.commit_limit().expect("a limit").0)
        };
        let ((had, limit), (has, then)) = (kib(&before), kib(&after));
        assert_eq!(had - has, 2 << 20);
        assert_eq!(limit - then, 1 << 20);
        assert_eq!(kib(&after.after(&set("vm.nr_hugepages", 0))), (had, limit));
        let (left, _) = kib(&before.after(&set("vm.nr_hugepages", u64::MAX)));
        assert!(left < had / 100, "{left} kB of reclaimable slab");
    }

    #[test]
    fn the_commit_limit_follows_its_ratio() {
        let before = snapshot();
        let after = before.after(&set("vm.overcommit_ratio", 100));
        let total = before
            .meminfo
            .as_ref()
            .and_then(|it| it.mem_total)
            .expect("memory");
        assert_eq!(after.commit_limit(), Some(total));
    }
}
