//! Reading a measure's number out of an outcome.

use mm::capture::Frame;
use mm::outcome::{FAILED, Outcome, Status, StepOutcome};
use mm::units::Nanos;

use super::{Item, Measure, Over, Source, Span, Take, Unit};
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
            Source::Between { from, to, item } => {
                self.at_snapshot(outcome, to, item)? - self.at_snapshot(outcome, from, item)?
            }
            Source::During { span, item, over } => self.during(outcome, span, item, *over)?,
            Source::Step { label, take, over } => of_steps(outcome, label, *take, *over)
                .ok_or_else(|| ReadError::NoStep(label.clone()))?,
        };
        Ok(base / self.unit.worth())
    }

    fn at_snapshot(&self, outcome: &Outcome, label: &str, item: &Item) -> Result<f64, ReadError> {
        let frame = outcome.capture.labelled(label);
        let frame = frame.ok_or_else(|| ReadError::NoSnapshot(label.to_owned()))?;
        item.read(frame, self.unit).ok_or_else(|| {
            let (file, field) = item.words();
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
        let (from, to) = span.bounds(outcome)?;
        let within = |frame: &&Frame| (from..=to).contains(&frame.at);
        let frames = outcome.capture.frames.iter().filter(within);
        let numbers: Vec<f64> = frames.filter_map(|f| item.read(f, self.unit)).collect();
        over.of(numbers)
            .ok_or_else(|| ReadError::NoSample(span.word()))
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
            Self::Field { file, field } => field_of(frame.file(file)?, field, unit),
            Self::Number { file, unit: own } => {
                let word = frame.file(file)?.split_whitespace().next()?;
                Some(word.parse::<f64>().ok()? * own.unwrap_or(unit).worth())
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
        }
    }
}

/// "MemFree:  3718 kB" or "pgfault 42" or "some avg10=…"; a "kB" behind the number counts.
fn field_of(text: &str, field: &str, unit: Unit) -> Option<f64> {
    let line = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let word = words.next()?;
        (word.strip_suffix(':').unwrap_or(word) == field).then_some(words)
    });
    let mut words = line?;
    let number: f64 = words.next()?.parse().ok()?;
    let worth = match words.next() {
        Some("kB") => Unit::Kib.worth(),
        _ => unit.worth(),
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
mod tests {
    use super::*;
    use crate::study::Study;
    use mm::capture::Capture;
    use mm::outcome::Latency;
    use mm::units::Bytes;

    fn frame(at: u64, label: &str, files: &[(&str, &str)]) -> Frame {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Frame {
            at: Nanos(at),
            label: (!label.is_empty()).then(|| label.to_owned()),
            files: files.collect(),
        }
    }

    fn meminfo(at: u64, label: &str, free: u64) -> Frame {
        frame(
            at,
            label,
            &[("proc/meminfo", &format!("MemFree:  {free} kB\n"))],
        )
    }

    fn step(process: &str, start: u64, end: u64, status: Status) -> StepOutcome {
        StepOutcome {
            process: process.to_owned(),
            label: "serve".to_owned(),
            start: Nanos(start * 1_000_000_000),
            end: Nanos(end * 1_000_000_000),
            operations: 100,
            bytes: Bytes(50 << 20),
            status,
            latency: Latency::default(),
        }
    }

    fn outcome(frames: Vec<Frame>, steps: Vec<StepOutcome>) -> Outcome {
        let capture = Capture { frames };
        Outcome { capture, steps }
    }

    /// A measure as a study's author writes it.
    fn measure(text: &str) -> Measure {
        let study = format!(
            "name = \"m\"\ntitle = \"m\"\nquestion = \"m\"\n[machine]\nmemory = \"1 GiB\"\n\
             [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [{{ snapshot = \"from\" }}, \
             {{ label = \"serve\", sleep = \"1 s\" }}, {{ snapshot = \"to\" }}]\n\
             [[measure]]\nname = \"m\"\n{text}\n"
        );
        Study::parse(&study, "test").unwrap().measures.remove(0)
    }

    fn read(text: &str, outcome: &Outcome) -> Result<f64, String> {
        measure(text)
            .read(outcome)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_item_of_a_snapshot_is_shown_in_the_measures_unit() {
        let outcome = outcome(vec![meminfo(1, "from", 2048)], vec![]);
        let text = "snapshot = \"from\"\nmeminfo = \"MemFree\"";
        assert_eq!(read(text, &outcome), Ok(2.0), "MiB unless said otherwise");
        assert_eq!(
            read(&format!("{text}\nunit = \"kB\""), &outcome),
            Ok(2048.0)
        );
        let missing = "snapshot = \"from\"\nmeminfo = \"MemFre\"";
        let error = "proc/meminfo has no \"MemFre\" in snapshot \"from\"";
        assert_eq!(read(missing, &outcome), Err(error.to_owned()));
        let error = "there is no snapshot \"to\" in this run";
        let late = "snapshot = \"to\"\nmeminfo = \"MemFree\"";
        assert_eq!(read(late, &outcome), Err(error.to_owned()));
    }

    #[test]
    fn a_tunable_has_the_catalogues_unit_whatever_is_shown() {
        let file = ("proc/sys/vm/min_free_kbytes", "67584\n");
        let outcome = outcome(vec![frame(1, "from", &[file])], vec![]);
        let text = "snapshot = \"from\"\ntunable = \"vm.min_free_kbytes\"";
        assert_eq!(read(text, &outcome), Ok(67584.0));
        assert_eq!(read(&format!("{text}\nunit = \"MiB\""), &outcome), Ok(66.0));
    }

    #[test]
    fn counters_and_stalls_are_differences() {
        let files = |count: u64, total: u64| {
            let vmstat = format!("pgscan_kswapd {count}\npgscan_kswapd_x 9\n");
            let line = |word| format!("{word} avg10=0.00 avg60=1.50 avg300=0.00 total={total}\n");
            (vmstat, format!("{}{}", line("some"), line("full")))
        };
        let at = |label: &str, (vmstat, psi): &(String, String)| {
            frame(
                1,
                label,
                &[("proc/vmstat", vmstat), ("proc/pressure/memory", psi)],
            )
        };
        let (before, after) = (files(5, 1000), files(12, 3000));
        let outcome = outcome(vec![at("from", &before), at("to", &after)], vec![]);
        let between = "between = [\"from\", \"to\"]";
        let counted = format!("{between}\nvmstat = \"pgscan_kswapd\"");
        assert_eq!(read(&counted, &outcome), Ok(7.0));
        let stalled = format!("{between}\npressure = \"memory.full.total\"");
        assert_eq!(
            read(&stalled, &outcome),
            Ok(2.0),
            "microseconds shown as milliseconds"
        );
        let average = "snapshot = \"to\"\npressure = \"memory.some.avg60\"";
        assert_eq!(read(average, &outcome), Ok(1.5));
    }

    #[test]
    fn zones_are_added_up_or_taken_alone() {
        let zoneinfo = "Node 0, zone    DMA32\n  pages free     256\n        low      512\n\
                        Node 0, zone   Normal\n  pages free     1024\n        low      256\n";
        let outcome = outcome(vec![frame(1, "to", &[("proc/zoneinfo", zoneinfo)])], vec![]);
        let zone = |text: &str| {
            read(
                &format!("snapshot = \"to\"\nzoneinfo = \"{text}\""),
                &outcome,
            )
        };
        assert_eq!(zone("low"), Ok(3.0));
        assert_eq!(zone("Normal.free"), Ok(4.0));
        assert!(zone("Movable.free").is_err());
    }

    #[test]
    fn samples_within_a_span_become_one_number() {
        let frames = [
            (0, "from", 9),
            (1, "", 4),
            (2, "", 2),
            (3, "to", 6),
            (9, "", 1),
        ];
        let frames =
            frames.map(|(second, label, mib)| meminfo(second * 1_000_000_000, label, mib * 1024));
        let outcome = outcome(frames.into(), vec![step("p", 1, 2, Status::Done)]);
        let free = |span: &str, over: &str| {
            read(
                &format!("during = {span}\nmeminfo = \"MemFree\"\nover = \"{over}\""),
                &outcome,
            )
        };
        assert_eq!(free("{ step = \"serve\" }", "mean"), Ok(3.0));
        assert_eq!(free("{ from = \"from\", to = \"to\" }", "maximum"), Ok(9.0));
        assert_eq!(free("\"run\"", "minimum"), Ok(1.0));
    }

    #[test]
    fn figures_of_a_step_are_of_all_its_instances() {
        let steps = vec![
            step("p.1", 0, 2, Status::Done),
            step("p.2", 1, 5, Status::Done),
            step("p.3", 1, 3, Status::Killed(9)),
        ];
        let outcome = outcome(vec![], steps);
        let of = |take: &str| read(&format!("step = \"serve\"\ntake = \"{take}\""), &outcome);
        assert_eq!(of("duration"), Ok(3.0), "the median of those that finished");
        assert_eq!(of("throughput"), Ok(30.0), "150 MiB in 5 s");
        assert_eq!(of("rate"), Ok(60.0));
        assert_eq!(of("operations"), Ok(300.0));
        assert_eq!(
            (of("survivors"), of("killed"), of("failed")),
            (Ok(2.0), Ok(1.0), Ok(0.0))
        );
        let slowest = "step = \"serve\"\ntake = \"duration\"\nover = \"maximum\"";
        assert_eq!(read(slowest, &outcome), Ok(4.0));
    }

    #[test]
    fn a_step_that_never_finished_has_no_duration() {
        let outcome = outcome(vec![], vec![step("p", 0, 1, Status::Killed(9))]);
        let text = "step = \"serve\"\ntake = \"duration\"";
        let error = "no instance of step \"serve\" finished";
        assert_eq!(read(text, &outcome), Err(error.to_owned()));
    }
}
