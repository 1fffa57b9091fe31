//! What an answer from a recording begins with: how far the model misses the recording itself.

use lab::experiment::Experiment;
use lab::model_bench::ModelBench;
use mm::text::counted;
use scenario::calibration::Calibration;
use study::{Observed, READ_IN, Study};

use super::work::Runs;
use crate::changing::said;

/// The notes on a recording; none for another study.
pub(super) fn notes(named: &str, calibration: Calibration) -> anyhow::Result<Vec<String>> {
    let study = lab::find::find(named)?;
    let Some(observed) = &study.observed else {
        return Ok(Vec::new());
    };
    let mut notes = vec![miss(&study, observed, calibration)?];
    if observed.lost + observed.passed_over > 0 {
        notes.push(format!(
            "not in the recording: {} lost, {} passed over",
            counted(observed.lost, "event"),
            observed.passed_over
        ));
    }
    if observed.scale > 1 {
        notes.push(format!("one page of {} was recorded", observed.scale));
    }
    let harm = observed.harm.iter();
    notes.extend(harm.map(|it| format!("the recording ended itself: {it}")));
    Ok(notes)
}

/// "the recording itself (14 s on 6.12.1): 190 MiB read from disks; the model: 195 MiB (+2.6 %)".
fn miss(study: &Study, observed: &Observed, calibration: Calibration) -> anyhow::Result<String> {
    let arms: Vec<&str> = study
        .arms
        .iter()
        .map(|arm| arm.name.as_str())
        .take(1)
        .collect();
    Runs::at_automatic_scale(study, &arms, 1).check()?;
    let mut experiment = Experiment::new(study);
    experiment.arms = arms.into_iter().map(str::to_owned).collect();
    experiment.repetitions = 1;
    let bench = ModelBench::new(calibration);
    let results = experiment.run(&bench, None, &|_| {})?;
    let measure = study.measures.iter().find(|it| it.name == READ_IN);
    let record = results.records.first();
    let kilobytes = measure
        .zip(record)
        .and_then(|(measure, record)| measure.read(&record.outcome).ok());
    let begin = format!(
        "the recording itself ({} on {}): {} read from disks",
        said(observed.time),
        observed.kernel,
        observed.read_in
    );
    let Some(kilobytes) = kilobytes else {
        return Ok(format!("{begin}; the model does not say how much it reads"));
    };
    let (model, seen) = (kilobytes * 1024.0, observed.read_in.0 as f64);
    let model_said = mm::units::Bytes(model as u64);
    Ok(match seen > 0.0 {
        true => format!(
            "{begin}; the model: {model_said} ({:+.1} %)",
            (model / seen - 1.0) * 100.0
        ),
        false => format!("{begin}; the model: {model_said}"),
    })
}
