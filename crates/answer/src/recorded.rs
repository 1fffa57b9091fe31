//! What an answer from a recording begins with: how far the model misses the recording itself.

use mm::text::{counted, lasting};
use mm::units::Bytes;
use study::{Observed, READ_IN, Study};

use crate::bench::Run;
use crate::model_bench::ModelBench;
use crate::refused::Refused;
use crate::run::outcome;
use crate::runs::Runs;

/// The notes on a recording; none for another study. One run of the model, which is refused where
/// it would take more than `available`.
///
/// # Errors
/// The recording is too long for the model, or the model does not run it.
pub(crate) fn notes(
    study: &Study,
    bench: &ModelBench,
    available: Bytes,
) -> Result<Vec<String>, Refused> {
    let Some(observed) = &study.observed else {
        return Ok(Vec::new());
    };
    let mut notes = vec![miss(study, observed, bench, available)?];
    if observed.lost + observed.passed_over > 0 {
        notes.push(format!(
            "not in the recording: {} lost, {} passed over",
            counted(observed.lost, "event"),
            observed.passed_over
        ));
    }
    Ok(notes)
}

/// "the recording itself (14 s on 6.12.1): 190 MiB read from disks; the model: 195 MiB (+2.6 %)".
fn miss(
    study: &Study,
    observed: &Observed,
    bench: &ModelBench,
    available: Bytes,
) -> Result<String, Refused> {
    let begin = format!(
        "the recording itself ({} on {}): {} read from disks",
        lasting(observed.time),
        observed.kernel,
        observed.read_in
    );
    let Some(kilobytes) = read_in(study, bench, available)? else {
        return Ok(format!("{begin}; the model does not say how much it reads"));
    };
    let (model, seen) = (kilobytes * 1024.0, observed.read_in.0 as f64);
    let model_said = Bytes(model as u64);
    Ok(match seen > 0.0 {
        true => format!(
            "{begin}; the model: {model_said} ({:+.1} %)",
            (model / seen - 1.0) * 100.0
        ),
        false => format!("{begin}; the model: {model_said}"),
    })
}

/// The kilobytes that the model reads from disks for the study's first arm.
fn read_in(study: &Study, bench: &ModelBench, available: Bytes) -> Result<Option<f64>, Refused> {
    let Some(arm) = study.arms.first() else {
        return Ok(None);
    };
    Runs::at_automatic_scale(study, &[&arm.name], 1, 1).check(available)?;
    let scenario = study.scenario(&arm.name, 1)?;
    let run = Run {
        scenario: &scenario,
    };
    let outcome = outcome(bench, run, &mut |_| ())?;
    let measure = study.measures.iter().find(|it| it.name == READ_IN);
    Ok(measure.and_then(|measure| measure.read(&outcome).ok()))
}
