//! Two machines of which one has more.

use scenario::outcome::Outcome;

use crate::draw::{Sketch, small};
use crate::run::{counter, thrice};

/// The median of three.
fn median(outcomes: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    let mut all: Vec<f64> = outcomes.iter().map(figure).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn no_more(
    (less, more): (&[Outcome], &[Outcome]),
    (name, floor): (&str, f64),
    figure: impl Fn(&Outcome) -> f64,
) -> Result<(), String> {
    let (before, after) = (median(less, &figure), median(more, &figure));
    match after <= before * 1.05 + floor {
        true => Ok(()),
        false => Err(format!("{name}: {after:.0} where it was {before:.0}")),
    }
}

fn changed(
    seed: u64,
    change: impl FnOnce(&mut Sketch),
) -> Result<(Vec<Outcome>, Vec<Outcome>), String> {
    let sketch = small(seed);
    let mut more = sketch.clone();
    change(&mut more);
    Ok((thrice(&sketch, seed)?, thrice(&more, seed)?))
}

/// Disks of twice the bandwidth and half the latency: the run takes no longer. A kill ends a process
/// early, so that a run without it is the longer one.
pub(crate) fn faster_disk(seed: u64) -> Result<(), String> {
    let (slow, fast) = changed(seed, |sketch| {
        for disk in &mut sketch.disks {
            disk.bandwidth *= 2;
            disk.latency /= 2;
            disk.seek /= 2;
        }
    })?;
    let is_killed = |outcome: &Outcome| counter(outcome, "oom_kill") > 0;
    if slow.iter().chain(&fast).any(is_killed) {
        return Ok(());
    }
    no_more((&slow, &fast), ("the run, in ms", 100.0), |outcome| {
        let frames = &outcome.capture.frames;
        frames
            .last()
            .map_or(0.0, |frame| frame.at.seconds() * 1000.0)
    })
}

/// Twice the memory: no more refaults, pages swapped in and kills.
pub(crate) fn twice_the_memory(seed: u64) -> Result<(), String> {
    let (less, more) = changed(seed, |sketch| sketch.memory *= 2)?;
    let both = (less.as_slice(), more.as_slice());
    no_more(both, ("refaults", 512.0), |outcome| {
        let of = |kind: &str| counter(outcome, &format!("workingset_refault_{kind}"));
        (of("anon") + of("file")) as f64
    })?;
    no_more(both, ("pages swapped in", 512.0), |outcome| {
        counter(outcome, "pswpin") as f64
    })?;
    no_more(both, ("kills", 0.0), |outcome| {
        counter(outcome, "oom_kill") as f64
    })
}
