//! What a recording cannot tell is a range: between what figures of an arm lie, whichever of it was
//! so, and with the error that programs had that were recorded.

use mm::units::Bytes;
use scenario::Scenario;
use scenario::outcome::Outcome;
use scenario::recording::Kind;
use scenario::workload::{Action, Pace, Step};
use study::footprint::Footprint;
use study::measure::{Measure, Source};
use study::program_error::{self, HOLDS, Interval, Of};
use study::record::Record;
use study::{CACHED, READ_IN, Study};

use crate::bench::{Bench, Run};
use crate::refused::Refused;
use crate::run::outcome;
use crate::scale::Scale;

/// Of a stream's time, the part that it must have slept of its own accord before its pace is in
/// doubt: a task that never does goes on as soon as it can.
const SLEEPS: f64 = 0.01;

/// What is asked about a recording.
pub(crate) struct Ranged<'a> {
    /// The study as it was recorded.
    pub(crate) recorded: &'a Study,
    /// The study that is asked.
    pub(crate) study: &'a Study,
    /// The model.
    pub(crate) bench: &'a dyn Bench,
    /// Pages of the machine that one simulated page stands for.
    pub(crate) scale: Scale,
}

/// What of an arm the recording leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    /// Whether a task waits for its runs or goes by the clock.
    pace: bool,
    /// What of what was cached before would still be there in less memory.
    order: bool,
    /// What else would have been cached before in more memory.
    more: bool,
}

impl Ranged<'_> {
    /// The lines that are said of the arms with these outcomes; none without a recording.
    ///
    /// # Errors
    /// The model has no outcome.
    pub(crate) fn lines(&self, arms: &[String], ran: &[Record]) -> Result<Vec<String>, Refused> {
        if self.study.observed.is_none() || self.study.recorded.sha256.is_none() {
            return Ok(Vec::new());
        }
        let found = Footprint::of(self.recorded);
        let (mut lines, mut open) = (Vec::new(), Open::default());
        for arm in arms {
            let records = ran.iter().filter(|it| it.provenance.arm == *arm);
            let outcomes: Vec<Outcome> = records.map(|it| it.outcome.clone()).collect();
            if let Some(first) = ran.iter().find(|it| it.provenance.arm == *arm) {
                let scenario = self.study.scenario(arm, first.provenance.seed)?;
                let of_arm = self.open(&scenario, &found);
                lines.extend(self.line(&scenario, of_arm, outcomes, &found)?);
                open = open.or(of_arm);
            }
        }
        lines.insert(0, basis());
        lines.extend(open.said(&found, self.elsewhere(&found)));
        Ok(lines)
    }

    /// What is not known of an arm.
    fn open(&self, scenario: &Scenario, found: &Footprint) -> Open {
        let had = self.available(self.recorded);
        let has = scenario
            .machine
            .available
            .unwrap_or(scenario.machine.memory);
        Open {
            pace: scenario.recorded.streams.iter().skip(1).any(sleeps),
            order: found.all.cached > has,
            more: has > had && self.elsewhere(found) > Bytes::ZERO,
        }
    }

    /// The most that was read and would have been cached before with more memory: what had been
    /// reclaimed by then, and no more than is read for the first time.
    fn elsewhere(&self, found: &Footprint) -> Bytes {
        let reclaimed = self.recorded.observed.as_ref().and_then(|it| it.reclaimed);
        let first = found.curve.least();
        reclaimed.map_or(first, |it| it.min(first))
    }

    fn available(&self, study: &Study) -> Bytes {
        let machine = study.arms.first().map(|arm| &arm.machine);
        machine.map_or(Bytes::ZERO, |it| it.available.unwrap_or(it.memory))
    }

    /// "yours: read from disk 190 MiB to 210 MiB, time of 2 sqlite3 8.1 to 9.2 s".
    fn line(
        &self,
        scenario: &Scenario,
        open: Open,
        mut outcomes: Vec<Outcome>,
        found: &Footprint,
    ) -> Result<Option<String>, Refused> {
        for other in others(scenario, open) {
            let run = Run { scenario: &other };
            outcomes.push(outcome(self.bench, run, &mut |_| ())?);
        }
        let figures = self.study.measures.iter().filter_map(|measure| {
            let of = kind(measure)?;
            let (least, most) = ends(measure, &outcomes)?;
            let less = self.elsewhere(found).0 as f64 / 1024.0;
            let less = if open.more && of == Of::Read {
                less
            } else {
                0.0
            };
            let with = self.widened(of, scenario)?;
            let [least, most] = [(least - less).max(0.0) * with.least, most * with.most];
            Some(match of {
                Of::Time => format!("{} {least:.2} to {most:.2} s", measure.name),
                Of::Read | Of::Written => {
                    let [least, most] = [least, most].map(|kib| Bytes((kib * 1024.0) as u64));
                    format!("{} {least} to {most}", measure.name)
                }
            })
        });
        let figures: Vec<String> = figures.take(2).collect();
        let is_any = !figures.is_empty();
        Ok(is_any.then(|| format!("{}: {}", scenario.arm, figures.join(", "))))
    }

    /// The error of recorded programs, wider for a sample and for a size far from the recorded one.
    fn widened(&self, of: Of, scenario: &Scenario) -> Option<Interval> {
        let interval = program_error::interval(&program_error::kept(), of);
        let interval = interval.unwrap_or(Interval::EXACT);
        let (had, has) = (self.recorded.arms.first()?, &scenario.machine);
        let size = has.memory.0 as f64 / had.machine.memory.0.max(1) as f64;
        let interval = interval.of_size(size);
        let level = u64::from(scenario.recorded.level);
        Some(match self.scale.of(scenario).max(1 << level) {
            1 => interval,
            scale => interval.of_sample(of, has.memory.0 / 4096 / scale),
        })
    }
}

/// On what the ranges rest.
fn basis() -> String {
    match program_error::interval(&program_error::kept(), Of::Read) {
        Some(found) => format!(
            "range of {HOLDS} in 100, by {} arms of {} programs that were recorded and run again \
             in VMs of 512 MiB:",
            found.arms, found.programs
        ),
        None => "the error of recorded programs is not known".to_owned(),
    }
}

/// What is read, and the times of steps.
fn kind(measure: &Measure) -> Option<Of> {
    match &measure.source {
        _ if measure.name == READ_IN => Some(Of::Read),
        Source::Step { .. } => Some(Of::Time),
        _ => None,
    }
}

/// Whether a stream slept of its own accord.
fn sleeps(stream: &scenario::recording::Stream) -> bool {
    let (mut slept, mut all) = (0.0, 0.0);
    // It sleeps until its first run, which says when it began.
    for run in stream.iter().skip(1) {
        // What another woke it from is no pace of its own.
        if run.kind != Kind::Wait {
            slept += run.sleep.0 as f64;
        }
        all += (run.sleep.0 + run.compute.0 + run.took.0) as f64;
    }
    slept > SLEEPS * all
}

/// The arm, otherwise in each respect that is open.
fn others(scenario: &Scenario, open: Open) -> Vec<Scenario> {
    let by_the_clock = open.pace.then(|| {
        let mut other = scenario.clone();
        let processes = other.workload.processes.iter_mut();
        processes.for_each(|process| paced(&mut process.steps));
        other
    });
    let empty = open.order.then(|| {
        let mut other = scenario.clone();
        let processes = other.workload.processes.iter_mut();
        let cached = processes.filter(|process| process.name.starts_with(CACHED));
        cached.for_each(|process| process.steps.clear());
        other
    });
    by_the_clock.into_iter().chain(empty).collect()
}

/// Lets replays go by the clock.
fn paced(steps: &mut [Step]) {
    for step in steps {
        match &mut step.action {
            Action::Replay(replay) => replay.pace = Pace::Clock,
            Action::Repeat { steps, .. } => paced(steps),
            _ => {}
        }
    }
}

/// The least and the most that a measure comes to.
fn ends(measure: &Measure, outcomes: &[Outcome]) -> Option<(f64, f64)> {
    let read = outcomes
        .iter()
        .filter_map(|outcome| measure.read(outcome).ok());
    let ends = read.fold(None, |ends: Option<(f64, f64)>, value| {
        let (least, most) = ends.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    });
    ends.filter(|(least, most)| least.is_finite() && most.is_finite())
}

impl Open {
    fn or(self, other: Self) -> Self {
        Self {
            pace: self.pace || other.pace,
            order: self.order || other.order,
            more: self.more || other.more,
        }
    }

    /// Why ranges are as wide as they are, a line for each.
    fn said(self, found: &Footprint, elsewhere: Bytes) -> Vec<String> {
        let pace = "the range has both paces, as a recording does not tell whether tasks wait for \
                    what they read or go by the clock";
        let order = format!(
            "the range goes to an empty cache: the {} cached before are more than fit, and which \
             would have stayed is not known",
            found.all.cached
        );
        let more = format!(
            "more memory than was recorded: what else was cached before is not known, from none to \
             {elsewhere} of what is read for the first time"
        );
        let lines = [
            (self.pace, pace.to_owned()),
            (self.order, order),
            (self.more, more),
        ];
        let open = lines.into_iter().filter(|(is_open, _)| *is_open);
        open.map(|(_, line)| line).collect()
    }
}

#[cfg(test)]
mod tests;
