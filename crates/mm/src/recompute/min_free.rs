//! Who chose `vm.min_free_kbytes`.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::formula::min_free::{self, LARGEST, LARGEST_BEFORE_5_8};
use crate::formula::watermarks::{self, ZoneSize};
use crate::rules::{Print, prints};
use crate::snapshot::Snapshot;
use crate::thp::Thp;
use crate::units::{Kib, Pages};
use crate::zoneinfo::{Zone, ZoneKind};

/// What the kernel chooses on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinFree {
    /// By the square root of the memory, at boot.
    pub by_root: Kib,
    /// What khugepaged asks for, in KiB, from the least to the most; `None` where it is not known
    /// to run.
    pub khugepaged: Option<RangeInclusive<u64>>,
    /// Whether the switch of huge pages was read. Where it was not, they may be on.
    pub is_known: bool,
    /// The most that it chooses, whether or not huge pages are on.
    pub most: Kib,
}

/// Who chose the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chooser {
    /// khugepaged.
    Khugepaged,
    /// The square-root rule.
    Root,
    /// Neither: it was set.
    Set,
}

impl Snapshot {
    /// The value of `vm.min_free_kbytes` that the kernel chooses on this machine.
    ///
    /// Where huge pages decide it is exact. Where the square root decides, the kernel drew it
    /// before the initial RAM disk was freed, and its value is a little lower.
    #[must_use]
    pub fn default_min_free(&self) -> Option<Kib> {
        let chosen = self.chosen_min_free()?;
        let asked = chosen.khugepaged.map_or(0, |asked| *asked.end());
        Some(chosen.by_root.max(Kib(asked)))
    }

    /// What the kernel chooses, and by which rule; `None` without all zones.
    #[must_use]
    pub fn chosen_min_free(&self) -> Option<MinFree> {
        let low: Vec<&Zone> = self.low_zones()?;
        let managed: Pages = low.iter().map(|zone| zone.managed).sum();
        let largest = match prints(self.span(), Print::SmallLargestRoot) {
            Some(true) => LARGEST_BEFORE_5_8,
            _ => LARGEST,
        };
        let by_root = min_free::by_square_root_to(largest, managed, self.page);
        // Where a paste does not tell, most kernels have huge pages on.
        let is_on = self.thp.as_ref().map_or(!self.is_live, Thp::is_on);
        let beyond = |marks: Vec<Pages>| -> Pages {
            let zones = low.iter().zip(marks);
            zones
                .map(|(zone, high)| zone.managed.saturating_sub(high))
                .sum()
        };
        let after = beyond(low.iter().map(|zone| zone.unboosted().high).collect());
        // The root was drawn before the pages of the initial RAM disk came: up to 2 % less.
        let late = Kib(by_root.0 - by_root.0 / 50);
        let before = beyond(self.high_marks_by(late)?);
        let asked = min_free::khugepaged(
            low.len() as u64,
            self.pageblock(),
            [before, after],
            self.page,
        );
        Some(MinFree {
            by_root,
            most: by_root.max(Kib(*asked.end())),
            khugepaged: is_on.then_some(asked),
            is_known: self.thp.is_some(),
        })
    }

    /// Who chose the value that is set.
    #[must_use]
    pub fn min_free_chooser(&self) -> Option<Chooser> {
        let (value, chosen) = (self.number("vm.min_free_kbytes")?, self.chosen_min_free()?);
        let asked = chosen
            .khugepaged
            .is_some_and(|asked| asked.contains(&value));
        // The pages of the initial RAM disk came after the root was drawn.
        let root = chosen.by_root.0;
        let by_root = (root - root / 50..=root).contains(&value);
        Some(match (asked, by_root) {
            (true, _) => Chooser::Khugepaged,
            (false, true) => Chooser::Root,
            (false, false) => Chooser::Set,
        })
    }

    /// The zones up to Normal that have memory.
    fn low_zones(&self) -> Option<Vec<&Zone>> {
        let up_to_normal = |zone: &&Zone| zone.kind <= ZoneKind::Normal && zone.is_populated();
        let zones = self.zones_are_whole().then(|| self.zones())??;
        Some(zones.iter().filter(up_to_normal).collect())
    }

    /// The high marks of [`Snapshot::low_zones`] with another value of `vm.min_free_kbytes`.
    fn high_marks_by(&self, min_free: Kib) -> Option<Vec<Pages>> {
        let zones = self.zones()?;
        let sizes: Vec<ZoneSize> = zones.iter().map(ZoneSize::from).collect();
        let rule = watermarks::Rule {
            min_free: min_free.pages_floor(self.page),
            scale_factor: self.number("vm.watermark_scale_factor").unwrap_or(10),
            movable: watermarks::MovableRule::observed(zones),
        };
        let marks = watermarks::watermarks(&sizes, rule);
        let low = zones.iter().zip(marks);
        let low = low.filter(|(zone, _)| zone.kind <= ZoneKind::Normal && zone.is_populated());
        Some(low.map(|(_, marks)| marks.high).collect())
    }
}
