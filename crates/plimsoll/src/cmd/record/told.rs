//! What is told of a recording when it ended.

use mm::text::{counted, lasting};
use mm::units::Bytes;
use recorder::{Probe, Tally};
use study::Observed;

use super::{Begun, Ended, shown};
use crate::term;

impl Begun<'_> {
    /// Tells what was recorded, and what was not.
    pub(super) fn tell(
        &self,
        probe: &Probe,
        observed: &Observed,
        ended: Ended,
    ) -> anyhow::Result<()> {
        use std::io::Write as _;
        let Tally {
            reads,
            read,
            writes,
            written,
            loads,
            passed_over,
            ..
        } = self.streams.tally();
        let path = self.args.output.display();
        let mut out = term::out();
        writeln!(
            out,
            "{path}: {}, {}{}",
            lasting(observed.time),
            counted(self.streams.all().len() as u64, "stream"),
            match ended {
                Ended::Time => String::new(),
                Ended::Interrupted => ", interrupted".to_owned(),
                Ended::Full => ", ended as the file is full (--size)".to_owned(),
                Ended::Harm(harm) => format!(", ended itself: {harm}"),
            }
        )?;
        writeln!(
            out,
            "  {} ({}), {} ({}), {} of mapped files; {} lost, {passed_over} passed over",
            counted(reads, "read"),
            Bytes(read),
            counted(writes, "write"),
            Bytes(written),
            counted(loads, "fault"),
            observed.lost
        )?;
        writeln!(
            out,
            "  the machine read {} from disks meanwhile",
            observed.read_in
        )?;
        if observed.scale > 1 {
            let scale = observed.scale;
            writeln!(
                out,
                "  one page of {scale} is in it, as all do not fit (--size)"
            )?;
        }
        if let Some(ages) = &observed.ages {
            writeln!(out, "  ages of anonymous memory: {ages}")?;
        }
        for it in &observed.writers {
            writeln!(out, "  {} was written by {}", it.tunable, it.program)?;
        }
        for line in self.limits(probe, observed.lost) {
            writeln!(out, "  {line}")?;
        }
        term::talk(format_args!(
            "next: plimsoll predict {} --memory 8G",
            shown(&self.args.output)
        ));
        Ok(())
    }

    /// What the recording does not have.
    fn limits(&self, probe: &Probe, lost: u64) -> Vec<String> {
        let mut lines = Vec::new();
        let seen: u64 = self.streams.all().iter().map(|it| it.runs).sum();
        if lost > (seen + lost) / 100 {
            let share = lost as f64 * 100.0 / (seen + lost) as f64;
            lines.push(format!(
                "{share:.0} % of the events are lost: tasks read faster than they are recorded, \
                 and an answer from it is about the rest"
            ));
        }
        let unknown = self.streams.tally().of_unknown_groups;
        if unknown > 0 {
            lines.push(format!(
                "the control group of {} is not known: they had ended, or were too many",
                counted(unknown, "task")
            ));
        }
        if !probe.sees().ends {
            lines.push(format!(
                "this kernel lets only {} be seen: writes, fsync and truncation are not in it",
                probe.hooks().join(", ")
            ));
        }
        if !probe.sees().added {
            let line = "what was cached before is not known: the model begins with an empty cache";
            lines.push(line.to_owned());
        }
        if self.harm.is_none() {
            let line = "this kernel does not say how long tasks wait (/proc/pressure), so it would \
                        not have ended itself";
            lines.push(line.to_owned());
        }
        if self.streams.all().is_empty() {
            lines.push("no task read or wrote a file through the page cache".to_owned());
        }
        lines
    }
}
