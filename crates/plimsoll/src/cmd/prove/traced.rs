//! `plimsoll prove --trace`: one run whose tracepoints are kept, and which is no record.

use std::io::Write as _;
use std::path::PathBuf;

use answer::run::RunId;
use anyhow::bail;
use lab::experiment::{Event, Experiment};
use lab::traced;
use lab::vm::{Tracepoints, VmBench, VmOptions};
use mm::quantity;
use mm::text::counted;
use mm::units::Bytes;
use study::record::Record;
use study::traced::{DEFAULT, Kept, read};

use super::no_outcome;
use crate::exit::ExitCode;
use crate::progress::{Bar, Elsewhere};
use crate::results::wrapped;
use crate::term;

/// Whether a run is traced, and how.
#[derive(Debug, clap::Args)]
pub(super) struct Tracing {
    /// Run one arm once with these tracepoints of the kernel, as in vmscan:mm_vmscan_throttled, and
    /// keep what they say in a file for `plimsoll report --trace`; it is no record, since tracing
    /// takes time [default: those that the model counts too]
    #[arg(long, value_name = "EVENTS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = events, conflicts_with = "repetitions")]
    trace: Option<Events>,
    /// The trace's file [default: STUDY-ARM-SEED-KEY.trace.gz in the current folder]
    #[arg(long, value_name = "FILE", requires = "trace")]
    trace_to: Option<PathBuf>,
    /// Size of the kernel's buffer, up to 12M, by which the VM has more memory; when it is full,
    /// later events are lost
    #[arg(long, value_name = "SIZE", requires = "trace", default_value = "4M")]
    #[arg(value_parser = buffer)]
    trace_buffer: Bytes,
}

/// Tracepoints that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Events(Vec<String>);

/// `SYSTEM:NAME`, several with commas; none for those that are usual.
fn events(text: &str) -> Result<Events, String> {
    if text.is_empty() {
        return Ok(Events(DEFAULT.map(str::to_owned).to_vec()));
    }
    let is_name = |word: &str| {
        let mut bytes = word.bytes();
        !word.is_empty() && bytes.all(|it| it.is_ascii_alphanumeric() || it == b'_' || it == b'-')
    };
    let is_event = |event: &str| {
        let parts = event.split_once(':');
        parts.is_some_and(|(system, name)| is_name(system) && is_name(name))
    };
    match text.split(',').find(|event| !is_event(event)) {
        Some(other) => Err(format!(
            "\"{other}\" is no SYSTEM:NAME, as in vmscan:mm_vmscan_throttled; where a kernel lacks \
             one, the error lists what it has"
        )),
        None => Ok(Events(text.split(',').map(str::to_owned).collect())),
    }
}

fn buffer(text: &str) -> Result<Bytes, String> {
    let size = quantity::size(text).map_err(|error| error.to_string())?;
    let range = Bytes(64 << 10)..=Tracepoints::MOST;
    let fits = range.contains(&size).then_some(size);
    fits.ok_or_else(|| format!("expected a size from {} to {}", range.start(), range.end()))
}

impl Tracing {
    pub(super) fn is_wanted(&self) -> bool {
        self.trace.is_some()
    }

    /// Runs the one arm of the experiment once, and keeps the trace.
    pub(super) fn run(
        &self,
        experiment: &Experiment<'_>,
        options: VmOptions,
    ) -> anyhow::Result<ExitCode> {
        let [arm] = &experiment.arms[..] else {
            bail!("a trace is of one run: name one arm with --arm");
        };
        let id = RunId {
            arm: arm.clone(),
            seed: experiment.first_seed,
        };
        if let Some(path) = &self.trace_to {
            traced::prepare(path)?;
        }
        let options = VmOptions {
            traced: Some(self.tracepoints()),
            ..options
        };
        let bar = Bar::new(1, Elsewhere::Lines);
        let bench = VmBench::new(&options, &mut |news| bar.say("", &news))?;
        let tell = |event: Event<'_>| bar.tell(&event);
        let results = experiment.run_these(vec![id], &bench, None, &tell);
        bar.finish();
        let results = results?;
        match results.records.first() {
            Some(record) => self.keep(experiment, record),
            None => Err(no_outcome(&results).unwrap_or_else(|| anyhow::anyhow!("no run"))),
        }
    }

    fn tracepoints(&self) -> Tracepoints {
        let events = self.trace.as_ref().map_or_else(Vec::new, |it| it.0.clone());
        Tracepoints {
            events,
            buffer: self.trace_buffer,
        }
    }

    /// Writes the trace, and says what is in it.
    fn keep(&self, experiment: &Experiment<'_>, record: &Record) -> anyhow::Result<ExitCode> {
        let usual = || traced::usual_path(&record.provenance);
        let path = self.trace_to.clone().unwrap_or_else(usual);
        traced::write(record, &path)?;
        let (arm, seed) = (&record.provenance.arm, record.provenance.seed);
        let scenario = experiment.study.scenario(arm, seed)?;
        let (_, kept) = read(&scenario, &record.outcome)?;
        let (file, width) = (path.display().to_string(), term::columns());
        let mut out = term::out();
        for line in said(&kept) {
            write!(out, "{}", wrapped(&line, width))?;
        }
        writeln!(out, "trace: {file}")?;
        writeln!(out, "next: plimsoll report --trace {file}")?;
        Ok(ExitCode::Done)
    }
}

/// How much is in a buffer, and what is not.
pub(crate) fn said(kept: &Kept) -> Vec<String> {
    let all: u64 = kept.events.values().sum();
    let lost = match kept.lost {
        0 => "none lost".to_owned(),
        lost => format!(
            "the buffer was full at {:.3} s and {} lost after that (more fit with \
             --trace-buffer)",
            kept.last.seconds(),
            counted(lost, "event"),
        ),
    };
    let mut lines = vec![format!("{}, {lost}", counted(all, "event"))];
    let absent = kept.absent.join(", ");
    lines.extend((!absent.is_empty()).then(|| format!("not on this kernel: {absent}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_tracepoint_is_refused_before_a_vm_boots() {
        assert_eq!(events("").unwrap().0.len(), DEFAULT.len());
        let two = events("block:block_rq_issue,oom:mark_victim").unwrap();
        assert_eq!(two.0, ["block:block_rq_issue", "oom:mark_victim"]);
        for text in ["vmscan", "a:b,", "../x:y", "a:b?", "a:b:c", ":"] {
            let error = events(text).unwrap_err();
            assert!(error.contains("is no SYSTEM:NAME"), "{text}: {error}");
        }
        assert_eq!(buffer("1M"), Ok(Bytes(1 << 20)));
        let error = buffer("1G").unwrap_err();
        assert_eq!(error, "expected a size from 64 KiB to 12 MiB");
    }

    #[test]
    fn what_was_lost_is_said() {
        let kept = Kept {
            lost: 12,
            absent: vec!["vmscan:mm_vmscan_throttled".to_owned()],
            events: [("mm_vmscan_kswapd_wake".to_owned(), 3)].into(),
            last: mm::units::Nanos(1_500_000_000),
        };
        assert_eq!(
            said(&kept),
            [
                "3 events, the buffer was full at 1.500 s and 12 events lost after that (more fit \
                 with --trace-buffer)",
                "not on this kernel: vmscan:mm_vmscan_throttled",
            ]
        );
    }
}
