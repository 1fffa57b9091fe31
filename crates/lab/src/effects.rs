//! What the records found about each tunable: every arm of a built-in study that sets it, measured
//! on a real kernel against the study's first arm, and how far the model is off there.
//!
//! Computing that takes the records and the model; the answer is small. So it is kept as a table of
//! text, `records/effects.tsv`, which a test holds against the records.

use look::measured::ArmEffect;
use scenario::workload::{Action, Huge, Step};

use crate::gather::{gather_as_made, proofs};
use crate::store::{Store, StoreError};
use answer::report::Pair;
use study::compare::{Row, row_of};
use study::verdict::{Verdict, percent};
use study::verdicts::ArmVerdict;
use study::{Arm, Study};

/// The effects of a study's arms that set anything, measures in the order in which the study shows
/// them.
///
/// # Errors
/// The folder of the records cannot be read.
pub fn of_study(study: &Study, store: &Store) -> Result<Vec<ArmEffect>, StoreError> {
    let gathered = gather_as_made(study, store)?;
    let proved = gathered.pairs.iter().filter(|pair| pair.is_proved());
    Ok(proved.flat_map(|pair| of_pair(study, pair)).collect())
}

/// The same without the model: what takes only the records. The columns of the model are empty.
///
/// # Errors
/// The folder of the records cannot be read.
pub fn of_records(study: &Study, store: &Store) -> Result<Vec<ArmEffect>, StoreError> {
    let gathered = proofs(study, store, &mut |_| ())?;
    let effects = gathered.pairs.iter().flat_map(|pair| of_pair(study, pair));
    Ok(effects.map(ArmEffect::without_the_model).collect())
}

fn of_pair(study: &Study, pair: &Pair) -> Vec<ArmEffect> {
    let (rows, verdicts) = (pair.rows(study), pair.verdicts(study));
    let mut effects = Vec::new();
    for arm in &study.arms {
        for measure in shown(study) {
            let same = |it: &&ArmVerdict| it.arm == arm.name && it.measure == *measure;
            let verdict = verdicts.iter().find(same);
            effects.extend(verdict.and_then(|it| effect(study, pair, arm, it, &rows)));
        }
    }
    effects
}

/// The measures that the study shows first; where it has no table, all that are better in one
/// direction.
fn shown(study: &Study) -> Vec<&String> {
    match &study.shown.table {
        Some(table) => table.columns.iter().collect(),
        None => {
            let rated = study
                .measures
                .iter()
                .filter(|measure| measure.better.is_some());
            rated.map(|measure| &measure.name).collect()
        }
    }
}

fn effect(
    study: &Study,
    pair: &Pair,
    arm: &Arm,
    verdict: &ArmVerdict,
    rows: &[Row],
) -> Option<ArmEffect> {
    let baseline = study.arm(&verdict.baseline).ok()?;
    if !does_the_same(arm, baseline) {
        return None;
    }
    let settings = differing(arm, baseline);
    let row = row_of(rows, &verdict.measure, &arm.name)?;
    let other = row_of(rows, &verdict.measure, &verdict.baseline)?;
    let score = row.score();
    (!settings.is_empty()).then(|| ArmEffect {
        study: study.name.clone(),
        kernel: pair.kernel.clone(),
        arm: arm.name.clone(),
        baseline: verdict.baseline.clone(),
        settings,
        measure: verdict.measure.clone(),
        figure: row.kernel.show(row.unit),
        of_baseline: other.kernel.show(row.unit),
        verdict: word(verdict.difference.verdict).to_owned(),
        by: verdict.by(),
        runs: verdict.difference.basis.runs().to_string(),
        model: row.model.show(row.unit),
        model_error: error(row).unwrap_or_default(),
        holds: match score {
            Some(score) if score.holds() => "yes".to_owned(),
            Some(_) => "no".to_owned(),
            None => String::new(),
        },
    })
}

/// How far the model's median is off the kernel's; what would show as 0.0 % is no error.
fn error(row: &Row) -> Option<String> {
    let (model, kernel) = (row.model.median()?, row.kernel.median()?);
    let off = model / kernel - 1.0;
    Some(match model == kernel || off.abs() < 0.0005 {
        true => "equal".to_owned(),
        false => percent(off),
    })
}

/// Whether both have the same machine and the same work, but for what is set meanwhile and the kind
/// of their pages: what differs between them is due to the settings.
fn does_the_same(arm: &Arm, baseline: &Arm) -> bool {
    let work = |arm: &Arm| {
        let mut workload = arm.workload.clone();
        for process in &mut workload.processes {
            leave_the_work(&mut process.steps);
        }
        workload
    };
    arm.machine == baseline.machine && work(arm) == work(baseline)
}

fn leave_the_work(steps: &mut Vec<Step>) {
    steps.retain(|step| !matches!(step.action, Action::Set(_)));
    for step in steps {
        match &mut step.action {
            Action::Map(map) => map.huge = Huge::System,
            Action::Repeat { steps, .. } => leave_the_work(steps),
            _ => {}
        }
    }
}

/// The settings of an arm that the baseline does not have so.
fn differing(arm: &Arm, baseline: &Arm) -> String {
    let other = |tunable: &str| baseline.settings.get(tunable);
    let settings = arm.settings.0.iter();
    let settings = settings.filter(|it| other(&it.tunable) != Some(it.value.as_str()));
    let settings = settings.map(|it| format!("{}={}", it.tunable, it.value));
    settings.collect::<Vec<_>>().join(", ")
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Differs => "differs",
        Verdict::NotDecided => "not decided",
        Verdict::NotSure => "not sure",
        Verdict::NoDifferenceShown => "no difference shown",
        Verdict::TooFewRuns => "too few runs",
    }
}
