//! What differs between the arms: every measure of every arm against the first arm.

use super::html::Escaped;
use super::pair::Pair;
use study::Study;
use study::compare::{Row, row_of};
use study::verdict::Verdict;
use study::verdicts::{ArmVerdict, sum_up};

/// A table for each arm but the first; `None` where there is only one arm or no run.
pub(super) fn verdicts(
    study: &Study,
    pair: &Pair,
    rows: &[Row],
    verdicts: &[ArmVerdict],
) -> Option<String> {
    let mut text = String::new();
    for arm in &study.arms {
        let Some(summary) = sum_up(verdicts, &arm.name) else {
            text += &unavailable(&arm.name, pair, rows).unwrap_or_default();
            continue;
        };
        let of_arm = verdicts.iter().filter(|verdict| verdict.arm == arm.name);
        let of_arm: Vec<&ArmVerdict> = of_arm.collect();
        let baseline = of_arm.first().map_or("", |verdict| &verdict.baseline);
        let lines: String = of_arm
            .iter()
            .map(|verdict| line(verdict, pair, rows))
            .collect();
        text += &format!(
            "<p>{}.</p>\n<table class=\"stack\"><thead><tr><th scope=\"col\">Measure</th>\
             <th scope=\"col\" class=\"number\">{}</th><th scope=\"col\" class=\"number\">{}</th>\
             <th scope=\"col\">Verdict</th></tr></thead>\n<tbody>\n{lines}</tbody></table>\n",
            Escaped(summary),
            Escaped(baseline),
            Escaped(&arm.name),
        );
    }
    (!text.is_empty()).then_some(text)
}

/// A line for an arm that was not run because the kernel lacks what it asks for.
fn unavailable(arm: &str, pair: &Pair, rows: &[Row]) -> Option<String> {
    let mut of_arm = rows.iter().filter(|row| row.arm == arm);
    let what = of_arm.find_map(|row| match pair.is_proved() {
        true => row.kernel.unavailable(),
        false => row.model.unavailable(),
    })?;
    let (arm, what) = (Escaped(arm), Escaped(what));
    Some(format!("<p>{arm}: not available here: {what}.</p>\n"))
}

fn line(verdict: &ArmVerdict, pair: &Pair, rows: &[Row]) -> String {
    let ArmVerdict {
        measure,
        arm,
        baseline,
        difference,
        ..
    } = verdict;
    let figure = |arm: &str| {
        let figure = |row: &Row| match pair.is_proved() {
            true => row.kernel.show(row.unit),
            false => row.model.show(row.unit),
        };
        row_of(rows, measure, arm).map(figure).unwrap_or_default()
    };
    let class = match difference.verdict {
        Verdict::Better => "mark good",
        Verdict::Worse => "mark bad",
        Verdict::Differs
        | Verdict::NotDecided
        | Verdict::NotSure
        | Verdict::NoDifferenceShown
        | Verdict::TooFewRuns => "plain",
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td data-name=\"{}\" class=\"number\">{}</td>\
         <td data-name=\"{}\" class=\"number\">{}</td>\
         <td data-name=\"Verdict\"><span class=\"{class}\">{}</span></td></tr>\n",
        Escaped(measure),
        Escaped(baseline),
        Escaped(figure(baseline)),
        Escaped(arm),
        Escaped(figure(arm)),
        Escaped(verdict.words()),
    )
}
