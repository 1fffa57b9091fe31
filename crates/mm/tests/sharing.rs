//! The estimate of what merging saves, on populations of pages whose sharing is known.

use plimsoll_mm::formula::sharing::{Candidate, Estimate, Rules, Sample, ZERO_PAGE, estimate};
use plimsoll_mm::prng::Prng;
use proptest::prelude::*;

const RULES: Rules = Rules {
    max_page_sharing: 256,
    use_zero_pages: false,
};

/// Pages of a unit, units of a process.
const UNIT: usize = 32;
const UNITS: usize = 8;

/// How often a population is sampled.
const TRIES: u64 = 100;

/// The contents of all pages, page by page; the index is the frame.
struct Population(Vec<u64>);

impl Population {
    /// `(contents, copies)`: this many contents of this many pages each, scattered over the memory.
    fn scattered(groups: &[(u64, u64)], zeros: u64) -> Self {
        let mut pages = vec![ZERO_PAGE; zeros as usize];
        let mut prng = Prng::new(99);
        for &(contents, copies) in groups {
            for _ in 0..contents {
                let content = prng.next_u64();
                (0..copies).for_each(|_| pages.push(content));
            }
        }
        prng.shuffle(&mut pages);
        Self(pages)
    }

    /// Processes of the same image in the same order, and with pages of their own.
    fn clones(processes: u64, image: u64, own: u64) -> Self {
        let mut prng = Prng::new(98);
        let image: Vec<u64> = (0..image).map(|_| prng.next_u64()).collect();
        let mut pages = Vec::new();
        for _ in 0..processes {
            pages.extend(&image);
            pages.extend((0..own).map(|_| prng.next_u64()));
        }
        Self(pages)
    }

    /// Keeps one content in `one_in` of a random part of the units; contents with at least
    /// `common` copies are kept by frame.
    fn sampled(&self, seed: u64, one_in: u64, part: f64, common: usize) -> Estimate {
        let mut prng = Prng::new(seed);
        let salt = prng.next_u64();
        let keeps = |key: u64| Prng::new(key ^ salt).next_u64() <= u64::MAX / one_in;
        let mut units: Vec<&[u64]> = self.0.chunks(UNIT).collect();
        let mut order: Vec<usize> = (0..units.len()).collect();
        prng.shuffle(&mut order);
        order.truncate((units.len() as f64 * part) as usize);
        units = order.iter().map(|&unit| units[unit]).collect();
        let owners: Vec<u32> = order.iter().map(|&unit| (unit / UNITS) as u32).collect();
        let common = self.common(common);
        let mut candidates = Vec::new();
        for (at, unit) in units.iter().enumerate() {
            for (page, &content) in unit.iter().enumerate() {
                let frame = (order[at] * UNIT + page) as u64;
                let by_frame = common.binary_search(&content).is_ok();
                if keeps(if by_frame { frame } else { content }) {
                    let (unit, page) = (at as u32, page as u16);
                    candidates.push(Candidate {
                        content,
                        frame,
                        unit,
                        page,
                        changed: false,
                    });
                }
            }
        }
        candidates.sort_unstable();
        let sample = Sample {
            candidates: &candidates,
            owners: &owners,
            common: &common,
            one_in,
            pages_read: units.iter().map(|unit| unit.len() as u64).sum(),
            pages_all: self.0.len() as u64,
        };
        estimate(&sample, RULES).expect("pages were kept")
    }

    fn common(&self, least: usize) -> Vec<u64> {
        let mut pages = self.0.clone();
        pages.sort_unstable();
        let runs = pages.chunk_by(|a, b| a == b);
        runs.filter(|run| run.len() >= least)
            .map(|run| run[0])
            .collect()
    }

    /// What ksmd frees: all pages but one of a content, and one more for every 256 copies.
    fn truth(&self) -> f64 {
        let mut pages = self.0.clone();
        pages.sort_unstable();
        let runs = pages.chunk_by(|a, b| a == b);
        runs.map(|run| run.len() - run.len().div_ceil(256))
            .sum::<usize>() as f64
    }

    /// Samples again and again.
    fn tried(&self, one_in: u64, part: f64) -> Tried {
        let (truth, all) = (self.truth(), self.0.len() as f64);
        let (mut distances, mut held) = (Vec::new(), 0);
        for seed in 0..TRIES {
            let sampled = self.sampled(seed, one_in, part, self.0.len() / 1000);
            let freed = sampled.freed;
            distances.push((freed.middle - truth) / all);
            held += u32::from(freed.low <= truth && truth <= freed.high);
        }
        let tries = TRIES as f64;
        let bias = distances.iter().sum::<f64>() / tries;
        let squares = distances.iter().map(|distance| (distance - bias).powi(2));
        Tried {
            bias,
            error: (squares.sum::<f64>() / (tries * (tries - 1.0))).sqrt(),
            held: f64::from(held) / tries,
        }
    }
}

/// What many samples of one population gave.
struct Tried {
    /// The mean distance of the best guess from the truth, in shares of all pages, and its
    /// standard error.
    bias: f64,
    error: f64,
    /// The share of intervals that hold the truth.
    held: f64,
}

/// Populations of some 20 thousand pages, each hard in a way of its own.
fn populations() -> [(&'static str, Population); 6] {
    [
        ("unique", Population::scattered(&[(20_000, 1)], 0)),
        ("pairs", Population::scattered(&[(5_000, 1), (7_500, 2)], 0)),
        (
            "few of many",
            Population::scattered(&[(9_000, 1), (100, 20), (20, 400)], 1_000),
        ),
        (
            "all kinds",
            Population::scattered(&[(6_000, 1), (3_000, 2), (500, 5), (90, 30)], 3_000),
        ),
        ("clones", Population::clones(10, 1_000, 1_000)),
        ("two clones", Population::clones(2, 6_000, 4_000)),
    ]
}

#[test]
fn a_sample_by_content_is_without_bias_and_its_interval_keeps_its_word() {
    for (name, population) in populations() {
        for one_in in [4, 16] {
            let Tried { bias, error, held } = population.tried(one_in, 1.0);
            // That of a ratio of two samples is not quite zero.
            let close = bias.abs() < 3.0 * error + 0.001;
            assert!(
                close,
                "{name}, one in {one_in}: off by {bias:.4}, error {error:.4}"
            );
            assert!(
                held >= 0.91,
                "{name}, one in {one_in}: {held} hold the truth"
            );
        }
    }
}

#[test]
fn where_a_part_was_read_the_interval_holds_the_truth() {
    for (name, population) in populations() {
        for (one_in, part) in [(1, 0.5), (1, 0.2), (4, 0.5)] {
            let held = population.tried(one_in, part).held;
            assert!(
                held >= 0.91,
                "{name}, {part} of it, one in {one_in}: {held}"
            );
        }
    }
}

#[test]
fn a_plain_sample_of_pages_would_miss_most_twins() {
    // What the sample by content is for: of 7500 pairs one page in four sees a sixteenth.
    let pairs = Population::scattered(&[(5_000, 1), (7_500, 2)], 0);
    let mut prng = Prng::new(1);
    let mut plain: Vec<u64> = pairs
        .0
        .iter()
        .copied()
        .filter(|_| prng.below(4) == 0)
        .collect();
    plain.sort_unstable();
    let twins = plain.windows(2).filter(|two| two[0] == two[1]).count() * 4;
    assert!((twins as f64) < pairs.truth() * 0.35, "{twins}");
    let by_content = pairs.sampled(1, 4, 1.0, usize::MAX).freed.middle;
    assert!(
        (by_content / pairs.truth() - 1.0).abs() < 0.1,
        "{by_content}"
    );
}

proptest! {
    #[test]
    fn any_sample_gives_figures_in_order(
        pages in prop::collection::vec((0..20_u64, 0..30_u64, 0..60_u32, any::<bool>()), 0..300),
        one_in in 1..64_u64,
        more in 0..10_000_u64,
        max_page_sharing in 0..10_u64,
        use_zero_pages in any::<bool>(),
    ) {
        let candidate = |&(content, frame, unit, changed)| Candidate {
            content, frame, unit, page: 0, changed,
        };
        let mut candidates: Vec<Candidate> = pages.iter().map(candidate).collect();
        candidates.sort_unstable();
        let pages_read = candidates.len() as u64 * one_in;
        let sample = Sample {
            candidates: &candidates,
            owners: &(0..60).map(|unit| unit / 7).collect::<Vec<u32>>(),
            common: &[ZERO_PAGE, 3],
            one_in,
            pages_read,
            pages_all: pages_read + more,
        };
        let rules = Rules { max_page_sharing, use_zero_pages };
        let Some(estimate) = estimate(&sample, rules) else {
            prop_assert!(candidates.is_empty());
            return Ok(());
        };
        for interval in [estimate.freed, estimate.sharing] {
            prop_assert!(0.0 <= interval.low && interval.low <= interval.middle);
            prop_assert!(interval.middle <= interval.high);
            prop_assert!(interval.high <= sample.pages_all as f64);
        }
        let parts = estimate.zeros + estimate.within + estimate.across;
        let units: f64 = estimate.by_unit.iter().sum();
        prop_assert!((parts - units).abs() < 1e-6 * (1.0 + parts), "{parts} {units}");
    }
}
