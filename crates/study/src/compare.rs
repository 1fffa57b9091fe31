//! The calibration error: what the model says against what a kernel did, measure by measure.
//!
//! [`crate::score`] has the rules by which a figure holds or misses.

use scenario::outcome::Outcome;

use crate::measure::{Curve, Kind, Measure, Published, ReadError, Unit};
use crate::score::{self, Runs, Score};
use crate::stats::{self, Group, TwoOutcomes};

/// What one run of an arm came to: a number for each measure of the study.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The arm's name.
    pub arm: String,
    /// In the order of the measures.
    pub values: Vec<Result<f64, ReadError>>,
    /// In the same order; none where a measure is no curve.
    pub curves: Vec<Option<Curve>>,
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
    /// What the measure takes; it decides the rule.
    pub kind: Kind,
    /// Numbers up to this are as good as zero; see [`Measure::floor`].
    pub floor: f64,
    /// What others reported.
    pub published: Option<Published>,
    /// The model's figure.
    pub model: Figure,
    /// The kernel's figure.
    pub kernel: Figure,
    /// What the figures are the mean over time of, where the measure is a curve.
    pub curves: Curves,
}

/// The curves of an arm's runs, one a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The model's.
    pub model: Vec<Curve>,
    /// The kernel's.
    pub kernel: Vec<Curve>,
}

/// The numbers of some runs for one measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// There was no run.
    NoRun,
    /// The kernel lacks what the arm asks for; what, as in "vm.clean_low_ratio".
    Unavailable(String),
    /// There were this many runs, but no number in them; why, for the first of them.
    Missing(String, usize),
    /// What the runs had.
    Known {
        /// The numbers, in ascending order; at least one.
        values: Vec<f64>,
        /// How many more runs had no number.
        without: usize,
    },
}

/// A measure's row on an arm.
#[must_use]
pub fn row_of<'a>(rows: &'a [Row], measure: &str, arm: &str) -> Option<&'a Row> {
    let mut rows = rows.iter();
    rows.find(|row| row.measure == measure && row.arm == arm)
}

/// Every measure on every arm, in the study's order: measures first, arms within them.
#[must_use]
pub fn compare(
    measures: &[Measure],
    arms: &[String],
    model: &[Reading],
    kernel: &[Reading],
) -> Vec<Row> {
    let row = |index: usize, measure: &Measure, arm: &String| Row {
        measure: measure.name.clone(),
        arm: arm.clone(),
        unit: measure.unit,
        kind: measure.kind(),
        floor: measure.floor(),
        published: measure.published.get(arm).cloned(),
        model: Figure::of(index, arm, model),
        kernel: Figure::of(index, arm, kernel),
        curves: Curves {
            model: curves(index, arm, model),
            kernel: curves(index, arm, kernel),
        },
    };
    let rows = measures
        .iter()
        .enumerate()
        .flat_map(|(index, measure)| arms.iter().map(move |arm| row(index, measure, arm)));
    rows.collect()
}

fn curves(index: usize, arm: &str, runs: &[Reading]) -> Vec<Curve> {
    let runs = runs.iter().filter(|run| run.arm == arm);
    let curves = runs.filter_map(|run| run.curves.get(index)?.clone());
    curves.collect()
}

/// Sorts by how much of what is allowed each row uses up, the worst first; what was measured but
/// not predicted before all, rows without a figure last.
pub fn worst_first<T>(things: &mut [T], row: impl Fn(&T) -> &Row) {
    let badness = |thing: &T| match (row(thing).score(), row(thing).is_figure()) {
        (Some(score), _) => score.excess,
        (None, true) => f64::INFINITY,
        (None, false) => -1.0,
    };
    things.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
}

/// How far the prediction is from what was published, over all figures of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedError {
    /// The mean of the relative errors, without their signs.
    pub mean: f64,
    /// The largest of them.
    pub worst: f64,
    /// How many there are.
    pub figures: usize,
}

impl PublishedError {
    /// `None` where nothing that was predicted was published.
    #[must_use]
    pub fn of(rows: &[Row]) -> Option<Self> {
        let errors = rows.iter().filter_map(Row::published_error);
        let errors: Vec<f64> = errors.map(f64::abs).collect();
        (!errors.is_empty()).then(|| Self {
            mean: errors.iter().sum::<f64>() / errors.len() as f64,
            worst: errors.iter().copied().fold(0.0, f64::max),
            figures: errors.len(),
        })
    }

    /// In a sentence.
    #[must_use]
    pub fn show(&self) -> String {
        let (mean, worst) = (self.mean * 100.0, self.worst * 100.0);
        match self.figures {
            1 => format!("The prediction is off by {worst:.1} %, in one published figure."),
            figures => format!(
                "The prediction is off by {mean:.1} % on average and {worst:.1} % at worst, over \
                 {figures} published figures."
            ),
        }
    }
}

impl Reading {
    /// Reads the measures in an outcome.
    #[must_use]
    pub fn of(measures: &[Measure], arm: &str, outcome: &Outcome) -> Self {
        Self {
            arm: arm.to_owned(),
            values: measures.iter().map(|m| m.read(outcome)).collect(),
            curves: measures.iter().map(|m| m.curve(outcome)).collect(),
        }
    }
}

impl Figure {
    /// What the runs of an arm hold for the measure at `index`.
    #[must_use]
    pub fn of(index: usize, arm: &str, runs: &[Reading]) -> Self {
        let (mut values, mut without, mut why) = (Vec::new(), 0, None);
        for run in runs.iter().filter(|run| run.arm == arm) {
            match run.values.get(index) {
                Some(Ok(value)) => values.push(*value),
                Some(Err(ReadError::Unavailable(what))) => {
                    return Self::Unavailable(what.clone());
                }
                Some(Err(error)) => {
                    without += 1;
                    why = why.or_else(|| Some(error.to_string()));
                }
                None => {}
            }
        }
        values.sort_by(f64::total_cmp);
        match why {
            _ if !values.is_empty() => Self::Known { values, without },
            Some(why) => Self::Missing(why, without),
            None => Self::NoRun,
        }
    }

    /// One run with this number.
    #[must_use]
    pub fn known(value: f64) -> Self {
        Self::Known {
            values: vec![value],
            without: 0,
        }
    }

    /// The numbers, in ascending order.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Known { values, .. } => values,
            _ => &[],
        }
    }

    fn runs(&self) -> Option<Runs<'_>> {
        let without = match self {
            Self::NoRun | Self::Unavailable(_) => return None,
            Self::Missing(_, without) | Self::Known { without, .. } => *without,
        };
        let values = self.values();
        Some(Runs { values, without })
    }

    /// The median, where there is a number.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        stats::quantile(self.values(), 0.5)
    }

    /// Where the figure stands among others: the median, or the mean of runs with two outcomes,
    /// whose median is a coin toss.
    #[must_use]
    pub fn middle(&self) -> Option<f64> {
        match self.two_outcomes() {
            Some(_) => stats::mean(self.values()),
            None => self.median(),
        }
    }

    /// The figure as people read it: the median, or both outcomes with their shares where the runs
    /// have two, "54.5 % (2/5) or 91.0 % (3/5)"; a dash where there is none.
    #[must_use]
    pub fn show(&self, unit: Unit) -> String {
        self.shown(&|amount| unit.show(amount))
    }

    /// The same without the unit's word.
    #[must_use]
    pub fn number(&self, unit: Unit) -> String {
        self.shown(&|amount| unit.number(amount))
    }

    fn shown(&self, show: &dyn Fn(f64) -> String) -> String {
        if let Some(two) = self.two_outcomes() {
            let all = self.values().len();
            let one = |group: Group| format!("{} ({}/{all})", show(group.median), group.runs);
            return format!("{} or {}", one(two.low), one(two.high));
        }
        match (self.median(), self) {
            (Some(median), _) => show(median),
            (None, Self::Unavailable(_)) => "not available".to_owned(),
            (None, _) => "–".to_owned(),
        }
    }

    /// What the kernel lacks, where it lacks something.
    #[must_use]
    pub fn unavailable(&self) -> Option<&str> {
        match self {
            Self::Unavailable(what) => Some(what),
            _ => None,
        }
    }

    /// The two outcomes that the runs have, where they have two: "54.0 % with 6 of 20 seeds, 91.0 %
    /// with 14".
    #[must_use]
    pub fn outcomes(&self, unit: Unit) -> Option<String> {
        let two = self.two_outcomes()?;
        let [low, high] = [two.low, two.high].map(|group| unit.show(group.median));
        let (all, fewer, more) = (self.values().len(), two.low.runs, two.high.runs);
        Some(format!(
            "{low} with {fewer} of {all} seeds, {high} with {more}"
        ))
    }

    /// The same as numbers.
    #[must_use]
    pub fn two_outcomes(&self) -> Option<TwoOutcomes> {
        stats::two_outcomes(self.values())
    }

    /// The smallest and the largest, where they differ by what is shown of them.
    #[must_use]
    pub fn range(&self, unit: Unit) -> Option<String> {
        let (min, max) = stats::spread(self.values())?;
        let (min, max) = (unit.show(min), unit.show(max));
        (min != max).then(|| format!("{min} to {max}"))
    }
}

impl Row {
    /// The figure that the row is about: the kernel's where it was run, else the model's.
    #[must_use]
    pub fn figure(&self) -> &Figure {
        match self.kernel {
            Figure::NoRun => &self.model,
            _ => &self.kernel,
        }
    }

    /// The prediction less what was published, as a part of this.
    #[must_use]
    pub fn published_error(&self) -> Option<f64> {
        let published = self.published.as_ref()?.amount;
        let error = self.model.median()? / published - 1.0;
        error.is_finite().then_some(error)
    }

    /// How far apart the two are; `None` where there is nothing to compare.
    #[must_use]
    pub fn score(&self) -> Option<Score> {
        let (model, kernel) = (self.model.runs()?, self.kernel.runs()?);
        if self.kind.is_curve() {
            let Curves { model, kernel } = &self.curves;
            return score::score_curves(self.kind, self.floor, model, kernel);
        }
        score::score(self.kind, self.floor, model, kernel)
    }

    /// Whether the gap is within what is allowed; `None` where there is nothing to compare.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        self.score().map(Score::holds)
    }

    /// Whether it counts in a score: there is something to compare, or the kernel has a number that
    /// nothing predicts.
    #[must_use]
    pub fn is_figure(&self) -> bool {
        self.kernel.median().is_some() || self.score().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: Kind, model: Figure, kernel: Figure) -> Row {
        let (measure, arm) = ("m".to_owned(), "a".to_owned());
        Row {
            measure,
            arm,
            unit: Unit::Count,
            kind,
            floor: 0.0,
            published: None,
            model,
            kernel,
            curves: Curves::default(),
        }
    }

    fn missing() -> Figure {
        Figure::Missing("no snapshot".to_owned(), 1)
    }

    #[test]
    fn a_number_on_one_side_only_is_a_miss_and_none_is_nothing() {
        let one_sided = row(Kind::Size, Figure::known(1.0), missing());
        assert_eq!(one_sided.holds(), Some(false));
        assert_eq!(row(Kind::Size, missing(), missing()).holds(), None);
        let unproved = row(Kind::Size, Figure::known(1.0), Figure::NoRun);
        assert_eq!((unproved.holds(), unproved.is_figure()), (None, false));
    }

    #[test]
    fn what_a_kernel_lacks_is_no_figure_and_no_miss_of_the_model() {
        let run = Reading {
            arm: "a".to_owned(),
            values: vec![Err(ReadError::Unavailable("vm.x".to_owned()))],
            curves: vec![None],
        };
        let lacking = row(Kind::Size, Figure::known(1.0), Figure::of(0, "a", &[run]));
        assert_eq!(lacking.kernel.unavailable(), Some("vm.x"));
        assert_eq!((lacking.holds(), lacking.is_figure()), (None, false));
        assert_eq!(lacking.kernel.show(Unit::Mib), "not available");
    }

    #[test]
    fn what_nothing_predicts_is_a_figure_and_the_worst() {
        let unpredicted = row(Kind::Size, Figure::NoRun, Figure::known(1.0));
        assert_eq!((unpredicted.holds(), unpredicted.is_figure()), (None, true));
        let mut rows = [
            row(Kind::Size, Figure::known(1.0), Figure::NoRun),
            row(Kind::Time, Figure::known(1.04), Figure::known(1.0)),
            row(Kind::Fate, Figure::known(1.0), Figure::known(2.0)),
            unpredicted.clone(),
            row(Kind::Size, Figure::known(1.009), Figure::known(1.0)),
        ];
        worst_first(&mut rows, |row| row);
        assert_eq!(rows[0], unpredicted);
        let kinds = rows.map(|row| row.kind);
        assert_eq!(kinds[1..], [Kind::Fate, Kind::Size, Kind::Time, Kind::Size]);
    }

    #[test]
    fn a_figure_is_what_the_runs_of_its_arm_have() {
        let reading = |arm: &str, value| Reading {
            arm: arm.to_owned(),
            values: vec![value],
            curves: vec![None],
        };
        let none = || Err(ReadError::NoStep("serve".to_owned()));
        let runs = [
            reading("a", Ok(3.0)),
            reading("a", none()),
            reading("a", Ok(1.0)),
        ];
        let known = Figure::Known {
            values: vec![1.0, 3.0],
            without: 1,
        };
        assert_eq!(Figure::of(0, "a", &runs), known);
        assert_eq!(known.median(), Some(2.0));
        assert_eq!(Figure::of(0, "b", &runs), Figure::NoRun);
        let why = "no instance of step \"serve\" finished".to_owned();
        assert_eq!(Figure::of(0, "a", &runs[1..2]), Figure::Missing(why, 1));
    }
}
