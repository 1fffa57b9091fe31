//! Watching what a change does: each figure against what it was before the write.
//!
//! A figure is a rate over five seconds. Its limit is twice the 95th percentile of the seconds
//! before the write, and at least a floor under which nobody notices it. One that is beyond its
//! limit is out of the band; so is any kill.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use mm::capture::Frame;
use mm::psi::Psi;
use mm::units::Nanos;
use mm::vmstat::Vmstat;

/// Seconds over which a rate is taken.
pub const OVER: usize = 5;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The share of time in which a task waited for memory (PSI, some).
    SomeStalled,
    /// The share of time in which all tasks did (PSI, full).
    FullStalled,
    /// Direct reclaims in a second (`allocstall_*`).
    Allocstall,
    /// Refaults in a second (`workingset_refault_*`).
    Refault,
    /// Pages swapped in in a second (`pswpin`).
    SwapIn,
    /// Kills for lack of memory (`oom_kill`).
    OomKill,
}

/// Every figure, in the order of [`Sample::counts`] and [`Band`].
pub const FIGURES: [Figure; 6] = [
    Figure::SomeStalled,
    Figure::FullStalled,
    Figure::Allocstall,
    Figure::Refault,
    Figure::SwapIn,
    Figure::OomKill,
];

/// The counters of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, since boot.
    pub at: Nanos,
    /// For each figure what has been counted since boot: microseconds of stall, or events. `None`
    /// where this kernel does not count it.
    pub counts: [Option<u64>; 6],
}

/// The limit of each figure, in thousandths of its rate: of a second of stall in a second, or of
/// events in a second. `None` where it cannot be watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band(pub [Option<u64>; 6]);

/// A figure beyond its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Which.
    pub figure: Figure,
    /// Its rate, in thousandths.
    pub rate: u64,
    /// Its limit, in thousandths.
    pub limit: u64,
    /// When, since boot.
    pub at: Nanos,
}

impl Figure {
    /// The rate, in thousandths, under which it is never out of the band: a tenth and a twentieth
    /// of the time, 50 direct reclaims, 4 MB of refaults, 4 MB of swap-ins in a second.
    const fn floor(self) -> u64 {
        match self {
            Self::SomeStalled => 100,
            Self::FullStalled => 50,
            Self::Allocstall => 50_000,
            Self::Refault | Self::SwapIn => 1_000_000,
            Self::OomKill => 0,
        }
    }

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SomeStalled => "time in which a task waits for memory",
            Self::FullStalled => "time in which all tasks wait for memory",
            Self::Allocstall => "direct reclaims",
            Self::Refault => "refaults",
            Self::SwapIn => "pages swapped in",
            Self::OomKill => "kills for lack of memory",
        }
    }

    fn said(self, rate: u64) -> String {
        match self {
            Self::SomeStalled | Self::FullStalled => format!("{}.{} %", rate / 10, rate % 10),
            _ => format!("{} /s", rate / 1000),
        }
    }
}

impl Sample {
    /// The counters in a frame that has `proc/vmstat` and `proc/pressure/memory`.
    #[must_use]
    pub fn of(frame: &Frame) -> Self {
        let text = |path: &str| frame.files.get(path).map(String::as_str);
        let psi = text("proc/pressure/memory").and_then(|text| Psi::parse("memory", text).ok());
        let vmstat = text("proc/vmstat").and_then(|text| Vmstat::parse(text).ok());
        let stall = |stall: Option<mm::psi::Stall>| stall.map(|it| it.total.0 / 1000);
        let sum = |prefix: &str| {
            let items = vmstat.as_ref()?.iter();
            let counts: Vec<u64> = items
                .filter(|(item, _)| item.starts_with(prefix))
                .map(|(_, count)| count)
                .collect();
            (!counts.is_empty()).then(|| counts.iter().sum())
        };
        let counts = [
            psi.and_then(|psi| stall(psi.some)),
            psi.and_then(|psi| stall(psi.full)),
            sum("allocstall"),
            sum("workingset_refault"),
            sum("pswpin"),
            sum("oom_kill"),
        ];
        let at = frame.at;
        Self { at, counts }
    }

    /// The rate of a figure since an earlier sample, in thousandths.
    fn rate(&self, earlier: &Self, figure: usize) -> Option<u64> {
        let counted = self.counts[figure]?.saturating_sub(earlier.counts[figure]?);
        let nanos = self.at.0.saturating_sub(earlier.at.0).max(1);
        // Microseconds of stall in a second: a thousandth of a second is a thousand of them.
        let unit = if figure < 2 {
            1_000_000
        } else {
            1_000_000_000_000
        };
        let rate = u128::from(counted) * unit / u128::from(nanos);
        Some(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

impl Band {
    /// The band of the samples before the write, one a second.
    #[must_use]
    pub fn of(before: &[Sample]) -> Self {
        let limit = |figure: usize| {
            let windows = before.windows(OVER + 1);
            let rates = windows.filter_map(|w| w.last()?.rate(w.first()?, figure));
            let mut rates: Vec<u64> = rates.collect();
            rates.sort_unstable();
            let high = rates.get((rates.len() * 95 / 100).min(rates.len().saturating_sub(1)))?;
            let floor = FIGURES[figure].floor();
            Some(high.saturating_mul(2).max(floor))
        };
        Self(core::array::from_fn(limit))
    }

    /// The limits of which each is the higher one of two bands.
    #[must_use]
    pub fn or_wider(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at].max(other.0[at])))
    }

    /// The first figure that is out of the band over the last seconds of `samples`, one a second.
    #[must_use]
    pub fn exceeded(&self, samples: &[Sample]) -> Option<Exceeded> {
        let last = samples.last()?;
        let first = samples.len().checked_sub(OVER + 1).map(|at| &samples[at]);
        FIGURES.into_iter().enumerate().find_map(|(at, figure)| {
            // A kill is one too many, however short the time.
            let earlier = match figure {
                Figure::OomKill => samples.first()?,
                _ => first?,
            };
            let (rate, limit) = (last.rate(earlier, at)?, self.0[at]?);
            let exceeded = Exceeded {
                figure,
                rate,
                limit,
                at: last.at,
            };
            (rate > limit).then_some(exceeded)
        })
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.figure.name();
        match self.figure {
            Figure::OomKill => write!(f, "{name}"),
            figure => write!(
                f,
                "{name}: {}, and the limit is {}",
                figure.said(self.rate),
                figure.said(self.limit)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned as _;

    /// A sample a second, with as many refaults in each.
    fn seconds(refaults: &[u64]) -> Vec<Sample> {
        let mut count = 1000;
        let samples = refaults.iter().enumerate().map(|(second, more)| {
            count += more;
            Sample {
                at: Nanos(second as u64 * Nanos::SECOND.0),
                counts: [None, None, Some(7), Some(count), Some(0), Some(3)],
            }
        });
        samples.collect()
    }

    #[test]
    fn a_limit_is_twice_the_95th_percentile_and_no_less_than_the_floor() {
        let quiet = Band::of(&seconds(&[10; 60]));
        assert_eq!(quiet.0[3], Some(1_000_000));
        assert_eq!(quiet.0[2], Some(50_000));
        let busy = Band::of(&seconds(&[4000; 60]));
        assert_eq!(busy.0[3], Some(8_000_000));
        assert_eq!(busy.0[0], None, "this kernel has no PSI");
    }

    #[test]
    fn a_figure_is_out_of_the_band_over_five_seconds_and_not_by_one() {
        let band = Band::of(&seconds(&[10; 60]));
        assert_eq!(band.exceeded(&seconds(&[0, 0, 0, 0, 0, 4000])), None);
        let exceeded = band.exceeded(&seconds(&[0, 4000, 4000, 4000, 4000, 4000]));
        let exceeded = exceeded.expect("20000 refaults in five seconds");
        assert_eq!(exceeded.figure, Figure::Refault);
        assert_eq!(exceeded.at, Nanos(5 * Nanos::SECOND.0));
        let said = alloc::string::ToString::to_string(&exceeded);
        assert_eq!(said, "refaults: 4000 /s, and the limit is 1000 /s");
    }

    #[test]
    fn one_kill_is_out_of_the_band_at_once() {
        let band = Band::of(&seconds(&[0; 60]));
        let mut samples = seconds(&[0, 0]);
        assert_eq!(band.exceeded(&samples), None);
        samples[1].counts[5] = Some(4);
        assert_eq!(
            band.exceeded(&samples).map(|it| it.figure),
            Some(Figure::OomKill)
        );
    }

    #[test]
    fn counters_are_taken_from_the_kernels_files() {
        let vmstat = "allocstall_dma 1\nallocstall_normal 2\nworkingset_refault_anon 3\n\
                      workingset_refault_file 4\npswpin 5\noom_kill 6\n";
        let psi = "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n\
                   full avg10=0.00 avg60=0.00 avg300=0.00 total=8\n";
        let files = [("proc/vmstat", vmstat), ("proc/pressure/memory", psi)];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let frame = Frame {
            at: Nanos(9),
            label: None,
            files: files.into(),
        };
        let counts = [12, 8, 3, 7, 5, 6].map(Some);
        assert_eq!(Sample::of(&frame).counts, counts);
    }
}
