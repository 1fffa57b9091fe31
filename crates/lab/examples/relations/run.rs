//! Runs of the model, and when two of them are the same.

use std::panic::{AssertUnwindSafe, catch_unwind};

use answer::bench::{Bench as _, Run};
use answer::calibration;
use answer::model_bench::ModelBench;
use mm::vmstat::{self, Vmstat};
use scenario::outcome::Outcome;
use study::Study;

use crate::draw::Sketch;

/// What a few pages more make of a figure beside what seeds do.
const BEYOND: f64 = 0.1;

/// Counters that say what a run did.
const COUNTED: [&str; 10] = [
    "pgfault",
    "pgmajfault",
    "pswpin",
    "pswpout",
    "pgscan_kswapd",
    "pgscan_direct",
    "workingset_refault_anon",
    "workingset_refault_file",
    "oom_kill",
    "nr_written",
];

/// What came out of a study's first arm with this seed; the error of a run that ended otherwise.
pub(crate) fn outcome(text: &str, kernel: usize, seed: u64) -> Result<Outcome, String> {
    let run = || {
        let study = Study::parse(text, "drawn.toml").map_err(|why| why.to_string())?;
        let arm = &study.arms[0].name;
        let scenario = &study.scenario(arm, seed).map_err(|why| why.to_string())?;
        let kernels: Vec<_> = calibration::kernels().collect();
        let calibration = calibration::built_in(kernels[kernel % kernels.len()]);
        let calibration = calibration.map_err(|why| why.to_string())?;
        let bench = ModelBench::new(calibration);
        let capture = bench.run(Run { scenario }, &mut |_| {});
        let capture = capture.map_err(|why| why.to_string())?;
        Outcome::from_capture(capture).map_err(|why| why.to_string())
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("it panics".to_owned()))
}

/// The kernel of a drawn study.
pub(crate) fn kernel(seed: u64) -> usize {
    seed as usize % 2
}

/// The outcomes of a sketch and of a changed one.
pub(crate) fn both(a: &Sketch, b: &Sketch, seed: u64) -> Result<(Outcome, Outcome), String> {
    let of = |sketch: &Sketch| outcome(&sketch.text(), kernel(seed), 1);
    Ok((of(a)?, of(b)?))
}

/// Whether two outcomes are the same to the byte.
pub(crate) fn identical(a: &Outcome, b: &Outcome) -> Result<(), String> {
    if a == b {
        return Ok(());
    }
    let (a, b) = (a.capture.to_text(), b.capture.to_text());
    let differs = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    Err(format!("not the same: {differs:?}"))
}

/// Whether no figure of the changed runs lies, with every seed, beyond those of the first with
/// every seed, by a tenth and what is no difference. Both ran with the same seeds.
pub(crate) fn alike(a: &[Outcome], b: &[Outcome]) -> Result<(), String> {
    for (name, floor, figure) in figures(&a[0]) {
        let of = |outcomes: &[Outcome]| -> Option<(f64, f64)> {
            let values: Option<Vec<f64>> = outcomes.iter().map(&figure).collect();
            let values = values?.into_iter();
            Some(values.fold((f64::INFINITY, 0.0), |(low, high), value| {
                (value.min(low), value.max(high))
            }))
        };
        let (Some((low, high)), Some((least, most))) = (of(a), of(b)) else {
            continue;
        };
        let slack = floor + high * BEYOND;
        if least > high + slack || most < low - slack {
            return Err(format!(
                "{name}: {least:.0} to {most:.0} where it was {low:.0} to {high:.0}"
            ));
        }
    }
    Ok(())
}

type Figure<'a> = (String, f64, Box<dyn Fn(&Outcome) -> Option<f64> + 'a>);

/// A run's figures: what it is, which difference is none, and how to read it.
fn figures(outcome: &Outcome) -> Vec<Figure<'_>> {
    let mut figures: Vec<Figure<'_>> = Vec::new();
    for name in COUNTED {
        // One more waking of kswapd is no difference.
        let floor = if name.starts_with("pgscan") {
            4096.0
        } else {
            512.0
        };
        figures.push((
            name.to_owned(),
            floor,
            Box::new(move |it| Some(counter(it, name) as f64)),
        ));
    }
    for step in &outcome.steps {
        let label = step.label.as_str();
        figures.push((
            format!("{label}, in ms"),
            20.0,
            Box::new(move |it| {
                let step = it.labelled(label).next()?;
                Some(step.duration().seconds() * 1000.0)
            }),
        ));
    }
    figures
}

/// How far a counter came in a run.
pub(crate) fn counter(outcome: &Outcome, name: &str) -> u64 {
    let read = |frame: Option<&mm::capture::Frame>| {
        let text = frame.and_then(|frame| frame.file(vmstat::PATH))?;
        Vmstat::parse(text).ok()?.get(name)
    };
    let frames = &outcome.capture.frames;
    let (first, last) = (read(frames.first()), read(frames.last()));
    last.unwrap_or(0).saturating_sub(first.unwrap_or(0))
}

/// Outcomes of a sketch with three seeds.
pub(crate) fn thrice(sketch: &Sketch, seed: u64) -> Result<Vec<Outcome>, String> {
    let text = sketch.text();
    (1..=3)
        .map(|run| outcome(&text, kernel(seed), run))
        .collect()
}
