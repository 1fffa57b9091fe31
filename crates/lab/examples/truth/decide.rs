//! Whether a prediction decides as the kernel does: would its reader have chosen the same arm?

use study::Study;
use study::compare::{Figure, Reading};
use study::measure::Kind;
use study::stats;

/// A smaller difference of two arms is no effect.
pub(super) const EFFECT: f64 = 0.05;
/// The same where an arm has one start, which has no spread to be held against.
pub(super) const EFFECT_OF_ONE: f64 = 0.10;
/// A throughput that is off by more is called so.
pub(super) const OFF: f64 = 0.25;

/// How a prediction of one thing came out, the worst advice first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judgement {
    /// It recommends the arm that is worse.
    Sign,
    /// Other processes live.
    Survivors,
    /// It has the sign, and less than half or more than double the size.
    Size,
    /// It shows a difference where the kernel has none.
    Invented,
    /// It has no answer.
    NoAnswer,
    /// It is as the kernel does.
    Right,
}

impl Judgement {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::Survivors => "survivors",
            Self::Size => "size",
            Self::Invented => "invented",
            Self::NoAnswer => "no answer",
            Self::Right => "right",
        }
    }
}

/// A consumer's throughput on the first arm and on another one, or its survivors on one.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    /// The measure.
    pub(super) measure: String,
    /// The other arm, or the only one.
    pub(super) arm: String,
    /// Whether the kernel has an effect; of survivors, whether not all lived in every start.
    pub(super) is_real: bool,
    pub(super) judgement: Judgement,
    /// The medians on both arms; the same one twice for survivors.
    pub(super) kernel: [f64; 2],
    pub(super) model: Option<[f64; 2]>,
}

impl Decision {
    /// The difference of the arms as a part of the first.
    pub(super) fn gap(of: [f64; 2]) -> f64 {
        of[1] / of[0] - 1.0
    }

    /// The worst first, then by how far the ratios of the arms lie apart.
    pub(super) fn order(&self) -> (Judgement, u64) {
        let ratio = |of: [f64; 2]| (of[1].max(1e-6) / of[0].max(1e-6)).ln();
        let apart = self.model.map_or(f64::INFINITY, |model| {
            let apart = match self.judgement {
                Judgement::Survivors => self.kernel[0] - model[0],
                _ => ratio(self.kernel) - ratio(model),
            };
            apart.abs()
        });
        (self.judgement, u64::MAX - (apart.min(1e9) * 1e6) as u64)
    }
}

/// The runs of both benches on one study.
pub(super) struct Sides<'a> {
    pub(super) study: &'a Study,
    pub(super) kernel: &'a [Reading],
    /// None where the bench refuses.
    pub(super) model: &'a [Reading],
}

impl Sides<'_> {
    /// Every consumer's throughput on the first arm against each other arm.
    pub(super) fn pairs(&self) -> Vec<Decision> {
        let arms: Vec<&str> = self
            .study
            .arms
            .iter()
            .map(|arm| arm.name.as_str())
            .collect();
        let rates = self.measures("rate");
        let pairs = rates.flat_map(|place| {
            arms[1..].iter().filter_map(move |arm| {
                let of = |runs| {
                    [
                        Figure::of(place, self.first(), runs),
                        Figure::of(place, arm, runs),
                    ]
                };
                let (kernel, model) = (of(self.kernel), of(self.model));
                let (is_real, judgement) = judge(&kernel, &model)?;
                Some(Decision {
                    measure: self.study.measures[place].name.clone(),
                    arm: (*arm).to_owned(),
                    is_real,
                    judgement,
                    kernel: medians(&kernel)?,
                    model: medians(&model),
                })
            })
        });
        pairs.collect()
    }

    fn first(&self) -> &str {
        &self.study.arms[0].name
    }

    /// How many of each consumer came through on each arm.
    pub(super) fn survivors(&self) -> Vec<Decision> {
        let each = self.each("survivors");
        let all = each.filter_map(|(measure, arm, kernel, model)| {
            let of = kernel.median()?;
            let most = stats::quantile(kernel.values(), 1.0)?;
            let right = model
                .median()
                .is_some_and(|it| kernel.values().contains(&it));
            let judgement = match (right, model.median()) {
                (true, _) => Judgement::Right,
                (false, Some(_)) => Judgement::Survivors,
                (false, None) => Judgement::NoAnswer,
            };
            Some(Decision {
                measure,
                arm,
                is_real: kernel.values().first() != Some(&most) || most == 0.0,
                judgement,
                kernel: [of; 2],
                model: model.median().map(|it| [it; 2]),
            })
        });
        all.collect()
    }

    /// Throughputs of the model over the kernel's, where both have one, and whether it is outside
    /// the range of the kernel's starts.
    pub(super) fn throughputs(&self) -> Vec<(String, String, f64, bool)> {
        let each = self
            .each("rate")
            .filter_map(|(measure, arm, kernel, model)| {
                let (of, it) = (kernel.median()?, model.median()?);
                let ends = [0.0, 1.0].map(|q| stats::quantile(kernel.values(), q).unwrap_or(of));
                (of > 0.0).then(|| (measure, arm, it / of, it < ends[0] || it > ends[1]))
            });
        each.collect()
    }

    fn each(&self, ends: &'static str) -> impl Iterator<Item = (String, String, Figure, Figure)> {
        self.measures(ends).flat_map(move |place| {
            self.study.arms.iter().map(move |arm| {
                let measure = self.study.measures[place].name.clone();
                let of = |runs| Figure::of(place, &arm.name, runs);
                (measure, arm.name.clone(), of(self.kernel), of(self.model))
            })
        })
    }

    fn measures(&self, ends: &'static str) -> impl Iterator<Item = usize> {
        let all = self.study.measures.iter().enumerate();
        all.filter(move |(_, measure)| measure.name.ends_with(ends))
            .map(|(place, _)| place)
    }

    /// How many figures hold by the rules of `plimsoll_lab::fidelity`, of how many that say something: not
    /// as good as zero in both, no survivors, which are counted by themselves; by kind, with how far
    /// the model's is from the kernel's.
    pub(super) fn figures(&self) -> Vec<(Kind, bool, Option<f64>)> {
        let arms: Vec<String> = self.study.arms.iter().map(|arm| arm.name.clone()).collect();
        let rows = study::compare::compare(&self.study.measures, &arms, self.model, self.kernel);
        let says = rows.iter().filter(|row| {
            let zero = |figure: &Figure| figure.median().is_none_or(|it| it.abs() <= row.floor);
            let is_trivial = zero(&row.kernel) && zero(&row.model);
            row.is_figure() && row.kind != Kind::Fate && !is_trivial
        });
        let error = |of: f64, it: f64| (of > 0.0).then(|| (it / of - 1.0).abs());
        says.map(|row| {
            let both = row.kernel.median().zip(row.model.median());
            let error = both.and_then(|(of, it)| error(of, it));
            (row.kind, row.holds() == Some(true), error)
        })
        .collect()
    }
}

fn medians(of: &[Figure; 2]) -> Option<[f64; 2]> {
    Some([of[0].median()?, of[1].median()?])
}

/// The difference of two arms, if it is larger than [`EFFECT`] and their starts do not overlap;
/// with one start, larger than [`EFFECT_OF_ONE`].
fn effect(of: &[Figure; 2]) -> Option<f64> {
    let gap = Decision::gap(medians(of)?);
    let [a, b] = [of[0].values(), of[1].values()];
    let is_single = a.len() < 2 || b.len() < 2;
    let apart = a.last()? < b.first()? || b.last()? < a.first()?;
    let enough = match is_single {
        true => gap.abs() > EFFECT_OF_ONE,
        false => gap.abs() > EFFECT && apart,
    };
    enough.then_some(gap)
}

/// Whether the kernel has an effect, and how the model does; `None` where the kernel has no
/// number: its process was killed, which is a survivor's matter.
fn judge(kernel: &[Figure; 2], model: &[Figure; 2]) -> Option<(bool, Judgement)> {
    medians(kernel)?;
    let is_real = effect(kernel);
    let Some(model_gap) = medians(model).map(Decision::gap) else {
        return Some((is_real.is_some(), Judgement::NoAnswer));
    };
    let judgement = match (is_real, effect(model)) {
        (None, None) => Judgement::Right,
        (None, Some(_)) => Judgement::Invented,
        (Some(gap), _) if gap * model_gap <= 0.0 => Judgement::Sign,
        (Some(gap), _) if (0.5..=2.0).contains(&(model_gap / gap)) => Judgement::Right,
        (Some(_), _) => Judgement::Size,
    };
    Some((is_real.is_some(), judgement))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(a: &[f64], b: &[f64]) -> [Figure; 2] {
        [a, b].map(|values| Figure::Known {
            values: values.to_vec(),
            without: 0,
        })
    }

    #[track_caller]
    fn is(kernel: [&[f64]; 2], model: [f64; 2], expected: (bool, Judgement)) {
        let kernel = figures(kernel[0], kernel[1]);
        let model = figures(&[model[0]], &[model[1]]);
        assert_eq!(judge(&kernel, &model), Some(expected));
    }

    #[test]
    fn an_effect_is_judged_by_its_sign_and_then_by_its_size() {
        let gains: [&[f64]; 2] = [&[99.0, 100.0, 101.0], &[119.0, 120.0, 121.0]];
        is(gains, [10.0, 12.0], (true, Judgement::Right));
        is(gains, [10.0, 11.0], (true, Judgement::Right));
        is(gains, [10.0, 10.9], (true, Judgement::Size));
        is(gains, [10.0, 14.5], (true, Judgement::Size));
        is(gains, [10.0, 9.9], (true, Judgement::Sign));
    }

    #[test]
    fn what_is_within_the_spread_is_no_effect() {
        let overlap: [&[f64]; 2] = [&[90.0, 100.0, 120.0], &[110.0, 115.0, 130.0]];
        is(overlap, [100.0, 101.0], (false, Judgement::Right));
        is(overlap, [100.0, 130.0], (false, Judgement::Invented));
        // One start has no spread: up to a tenth says nothing.
        is(
            [&[100.0], &[109.0]],
            [100.0, 100.0],
            (false, Judgement::Right),
        );
        is([&[100.0], &[111.0]], [100.0, 99.0], (true, Judgement::Sign));
    }

    #[test]
    fn a_model_without_a_number_is_not_right() {
        let kernel = figures(&[100.0], &[50.0]);
        let none = [Figure::NoRun, Figure::NoRun];
        assert_eq!(judge(&kernel, &none), Some((true, Judgement::NoAnswer)));
        assert_eq!(judge(&none, &kernel), None);
    }
}
