//! What differs between the arms: every measure of every arm against the first arm.

use super::Pair;
use super::compare::{Figure, Observed};
use super::html::Escaped;
use crate::measure::Measure;
use crate::record::Record;
use crate::study::Study;
use crate::verdict::{Finding, Repeatability, Thresholds, Verdict, verdict};

/// A table for each arm but the first; `None` where there is only one arm or no run.
pub(super) fn verdicts(study: &Study, pair: &Pair) -> Option<String> {
    let records = if pair.is_proved() {
        &pair.proofs
    } else {
        &pair.model
    };
    let (baseline, arms) = study.arms.split_first()?;
    let mut text = String::new();
    for arm in arms {
        let lines: String = study
            .measures
            .iter()
            .filter_map(|measure| line(measure, &baseline.name, &arm.name, records))
            .collect();
        if !lines.is_empty() {
            let (arm, baseline) = (Escaped(&arm.name), Escaped(&baseline.name));
            text += &format!(
                "<table class=\"stack\"><thead><tr><th scope=\"col\">Measure</th>\
                 <th scope=\"col\" class=\"number\">{baseline}</th>\
                 <th scope=\"col\" class=\"number\">{arm}</th>\
                 <th scope=\"col\">Finding</th></tr></thead>\n<tbody>\n{lines}</tbody></table>\n"
            );
        }
    }
    (!text.is_empty()).then_some(text)
}

fn line(measure: &Measure, baseline: &str, arm: &str, records: &[Record]) -> Option<String> {
    let found = judge(measure, baseline, arm, records)?;
    let observed = super::observed(records);
    let figure = |arm: &str, observed: &[Observed<'_>]| {
        Figure::of(measure, arm, observed).show(measure.unit)
    };
    let class = match found.finding {
        Finding::Better => "mark good",
        Finding::Worse => "mark bad",
        Finding::Differs | Finding::NoDifferenceShown | Finding::TooFewRuns => "",
    };
    Some(format!(
        "<tr><th scope=\"row\">{}</th><td data-name=\"{}\" class=\"number\">{}</td>\
         <td data-name=\"{}\" class=\"number\">{}</td>\
         <td data-name=\"Finding\"><span class=\"{class}\">{}</span></td></tr>\n",
        Escaped(&measure.name),
        Escaped(baseline),
        Escaped(figure(baseline, &observed)),
        Escaped(arm),
        Escaped(figure(arm, &observed)),
        Escaped(found.words()),
    ))
}

fn judge(measure: &Measure, baseline: &str, arm: &str, records: &[Record]) -> Option<Verdict> {
    let values = |arm: &str| -> Vec<f64> {
        let of_arm = records.iter().filter(|record| record.provenance.arm == arm);
        of_arm
            .filter_map(|record| measure.read(&record.outcome).ok())
            .collect()
    };
    let usual = Thresholds::default();
    let thresholds = Thresholds {
        noise_floor: measure.noise_floor.unwrap_or(usual.noise_floor),
        ..usual
    };
    let repeatability = repeatability(records);
    verdict(
        &values(baseline),
        &values(arm),
        measure.better,
        repeatability,
        thresholds,
    )
}

/// Runs of the model and runs in virtual time repeat exactly, and their bench says what it is.
fn repeatability(records: &[Record]) -> Repeatability {
    let exact = |record: &Record| {
        let bench = &record.provenance.bench;
        bench.starts_with("model") || bench.contains("virtual time")
    };
    match records.iter().all(exact) {
        true => Repeatability::Exact,
        false => Repeatability::Noisy,
    }
}
