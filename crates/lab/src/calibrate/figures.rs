//! What a run of micro-measurements tells: durations, counters, CPU time.

use mm::capture::Capture;
use mm::diskstats::{self, Diskstats};
use mm::vmstat::Vmstat;
use scenario::outcome::{Latency, OBSERVER, Outcome};

use super::error::CalibrateError;
use study::stats;

/// What the costs are computed from.
#[derive(Debug)]
pub(super) struct Figures(pub(super) Outcome);

impl Figures {
    /// Those of a run.
    pub(super) fn new(capture: Capture) -> Result<Self, CalibrateError> {
        let missing = |e: scenario::outcome::OutcomeError| CalibrateError::Missing(e.to_string());
        Outcome::from_capture(capture).map(Self).map_err(missing)
    }

    /// Duration of a step in nanoseconds.
    pub(super) fn duration(&self, label: &str) -> Result<f64, CalibrateError> {
        let step = self.0.labelled(label).next();
        let step = step.ok_or_else(|| CalibrateError::Missing(format!("step {label:?}")))?;
        Ok(step.duration().0 as f64)
    }

    /// Duration of a step that is done again and again, in nanoseconds: the middle one.
    pub(super) fn median_duration(&self, label: &str) -> Result<f64, CalibrateError> {
        let steps = self.0.labelled(label);
        let durations: Vec<f64> = steps.map(|step| step.duration().0 as f64).collect();
        let missing = || CalibrateError::Missing(format!("step {label:?}"));
        stats::median(&durations).ok_or_else(missing)
    }

    /// Nanoseconds a page of a step.
    pub(super) fn per_page(&self, label: &str) -> Result<f64, CalibrateError> {
        let step = self.0.labelled(label).next();
        let pages = step.map_or(0, |step| step.bytes.0 / 4096);
        Ok(self.duration(label)? / positive(pages as f64, label)?)
    }

    /// Operations of a step.
    pub(super) fn operations(&self, label: &str) -> Result<f64, CalibrateError> {
        let step = self.0.labelled(label).next();
        positive(step.map_or(0, |step| step.operations) as f64, label)
    }

    /// Pages that a step accessed, each as often as it did.
    pub(super) fn pages(&self, label: &str) -> Result<f64, CalibrateError> {
        let step = self.0.labelled(label).next();
        positive(step.map_or(0, |step| step.bytes.0 / 4096) as f64, label)
    }

    /// The latency of a step's operations.
    pub(super) fn latency(&self, label: &str) -> Result<Latency, CalibrateError> {
        let step = self.0.labelled(label).next();
        let step = step.ok_or_else(|| CalibrateError::Missing(format!("step {label:?}")))?;
        Ok(step.latency)
    }

    /// The middle one of a step's latencies, in nanoseconds.
    pub(super) fn median_latency(&self, label: &str) -> Result<f64, CalibrateError> {
        positive(self.latency(label)?.p50.0 as f64, label)
    }

    /// A file of a snapshot.
    pub(super) fn file(&self, path: &str, label: &str) -> Result<&str, CalibrateError> {
        let frame = self.0.capture.labelled(label);
        let file = frame.and_then(|frame| frame.file(path));
        file.ok_or_else(|| CalibrateError::Missing(format!("{path} at {label:?}")))
    }

    /// The kernel's release, as a snapshot has it.
    pub(super) fn release(&self, label: &str) -> Result<&str, CalibrateError> {
        self.file("proc/sys/kernel/osrelease", label)
    }

    /// A counter of a snapshot.
    pub(super) fn counter(&self, counter: &str, label: &str) -> Result<u64, CalibrateError> {
        let vmstat = Vmstat::parse(self.file("proc/vmstat", label)?).ok();
        let value = vmstat.and_then(|vmstat| vmstat.get(counter));
        value.ok_or_else(|| CalibrateError::Missing(format!("counter {counter} at {label:?}")))
    }

    /// Growth of a counter between two snapshots.
    pub(super) fn growth(
        &self,
        counter: &str,
        from: &str,
        to: &str,
    ) -> Result<f64, CalibrateError> {
        let (from_value, to_value) = (self.counter(counter, from)?, self.counter(counter, to)?);
        let growth = to_value.checked_sub(from_value);
        growth.map(|pages| pages as f64).ok_or_else(|| {
            CalibrateError::Missing(format!("counter {counter} between {from:?} and {to:?}"))
        })
    }

    /// Requests that read, of all disks, between two snapshots.
    pub(super) fn reads(&self, from: &str, to: &str) -> Result<f64, CalibrateError> {
        let reads = |label: &str| {
            let text = self.0.capture.labelled(label)?.file(diskstats::PATH)?;
            let stats = Diskstats::parse(text).ok()?;
            Some(stats.disks.iter().map(|disk| disk.reads).sum::<u64>())
        };
        let growth = reads(to)
            .zip(reads(from))
            .and_then(|(to, from)| to.checked_sub(from));
        growth.map(|reads| reads as f64).ok_or_else(|| {
            CalibrateError::Missing(format!("number of reads between {from:?} and {to:?}"))
        })
    }

    /// CPU time of a kernel thread, as in `kswapd0`, between two snapshots, in nanoseconds.
    pub(super) fn thread(&self, thread: &str, from: &str, to: &str) -> Result<f64, CalibrateError> {
        self.growth_in(&format!("proc/{thread}/schedstat"), from, to)
    }

    /// Growth of the first number in a file between two snapshots.
    pub(super) fn growth_in(
        &self,
        path: &str,
        from: &str,
        to: &str,
    ) -> Result<f64, CalibrateError> {
        let number = |label: &str| {
            let text = self.0.capture.labelled(label)?.file(path)?;
            text.split_whitespace().next()?.parse::<f64>().ok()
        };
        let growth = number(to).zip(number(from)).map(|(to, from)| to - from);
        growth.ok_or_else(|| CalibrateError::Missing(format!("{path} between {from:?} and {to:?}")))
    }

    /// What observing the run took each time, in nanoseconds: "samples" or "snapshots".
    pub(super) fn observing(&self, what: &str) -> Result<f64, CalibrateError> {
        let [number, time] = self.observed(what)?;
        Ok(time / positive(number, what)?)
    }

    /// How often that was; more than once.
    pub(super) fn observations(&self, what: &str) -> Result<f64, CalibrateError> {
        let [number, _] = self.observed(what)?;
        positive(number - 1.0, what).map(|more| more + 1.0)
    }

    fn observed(&self, what: &str) -> Result<[f64; 2], CalibrateError> {
        let last = self.0.capture.frames.last();
        let note = last.and_then(|frame| frame.file(OBSERVER)).unwrap_or("");
        let line = note.lines().find_map(|line| line.strip_prefix(what));
        let mut numbers = line.unwrap_or("").split_whitespace().map(str::parse::<f64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(number)), Some(Ok(time))) => Ok([number, time]),
            _ => Err(CalibrateError::Missing(format!("time of {what}"))),
        }
    }

    /// kswapd's CPU time between two snapshots, in nanoseconds.
    pub(super) fn kswapd(&self, from: &str, to: &str) -> Result<f64, CalibrateError> {
        self.thread("kswapd0", from, to)
    }
}

/// A cost in picoseconds; none where noise exceeds it.
pub(super) fn ps(nanos: f64) -> u64 {
    (nanos * 1000.0).round().max(0.0) as u64
}

/// A cost in nanoseconds.
pub(super) fn nanos(ps: u64) -> f64 {
    ps as f64 / 1000.0
}

/// A figure that something is divided by.
pub(super) fn positive(value: f64, what: &str) -> Result<f64, CalibrateError> {
    if value > 0.0 {
        Ok(value)
    } else {
        Err(CalibrateError::Missing(what.to_owned()))
    }
}

/// The two costs that explain the equations `(x, y, time)` best: x times the first and y times the
/// second are the time. Two equations are met; of more, the squares of what is missed are least.
pub(super) fn two_costs(
    equations: &[(f64, f64, f64)],
    what: &str,
) -> Result<(f64, f64), CalibrateError> {
    let sum = |term: fn(&(f64, f64, f64)) -> f64| equations.iter().map(term).sum::<f64>();
    let (xx, xy, yy) = (sum(|e| e.0 * e.0), sum(|e| e.0 * e.1), sum(|e| e.1 * e.1));
    let (xt, yt) = (sum(|e| e.0 * e.2), sum(|e| e.1 * e.2));
    let determinant = positive(xx * yy - xy * xy, what)?;
    Ok((
        (xt * yy - yt * xy) / determinant,
        (yt * xx - xt * xy) / determinant,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_costs_are_found_from_two_equations_and_from_three() {
        let exact = [(3.0, 1.0, 11.0), (1.0, 2.0, 7.0)];
        let (first, second) = two_costs(&exact, "x").expect("they differ");
        assert!((first - 3.0).abs() < 1e-9 && (second - 2.0).abs() < 1e-9);
        let noisy = [(1.0, 0.0, 2.0), (0.0, 1.0, 3.0), (1.0, 1.0, 5.3)];
        let (first, second) = two_costs(&noisy, "x").expect("they differ");
        assert!((first - 2.1).abs() < 1e-9 && (second - 3.1).abs() < 1e-9);
    }

    #[test]
    fn equations_that_say_the_same_are_refused() {
        let same = [(1.0, 2.0, 3.0), (2.0, 4.0, 6.0)];
        assert!(two_costs(&same, "a mix").is_err());
    }
}
