//! When a recording ends itself: tasks wait far longer than before it began.

use std::fmt;

use host::Root;
use mm::psi::{PATHS, Psi, Stall};
use mm::units::Nanos;
use rustix::time::{ClockId, clock_gettime};

use super::nanos_of;

/// How long the spans are over which time is summed up, and how many in a row must be bad.
const SPAN: Nanos = Nanos(10 * Nanos::SECOND.0);
const SPANS: u32 = 3;

/// How much more of the time than before, in hundredths of a percent.
const MORE: u64 = 5_000;

/// What the recorder itself must run, in the same unit, for others to wait for a CPU because of it:
/// its programs take about twice that.
const OWN: u64 = 200;

/// What tasks wait for, in the order of [`PATHS`].
const FOR: [&str; 3] = ["memory", "disks", "a CPU"];
const CPU: usize = 2;

/// Hundredths of a percent of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share(u64);

/// What the kernel says at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    at: Nanos,
    /// For how long at least one task waited, since boot.
    waited: [Nanos; 3],
    /// CPU time of this process.
    ran: Nanos,
}

/// What is watched while a recording goes on.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// In the minute before it began.
    before: [Share; 3],
    last: Sample,
    bad: [u32; 3],
}

/// Why a recording ended itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Harm {
    of: usize,
    share: Share,
    before: Share,
}

impl Sample {
    /// Three files, in 0.1 ms.
    pub(super) fn now(root: &Root) -> Self {
        let waited = PATHS.map(|path| some(root, path).map_or(Nanos::ZERO, |it| it.total));
        Self {
            at: nanos_of(clock_gettime(ClockId::Monotonic)),
            waited,
            ran: nanos_of(clock_gettime(ClockId::ProcessCPUTime)),
        }
    }
}

fn some(root: &Root, path: &str) -> Option<Stall> {
    let text = root.look(path).ok()?;
    Psi::parse(path, &text).ok()?.some
}

impl Watch {
    /// Begins; nothing where the kernel does not say how long tasks wait.
    pub(super) fn new(root: &Root) -> Option<Self> {
        let minute = |path| some(root, path).map(|it| Share(u64::from(it.avg60)));
        let [memory, disks, cpu] = PATHS.map(minute);
        Some(Self {
            before: [memory?, disks?, cpu?],
            last: Sample::now(root),
            bad: [0; 3],
        })
    }

    /// Looks whether a span is over, and whether it was one too many.
    pub(super) fn look(&mut self, now: &Sample) -> Option<Harm> {
        let time = now.at.saturating_sub(self.last.at);
        if time < SPAN {
            return None;
        }
        let share = |now: Nanos, last: Nanos| {
            Share(now.saturating_sub(last).0.saturating_mul(10_000) / time.0)
        };
        let own = share(now.ran, self.last.ran);
        let shares = std::array::from_fn(|of| share(now.waited[of], self.last.waited[of]));
        self.last = *now;
        (0..FOR.len()).find_map(|of| self.count(of, shares, own))
    }

    fn count(&mut self, of: usize, shares: [Share; 3], own: Share) -> Option<Harm> {
        let (share, before) = (shares[of], self.before[of]);
        let may_be_ours = of != CPU || own.0 >= OWN;
        let is_bad = may_be_ours && share.0 >= before.0 + MORE;
        self.bad[of] = if is_bad { self.bad[of] + 1 } else { 0 };
        (self.bad[of] >= SPANS).then_some(Harm { of, share, before })
    }

    /// When it wants to be asked next.
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        now.saturating_sub(self.last.at) >= SPAN
    }
}

impl fmt::Display for Share {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} %", self.0 / 100)
    }
}

impl fmt::Display for Harm {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, share, before } = self;
        let what = FOR[*of];
        write!(
            to,
            "tasks waited for {what} {share} of the time, {before} before the recording"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks wait for something for this many of each 10 seconds, beside 1 second before.
    fn ends_after(of: usize, seconds: &[u64], own: u64) -> Option<(usize, String)> {
        let mut watch = Watch {
            before: [Share(1_000); 3],
            last: Sample::default(),
            bad: [0; 3],
        };
        let mut now = Sample::default();
        seconds.iter().enumerate().find_map(|(span, waits)| {
            now.at.0 += SPAN.0;
            now.waited[of].0 += waits * Nanos::SECOND.0;
            now.ran.0 += own;
            watch.look(&now).map(|harm| (span, harm.to_string()))
        })
    }

    #[test]
    fn half_a_minute_far_above_the_time_before_is_harm() {
        let (span, said) = ends_after(0, &[1, 6, 6, 6, 6], 0).expect("it ends");
        assert_eq!(span, 3, "the third bad span");
        let wanted = "tasks waited for memory 60 % of the time, 10 % before the recording";
        assert_eq!(said, wanted);
        assert_eq!(
            ends_after(1, &[6, 6, 5, 6, 6], 0),
            None,
            "never three in a row"
        );
    }

    #[test]
    fn a_cpu_is_waited_for_because_of_others_too() {
        const OF_SPAN: u64 = SPAN.0 / 50;
        assert_eq!(ends_after(CPU, &[9, 9, 9, 9], OF_SPAN - 1), None);
        assert!(ends_after(CPU, &[9, 9, 9], OF_SPAN).is_some());
    }

    #[test]
    fn pressure_is_read_from_the_kernels_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        assert!(
            Watch::new(&root).is_none(),
            "without them nothing is watched"
        );
        std::fs::create_dir_all(directory.path().join("proc/pressure")).expect("a directory");
        for path in PATHS {
            let text = "some avg10=0.00 avg60=12.50 avg300=0.00 total=7\n";
            std::fs::write(directory.path().join(path), text).expect("a file");
        }
        let watch = Watch::new(&root).expect("they are there");
        assert_eq!(watch.before, [Share(1_250); 3]);
        assert_eq!(watch.last.waited, [Nanos(7_000); 3]);
    }
}
