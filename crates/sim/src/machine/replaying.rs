//! A stream under way: how far a task has come with it, and what it knows of its files.

use alloc::vec::Vec;

use mm::units::Nanos;
use scenario::recording::{Cursor, Kind, Recorded, Run, Stream};
use scenario::workload::{Pace, Replay};

use crate::fs::fs_writeback::state::Syncing;
use crate::machine::figures::Figures;
use crate::machine::running::Underway;
use crate::mm::readahead::Readahead;
use crate::sched::cpu::Cpu;

/// A stream under way.
#[derive(Clone, Debug)]
pub(crate) struct Replaying<'a> {
    pub(crate) replay: &'a Replay,
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
    /// Whether the run has slept for what it waits for, which has not begun.
    pub(super) has_slept: bool,
    /// When it is due, by the clock of the recording.
    pub(super) due: Nanos,
    pub(super) operation: Option<Underway>,
    /// A file that is made durable, since when.
    pub(super) syncing: Option<(Nanos, Syncing)>,
    /// What the task knows of each file of the recording.
    pub(super) files: Vec<OpenFile>,
}

/// The streams of a recording, as far as others wait for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(Vec<Awaited>);

/// How far a stream is that others wait for.
#[derive(Clone, Copy, Debug, Default)]
struct Awaited {
    /// How often it woke tasks since it began.
    wakes: u64,
    /// Tasks that do it.
    under_way: u32,
    has_begun: bool,
}

/// What becomes of a task that waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// What it waits for was done, or nobody will do it.
    Over,
    Goes,
    /// What it waits for has not begun.
    NotBegun,
}

impl Streams {
    /// None has begun.
    pub(crate) fn of(recorded: &Recorded) -> Self {
        Self(alloc::vec![Awaited::default(); recorded.streams.len()])
    }

    /// A task begins to do a stream, of which it passes over what has that many wakes.
    pub(super) fn begin(&mut self, stream: u32, wakes: u64) {
        if let Some(it) = self.0.get_mut(stream as usize) {
            it.wakes = it.wakes.max(wakes);
            it.under_way += 1;
            it.has_begun = true;
        }
    }

    /// It ends.
    pub(super) fn end(&mut self, stream: u32) {
        if let Some(it) = self.0.get_mut(stream as usize) {
            it.under_way = it.under_way.saturating_sub(1);
        }
    }

    /// The stream's next wake: its number.
    pub(super) fn wake(&mut self, stream: u32) -> u64 {
        let it = self.0.get_mut(stream as usize);
        it.map_or(0, |it| {
            it.wakes += 1;
            it.wakes
        })
    }

    /// Whether a wait for the wake with this number of a stream is over.
    pub(super) fn look(&self, stream: u32, number: u64) -> Wait {
        match self.0.get(stream as usize) {
            Some(it) if it.wakes >= number => Wait::Over,
            Some(it) if it.under_way > 0 => Wait::Goes,
            Some(it) if !it.has_begun => Wait::NotBegun,
            _ => Wait::Over,
        }
    }
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
        self.has_slept = false;
        match self.replay.pace {
            Pace::Closed if run.kind == Kind::Wait => {}
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
