//! Reading a measure's number out of an outcome.

use mm::capture::Frame;
use mm::diskstats::{self, Diskstats};
use mm::units::Nanos;
use scenario::outcome::{FAILED, Outcome, PROGRESS, Status, StepOutcome};

use super::{Against, Curve, DiskCounter, Item, Measure, Over, Source, Span, Take, Unit};
use crate::stats;

/// Why an outcome does not hold a measure's number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The kernel lacks what the arm asks for, so there was no run.
    #[error("not available here: {0}")]
    Unavailable(String),
    /// The run ended before the snapshot.
    #[error("there is no snapshot \"{0}\" in this run")]
    NoSnapshot(String),
    /// The kernel lacks the file.
    #[error("this kernel has no file /{0}")]
    NoFile(String),
    /// The kernel's files lack the item.
    #[error("{file} has no \"{field}\"{at}")]
    NoItem {
        /// The file.
        file: String,
        /// The item in it.
        field: String,
        /// Where: " in snapshot …".
        at: String,
    },
    /// No sample lies in the span.
    #[error("no sample lies in the span of \"{0}\"")]
    NoSample(String),
    /// No instance of the step came to an end that has this figure.
    #[error("no instance of step \"{0}\" finished")]
    NoStep(String),
    /// Why no instance of the step finished.
    #[error("no instance of step \"{label}\" finished: {why}")]
    Failed {
        /// The step's label.
        label: String,
        /// What became of its process.
        why: String,
    },
    /// The measure is about a kill that there was not.
    #[error("no instance of step \"{0}\" was killed")]
    NoKill(String),
    /// The measure is about reaching an amount that is none in the end.
    #[error("there is nothing to reach: it is 0 at the end of \"{0}\"")]
    NothingToReach(String),
    /// A quotient by nothing.
    #[error("nothing was counted from \"{0}\" to \"{1}\" to divide by")]
    NothingBetween(String, String),
    /// A share of nothing.
    #[error("step \"{0}\" came to nothing, so there is no share of it")]
    NothingOf(String),
}

impl Measure {
    /// The number in this outcome, in the measure's unit.
    ///
    /// # Errors
    /// A [`ReadError`]: a step that was killed, a run that ended early, an item this kernel lacks.
    pub fn read(&self, outcome: &Outcome) -> Result<f64, ReadError> {
        if !outcome.is_available() {
            let lacking: Vec<&str> = outcome.unavailable().collect();
            return Err(ReadError::Unavailable(lacking.join(", ")));
        }
        let base = match &self.source {
            Source::Snapshot { label, item } => self.at_snapshot(outcome, label, item)?,
            Source::Between {
                from,
                to,
                item,
                against,
            } => {
                let growth = |item: &Item| {
                    let later = self.at_snapshot(outcome, to, item)?;
                    Ok(later - self.at_snapshot(outcome, from, item)?)
                };
                let own = growth(item)?;
                let set = match against {
                    None => Some(own),
                    Some(Against::Per(per)) => quotient(own, growth(per)?),
                    Some(Against::ShareWith(other)) => share(own, own + growth(other)?),
                };
                set.ok_or_else(|| ReadError::NothingBetween(from.clone(), to.clone()))?
            }
            Source::During { span, item, over } => self.during(outcome, span, item, *over)?,
            Source::Step {
                label,
                take,
                over,
                share_of,
            } => {
                let figure = |label: &str| {
                    let figure = of_steps(outcome, label, *take, *over);
                    figure.ok_or_else(|| why_none(outcome, label, *take))
                };
                match share_of {
                    None => figure(label)?,
                    Some(whole) => share(figure(label)?, figure(whole)?)
                        .ok_or_else(|| ReadError::NothingOf(whole.clone()))?,
                }
            }
        };
        Ok(base / self.unit.worth())
    }

    fn at_snapshot(&self, outcome: &Outcome, label: &str, item: &Item) -> Result<f64, ReadError> {
        let frame = outcome.capture.labelled(label);
        let frame = frame.ok_or_else(|| ReadError::NoSnapshot(label.to_owned()))?;
        item.read(frame, self.unit).ok_or_else(|| {
            let (file, field) = item.words();
            if file != PROGRESS && frame.file(&file).is_none() {
                return ReadError::NoFile(file);
            }
            let at = format!(" in snapshot \"{label}\"");
            ReadError::NoItem { file, field, at }
        })
    }

    fn during(
        &self,
        outcome: &Outcome,
        span: &Span,
        item: &Item,
        over: Over,
    ) -> Result<f64, ReadError> {
        let samples = self.samples(outcome, span, item)?;
        let is_time = matches!(over, Over::TimeTo(_));
        if is_time && samples.last().is_some_and(|(_, last)| *last <= 0.0) {
            return Err(ReadError::NothingToReach(span.word()));
        }
        let number = match over {
            Over::Time => Curve(samples).mean(),
            Over::TimeTo(percent) => Curve(samples)
                .reaches(f64::from(percent) / 100.0)
                .map(|at| at * Unit::Seconds.worth()),
            over => over.of(samples.into_iter().map(|(_, number)| number).collect()),
        };
        number.ok_or_else(|| ReadError::NoSample(span.word()))
    }

    /// The item at every sample of a span in base units, by seconds since the span's begin.
    fn samples(
        &self,
        outcome: &Outcome,
        span: &Span,
        item: &Item,
    ) -> Result<Vec<(f64, f64)>, ReadError> {
        let (from, to) = span.bounds(outcome)?;
        let within = |frame: &&Frame| (from..=to).contains(&frame.at);
        let frames = outcome.capture.frames.iter().filter(within);
        let point = |frame: &Frame| {
            let at = frame.at.saturating_sub(from).seconds();
            Some((at, item.read(frame, self.unit)?))
        };
        Ok(frames.filter_map(point).collect())
    }

    /// The curve in this outcome, in the measure's unit; `None` where the measure is no curve or
    /// the outcome lacks it.
    #[must_use]
    pub fn curve(&self, outcome: &Outcome) -> Option<Curve> {
        let Source::During {
            span,
            item,
            over: Over::Time,
        } = &self.source
        else {
            return None;
        };
        let mut points = self.samples(outcome, span, item).ok()?;
        let worth = self.unit.worth();
        points.iter_mut().for_each(|(_, value)| *value /= worth);
        (!points.is_empty()).then_some(Curve(points))
    }
}

impl Span {
    fn bounds(&self, outcome: &Outcome) -> Result<(Nanos, Nanos), ReadError> {
        match self {
            Self::Run => Ok((Nanos::ZERO, Nanos(u64::MAX))),
            Self::Snapshots(from, to) => Ok((at(outcome, from)?, at(outcome, to)?)),
            Self::Step(label) => {
                let starts = outcome.labelled(label).map(|step| step.start).min();
                let ends = outcome.labelled(label).map(|step| step.end).max();
                starts
                    .zip(ends)
                    .ok_or_else(|| ReadError::NoStep(label.clone()))
            }
        }
    }

    fn word(&self) -> String {
        match self {
            Self::Run => "the run".to_owned(),
            Self::Step(label) => label.clone(),
            Self::Snapshots(from, to) => format!("{from} … {to}"),
        }
    }
}

fn at(outcome: &Outcome, label: &str) -> Result<Nanos, ReadError> {
    let frame = outcome.capture.labelled(label);
    frame
        .map(|frame| frame.at)
        .ok_or_else(|| ReadError::NoSnapshot(label.to_owned()))
}

impl Over {
    /// The one number; `None` of nothing.
    #[must_use]
    pub fn of(self, mut numbers: Vec<f64>) -> Option<f64> {
        numbers.sort_by(f64::total_cmp);
        match self {
            Self::Minimum => numbers.first().copied(),
            Self::Maximum => numbers.last().copied(),
            Self::Mean => stats::mean(&numbers),
            Self::Median => stats::quantile(&numbers, 0.5),
            Self::P90 => stats::quantile(&numbers, 0.9),
            Self::P99 => stats::quantile(&numbers, 0.99),
            Self::Time | Self::TimeTo(_) => None,
        }
    }
}

/// The figure in base units over all instances of a step.
fn of_steps(outcome: &Outcome, label: &str, take: Take, over: Over) -> Option<f64> {
    let steps: Vec<&StepOutcome> = outcome.labelled(label).collect();
    if steps.is_empty() {
        return None;
    }
    let sum = |of: fn(&StepOutcome) -> u64| steps.iter().map(|step| of(step)).sum::<u64>() as f64;
    let count =
        |is: fn(&Status) -> bool| steps.iter().filter(|step| is(&step.status)).count() as f64;
    let done = |of: fn(&StepOutcome) -> Nanos| {
        let finished = steps.iter().filter(|step| step.status == Status::Done);
        over.of(finished.map(|step| of(step).0 as f64).collect())
    };
    match take {
        Take::Duration => done(StepOutcome::duration),
        Take::Lifetime => over.of(steps.iter().map(|step| step.duration().0 as f64).collect()),
        Take::FirstKill => first_kill(&steps),
        Take::Throughput => per_second(sum(|step| step.bytes.0), &steps),
        Take::Rate => per_second(sum(|step| step.operations), &steps),
        Take::Operations => Some(sum(|step| step.operations)),
        Take::Bytes => Some(sum(|step| step.bytes.0)),
        Take::LatencyP50 => done(|step| step.latency.p50),
        Take::LatencyP90 => done(|step| step.latency.p90),
        Take::LatencyP99 => done(|step| step.latency.p99),
        Take::LatencyMax => done(|step| step.latency.max),
        Take::Survivors => Some(count(|status| *status == Status::Done)),
        Take::Killed => Some(count(|status| matches!(status, Status::Killed(_)))),
        Take::Failed => Some(count(|status| matches!(status, Status::Failed(_)))),
    }
}

/// From the first start to the first kill.
fn first_kill(steps: &[&StepOutcome]) -> Option<f64> {
    let killed = |step: &&&StepOutcome| matches!(step.status, Status::Killed(_));
    let end = steps.iter().filter(killed).map(|step| step.end).min()?;
    let start = steps.iter().map(|step| step.start).min()?;
    Some(end.saturating_sub(start).0 as f64)
}

fn quotient(amount: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| amount / count)
}

/// In percent.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole * 100.0)
}

/// Why no instance of the step has a figure: it ended badly, or its process did before it; or,
/// where a kill is asked for, it did not.
fn why_none(outcome: &Outcome, label: &str, take: Take) -> ReadError {
    if take == Take::FirstKill && outcome.labelled(label).next().is_some() {
        return ReadError::NoKill(label.to_owned());
    }
    let bad = outcome.labelled(label).find_map(|step| match step.status {
        Status::Done => None,
        Status::Killed(9) => Some(format!("{} was killed", step.process)),
        Status::Killed(signal) => Some(format!("signal {signal} ended {}", step.process)),
        Status::Failed(errno) => {
            let error = std::io::Error::from_raw_os_error(errno);
            Some(format!("{}: {error}", step.process))
        }
    });
    match bad.or_else(|| failure_before(outcome)) {
        None => ReadError::NoStep(label.to_owned()),
        Some(why) => ReadError::Failed {
            label: label.to_owned(),
            why,
        },
    }
}

/// The guest's note about a process that a failed system call ended: `PROCESS<tab>STEP<tab>WHY`.
fn failure_before(outcome: &Outcome) -> Option<String> {
    let notes = outcome.capture.frames.iter().rev();
    let note = notes.filter_map(|frame| frame.file(FAILED)).next()?;
    let mut fields = note.lines().next()?.splitn(3, '\t');
    let (process, step, why) = (fields.next()?, fields.next()?, fields.next()?);
    Some(format!("{process} failed at its step {step}: {why}"))
}

/// An amount over the time that the steps cover, from the first one's start to the last one's end.
fn per_second(amount: f64, steps: &[&StepOutcome]) -> Option<f64> {
    let start = steps.iter().map(|step| step.start).min()?;
    let end = steps.iter().map(|step| step.end).max()?;
    let seconds = end.saturating_sub(start).seconds();
    (seconds > 0.0).then(|| amount / seconds)
}

impl Item {
    /// The number in this frame in base units: bytes, nanoseconds, or things.
    #[must_use]
    pub fn read(&self, frame: &Frame, unit: Unit) -> Option<f64> {
        match self {
            Self::Field { file, field } => {
                let worth = if self.is_in_bytes() {
                    1.0
                } else {
                    unit.worth()
                };
                field_of(frame.file(file)?, field, worth)
            }
            Self::Number { file, unit: own } => {
                let word = frame.file(file)?.split_whitespace().next()?;
                let worth = match self.is_in_bytes() || file.ends_with("/schedstat") {
                    true => 1.0,
                    false => own.unwrap_or(unit).worth(),
                };
                Some(word.parse::<f64>().ok()? * worth)
            }
            Self::Zone { zone, field } => {
                zone_sum(frame.file("proc/zoneinfo")?, zone.as_deref(), field)
                    .map(|pages| pages as f64 * Unit::Pages.worth())
            }
            Self::Pressure {
                resource,
                line,
                field,
            } => pressure(
                frame.file(&format!("proc/pressure/{resource}"))?,
                line,
                field,
            ),
            Self::Disk { index, counter, .. } => disk(frame, *index, *counter),
            Self::Progress { process } => progress(frame.file(PROGRESS)?, process),
        }
    }

    /// File and item, for messages.
    #[must_use]
    pub fn words(&self) -> (String, String) {
        match self {
            Self::Field { file, field } => (file.clone(), field.clone()),
            Self::Number { file, .. } => (file.clone(), "number".to_owned()),
            Self::Zone { zone, field } => {
                let zone = zone.as_deref().unwrap_or("any zone");
                ("proc/zoneinfo".to_owned(), format!("{zone}.{field}"))
            }
            Self::Pressure {
                resource,
                line,
                field,
            } => (
                format!("proc/pressure/{resource}"),
                format!("{line}.{field}"),
            ),
            Self::Progress { process } => (PROGRESS.to_owned(), process.clone()),
            Self::Disk { disk, counter, .. } => (
                diskstats::PATH.to_owned(),
                format!("{disk}.{}", counter.word()),
            ),
        }
    }
}

/// A disk's counter in base units. The VM's disks are pda, pdb, … in virtual time and vda, vdb, …
/// otherwise, in the study's order; the model calls them as virtual time does.
fn disk(frame: &Frame, index: usize, counter: DiskCounter) -> Option<f64> {
    let disks = Diskstats::parse(frame.file(diskstats::PATH)?).ok()?;
    let letter = char::from(b'a' + u8::try_from(index).ok().filter(|index| *index < 26)?);
    let named = |kind: &str| disks.disk(&format!("{kind}{letter}"));
    let disk = named("pd").or_else(|| named("vd"))?;
    Some(match counter {
        DiskCounter::Reads => disk.reads,
        DiskCounter::Read => disk.read.0,
        DiskCounter::Writes => disk.writes,
        DiskCounter::Written => disk.written.0,
        DiskCounter::Busy => disk.busy.0,
    } as f64)
}

/// The sum over the instances of a process, which are called "cache" or "cache.1", "cache.2", ….
fn progress(text: &str, process: &str) -> Option<f64> {
    let is_instance = |name: &str| match name.strip_prefix(process) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('.')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())),
        None => false,
    };
    // A process's name may hold blanks; the numbers do not.
    let operations = |line: &str| -> Option<f64> {
        let (rest, _bytes) = line.rsplit_once(' ')?;
        let (name, operations) = rest.rsplit_once(' ')?;
        is_instance(name).then(|| operations.parse().ok())?
    };
    let sums = text.lines().filter_map(operations);
    sums.reduce(|sum, more| sum + more)
}

/// "MemFree:  3718 kB" or "pgfault 42" or "some avg10=…"; a "kB" behind the number counts.
fn field_of(text: &str, field: &str, worth: f64) -> Option<f64> {
    let line = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let word = words.next()?;
        (word.strip_suffix(':').unwrap_or(word) == field).then_some(words)
    });
    let mut words = line?;
    let number: f64 = words.next()?.parse().ok()?;
    let worth = match words.next() {
        Some("kB") => Unit::Kib.worth(),
        _ => worth,
    };
    Some(number * worth)
}

/// Adds up a zone's number over `/proc/zoneinfo`: "free" is the word after "pages".
fn zone_sum(text: &str, zone: Option<&str>, field: &str) -> Option<u64> {
    let mut inside = false;
    let mut sum = None;
    for line in text.lines() {
        if let Some((_, name)) = line.split_once(", zone") {
            inside = zone.is_none_or(|zone| name.trim() == zone);
            continue;
        }
        let line = line.trim();
        let mut words = line
            .strip_prefix("pages ")
            .unwrap_or(line)
            .split_whitespace();
        let named = words.next() == Some(field);
        if inside
            && named
            && let Some(number) = words.next().and_then(|n| n.parse::<u64>().ok())
        {
            sum = Some(sum.unwrap_or(0) + number);
        }
    }
    sum
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=0": averages in percent, the total in nanoseconds.
fn pressure(text: &str, line: &str, field: &str) -> Option<f64> {
    let mut words = text
        .lines()
        .map(str::split_whitespace)
        .find_map(|mut words| (words.next() == Some(line)).then_some(words))?;
    let number = words.find_map(|word| word.strip_prefix(field)?.strip_prefix('='))?;
    let number: f64 = number.parse().ok()?;
    Some(if field == "total" {
        number * Unit::Micros.worth()
    } else {
        number
    })
}

#[cfg(test)]
mod tests;
