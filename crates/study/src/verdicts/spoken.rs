//! The verdicts in sentences, for a study whose author gives no answer.

use super::ArmVerdict;
use crate::Study;
use crate::verdict::Verdict;

/// The most arms that are spoken of.
const MOST_ARMS: usize = 6;
/// The most measures that are named for one kind of verdict.
const MOST_MEASURES: usize = 4;

/// A sentence for each arm, on the measures that the study rests on: "guard against default: better
/// in kept (+12 %); not decided in backup; no difference shown in 2". Arms of which most is decided
/// come first where there are too many.
#[must_use]
pub fn spoken(study: &Study, verdicts: &[ArmVerdict]) -> Vec<String> {
    let headline = study.headline();
    let is_headline = |it: &&ArmVerdict| headline.iter().any(|measure| measure.name == it.measure);
    let verdicts: Vec<&ArmVerdict> = verdicts.iter().filter(is_headline).collect();
    let of_arm = |arm: &str| -> Vec<&ArmVerdict> {
        verdicts
            .iter()
            .filter(|it| it.arm == arm)
            .copied()
            .collect()
    };
    let arms = study.arms.iter().map(|arm| of_arm(&arm.name));
    let mut arms: Vec<Vec<&ArmVerdict>> = arms.filter(|of_arm| !of_arm.is_empty()).collect();
    let left = arms.len().saturating_sub(MOST_ARMS);
    if left > 0 {
        arms.sort_by_key(|of_arm| std::cmp::Reverse(decided(of_arm)));
        arms.truncate(MOST_ARMS);
    }
    let mut lines: Vec<String> = arms.iter().filter_map(|of_arm| sentence(of_arm)).collect();
    match left {
        0 => {}
        1 => lines.push("One arm more is in the table.".to_owned()),
        left => lines.push(format!("{left} arms more are in the table.")),
    }
    lines
}

fn decided(verdicts: &[&ArmVerdict]) -> usize {
    let is_decided =
        |it: &&&ArmVerdict| matches!(it.difference.verdict, Verdict::Better | Verdict::Worse);
    verdicts.iter().filter(is_decided).count()
}

fn sentence(verdicts: &[&ArmVerdict]) -> Option<String> {
    let first = verdicts.first()?;
    let named = [
        (Verdict::Better, "better in"),
        (Verdict::Worse, "worse in"),
        (Verdict::NotDecided, "not decided in"),
        (Verdict::NotSure, "not sure of"),
    ];
    let named = named.iter().filter_map(|(verdict, words)| {
        let of_kind = verdicts
            .iter()
            .filter(|it| it.difference.verdict == *verdict);
        let of_kind: Vec<String> = of_kind.map(|it| named_measure(it)).collect();
        (!of_kind.is_empty()).then(|| format!("{words} {}", listed(&of_kind)))
    });
    let unnamed = [
        (Verdict::NoDifferenceShown, "no difference shown in"),
        (Verdict::TooFewRuns, "too few runs for"),
    ];
    let unnamed = unnamed.iter().filter_map(|(verdict, words)| {
        let of_kind = verdicts
            .iter()
            .filter(|it| it.difference.verdict == *verdict);
        Some(of_kind.count())
            .filter(|count| *count > 0)
            .map(|count| format!("{words} {count}"))
    });
    let parts: Vec<String> = named.chain(unnamed).collect();
    Some(format!(
        "{} against {}: {}.",
        first.arm,
        first.baseline,
        parts.join("; ")
    ))
}

fn named_measure(verdict: &ArmVerdict) -> String {
    match verdict.difference.verdict {
        Verdict::NotDecided => verdict.measure.clone(),
        _ => format!("{} ({})", verdict.measure, verdict.by()),
    }
}

fn listed(measures: &[String]) -> String {
    let shown = &measures[..measures.len().min(MOST_MEASURES)];
    match measures.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::of_arms;
    use super::*;
    use crate::testing::{run, study};

    #[test]
    fn an_arm_is_spoken_of_in_a_sentence() {
        let records = [run("raised", 1, 20), run("default", 1, 2)];
        let verdicts = of_arms(&study(), &records, 1);
        let expected = "raised against default: worse in re-read (10.0 times as much).";
        assert_eq!(spoken(&study(), &verdicts), [expected]);
        assert!(spoken(&study(), &[]).is_empty());
    }
}
