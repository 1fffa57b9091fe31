//! What an answer from a recording begins with: how far the model misses the recording itself.

use mm::text::{counted, lasting};
use mm::units::{Bytes, Nanos};
use scenario::outcome::Outcome;
use scenario::workload::Action;
use study::measure::Source;
use study::{Observed, READ_IN, Study};

use crate::bench::Run;
use crate::model_bench::ModelBench;
use crate::own::maps;
use crate::refused::Refused;
use crate::run::outcome;
use crate::runs::Runs;

/// What is to be said of a recording before an answer from it.
#[derive(Debug, Default)]
pub(crate) struct OfRecording {
    pub(crate) notes: Vec<String>,
    /// Why no answer from it holds.
    pub(crate) far: Option<String>,
}

/// The notes on a recording; none for another study. One run of the model, which is refused where
/// it would take more than `available`.
///
/// # Errors
/// The recording is too long for the model, or the model does not run it.
pub(crate) fn notes(
    study: &Study,
    bench: &ModelBench,
    available: Bytes,
) -> Result<OfRecording, Refused> {
    let Some(observed) = &study.observed else {
        return Ok(OfRecording::default());
    };
    let miss = miss(study, observed, bench, available)?;
    let far = miss.is_far.then(|| format!("{}; {FAR}", miss.said));
    let mut notes = vec![miss.said];
    notes.extend(far.is_some().then(|| FAR.to_owned()));
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
    if maps(study)
        && let Some(ages) = &observed.ages
    {
        let writes = "each use counts as a write";
        notes.push(format!("ages of anonymous memory: {ages}; {writes}"));
    }
    if !observed.writers.is_empty() {
        let mut tunables: Vec<&str> = observed.writers.iter().map(|it| &*it.tunable).collect();
        tunables.dedup();
        notes.push(format!(
            "written while it was recorded, and taken as set when it began: {}",
            tunables.join(", ")
        ));
    }
    let harm = observed.harm.iter();
    notes.extend(harm.map(|it| format!("the recording ended itself: {it}")));
    Ok(OfRecording { notes, far })
}

/// How far the model misses a recording itself.
struct Miss {
    said: String,
    /// Whether an answer from it is worth nothing.
    is_far: bool,
}

/// What is said where it misses by more than [`MOST`].
const FAR: &str = "the model is far from this recording, so what follows does not hold; \
                              where a kernel shows no writes, files that are written and read are \
                              why";
/// A relative miss of what is read, and the bytes below which it does not matter.
const MOST: f64 = 0.25;
const LITTLE: f64 = (16 << 20) as f64;

/// "the recording itself (14 s on 6.12.1): 190 MiB read from disks; the model: 195 MiB (+2.6 %)".
fn miss(
    study: &Study,
    observed: &Observed,
    bench: &ModelBench,
    available: Bytes,
) -> Result<Miss, Refused> {
    let begin = format!(
        "the recording itself ({} on {}): {} read from disks",
        lasting(observed.time),
        observed.kernel,
        observed.read_in
    );
    let outcome = done_again(study, bench, available)?;
    let read_in = study.measures.iter().find(|it| it.name == READ_IN);
    let Some(kilobytes) = read_in.and_then(|measure| measure.read(&outcome).ok()) else {
        return Ok(Miss {
            said: format!("{begin}; the model does not say how much it reads"),
            is_far: false,
        });
    };
    let mut said = format!("{begin}; the model: {}", Bytes((kilobytes * 1024.0) as u64));
    if observed.read_in.0 > 0 {
        let seen = observed.read_in.0 as f64;
        said += &format!(" ({:+.1} %)", (kilobytes * 1024.0 / seen - 1.0) * 100.0);
    }
    let apart = (kilobytes * 1024.0 - observed.read_in.0 as f64).abs();
    Ok(Miss {
        said: said + &time_of_longest(study, &outcome).unwrap_or_default(),
        is_far: apart > LITTLE && apart > MOST * observed.read_in.0 as f64,
    })
}

/// "; 1 load took 32 s; in the model: 33 s (+3.1 %)", of the stream whose time is measured first.
fn time_of_longest(study: &Study, outcome: &Outcome) -> Option<String> {
    let times = study.measures.iter().filter_map(|measure| {
        let Source::Step { label, .. } = &measure.source else {
            return None;
        };
        Some((label, measure))
    });
    let (label, measure) = times.into_iter().next()?;
    let number = stream_of(study, label)?;
    let stream = study.recorded.recorded.streams.get(number as usize)?;
    let spans = stream
        .iter()
        .map(|run| run.compute.0 + run.sleep.0 + run.took.0);
    let seen = spans.fold(0_u64, u64::saturating_add) as f64 / Nanos::SECOND.0 as f64;
    let model = measure.read(outcome).ok()?;
    (seen > 0.0).then(|| {
        let change = (model / seen - 1.0) * 100.0;
        format!("; {label} took {seen:.1} s, in the model {model:.1} s ({change:+.0} %)")
    })
}

/// The stream that the step with this label does again.
fn stream_of(study: &Study, label: &str) -> Option<u32> {
    let processes = study.arms.iter().flat_map(|arm| &arm.workload.processes);
    let mut steps = processes.flat_map(|process| &process.steps);
    steps.find_map(|step| match &step.action {
        Action::Replay(replay) if step.label.as_deref() == Some(label) => Some(replay.stream),
        _ => None,
    })
}

/// What the study's first arm comes to, once.
fn done_again(study: &Study, bench: &ModelBench, available: Bytes) -> Result<Outcome, Refused> {
    let arm = study.arms.first();
    let arm = arm.ok_or_else(|| Refused("the study has no arm".to_owned()))?;
    Runs::at_automatic_scale(study, &[&arm.name], 1, 1).check(available)?;
    let scenario = study.scenario(&arm.name, 1)?;
    let run = Run {
        scenario: &scenario,
    };
    Ok(outcome(bench, run, &mut |_| ())?)
}
