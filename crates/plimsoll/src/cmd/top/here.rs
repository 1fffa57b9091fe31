//! This machine, looked at again and again.

use std::sync::Arc;

use host::{Root, facts, processes, read};
use look::moment::{Diagnosis, HOLDERS, Moment};
use mm::capture::Frame;
use mm::snapshot::Snapshot;
use mm::units::Nanos;

use super::reel::Look;
use crate::cmd::guard;

/// How long a diagnosis, the list of processes and the guard's events hold: to read them takes
/// longer than all else.
const SLOW: Nanos = Nanos(15 * Nanos::SECOND.0);

/// Events of the guard that are kept.
const EVENTS: usize = 8;

/// This machine, and how it was.
#[derive(Debug, Default)]
pub(super) struct Here {
    /// At the last look.
    before: Option<Snapshot>,
    /// What takes longer, and when it was read.
    slow: Option<Slow>,
}

#[derive(Debug)]
struct Slow {
    whole: Snapshot,
    /// How often it was read.
    readings: u64,
    diagnosis: Arc<Diagnosis>,
    processes: String,
    guard: Arc<Vec<String>>,
}

impl Here {
    /// Looks at it now.
    pub(super) fn look(&mut self) -> Look {
        let (root, at) = (Root::default(), facts::since_boot());
        let slow = match self.slow.take() {
            Some(slow) if slow.holds(at) => slow,
            before => Slow::read(&root, at, before.as_ref()),
        };
        let mut frame = read::moving(&root, at, HOLDERS);
        let listed = format!("{}ps", evidence::TOOLS);
        frame.files.insert(listed, slow.processes.clone());
        let now = Snapshot::parse(&frame);
        let diagnosis = Arc::clone(&slow.diagnosis);
        let look = Look {
            moment: Moment::of(self.before.as_ref(), (&frame, &now), diagnosis),
            guard: Some(Arc::clone(&slow.guard)),
        };
        (self.before, self.slow) = (Some(now), Some(slow));
        look
    }
}

impl Slow {
    fn read(root: &Root, at: Nanos, before: Option<&Self>) -> Self {
        let frame: Frame = read::full(root, at);
        let whole = Snapshot::parse(&frame);
        let first = before.map(|slow| &slow.whole);
        Self {
            diagnosis: Arc::new(Diagnosis::of(first, (&frame, &whole))),
            processes: processes::table(root, whole.page),
            guard: Arc::new(guard::recent(EVENTS)),
            readings: before.map_or(1, |slow| slow.readings.saturating_add(1)),
            whole,
        }
    }

    /// Whether it need not be read again. The first has no rates: it holds until the next look.
    fn holds(&self, at: Nanos) -> bool {
        self.readings > 1 && at.saturating_sub(self.whole.at) < SLOW
    }
}
