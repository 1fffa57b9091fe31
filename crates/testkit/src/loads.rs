//! Loads whose full trace is known, and what an LRU cache of any size misses of it.

use std::collections::{BTreeMap, BTreeSet};

use mm::prng::Prng;

/// Reads of single pages of one file, in order.
#[derive(Clone, Debug)]
pub struct Load {
    /// What it is.
    pub name: &'static str,
    /// The pages, by their numbers in the file.
    pub pages: Vec<u32>,
}

/// Zipf's law with three exponents, a loop, and both in turn: `reads` each, of a file of `pages`.
#[must_use]
pub fn known(pages: u32, reads: usize) -> Vec<Load> {
    let zipf = |name, exponent| Load {
        name,
        pages: zipf(pages, exponent).take(reads).collect(),
    };
    let round = pages / 3;
    let in_turn = zipf("", 0.9).pages.into_iter().zip(0_u32..);
    vec![
        zipf("zipf-0.7", 0.7),
        zipf("zipf-0.9", 0.9),
        zipf("zipf-1.1", 1.1),
        Load {
            name: "loop",
            pages: (0..round).cycle().take(reads).collect(),
        },
        Load {
            name: "both",
            pages: in_turn
                .map(|(page, turn)| {
                    if turn % 2 == 0 {
                        page
                    } else {
                        turn / 2 % round
                    }
                })
                .collect(),
        },
    ]
}

/// Pages whose ranks are strewn over the file.
fn zipf(pages: u32, exponent: f64) -> impl Iterator<Item = u32> {
    let mut random = Prng::new(7);
    let mut places: Vec<u32> = (0..pages).collect();
    random.shuffle(&mut places);
    let weights = (1..=pages).map(|rank| f64::from(rank).powf(-exponent));
    let sums: Vec<f64> = weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let all = sums.last().copied().unwrap_or(1.0);
    std::iter::repeat_with(move || {
        let drawn = all * (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = sums.partition_point(|&sum| sum <= drawn);
        places[rank.min(places.len() - 1)]
    })
}

/// The part of the reads that an LRU cache of `size` pages misses, which begins empty: simulated
/// one by one.
#[must_use]
pub fn miss_ratio(pages: &[u32], size: usize) -> f64 {
    let (mut last, mut order) = (BTreeMap::new(), BTreeSet::new());
    let mut misses = 0_usize;
    for (now, &page) in pages.iter().enumerate() {
        match last.insert(page, now) {
            Some(before) => _ = order.remove(&before),
            None => misses += 1,
        }
        order.insert(now);
        if order.len() > size
            && let Some(oldest) = order.pop_first()
        {
            last.remove(&pages[oldest]);
        }
    }
    misses as f64 / pages.len().max(1) as f64
}
