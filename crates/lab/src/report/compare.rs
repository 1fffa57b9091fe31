//! The calibration error: what the model says against what a kernel did, measure by measure.
//!
//! The kernel's figure is the median of its runs; the model's is the median of its own, which are
//! equal unless the seeds differ. Sizes may differ by 1 %, times by 5 %, counts not at all.

use mm::outcome::Outcome;

use crate::measure::{Class, Measure, Published, Unit};
use crate::stats;

/// The outcome of one run of an arm.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The arm's name.
    pub arm: &'a str,
    /// What came out.
    pub outcome: &'a Outcome,
}

/// One measure on one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The measure's name.
    pub measure: String,
    /// The arm's name.
    pub arm: String,
    /// The unit of all figures in the row.
    pub unit: Unit,
    /// What others reported.
    pub published: Option<Published>,
    /// The model's figure.
    pub model: Figure,
    /// The kernel's figure.
    pub kernel: Figure,
}

/// The numbers of some runs for one measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// There was no run.
    NoRun,
    /// There were runs, but no number in them; why, for the first of them.
    Missing(String),
    /// The middle, the smallest and the largest of so many runs.
    Known {
        /// The median.
        median: f64,
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
        /// How many runs had the number.
        runs: usize,
    },
}

/// How far apart model and kernel are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// The model's figure over the kernel's, minus one: 0.01 is 1 % too much.
    Relative(f64),
    /// The model's count minus the kernel's.
    Counts(f64),
    /// One of the two has no number, the other has one.
    OneSided,
}

/// Whether a gap is within its class's tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// It is.
    Holds,
    /// It is not.
    Misses,
}

/// The largest relative gap that the model may have; `None` where figures must be equal.
#[must_use]
pub fn tolerance(class: Class) -> Option<f64> {
    match class {
        Class::Size => Some(0.01),
        Class::Time => Some(0.05),
        Class::Count => None,
    }
}

/// Every measure on every arm, in the study's order: measures first, arms within them.
#[must_use]
pub fn compare(
    measures: &[Measure],
    arms: &[String],
    model: &[Observed<'_>],
    kernel: &[Observed<'_>],
) -> Vec<Row> {
    let row = |measure: &Measure, arm: &String| Row {
        measure: measure.name.clone(),
        arm: arm.clone(),
        unit: measure.unit,
        published: measure.published.get(arm).cloned(),
        model: Figure::of(measure, arm, model),
        kernel: Figure::of(measure, arm, kernel),
    };
    let rows = measures
        .iter()
        .flat_map(|measure| arms.iter().map(move |arm| row(measure, arm)));
    rows.collect()
}

/// Sorts by how much of its tolerance each row uses up, the worst first; rows without a gap last.
pub fn worst_first<T>(things: &mut [T], row: impl Fn(&T) -> &Row) {
    let badness = |thing: &T| {
        let row = row(thing);
        row.gap()
            .map_or(-1.0, |gap| gap.over_tolerance(row.unit.class()))
    };
    things.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
}

impl Figure {
    /// What the runs of an arm hold for a measure.
    #[must_use]
    pub fn of(measure: &Measure, arm: &str, runs: &[Observed<'_>]) -> Self {
        let runs = runs.iter().filter(|run| run.arm == arm);
        let (mut values, mut why) = (Vec::new(), None);
        for run in runs {
            match measure.read(run.outcome) {
                Ok(value) => values.push(value),
                Err(error) => why = why.or_else(|| Some(error.to_string())),
            }
        }
        match (stats::median(&values), stats::spread(&values), why) {
            (Some(median), Some((min, max)), _) => Self::Known {
                median,
                min,
                max,
                runs: values.len(),
            },
            (_, _, Some(why)) => Self::Missing(why),
            _ => Self::NoRun,
        }
    }

    /// The median, where there is a number.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        match self {
            Self::Known { median, .. } => Some(*median),
            _ => None,
        }
    }

    /// The figure as people read it; a dash where there is none.
    #[must_use]
    pub fn show(&self, unit: Unit) -> String {
        self.median()
            .map_or_else(|| "–".to_owned(), |median| unit.show(median))
    }

    /// The smallest and the largest, where they differ.
    #[must_use]
    pub fn range(&self, unit: Unit) -> Option<String> {
        match self {
            Self::Known { min, max, .. } if min < max => {
                Some(format!("{} to {}", unit.show(*min), unit.show(*max)))
            }
            _ => None,
        }
    }
}

impl Row {
    /// How far apart the two are; `None` where there is nothing to compare.
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        match (&self.model, &self.kernel) {
            (Figure::Known { median: model, .. }, Figure::Known { median: kernel, .. }) => {
                Some(Gap::between(*model, *kernel, self.unit.class()))
            }
            (Figure::Known { .. }, Figure::Missing(_))
            | (Figure::Missing(_), Figure::Known { .. }) => Some(Gap::OneSided),
            _ => None,
        }
    }

    /// Whether the gap is within the tolerance; `None` where there is nothing to compare.
    #[must_use]
    pub fn fidelity(&self) -> Option<Fidelity> {
        self.gap().map(|gap| gap.fidelity(self.unit.class()))
    }
}

impl Gap {
    fn between(model: f64, kernel: f64, class: Class) -> Self {
        match class {
            Class::Count => Self::Counts(model - kernel),
            _ if model.total_cmp(&kernel).is_eq() => Self::Relative(0.0),
            _ => Self::Relative(model / kernel - 1.0),
        }
    }

    /// Whether it is within the class's tolerance.
    #[must_use]
    pub fn fidelity(self, class: Class) -> Fidelity {
        match self.over_tolerance(class) <= 1.0 {
            true => Fidelity::Holds,
            false => Fidelity::Misses,
        }
    }

    /// The gap as a multiple of the tolerance; at most 1 holds. Unequal counts exceed it always.
    fn over_tolerance(self, class: Class) -> f64 {
        match self {
            Self::Relative(gap) => gap.abs() / tolerance(class).unwrap_or(f64::MIN_POSITIVE),
            Self::Counts(0.0) => 0.0,
            Self::Counts(difference) => 1000.0 + difference.abs(),
            Self::OneSided => f64::INFINITY,
        }
    }

    /// The relative gap, where it is one.
    #[must_use]
    pub fn relative(self) -> Option<f64> {
        match self {
            Self::Relative(gap) => Some(gap),
            _ => None,
        }
    }

    /// As people read it: "+0.42 %", "equal", "1 too many", "only one of them".
    #[must_use]
    pub fn show(self) -> String {
        match self {
            Self::Relative(0.0) | Self::Counts(0.0) => "equal".to_owned(),
            Self::Relative(gap) if gap.is_infinite() => "not zero".to_owned(),
            Self::Relative(gap) => format!("{:+.2} %", gap * 100.0),
            Self::Counts(difference) if difference > 0.0 => format!("{difference} too many"),
            Self::Counts(difference) => format!("{} too few", -difference),
            Self::OneSided => "only one of them".to_owned(),
        }
    }
}

impl Fidelity {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Misses => "misses",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(value: f64) -> Figure {
        Figure::Known {
            median: value,
            min: value,
            max: value,
            runs: 1,
        }
    }

    fn row(unit: Unit, model: Figure, kernel: Figure) -> Row {
        let (measure, arm) = ("m".to_owned(), "a".to_owned());
        Row {
            measure,
            arm,
            unit,
            published: None,
            model,
            kernel,
        }
    }

    fn check(unit: Unit, model: f64, kernel: f64, shown: &str, fidelity: Fidelity) {
        let row = row(unit, known(model), known(kernel));
        assert_eq!(row.gap().map(Gap::show).as_deref(), Some(shown));
        assert_eq!(row.fidelity(), Some(fidelity), "{model} {kernel}");
    }

    #[test]
    fn each_class_has_its_tolerance() {
        check(Unit::Mib, 1009.0, 1000.0, "+0.90 %", Fidelity::Holds);
        check(Unit::Mib, 989.0, 1000.0, "-1.10 %", Fidelity::Misses);
        check(Unit::Seconds, 22.4, 22.4, "equal", Fidelity::Holds);
        check(Unit::Seconds, 104.0, 100.0, "+4.00 %", Fidelity::Holds);
        check(Unit::Seconds, 94.0, 100.0, "-6.00 %", Fidelity::Misses);
        check(Unit::Count, 3.0, 3.0, "equal", Fidelity::Holds);
        check(Unit::Count, 3.0, 2.0, "1 too many", Fidelity::Misses);
        check(Unit::Mib, 1.0, 0.0, "not zero", Fidelity::Misses);
        check(Unit::Mib, 0.0, 0.0, "equal", Fidelity::Holds);
    }

    #[test]
    fn a_number_on_one_side_only_is_a_miss_and_none_is_nothing() {
        let missing = || Figure::Missing("no snapshot".to_owned());
        let one_sided = row(Unit::Mib, known(1.0), missing());
        assert_eq!(one_sided.fidelity(), Some(Fidelity::Misses));
        assert_eq!(row(Unit::Mib, missing(), missing()).fidelity(), None);
        assert_eq!(row(Unit::Mib, known(1.0), Figure::NoRun).fidelity(), None);
    }

    #[test]
    fn the_worst_comes_first() {
        let mut rows = [
            row(Unit::Mib, known(1.0), Figure::NoRun),
            row(Unit::Seconds, known(1.04), known(1.0)),
            row(Unit::Mib, known(1.009), known(1.0)),
            row(Unit::Count, known(1.0), known(2.0)),
        ];
        worst_first(&mut rows, |row| row);
        let units = rows.map(|row| (row.unit, row.kernel.median().is_some()));
        let expected = [
            (Unit::Count, true),
            (Unit::Mib, true),
            (Unit::Seconds, true),
            (Unit::Mib, false),
        ];
        assert_eq!(units, expected);
    }
}
