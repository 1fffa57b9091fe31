//! What came out of a run: the capture, and what the workload itself saw.
//!
//! The workload's figures travel inside the capture as two notes of the bench: `plimsoll/steps`,
//! one line per finished labelled step, in the last frame, and `plimsoll/progress`, operations and
//! bytes per process so far, in every sample. A third, `plimsoll/unavailable`, says that there are
//! none, because the kernel lacks what the arm is about.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use mm::capture::Capture;
use mm::units::{Bytes, Nanos};

/// Path of the note that holds the steps, in the last frame of a capture.
pub const STEPS: &str = "plimsoll/steps";
/// Path of the note that holds the progress of each process: `PROCESS OPERATIONS BYTES` per line.
pub const PROGRESS: &str = "plimsoll/progress";
/// Path of the note, in the last frame, that says what the arm asks for and the kernel lacks, one
/// thing a line (a tunable's name, a file of a control group). Such a run ends before it begins.
pub const UNAVAILABLE: &str = "plimsoll/unavailable";
/// Path of the note about processes that a failed system call ended: `PROCESS<tab>STEP<tab>WHY`.
pub const FAILED: &str = "plimsoll/failed";
/// Path of the note, in the last frame, about what observing cost: `samples` and `snapshots`, each
/// with their number and the CPU time they took in nanoseconds.
pub const OBSERVER: &str = "plimsoll/observer";
/// Path of the note, in the last frame, that says when the machine was ready for the run, when its
/// disks came and when its ticks began, all on its clock: `ready NANOSECONDS`, `disks NANOSECONDS`,
/// `ticks NANOSECONDS`.
pub const BOOT: &str = "plimsoll/boot";

/// A moment of the note at [`BOOT`] by its name, such as `ready`.
#[must_use]
pub fn moment(note: &str, name: &str) -> Option<Nanos> {
    let mut moments = note.lines().filter_map(|line| line.split_once(' '));
    let found = moments.find(|(known, _)| *known == name);
    found.and_then(|(_, at)| at.parse().ok()).map(Nanos)
}

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Snapshots and samples in the kernel's own words.
    pub capture: Capture,
    /// The labelled steps, in order of their end.
    pub steps: Vec<StepOutcome>,
}

/// What one labelled step of one process came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutcome {
    /// The process instance.
    pub process: String,
    /// The step's label.
    pub label: String,
    /// When it began, since the run's start.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// Operations done.
    pub operations: u64,
    /// Bytes accessed.
    pub bytes: Bytes,
    /// How it ended.
    pub status: Status,
    /// Latency of its operations.
    pub latency: Latency,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// As intended; also where the workload itself, or its deadline, ended the process.
    Done,
    /// Its process was killed by a signal (9 for the OOM killer).
    Killed(u8),
    /// A system call failed with this error number.
    Failed(i32),
}

/// Quantiles of the latency of a step's operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The median.
    pub p50: Nanos,
    /// The 90th percentile.
    pub p90: Nanos,
    /// The 99th percentile.
    pub p99: Nanos,
    /// The largest.
    pub max: Nanos,
}

/// Why a capture holds no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{STEPS}, line {line}: expected \"PROCESS<tab>LABEL<tab>…\" with ten fields, found \"{found}\""
)]
pub struct OutcomeError {
    /// Line number, from 1.
    pub line: usize,
    /// The line.
    pub found: String,
}

impl StepOutcome {
    /// How long it took.
    #[must_use]
    pub fn duration(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }

    /// Appends its line of the `plimsoll/steps` note: ten fields between tabs.
    pub fn write(&self, text: &mut String) {
        let status = match self.status {
            Status::Done => "done".to_owned(),
            Status::Killed(signal) => format!("killed:{signal}"),
            Status::Failed(errno) => format!("failed:{errno}"),
        };
        let l = &self.latency;
        let _ = writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}\t{}\t{status}\t{}\t{}\t{},{}",
            self.process,
            self.label,
            self.start.0,
            self.end.0,
            self.operations,
            self.bytes.0,
            l.p50.0,
            l.p90.0,
            l.p99.0,
            l.max.0
        );
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        let (process, label) = (next()?.to_owned(), next()?.to_owned());
        let (start, end) = (Nanos(next()?.parse().ok()?), Nanos(next()?.parse().ok()?));
        let (operations, bytes) = (next()?.parse().ok()?, Bytes(next()?.parse().ok()?));
        let status = Status::parse(next()?)?;
        let (p50, p90) = (Nanos(next()?.parse().ok()?), Nanos(next()?.parse().ok()?));
        let (p99, max) = next()?.split_once(',')?;
        let (p99, max) = (Nanos(p99.parse().ok()?), Nanos(max.parse().ok()?));
        let latency = Latency { p50, p90, p99, max };
        Some(Self {
            process,
            label,
            start,
            end,
            operations,
            bytes,
            status,
            latency,
        })
    }
}

impl Status {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None => (text == "done").then_some(Self::Done),
            Some(("killed", signal)) => Some(Self::Killed(signal.parse().ok()?)),
            Some(("failed", errno)) => Some(Self::Failed(errno.parse().ok()?)),
            Some(_) => None,
        }
    }
}

impl Outcome {
    /// The outcome that a bench's capture holds.
    ///
    /// # Errors
    /// The first line of `plimsoll/steps` that is not one.
    pub fn from_capture(capture: Capture) -> Result<Self, OutcomeError> {
        let text = capture
            .frames
            .iter()
            .rev()
            .find_map(|frame| frame.file(STEPS))
            .unwrap_or("");
        let parse = |(index, line): (usize, &str)| {
            let error = || OutcomeError {
                line: index + 1,
                found: line.to_owned(),
            };
            StepOutcome::parse(line).ok_or_else(error)
        };
        let steps = text
            .lines()
            .enumerate()
            .map(parse)
            .collect::<Result<_, _>>()?;
        Ok(Self { capture, steps })
    }

    /// What the arm asks for and the kernel lacks; empty where the run was performed.
    pub fn unavailable(&self) -> impl Iterator<Item = &str> {
        let last = self.capture.frames.last();
        let note = last.and_then(|frame| frame.file(UNAVAILABLE));
        note.unwrap_or("").lines()
    }

    /// Whether the kernel had all that the arm asks for.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.unavailable().next().is_none()
    }

    /// The steps with this label, one per process instance.
    pub fn labelled<'a>(&'a self, label: &'a str) -> impl Iterator<Item = &'a StepOutcome> {
        self.steps.iter().filter(move |step| step.label == label)
    }
}
