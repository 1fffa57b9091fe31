//! The pages of one content, what becomes of them, and sums over contents.

use alloc::vec::Vec;

use super::{Candidate, PARTS, Rules, square};

/// Sums over contents, of kept pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) pages: f64,
    pub(super) volatile: f64,
    pub(super) sharing: f64,
    pub(super) freed: f64,
    pub(super) shared: f64,
    pub(super) zeros: f64,
    pub(super) across: f64,
    /// Contents, those of one unit only, and those of two.
    pub(super) distinct: f64,
    pub(super) once: f64,
    pub(super) twice: f64,
}

/// Sums of squares over contents: of a figure, of the pages, and of both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    pub(super) figure: f64,
    pub(super) pages: f64,
    pub(super) both: f64,
}

/// The pages of one content.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    pub(super) pages: u64,
    /// Those that did not change, the frames they lie in, their units and processes.
    pub(super) stable: u64,
    pub(super) frames: u64,
    pub(super) units: u64,
    pub(super) owners: u64,
}

/// What becomes of the pages of one content.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Merged {
    pub(super) sharing: f64,
    pub(super) freed: f64,
    pub(super) shared: f64,
}

impl Group {
    pub(super) fn of(
        run: &[Candidate],
        without: Option<u32>,
        owners: &[u32],
        scratch: &mut Vec<u32>,
    ) -> Self {
        let counted = |one: &&Candidate| without.is_none_or(|part| one.unit % PARTS != part);
        let pages = || run.iter().filter(counted);
        let stable = || pages().filter(|one| !one.changed);
        // Most contents have one page.
        if let [one] = run {
            let there = u64::from(counted(&one));
            let stable = u64::from(counted(&one) && !one.changed);
            return Self {
                pages: there,
                stable,
                frames: stable,
                units: stable,
                owners: stable,
            };
        }
        let mut last = None;
        let new = |one: &&Candidate| last.replace(one.frame) != Some(one.frame);
        let frames = stable().filter(new).count() as u64;
        let mut distinct = |of: &dyn Fn(&Candidate) -> u32| {
            scratch.clear();
            scratch.extend(stable().map(of));
            scratch.sort_unstable();
            scratch.dedup();
            scratch.len() as u64
        };
        Self {
            pages: pages().count() as u64,
            stable: stable().count() as u64,
            frames,
            units: distinct(&|one| one.unit),
            owners: distinct(&|one| owners[one.unit as usize]),
        }
    }

    /// What ksmd makes of it, where each page stands for `each_is` of the same content.
    pub(super) fn merged(&self, zero: bool, each_is: u64, rules: Rules) -> Merged {
        let (stable, frames) = (self.stable as f64, self.frames as f64);
        if zero && rules.use_zero_pages {
            return Merged {
                sharing: stable,
                freed: frames,
                shared: 0.0,
            };
        }
        // ksmd leaves a page alone whose only twins are mappings of itself, since a fork.
        if self.frames.saturating_mul(each_is) < 2 {
            return Merged::default();
        }
        let mappings = self.stable.saturating_mul(each_is);
        let limit = rules.max_page_sharing.max(2);
        let each_is = each_is as f64;
        let kept = mappings.div_ceil(limit) as f64 / each_is;
        // One mapping beyond the limit finds nobody to merge with.
        let alone = mappings > limit && mappings % limit == 1;
        Merged {
            sharing: stable - kept,
            freed: (frames - kept).max(0.0),
            shared: kept - f64::from(u8::from(alone)) / each_is,
        }
    }
}

impl Totals {
    pub(super) fn of(group: &Group, merged: Merged, zero: bool, each_is: u64) -> Self {
        let freed = if zero { 0.0 } else { merged.freed };
        let one = |is: bool| f64::from(u8::from(is)) / each_is as f64;
        let processes = one(true) * group.owners.saturating_sub(1) as f64;
        Self {
            pages: group.pages as f64,
            volatile: (group.pages - group.stable) as f64,
            sharing: merged.sharing,
            freed: merged.freed,
            shared: merged.shared,
            zeros: merged.freed - freed,
            across: freed.min(processes),
            distinct: one(group.stable > 0),
            once: one(group.units == 1),
            twice: one(group.units == 2),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        *self = self.with(other, 1.0);
    }

    /// The sums of both, the other's times `sign`.
    pub(super) fn with(&self, other: &Self, sign: f64) -> Self {
        let both = |own: f64, other: f64| own + sign * other;
        Self {
            pages: both(self.pages, other.pages),
            volatile: both(self.volatile, other.volatile),
            sharing: both(self.sharing, other.sharing),
            freed: both(self.freed, other.freed),
            shared: both(self.shared, other.shared),
            zeros: both(self.zeros, other.zeros),
            across: both(self.across, other.across),
            distinct: both(self.distinct, other.distinct),
            once: both(self.once, other.once),
            twice: both(self.twice, other.twice),
        }
    }
}

impl Moments {
    /// Adds a content whose pages came into the sample in this many draws.
    pub(super) fn add(&mut self, figure: f64, pages: f64, draws: f64) {
        let draws = draws.max(1.0);
        self.figure += square(figure) / draws;
        self.pages += square(pages) / draws;
        self.both += figure * pages / draws;
    }

    /// The sum of the squared distances of the figure from `ratio` times the pages.
    pub(super) fn residuals(&self, ratio: f64) -> f64 {
        let sum = self.figure - 2.0 * ratio * self.both + square(ratio) * self.pages;
        sum.max(0.0)
    }
}
