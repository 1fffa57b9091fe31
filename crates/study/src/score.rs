//! How far the model is off, by rules that are the same for every study.
//!
//! A figure is one measure on one arm: the numbers of the kernel's starts against those of the
//! model's runs with the same seeds. It holds where the model's median is as near to the kernel's
//! as the rule of its kind asks, or where it lies within what the kernel itself did: inside the
//! [min, max] of its starts. The rule follows from what the measure takes ([`Kind`]):
//!
//! - watermarks, a zone's pages and tunables: medians equal to the last digit;
//! - sizes: medians within 1 %, times and rates: within 5 %;
//! - counters: medians within a factor of 1.5, where numbers below a floor count as the floor;
//! - curves: the root of the mean square of the difference over time, between the means over the
//!   seeds, within 10 % of the kernel's highest (5 % of counters of merged pages), or within what
//!   the kernel's own seeds lie apart;
//! - times until an amount is reached: within 15 %, ksmd's CPU time: within 20 %, shares of
//!   counters: within 3 points;
//! - survivors and kills: the same modes with similar shares over the seeds, by Fisher's exact test
//!   at 5 %; with so few seeds that no difference could be told, equal medians. Counts above
//!   [`MOST_FATES`] in every run of the kernel are a counter.
//!
//! Where the kernel's seeds fall into two groups far apart ([`modes`]), times, sizes and counters
//! are held to the modes as well: similar shares, and the rule of the kind within each mode. So are
//! numbers that only some of the runs have.

use crate::measure::Kind;
use crate::stats;

mod curve;
pub mod modes;
pub mod order;
mod shares;
pub mod total;

pub use curve::score as score_curves;

use modes::Modes;
use shares::Shares;

/// The largest relative gap of a size's medians.
pub const SIZE: f64 = 0.01;
/// The largest relative gap of a time's medians.
pub const TIME: f64 = 0.05;
/// The largest distance of two curves, as a share of the kernel's highest.
pub const CURVE: f64 = 0.10;
/// The same of a counter of merged pages.
pub const MERGING: f64 = 0.05;
/// The largest relative gap of the times until an amount is reached.
pub const REACH: f64 = 0.15;
/// The largest relative gap of ksmd's CPU times.
pub const SCAN: f64 = 0.20;
/// The largest gap of shares, in percent of their whole.
pub const SHARE: f64 = 3.0;
/// The largest ratio of a counter's medians.
pub const FACTOR: f64 = 1.5;
/// Shares over the seeds differ when chance explains them with less than this.
pub const P: f64 = 0.05;
/// More survivors or kills than this are no modes but a counter.
pub const MOST_FATES: f64 = 8.0;

/// The runs of one arm on one side, for one measure.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The numbers, in ascending order.
    pub values: &'a [f64],
    /// How many runs have no number.
    pub without: usize,
}

/// How far a figure is off, by its rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The distance in its own terms.
    pub gap: Gap,
    /// The distance over what is allowed: at most 1 holds.
    pub excess: f64,
}

/// How far apart model and kernel are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// The model's median over the kernel's, minus one: 0.01 is 1 % too much.
    Relative(f64),
    /// How far the model's median lies outside the kernel's range, in units of its width; negative
    /// below it, 0 inside.
    Outside(f64),
    /// The model's share minus the kernel's, in points.
    Points(f64),
    /// The larger of the medians over the smaller one; negative where the model's is smaller.
    Factor(f64),
    /// The model's median minus the kernel's, where they should be equal.
    Difference(f64),
    /// How far the curves lie apart over time, as a share of the kernel's highest.
    Apart(f64),
    /// The modes' shares over the seeds are told apart with this p-value.
    Shares(f64),
    /// With too few seeds for a test, most runs of the one are in another mode than of the other.
    OtherMode,
    /// One of the two has no number at all, the other has one.
    OneSided,
}

/// The score of a figure; `None` where neither side has a number. Numbers of either side up to
/// `floor` are as good as zero.
#[must_use]
pub fn score(kind: Kind, floor: f64, model: Runs<'_>, kernel: Runs<'_>) -> Option<Score> {
    let present = match (model.values, kernel.values) {
        ([], []) => return None,
        ([], _) if kernel.without == 0 => return Some(Score::ONE_SIDED),
        (_, []) if model.without == 0 => return Some(Score::ONE_SIDED),
        _ => Shares::of_presence(model, kernel).score(),
    };
    let numbers = (!model.values.is_empty() && !kernel.values.is_empty())
        .then(|| score_numbers(kind, floor, model.values, kernel.values));
    let complete = model.without == 0 && kernel.without == 0;
    match numbers {
        Some(numbers) if complete => Some(numbers),
        Some(numbers) => Some(numbers.or_worse(present)),
        None => Some(present),
    }
}

fn score_numbers(kind: Kind, floor: f64, model: &[f64], kernel: &[f64]) -> Score {
    let apart = match kind {
        Kind::Line => return equal(middle(model), middle(kernel)),
        Kind::Fate if kernel[0] <= MOST_FATES => return fates(model, kernel),
        // Two modes lie further apart than two counts that are as good as equal.
        Kind::Pages | Kind::Events | Kind::Fate => FACTOR * FACTOR,
        _ => FACTOR,
    };
    let Some(modes) = Modes::of(kernel, apart, floor) else {
        return one_mode(kind, floor, model, kernel);
    };
    let ([model_low, model_high], [low, high]) = (modes.split(model), modes.split(kernel));
    let mut worst = Shares::of_modes([model_low, model_high], [low, high]).score();
    for (model, kernel) in [(model_low, low), (model_high, high)] {
        // A mode of one run has no spread to hold anything against.
        if !model.is_empty() && kernel.len() > 1 {
            worst = worst.or_worse(one_mode(kind, floor, model, kernel));
        }
    }
    worst
}

/// By the medians, as if all runs did alike.
fn one_mode(kind: Kind, floor: f64, model: &[f64], kernel: &[f64]) -> Score {
    match kind {
        Kind::Size | Kind::Curve | Kind::Merging => near(SIZE, floor, model, kernel),
        Kind::Time => near(TIME, floor, model, kernel),
        Kind::Reach => near(REACH, floor, model, kernel),
        Kind::Scan => near(SCAN, floor, model, kernel),
        Kind::Share => shares_near(model, kernel),
        Kind::Pages | Kind::Events | Kind::Fate | Kind::Line => factor_near(floor, model, kernel),
    }
}

fn fates(model: &[f64], kernel: &[f64]) -> Score {
    match Shares::can_tell(model.len(), kernel.len()) {
        true => Shares::of_values(model, kernel).score(),
        false => equal(middle(model), middle(kernel)),
    }
}

fn equal(model: f64, kernel: f64) -> Score {
    let difference = model - kernel;
    let excess = match difference == 0.0 {
        true => 0.0,
        // The least difference is a miss; what is 1 % off is as bad as a size twice its tolerance.
        false => 1.0 + f64::EPSILON + (difference / SIZE).abs() / kernel.abs().max(SIZE),
    };
    Score {
        gap: Gap::Difference(difference),
        excess,
    }
}

fn near(tolerance: f64, floor: f64, model: &[f64], kernel: &[f64]) -> Score {
    let (median, [min, max]) = (middle(kernel), ends(kernel));
    let model = middle(model);
    if model.abs() <= floor && median.abs() <= floor {
        return Score::relative(0.0, tolerance);
    }
    let gap = match model == median {
        true => 0.0,
        false => (model - median) / median.abs(),
    };
    match spread(kernel) < tolerance || gap.abs() <= tolerance {
        true => Score::relative(gap, tolerance),
        false => Score::outside(model, min, max),
    }
}

fn shares_near(model: &[f64], kernel: &[f64]) -> Score {
    let (model, [min, max]) = (middle(model), ends(kernel));
    let points = model - middle(kernel);
    match max - min < SHARE || points.abs() <= SHARE {
        true => Score {
            gap: Gap::Points(points),
            excess: points.abs() / SHARE,
        },
        false => Score::outside(model, min, max),
    }
}

/// By the ratio of the medians; one that misses may still be what one of the kernel's starts did.
fn factor_near(floor: f64, model: &[f64], kernel: &[f64]) -> Score {
    let (model, [min, max]) = (middle(model), ends(kernel));
    let by_ratio = factor(floor, model, middle(kernel));
    match !by_ratio.holds() && (min..=max).contains(&model) {
        true => Score::outside(model, min, max),
        false => by_ratio,
    }
}

fn factor(floor: f64, model: f64, kernel: f64) -> Score {
    let (model, kernel) = (model.max(floor), kernel.max(floor));
    if model == kernel {
        let gap = Gap::Factor(1.0);
        return Score { gap, excess: 0.0 };
    }
    let ratio = model / kernel;
    let gap = match ratio < 1.0 {
        true => Gap::Factor(-1.0 / ratio),
        false => Gap::Factor(ratio),
    };
    let excess = ratio.ln().abs() / FACTOR.ln();
    // A ratio of exactly 1.5 holds, whatever the logarithms' last digit says.
    let exact = (excess - 1.0).abs() < 1e-9;
    let excess = if exact { 1.0 } else { excess };
    Score { gap, excess }
}

/// The width of the range over the median; 0 of equal numbers, infinite around zero.
#[must_use]
pub fn spread(values: &[f64]) -> f64 {
    let [min, max] = ends(values);
    match max == min {
        true => 0.0,
        false => (max - min) / middle(values).abs(),
    }
}

fn middle(sorted: &[f64]) -> f64 {
    stats::quantile(sorted, 0.5).unwrap_or(f64::NAN)
}

fn ends(sorted: &[f64]) -> [f64; 2] {
    let end = |q| stats::quantile(sorted, q).unwrap_or(f64::NAN);
    [end(0.0), end(1.0)]
}

impl Score {
    const ONE_SIDED: Self = Self {
        gap: Gap::OneSided,
        excess: f64::INFINITY,
    };

    fn relative(gap: f64, tolerance: f64) -> Self {
        Self {
            gap: Gap::Relative(gap),
            excess: gap.abs() / tolerance,
        }
    }

    fn outside(model: f64, min: f64, max: f64) -> Self {
        let width = max - min;
        let outside = match model {
            _ if model < min => (model - min) / width,
            _ if model > max => (model - max) / width,
            _ => 0.0,
        };
        let middle = f64::midpoint(min, max);
        let excess = match outside == 0.0 {
            true => ((model - middle) / (width / 2.0)).abs().min(1.0),
            false => 1.0 + 2.0 * outside.abs(),
        };
        Self {
            gap: Gap::Outside(outside),
            excess,
        }
    }

    /// What misses by more; where nothing does, this.
    fn or_worse(self, other: Self) -> Self {
        match other.excess > self.excess && !other.holds() {
            true => other,
            false => self,
        }
    }

    /// Whether it is within what is allowed.
    #[must_use]
    pub fn holds(self) -> bool {
        self.excess <= 1.0
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self.holds() {
            true => "holds",
            false => "misses",
        }
    }
}

impl Gap {
    /// The relative gap, where it is one.
    #[must_use]
    pub fn relative(self) -> Option<f64> {
        match self {
            Self::Relative(gap) => Some(gap),
            _ => None,
        }
    }

    /// As people read it: "+0.42 %", "above by 0.40 of the spread", "1 too many".
    #[must_use]
    pub fn show(self) -> String {
        match self {
            Self::Relative(0.0) | Self::Difference(0.0) | Self::Apart(0.0) | Self::Points(0.0) => {
                "equal".to_owned()
            }
            Self::Points(by) => format!("{by:+.1} points"),
            Self::Apart(by) => format!("{:.1} % apart over time", by * 100.0),
            Self::Relative(gap) if gap.is_infinite() => "not zero".to_owned(),
            Self::Relative(gap) => format!("{:+.2} %", gap * 100.0),
            Self::Outside(0.0) => "inside the range".to_owned(),
            Self::Outside(by) if by > 0.0 => format!("above by {by:.2} of the spread"),
            Self::Outside(by) => format!("below by {:.2} of the spread", -by),
            Self::Factor(by) if by.abs() == 1.0 => "equal".to_owned(),
            Self::Factor(by) if by == f64::INFINITY => "not zero".to_owned(),
            Self::Factor(by) if by == f64::NEG_INFINITY => "none at all".to_owned(),
            Self::Factor(by) if by > 0.0 => format!("{by:.2} times too many"),
            Self::Factor(by) => format!("{:.2} times too few", -by),
            Self::Difference(by) if by > 0.0 => format!("{by} too many"),
            Self::Difference(by) => format!("{} too few", -by),
            Self::Shares(p) if p > P => format!("similar shares, p {p:.2}"),
            Self::Shares(p) => format!("other shares, p {p:.3}"),
            Self::OtherMode => "another mode".to_owned(),
            Self::OneSided => "only one of them".to_owned(),
        }
    }
}

/// The rules in a sentence, for below a score.
#[must_use]
pub fn rules() -> String {
    format!(
        "watermarks equal; sizes within {:.0} %, times within {:.0} %, times to reach within {:.0} \
         %, ksmd's time within {:.0} %, shares within {SHARE} points, counters within a factor of \
         {FACTOR}, each of the kernel's median, or inside the range of its starts; curves within \
         {:.0} % over time ({:.0} % of merged pages), or as far apart as the kernel's own; \
         survivors by Fisher's exact test at {:.0} %",
        SIZE * 100.0,
        TIME * 100.0,
        REACH * 100.0,
        SCAN * 100.0,
        CURVE * 100.0,
        MERGING * 100.0,
        P * 100.0
    )
}

#[cfg(test)]
mod tests;
