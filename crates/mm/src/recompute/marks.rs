//! The marks of all zones by the rule of their kernel, and what else may be in them: a boost that
//! is not printed, Android's extra free pages.

use alloc::vec::Vec;

use crate::formula::watermarks::{self, MovableRule, Rule, SCALE_FACTOR, Steps, ZoneSize};
use crate::release::Span;
use crate::rules::{self, Print, Row};
use crate::snapshot::Snapshot;
use crate::units::{Kib, Pages};
use crate::zoneinfo::{Watermarks, Zone, ZoneKind};

/// The default of `vm.watermark_boost_factor`, in 1/10000.
const BOOST_FACTOR: u64 = 15_000;

/// The marks as the tunables give them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Of each zone of zoneinfo, boost included.
    pub marks: Vec<Watermarks>,
    /// The rule of their distances.
    pub steps: Steps,
    /// The row of that rule.
    pub row: &'static Row,
    /// What Android's `vm.extra_free_kbytes` must be, where it is in them.
    pub extra_free: Option<Kib>,
    /// The `vm.watermark_scale_factor` that the marks tell, where it is not told.
    pub scale_factor: Option<u64>,
    /// Whether all of them equal the kernel's.
    pub equal: bool,
}

impl Snapshot {
    /// What the watermarks depend on. The scale factor is its default where it is not told.
    #[must_use]
    pub fn watermark_rule(&self) -> Option<Rule> {
        let min_free = Kib(self.number("vm.min_free_kbytes")?);
        let scale_factor = self.number("vm.watermark_scale_factor");
        Some(Rule {
            min_free: min_free.pages_floor(self.page),
            scale_factor: scale_factor.unwrap_or(SCALE_FACTOR),
            movable: MovableRule::observed(self.zones()?),
        })
    }

    /// The marks of each zone of zoneinfo as the tunables give them now, boost included, in its
    /// order.
    ///
    /// They differ from those in zoneinfo where pages came to a zone after the marks were made.
    #[must_use]
    pub fn watermarks(&self) -> Option<Vec<Watermarks>> {
        self.marks().map(|marks| marks.marks)
    }

    /// The marks by the rule that gives the kernel's, where one does, else by that of its release.
    #[must_use]
    pub fn marks(&self) -> Option<Marks> {
        let all = self.marks_by_each_rule()?;
        let equal = all.iter().position(|marks| marks.equal);
        let extra = || all.iter().find_map(|marks| self.with_extra_free(marks));
        match equal {
            Some(index) => all.into_iter().nth(index),
            None => self
                .with_scale_factor(&all)
                .or_else(extra)
                .or_else(|| all.into_iter().next()),
        }
    }

    /// The marks that the tunables give by one rule, whatever is printed. Boosts stay.
    pub(super) fn marks_of(&self, steps: Steps) -> Option<Vec<Watermarks>> {
        let (zones, rule) = (self.zones()?, self.watermark_rule()?);
        let sizes: Vec<ZoneSize> = zones.iter().map(ZoneSize::from).collect();
        let marks = watermarks::watermarks_by(steps, &sizes, rule);
        let raised = marks.iter().zip(zones).map(|(m, zone)| m.raised(zone));
        Some(raised.collect())
    }

    fn marks_by_each_rule(&self) -> Option<Vec<Marks>> {
        let zones = self.zones()?;
        let has_factor = self.number("vm.watermark_scale_factor").is_some();
        let pick = |rule| match rule {
            rules::Rule::Steps(Steps::Quarters) if has_factor => None,
            rules::Rule::Steps(steps) => Some(steps),
            _ => None,
        };
        let by = |(steps, row): (Steps, &'static Row)| {
            let marks = self.marks_of(steps).unwrap_or_default();
            Marks {
                equal: equal(zones, &marks),
                marks,
                steps,
                row,
                extra_free: None,
                scale_factor: None,
            }
        };
        let all: Vec<Marks> = rules::tried(self.span(), pick).map(by).collect();
        (!all.is_empty()).then_some(all)
    }

    /// The marks by the scale factor that they tell: steps of the largest zone over its size.
    fn with_scale_factor(&self, all: &[Marks]) -> Option<Marks> {
        let marks = all.iter().find(|marks| marks.steps == Steps::Scaled)?;
        if self.number("vm.watermark_scale_factor").is_some() {
            return None;
        }
        let (zones, rule) = (self.zones()?, self.watermark_rule()?);
        let largest = zones.iter().max_by_key(|zone| zone.managed)?;
        let step = largest
            .watermarks
            .low
            .0
            .checked_sub(largest.watermarks.min.0)?;
        let scale_factor = step.checked_mul(10_000)?.div_ceil(largest.managed.0.max(1));
        let rule = Rule {
            scale_factor,
            ..rule
        };
        let sizes: Vec<ZoneSize> = zones.iter().map(ZoneSize::from).collect();
        let scaled = watermarks::watermarks(&sizes, rule);
        let scaled = scaled.iter().zip(zones).map(|(m, zone)| m.raised(zone));
        let scaled: Vec<Watermarks> = scaled.collect();
        equal(zones, &scaled).then(|| Marks {
            marks: scaled,
            scale_factor: Some(scale_factor),
            equal: true,
            ..marks.clone()
        })
    }

    /// The same with Android's extra pages, where low and high have the same surplus over these, in
    /// the ratio of the zones' sizes.
    fn with_extra_free(&self, marks: &Marks) -> Option<Marks> {
        let zones = self.zones()?;
        let extra = zones.iter().zip(&marks.marks).map(|(zone, marks)| {
            let has = zone.watermarks;
            let (low, high) = (
                has.low.0.checked_sub(marks.low.0),
                has.high.0.checked_sub(marks.high.0),
            );
            match zone.is_populated() {
                true if has.min == marks.min && low == high => low.map(Pages),
                true => None,
                false => Some(Pages::ZERO),
            }
        });
        let extra: Vec<Pages> = extra.collect::<Option<_>>()?;
        let sum: Pages = extra.iter().copied().sum();
        let sizes: Vec<ZoneSize> = zones.iter().map(ZoneSize::from).collect();
        let shares = watermarks::extra_free(&sizes, sum);
        let near = |(extra, share): (&Pages, &Pages)| extra.0.abs_diff(share.0) <= 2;
        if sum == Pages::ZERO || !extra.iter().zip(&shares).all(near) {
            return None;
        }
        let raised = marks
            .marks
            .iter()
            .zip(&extra)
            .map(|(marks, &extra)| Watermarks {
                low: marks.low.saturating_add(extra),
                high: marks.high.saturating_add(extra),
                ..*marks
            });
        Some(Marks {
            marks: raised.collect(),
            extra_free: Some(sum.kib(self.page)),
            equal: true,
            ..marks.clone()
        })
    }

    /// Whether this kernel may have boosts in its marks that zoneinfo does not print.
    #[must_use]
    pub fn hides_boost(&self) -> bool {
        let zones = || self.zoneinfo.iter().flat_map(|info| &info.zones);
        let printed = zones().any(|zone| zone.boost.is_some());
        let factor = self.number("vm.watermark_boost_factor");
        let span = self.span();
        let may = match rules::prints(span, Print::HiddenBoost) {
            Some(hides) => hides || factor.is_some(),
            None => factor.is_some() || span.is_since(4, 20),
        };
        may && (!printed || self.hidden_boost) && factor != Some(0)
    }

    /// Takes the boosts that are in the marks and not printed for the zones' own.
    pub(crate) fn find_hidden_boosts(&mut self) {
        if !self.hides_boost() {
            return;
        }
        let Some(zones) = self.zones() else { return };
        let boosts: Vec<Pages> = zones
            .iter()
            .map(|zone| self.hidden_boost_of(zone))
            .collect();
        self.hidden_boost = boosts.iter().any(|&boost| boost > Pages::ZERO);
        let zones = self.zoneinfo.iter_mut().flat_map(|info| &mut info.zones);
        for (zone, boost) in zones.zip(boosts) {
            zone.boost = Some(boost).filter(|&boost| boost > Pages::ZERO);
        }
    }

    /// The boost of a zone: what its min mark has above its share of `min_free_kbytes`, which its
    /// steps tell, where that is a number of pageblocks or the largest boost.
    fn hidden_boost_of(&self, zone: &Zone) -> Pages {
        let marks = zone.watermarks;
        let step = marks.low.0.saturating_sub(marks.min.0);
        let equal_steps = marks.high.0.checked_sub(marks.low.0) == Some(step);
        let apart = !matches!(
            zone.kind,
            ZoneKind::Dma | ZoneKind::Dma32 | ZoneKind::Normal
        );
        if step == 0 || !equal_steps || apart {
            return Pages::ZERO;
        }
        let Some([least, most]) = self.share_of(zone, step) else {
            return Pages::ZERO;
        };
        let surplus = marks.min.0.saturating_sub(most)..=marks.min.0.saturating_sub(least);
        self.boost_within(zone, &surplus)
    }

    /// Bounds of a zone's share of `min_free_kbytes`: by its steps where they are quarters of it,
    /// else by the tunable, within half a pageblock.
    fn share_of(&self, zone: &Zone, step: u64) -> Option<[u64; 2]> {
        let factor = self
            .number("vm.watermark_scale_factor")
            .unwrap_or(SCALE_FACTOR);
        let scaled = crate::formula::mul_div(zone.managed.0, factor, 10_000);
        if scaled < step {
            return Some([step.checked_mul(4)?, step.checked_mul(4)?.checked_add(3)?]);
        }
        let rule = self.watermark_rule()?;
        let sizes: Vec<ZoneSize> = self.zones()?.iter().map(ZoneSize::from).collect();
        let lowmem = watermarks::lowmem(&sizes, rule.movable);
        let share = crate::formula::mul_div(rule.min_free.0, zone.managed.0, lowmem.0);
        let off = share / 50;
        (off < self.pageblock().0 / 2).then_some([share.saturating_sub(off), share + off])
    }

    fn boost_within(&self, zone: &Zone, surplus: &core::ops::RangeInclusive<u64>) -> Pages {
        let block = self.pageblock().0.max(1);
        let boost = (*surplus.start())
            .max(1)
            .div_ceil(block)
            .saturating_mul(block);
        let factor = self
            .number("vm.watermark_boost_factor")
            .unwrap_or(BOOST_FACTOR);
        let most = |boost: u64| {
            let high = zone.watermarks.high.0.saturating_sub(boost);
            crate::formula::mul_div(high, factor, 10_000).max(block)
        };
        if surplus.contains(&boost) && boost <= most(boost) {
            return Pages(boost);
        }
        let largest = most(*surplus.end());
        let is_largest = *surplus.start() > 0 && surplus.contains(&largest);
        Pages(if is_largest { largest } else { 0 })
    }

    /// Pages of a pageblock: a huge page of the default size, where it is told.
    #[must_use]
    pub fn pageblock(&self) -> Pages {
        let by_thp = self.thp.as_ref().and_then(|thp| thp.size);
        let by_meminfo = self
            .meminfo
            .as_ref()
            .and_then(|meminfo| meminfo.hugepagesize);
        let size = by_thp.or(by_meminfo.map(Kib::bytes));
        let pages = size.map(|size| size.pages_floor(self.page));
        let believed = pages.filter(|pages| (1..=1 << 18).contains(&pages.0));
        believed.unwrap_or(Pages(512))
    }

    /// Whether the min marks, without boost, share out `vm.min_free_kbytes` among the zones, as
    /// they do whatever the sizes were of which they were made.
    #[must_use]
    pub fn min_marks_share_out_min_free(&self) -> bool {
        let (Some(zones), Some(rule)) = (self.zones(), self.watermark_rule()) else {
            return false;
        };
        let low = || {
            zones
                .iter()
                .filter(|zone| zone.kind <= ZoneKind::Normal && zone.is_populated())
        };
        let sum: Pages = low().map(|zone| zone.unboosted().min).sum();
        sum <= rule.min_free && rule.min_free.0 - sum.0 < low().count() as u64
    }

    /// Whether the rule of the marks is one that this span of releases has.
    #[must_use]
    pub fn is_own(&self, row: &Row) -> bool {
        let span: Span = self.span();
        row.is_of(span)
    }
}

/// Whether all zones that have memory have these marks.
fn equal(zones: &[Zone], marks: &[Watermarks]) -> bool {
    let three = |marks: &Watermarks| (marks.min, marks.low, marks.high);
    let mut pairs = zones
        .iter()
        .zip(marks)
        .filter(|(zone, _)| zone.is_populated());
    pairs.all(|(zone, marks)| three(&zone.watermarks) == three(marks))
}

impl Watermarks {
    /// These marks with the boost that a zone has at the moment.
    fn raised(&self, zone: &Zone) -> Self {
        let boost = zone.boost.unwrap_or_default();
        Self {
            min: self.min.saturating_add(boost),
            low: self.low.saturating_add(boost),
            high: self.high.saturating_add(boost),
            promo: self.promo.map(|promo| promo.saturating_add(boost)),
        }
    }
}
