//! How often pages are used, from how many of them are seen within growing times.
//!
//! A page that is used at random moments, r times a second, is seen within t seconds with a chance
//! of 1 - exp(-r t). So of n classes of pages F(t) = sum n (1 - exp(-r t)) are seen, as footprint
//! theory has it (Xiang and others, "HOTL", ASPLOS 2013). The classes are those that come nearest
//! to what was seen, with no class below zero: least squares, on rates that do not depend on what
//! was seen.

use mm::units::{Nanos, Pages};
use scenario::workload::Class;

/// The fastest rate, in uses within the shortest time, and the slowest, within the longest: of the
/// one 98 % are seen in that time, of the other 63 %. What is slower counts as never used.
const FASTEST: f64 = 4.0;
const SLOWEST: f64 = 1.0;

/// Differences below this many pages (1 MiB) are noise, whatever they are a part of.
const NOISE: f64 = 256.0;

/// How often each class is put right after the others, at most.
const ROUNDS: usize = 2000;

/// What was seen of the pages of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Within how long.
    pub time: Nanos,
    /// How many were used.
    pub pages: Pages,
}

/// Classes of pages by how often each is used, the most used first; what `all` has beyond them is
/// not used. None where nothing was seen.
#[must_use]
pub fn classes(seen: &[Seen], all: Pages) -> Vec<Class> {
    let rates = rates(seen);
    let fitted = fitted(&rates, seen, all.0 as f64);
    let class = |(rate, pages): (&f64, f64)| Class {
        rate_micro: (rate * 1e6).round() as u64,
        pages: pages.round() as u64,
    };
    let classes = rates.iter().zip(fitted).map(class);
    classes.filter(|class| class.pages > 0).collect()
}

/// Powers of two, from the fastest.
fn rates(seen: &[Seen]) -> Vec<f64> {
    let times = seen.iter().map(|it| it.time).filter(|it| it.0 > 0);
    let (Some(shortest), Some(longest)) = (times.clone().min(), times.max()) else {
        return Vec::new();
    };
    let power = |rate: f64| rate.log2().round() as i32;
    let (fastest, slowest) = (FASTEST / shortest.seconds(), SLOWEST / longest.seconds());
    let powers = power(slowest)..=power(fastest);
    powers.rev().map(|power| f64::from(power).exp2()).collect()
}

/// How many pages of each rate: each is put right after the other, until none changes.
fn fitted(rates: &[f64], seen: &[Seen], all: f64) -> Vec<f64> {
    let weight = |it: &Seen| 1.0 / (it.pages.0 as f64).max(NOISE);
    // By rate, for each time the share that is seen, weighted.
    let share = |rate: &f64, it: &Seen| weight(it) * (1.0 - (-rate * it.time.seconds()).exp());
    let column = |rate| seen.iter().map(|it| share(rate, it)).collect();
    let columns: Vec<Vec<f64>> = rates.iter().map(column).collect();
    let mut left: Vec<f64> = seen
        .iter()
        .map(|it| weight(it) * it.pages.0 as f64)
        .collect();
    let mut pages = vec![0.0; rates.len()];
    for _ in 0..ROUNDS {
        let mut moved = 0.0_f64;
        for (at, column) in columns.iter().enumerate() {
            let norm: f64 = column.iter().map(|it| it * it).sum();
            let wanted: f64 = column.iter().zip(&left).map(|(a, b)| a * b).sum();
            let others = pages.iter().sum::<f64>() - pages[at];
            let new = (pages[at] + wanted / norm).clamp(0.0, (all - others).max(0.0));
            let change = new - std::mem::replace(&mut pages[at], new);
            left.iter_mut()
                .zip(column)
                .for_each(|(left, it)| *left -= it * change);
            moved = moved.max(change.abs());
        }
        if moved < 0.01 {
            break;
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen of classes by their rates and pages.
    fn of(classes: &[(f64, f64)], times: &[f64]) -> Vec<Seen> {
        let pages = |time: f64| {
            let each = classes
                .iter()
                .map(|(rate, n)| n * (1.0 - (-rate * time).exp()));
            Pages(each.sum::<f64>().round() as u64)
        };
        let seen = times.iter().map(|&time| Seen {
            time: Nanos((time * 1e9) as u64),
            pages: pages(time),
        });
        seen.collect()
    }

    fn found(classes: &[Class]) -> Vec<(f64, f64)> {
        let pair = |it: &Class| (it.rate_micro as f64 / 1e6, it.pages as f64);
        classes.iter().map(pair).collect()
    }

    const TIMES: [f64; 5] = [0.25, 1.0, 4.0, 16.0, 64.0];

    #[test]
    fn what_was_seen_is_seen_again() {
        // Rates between those of the grid, and one above it.
        let truth = [
            (90.0, 900.0),
            (1.3, 5000.0),
            (0.1, 12_000.0),
            (0.02, 40_000.0),
        ];
        let seen = of(&truth, &TIMES);
        let classes = classes(&seen, Pages(100_000));
        // At other times too, as between the shortest and the longest there is no gap.
        let times = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        for (wanted, got) in of(&truth, &times).iter().zip(of(&found(&classes), &times)) {
            let apart = got.pages.0 as f64 / wanted.pages.0 as f64 - 1.0;
            assert!(apart.abs() < 0.03, "{wanted:?}, {got:?}");
        }
    }

    #[test]
    fn what_is_always_seen_is_of_the_fastest() {
        let seen = TIMES.map(|time| Seen {
            time: Nanos((time * 1e9) as u64),
            pages: Pages(5000),
        });
        let classes = classes(&seen, Pages(5000));
        assert_eq!(classes.first().map(|it| it.rate_micro), Some(16_000_000));
        let pages: u64 = classes.iter().map(|it| it.pages).sum();
        assert!((4900..=5000).contains(&pages), "{classes:?}");
    }

    #[test]
    fn nothing_seen_has_no_classes() {
        assert_eq!(classes(&[], Pages(10)), []);
        let none = Seen {
            time: Nanos::SECOND,
            pages: Pages(0),
        };
        assert_eq!(classes(&[none], Pages(10)), []);
        let never = Seen {
            time: Nanos::ZERO,
            ..none
        };
        assert_eq!(classes(&[never], Pages(10)), []);
        assert_eq!(classes(&of(&[(1.0, 500.0)], &TIMES), Pages(0)), []);
    }
}
