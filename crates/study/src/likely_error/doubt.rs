//! Verdicts on the model's runs that its likely error leaves open.

use super::{is_of, least_effect};
use crate::Study;
use crate::measure::Measure;
use crate::verdict::{Difference, Verdict};
use crate::verdicts::ArmVerdict;

/// A study's verdicts on the model's runs, with those as "not sure" of which the effect is smaller
/// than those that are sure on a kernel.
#[must_use]
pub fn doubted(study: &Study, mut verdicts: Vec<ArmVerdict>) -> Vec<ArmVerdict> {
    if !is_of(study) {
        return verdicts;
    }
    for measure in &study.measures {
        let Some(least) = least_effect(study, measure) else {
            continue;
        };
        for verdict in verdicts.iter_mut().filter(|it| it.measure == measure.name) {
            doubt(measure, &mut verdict.difference, least);
        }
    }
    verdicts
}

fn doubt(measure: &Measure, difference: &mut Difference, least: f64) {
    let is_shown = matches!(
        difference.verdict,
        Verdict::Better | Verdict::Worse | Verdict::Differs
    );
    let effect = effect(measure, difference);
    if is_shown && effect.max(1.0 / effect) < least {
        difference.verdict = Verdict::NotSure;
    }
}

/// The arm's figure over the baseline's; numbers that are as good as zero count as equal.
fn effect(measure: &Measure, difference: &Difference) -> f64 {
    let Difference {
        shift, relative, ..
    } = *difference;
    let baseline = match relative == 0.0 || relative.is_infinite() {
        true => 0.0,
        false => shift / relative,
    };
    let least = measure.floor();
    (baseline + shift).max(least) / baseline.max(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run, study};
    use crate::verdicts::of_arms;

    /// The verdict on an arm whose counter is `raised` where the baseline's is `default`.
    fn verdict(default: u64, raised: u64, least: f64) -> Verdict {
        let records = [run("raised", 1, raised), run("default", 1, default)];
        let study = study();
        let mut found = of_arms(&study, &records, 1);
        let of_it = |it: &&Measure| it.name == found[0].measure;
        let measure = study.measures.iter().find(of_it).expect("the measure");
        doubt(measure, &mut found[0].difference, least);
        found[0].difference.verdict
    }

    #[test]
    fn an_effect_that_is_smaller_than_those_that_are_sure_is_not_sure() {
        assert_eq!(verdict(100, 150, 1.6), Verdict::NotSure);
        assert_eq!(verdict(100, 50, 2.1), Verdict::NotSure);
    }

    #[test]
    fn a_larger_effect_stands_and_none_stays_none() {
        assert_eq!(verdict(100, 200, 1.6), Verdict::Worse);
        assert_eq!(verdict(100, 40, 2.1), Verdict::Better);
        assert_eq!(verdict(100, 100, 1.6), Verdict::NoDifferenceShown);
    }
}
