//! A stream under way: how far a task has come with it, and what it knows of its files.

use alloc::vec::Vec;

use mm::units::Nanos;
use scenario::recording::{Cursor, Run, Stream};
use scenario::workload::{Pace, Replay};

use crate::fs::fs_writeback::state::Syncing;
use crate::machine::figures::Figures;
use crate::machine::running::Underway;
use crate::mm::readahead::Readahead;
use crate::sched::cpu::Cpu;

/// A stream under way.
#[derive(Clone, Debug)]
pub(crate) struct Replaying<'a> {
    pub(super) replay: &'a Replay,
    pub(super) stream: &'a Stream,
    /// The index of the recording's first file among the machine's.
    pub(super) first_file: usize,
    pub(super) cursor: Cursor,
    /// Runs of the stream after which the step is over.
    pub(super) end: u64,
    pub(crate) figures: Figures<'a>,
    /// The run that comes next or is under way.
    pub(super) run: Option<Run>,
    /// CPU time that the task uses before it, in picoseconds, and how long it sleeps then.
    pub(super) compute_ps: u64,
    pub(super) sleep: Nanos,
    /// When it is due, by the clock of the recording.
    pub(super) due: Nanos,
    pub(super) operation: Option<Underway>,
    /// A file that is made durable, since when.
    pub(super) syncing: Option<(Nanos, Syncing)>,
    /// What the task knows of each file of the recording.
    pub(super) files: Vec<OpenFile>,
}

/// A file of the recording as a task has it open.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFile {
    pub(super) readahead: Readahead,
    pub(super) is_mapped: bool,
}

impl OpenFile {
    pub(super) const NEW: Self = Self {
        readahead: Readahead::NEW,
        is_mapped: false,
    };
}

impl Replaying<'_> {
    /// Whether the task is inside a system call.
    pub(crate) fn is_in_call(&self) -> bool {
        self.operation.is_some() || self.syncing.is_some()
    }

    /// Takes the next run; false at the end. The bench's own loop takes some time at least.
    pub(super) fn go_to_next(&mut self, cpu: &Cpu) -> bool {
        let (now, loop_ps) = (cpu.now(), cpu.costs.loop_ps);
        let late = |limit: Nanos| now.saturating_sub(self.figures.began) >= limit;
        if self.cursor.passed() >= self.end || self.replay.time_limit.is_some_and(late) {
            return false;
        }
        let Some(run) = self.stream.next(&mut self.cursor) else {
            return false;
        };
        // What was recorded was added up already for the runs that this one stands for.
        let compute = match self.replay.compute {
            Some(each) => each.0.saturating_mul(cpu.scale),
            None => run.compute.0,
        };
        self.compute_ps = compute.saturating_mul(1000).max(loop_ps);
        match self.replay.pace {
            Pace::Closed => self.sleep = run.sleep,
            Pace::Clock => self.due += run.compute + run.sleep + run.took,
        }
        self.run = Some(run);
        true
    }

    /// Its run is over, and stands for `scale` of them one after the other.
    pub(super) fn finish_run(&mut self, began: Nanos, bytes: u64, cpu: &Cpu) {
        self.run = None;
        self.figures.count(cpu.scale, bytes * cpu.scale);
        let took = cpu.now().saturating_sub(began);
        self.figures.count_latency(Nanos(took.0 / cpu.scale));
    }
}
