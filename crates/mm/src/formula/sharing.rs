//! What merging would save, from a sample of page contents.
//!
//! Duplicates cannot be counted in a plain sample of pages: of two equal pages a sample of one in
//! ten sees both one time in a hundred. So the sample is by content: a page is kept where the hash
//! of what it holds falls into one part in `one_in` of the hash space, and with it all its copies.
//! Contents with enough copies that one of them would decide the result ([`Sample::common`]) are
//! sampled by page frame instead. Either way each kept page stands for `one_in`.
//!
//! Where only a part of the memory could be read, how many contents the rest adds is not known but
//! bounded: from above by what the last part read added, since every further part adds less, and
//! from below by the bound of Chao and Lin (2012) for samples without replacement, which is exact
//! where all contents have the same number of copies. After a few units only what is certain
//! counts: what was found already, and that no content that was read goes altogether.

mod contents;

use alloc::vec::Vec;

use contents::{Group, Merged, Moments, Totals};

/// The content of a page of zeros.
pub const ZERO_PAGE: u64 = 0;

/// Parts that the spread over units is taken from, leaving out one at a time (jackknife).
const PARTS: u32 = 20;

/// Units that must have been read before their spread says anything.
const UNITS: usize = 2 * PARTS as usize;

/// Standard errors to either side of a 95 % interval.
const DEVIATIONS: f64 = 1.96;

/// A mapping of an anonymous page whose content was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The hash of what it holds; [`ZERO_PAGE`] for zeros.
    pub content: u64,
    /// The page frame, so that a page that several processes map since a fork is known as one.
    pub frame: u64,
    /// The unit that it was read with.
    pub unit: u32,
    /// Its place in the unit.
    pub page: u16,
    /// Whether it held something else, or was gone, at the second look.
    pub changed: bool,
}

/// The candidates that were kept, and what they stand for.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// In ascending order.
    pub candidates: &'a [Candidate],
    /// The process of each unit; units are read in random order.
    pub owners: &'a [u32],
    /// Contents that are sampled by frame, in ascending order.
    pub common: &'a [u64],
    /// Pages that one kept page stands for.
    pub one_in: u64,
    /// Candidate pages whose content was read.
    pub pages_read: u64,
    /// Candidate pages there are.
    pub pages_all: u64,
}

/// The tunables of KSM that decide what it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `max_page_sharing`: mappings of one kept page.
    pub max_page_sharing: u64,
    /// `use_zero_pages`: whether pages of zeros are given up for the kernel's own.
    pub use_zero_pages: bool,
}

/// A number of pages that is known within bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The best guess.
    pub middle: f64,
    /// The upper end.
    pub high: f64,
}

/// What merging would do, in pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Page frames that become free.
    pub freed: Interval,
    /// What the kernel will count: `pages_sharing` and `ksm_zero_pages` together.
    pub sharing: Interval,
    /// Pages that are kept for others: `pages_shared`.
    pub shared: f64,
    /// Pages that changed between the two looks.
    pub volatile: f64,
    /// Of the pages freed as far as was read: pages of zeros.
    pub zeros: f64,
    /// Of these: pages that have a twin in the same process.
    pub within: f64,
    /// Of these: pages whose only twins are in other processes.
    pub across: f64,
    /// Of these, by the unit they were read with.
    pub by_unit: Vec<f64>,
}

/// Works the estimate out; `None` where no page was kept.
#[must_use]
pub fn estimate(sample: &Sample<'_>, rules: Rules) -> Option<Estimate> {
    let sums = Sums::of(sample, rules);
    let all = &sums.all;
    if all.pages <= 0.0 {
        return None;
    }
    let reach = sums.reach(all);
    let scaled = |pages: f64| pages * reach.weight / reach.part;
    let by_unit = sums.by_unit.iter();
    Some(Estimate {
        freed: sums.interval(|totals| totals.freed, &sums.freed),
        sharing: sums.interval(|totals| totals.sharing, &sums.sharing),
        shared: scaled(all.shared),
        volatile: scaled(all.volatile),
        zeros: scaled(all.zeros),
        within: scaled(all.freed - all.zeros - all.across),
        across: scaled(all.across),
        by_unit: by_unit
            .map(|pages| pages * reach.weight / reach.part)
            .collect(),
    })
}

/// Everything that one pass over the sample gives.
#[derive(Debug)]
struct Sums<'a> {
    sample: &'a Sample<'a>,
    rules: Rules,
    all: Totals,
    /// What the contents that a part of the units touches add, with that part and without it.
    touched: [(Totals, Totals); PARTS as usize],
    freed: Moments,
    sharing: Moments,
    by_unit: Vec<f64>,
}

/// How far kept pages reach: what one stands for among those read, and the part that was read.
#[derive(Clone, Copy, Debug)]
struct Reach {
    weight: f64,
    part: f64,
    units: f64,
}

impl<'a> Sums<'a> {
    fn of(sample: &'a Sample<'a>, rules: Rules) -> Self {
        let mut sums = Self {
            sample,
            rules,
            all: Totals::default(),
            touched: Default::default(),
            freed: Moments::default(),
            sharing: Moments::default(),
            by_unit: alloc::vec![0.0; sample.owners.len()],
        };
        let mut scratch = Vec::new();
        for run in sample.candidates.chunk_by(|a, b| a.content == b.content) {
            sums.add(run, &mut scratch);
        }
        sums
    }

    fn add(&mut self, run: &[Candidate], scratch: &mut Vec<u32>) {
        let content = run[0].content;
        let common = self.sample.common.binary_search(&content).is_ok();
        // A common content has more copies than were kept.
        let each_is = if common { self.sample.one_in } else { 1 };
        let (group, merged, totals) = self.sum(run, None, each_is, scratch);
        self.all.add(&totals);
        // The pages of a common content came in one by one, those of another together.
        let pages = group.pages as f64;
        let drawn = if common { pages } else { 1.0 };
        self.freed.add(merged.freed, pages, drawn);
        self.sharing.add(merged.sharing, pages, drawn);
        let each = merged.freed / group.stable.max(1) as f64;
        for candidate in run.iter().filter(|candidate| !candidate.changed) {
            self.by_unit[candidate.unit as usize] += each;
        }
        if self.sample.is_whole() {
            return;
        }
        scratch.clear();
        scratch.extend(run.iter().map(|candidate| candidate.unit % PARTS));
        scratch.sort_unstable();
        scratch.dedup();
        for part in core::mem::take(scratch) {
            let (.., without) = self.sum(run, Some(part), each_is, scratch);
            let touched = &mut self.touched[part as usize];
            touched.0.add(&totals);
            touched.1.add(&without);
        }
    }

    /// One content, without the units of one part.
    fn sum(
        &self,
        run: &[Candidate],
        without: Option<u32>,
        each_is: u64,
        scratch: &mut Vec<u32>,
    ) -> (Group, Merged, Totals) {
        let zero = run[0].content == ZERO_PAGE;
        let group = Group::of(run, without, self.sample.owners, scratch);
        let merged = group.merged(zero, each_is, self.rules);
        (group, merged, Totals::of(&group, merged, zero, each_is))
    }

    fn reach(&self, totals: &Totals) -> Reach {
        let Sample {
            pages_read, owners, ..
        } = *self.sample;
        let weight = pages_read as f64 / self.all.pages.max(1.0);
        let part = totals.pages / self.all.pages.max(1.0);
        Reach {
            weight,
            part: part * pages_read as f64 / self.sample.whole(),
            units: owners.len() as f64 * part,
        }
    }

    fn interval(&self, figure: fn(&Totals) -> f64, moments: &Moments) -> Interval {
        let (least, most) = self.bounds(&self.all, figure);
        let whole = self.sample.whole();
        let ratio = figure(&self.all) / self.all.pages;
        let dropped = 1.0 - 1.0 / self.sample.one_in.max(1) as f64;
        let pages = whole / self.all.pages;
        let of_contents = dropped * moments.residuals(ratio) * pages * pages;
        let (below, above) = self.variance_of_units(figure);
        let far = |of_units: f64| DEVIATIONS * libm::sqrt(of_contents + of_units);
        let (certain, possible) = self.limits(figure);
        let (certain, possible) = (certain - far(0.0), possible + far(0.0));
        let inside = |pages: f64| pages.max(certain).min(possible).clamp(0.0, whole);
        let middle = inside((least + most) / 2.0);
        match self.sample.is_whole() || self.sample.owners.len() >= UNITS {
            true => Interval {
                low: inside(least - far(below)).min(middle),
                middle,
                high: inside(most + far(above)).max(middle),
            },
            false => Interval {
                low: inside(certain),
                middle,
                high: inside(possible),
            },
        }
    }

    /// What was found already, and what is left when the rest repeats nothing but what was read.
    fn limits(&self, figure: fn(&Totals) -> f64) -> (f64, f64) {
        let weight = self.reach(&self.all).weight;
        let contents = self.all.distinct * weight;
        match self.sample.is_whole() {
            true => (0.0, self.sample.whole()),
            false => (figure(&self.all) * weight, self.sample.whole() - contents),
        }
    }

    /// Between which numbers of pages a figure lies in the whole, by what was read.
    fn bounds(&self, totals: &Totals, figure: fn(&Totals) -> f64) -> (f64, f64) {
        let reach = self.reach(totals);
        let read = figure(totals) * reach.weight;
        if reach.part >= 1.0 || totals.pages <= 0.0 {
            return (read, read);
        }
        let unread = (1.0 - reach.part) / reach.part;
        let of = |contents: f64| contents * reach.weight;
        // As if the rest repeated no content of what was read; what it does repeat is saved too.
        let alone = read / reach.part + of(totals.distinct) * unread;
        let most_new = of(totals.once) * unread;
        (alone - most_new, alone - self.least_new(totals, reach))
    }

    /// The lower bound of Chao and Lin for the contents that the rest adds.
    fn least_new(&self, totals: &Totals, reach: Reach) -> f64 {
        let (once, twice) = (totals.once, totals.twice);
        let again = 2.0 * twice * reach.units / (reach.units - 1.0).max(1.0);
        let weighed = again + once * reach.part / (1.0 - reach.part);
        match weighed > 0.0 {
            true => once * once / weighed * reach.weight,
            false => 0.0,
        }
    }

    /// The variances of both bounds that come from having read these units and not others.
    fn variance_of_units(&self, figure: fn(&Totals) -> f64) -> (f64, f64) {
        if self.sample.is_whole() {
            return (0.0, 0.0);
        }
        let without = |(with, without): &(Totals, Totals)| {
            let totals = self.all.with(with, -1.0).with(without, 1.0);
            self.bounds(&totals, figure)
        };
        let bounds = self.touched.each_ref().map(without);
        let parts = f64::from(PARTS);
        let unread = 1.0 - self.sample.pages_read as f64 / self.sample.whole();
        let variance = |of: fn(&(f64, f64)) -> f64| {
            let mean = bounds.iter().map(of).sum::<f64>() / parts;
            let squares = bounds.iter().map(|bound| square(of(bound) - mean));
            squares.sum::<f64>() * (parts - 1.0) / parts * unread
        };
        (variance(|bound| bound.0), variance(|bound| bound.1))
    }
}

impl Sample<'_> {
    /// Candidate pages there are.
    fn whole(&self) -> f64 {
        self.pages_all.max(self.pages_read) as f64
    }

    /// Whether all of them were read.
    fn is_whole(&self) -> bool {
        self.pages_read >= self.pages_all
    }
}

fn square(number: f64) -> f64 {
    number * number
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        max_page_sharing: 256,
        use_zero_pages: false,
    };

    /// `copies` pages of one content, each in its own frame, over units of four pages.
    fn copies(content: u64, copies: u64) -> Vec<Candidate> {
        let page = |at: u64| Candidate {
            content,
            frame: content * 100_000 + at,
            unit: (at / 4) as u32,
            page: (at % 4) as u16,
            changed: false,
        };
        (0..copies).map(page).collect()
    }

    fn whole(candidates: &[Candidate], rules: Rules) -> Estimate {
        let owners: Vec<u32> = (0..1000).map(|unit| unit / 2).collect();
        let sample = Sample {
            candidates,
            owners: &owners,
            common: &[],
            one_in: 1,
            pages_read: candidates.len() as u64,
            pages_all: candidates.len() as u64,
        };
        estimate(&sample, rules).expect("pages")
    }

    #[test]
    fn one_page_is_kept_for_every_256_mappings() {
        for (mappings, sharing, shared) in [(1, 0, 0), (2, 1, 1), (256, 255, 1), (257, 255, 1)] {
            let estimate = whole(&copies(7, mappings), RULES);
            assert_eq!(estimate.sharing.middle, f64::from(sharing), "{mappings}");
            assert_eq!(estimate.shared, f64::from(shared), "{mappings}");
        }
        assert_eq!(whole(&copies(7, 600), RULES).sharing.middle, 597.0);
    }

    #[test]
    fn everything_that_was_read_is_known_exactly() {
        let pages = [copies(1, 1), copies(2, 5), copies(3, 9)].concat();
        let Interval { low, middle, high } = whole(&pages, RULES).freed;
        assert_eq!((low, middle, high), (12.0, 12.0, 12.0));
    }

    #[test]
    fn pages_of_zeros_go_altogether_where_the_kernel_has_one_for_them() {
        let zeros = copies(ZERO_PAGE, 300);
        assert_eq!(whole(&zeros, RULES).zeros, 298.0);
        let rules = Rules {
            use_zero_pages: true,
            ..RULES
        };
        let estimate = whole(&zeros, rules);
        assert_eq!((estimate.freed.middle, estimate.shared), (300.0, 0.0));
    }

    #[test]
    fn what_a_fork_left_shared_saves_nothing_until_it_has_a_twin() {
        let mut pages = copies(5, 8);
        pages.iter_mut().for_each(|page| page.frame = 1);
        assert_eq!(whole(&pages, RULES).sharing.middle, 0.0);
        pages[7].frame = 2;
        let estimate = whole(&pages, RULES);
        assert_eq!((estimate.sharing.middle, estimate.freed.middle), (7.0, 1.0));
    }

    #[test]
    fn a_page_that_changed_merges_with_nobody() {
        let mut pages = copies(5, 3);
        pages[0].changed = true;
        let estimate = whole(&pages, RULES);
        assert_eq!((estimate.freed.middle, estimate.volatile), (1.0, 1.0));
        assert_eq!(estimate.by_unit[0], 1.0);
    }

    #[test]
    fn twins_in_one_process_and_between_processes_are_told_apart() {
        // Units of four pages, two units a process: 20 pages are in three processes.
        let estimate = whole(&copies(5, 20), RULES);
        assert_eq!((estimate.within, estimate.across), (17.0, 2.0));
    }

    #[test]
    fn after_a_few_units_only_what_is_certain_counts() {
        let candidates = [copies(5, 20), copies(7, 1)].concat();
        let sample = Sample {
            candidates: &candidates,
            owners: &[0; 5],
            common: &[],
            one_in: 1,
            pages_read: 21,
            pages_all: 1000,
        };
        let Interval { low, high, .. } = estimate(&sample, RULES).expect("pages").freed;
        assert_eq!((low, high), (19.0, 998.0));
    }

    #[test]
    fn nothing_read_is_no_estimate() {
        let sample = Sample {
            candidates: &[],
            owners: &[],
            common: &[],
            one_in: 1,
            pages_read: 0,
            pages_all: 10,
        };
        assert_eq!(estimate(&sample, RULES), None);
    }
}
