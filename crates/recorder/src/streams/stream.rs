//! A stream: what a task did, and what it computed and waited for between.

use mm::units::Nanos;
use scenario::recording::{Kind, Run};

use super::super::event::{Event, NAME, Task, Woke};
use super::super::owner::Owner;
use super::{Sees, Tasks};

/// How much less than the truth the kernel may say of CPU time: a tick of 100 Hz.
const TICK: Nanos = Nanos(10_000_000);

/// A stream, and the tasks that did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Whose it is.
    pub owner: Owner,
    /// What its task was called last.
    pub(super) name: [u8; NAME],
    /// How many tasks were in it, one after the other.
    pub tasks: u64,
    /// How many runs it has.
    pub runs: u64,
    /// How often it woke another.
    pub(super) wakes: u64,
    /// When its last run ended.
    pub ended: Nanos,
    /// When the last one of a file did.
    pub(super) file_ended: Nanos,
    /// Its task; none where that went on to run another program.
    pub(super) thread: Option<u32>,
    /// What the task had done then.
    pub(super) task: Task,
    pub(super) took: Nanos,
    /// What its last run takes by itself, where its end was not seen: that is in the time until the
    /// next, and whoever does it again takes it again.
    pub(super) unseen: Nanos,
    /// What it waits for since then may be part of its last run, as the end of a write is not seen.
    pub(super) waits_in_run: bool,
}

impl Stream {
    pub(super) fn new(event: &Event, owner: Owner, began: Nanos) -> Self {
        Self {
            owner,
            name: event.name,
            tasks: 1,
            runs: 0,
            wakes: 0,
            ended: began,
            file_ended: began,
            thread: Some(event.thread),
            task: event.before,
            took: Nanos::ZERO,
            unseen: Nanos::ZERO,
            waits_in_run: false,
        }
    }

    /// Whether its task is gone, or runs another program.
    pub(super) fn is_free(&self, tasks: &impl Tasks) -> bool {
        self.thread.is_none_or(|thread| !tasks.exists(thread))
    }

    /// Another task has it from here on.
    pub(super) fn next(&mut self, event: &Event, owner: Owner) {
        self.tasks += 1;
        self.owner = owner;
        self.thread = Some(event.thread);
        // What it did before it was seen is not known; the stream slept meanwhile.
        self.task = Task {
            slept: event.before.slept.wrapping_sub(1),
            ..event.before
        };
        (self.took, self.unseen) = (Nanos::ZERO, Nanos::ZERO);
    }

    /// The event as the stream's next run.
    pub(super) fn run(&mut self, event: &Event, file: u32, began: Nanos, sees: Sees) -> Run {
        let since = if self.runs == 0 { began } else { self.ended };
        let gap = Nanos(event.began.0.saturating_sub(since.0));
        let is_first = self.runs == 0;
        let (compute, sleep) = match is_first {
            true => (Nanos::ZERO, gap),
            false if sees.switches => {
                self.waits_in_run |= event.kind == Kind::Load || !sees.ends;
                self.between(&event.before, gap)
            }
            false => self.about_between(event, gap, sees.ends && event.kind != Kind::Load),
        };
        let took = std::mem::replace(
            &mut self.took,
            Nanos(event.ended.0.saturating_sub(event.began.0)),
        );
        let compute = self.without_unseen(compute);
        (self.task, self.ended, self.name) = (event.after, event.ended, event.name);
        self.file_ended = event.ended;
        self.waits_in_run = event.kind == Kind::Write || !sees.ends;
        self.runs += 1;
        Run {
            compute,
            sleep,
            took,
            kind: event.kind,
            file,
            offset: if event.kind.has_range() {
                event.offset
            } else {
                0
            },
            length: match event.kind {
                Kind::Read | Kind::Write | Kind::Load | Kind::DontNeed => event.length,
                _ => 0,
            },
        }
    }

    /// What of a gap the task computed, and what it slept. The rest it waited for a CPU, or in a
    /// run: whoever does that again waits for dirty limits and pages of mapped files too. For
    /// directories and inodes, which are not done again, it slept.
    fn between(&self, then: &Task, gap: Nanos) -> (Nanos, Nanos) {
        let compute = then.ran_since(&self.task).min(gap);
        let waited = match self.waits_in_run {
            true => then.waited_since(&self.task),
            false => Nanos::ZERO,
        };
        match then.slept == self.task.slept {
            true => (compute, Nanos::ZERO),
            false => (compute, gap.saturating_sub(compute).saturating_sub(waited)),
        }
    }

    /// The same where switches are not seen.
    fn about_between(&self, event: &Event, gap: Nanos, has_end: bool) -> (Nanos, Nanos) {
        let ran = event.before.ran_since(&self.task);
        if event.before.slept == self.task.slept {
            // It ran all the time, or waited for a CPU: then the kernel's count says so.
            let is_preempted = gap.0 > ran.0 + TICK.0;
            return (if is_preempted { ran } else { gap }, Nanos::ZERO);
        }
        let (compute, slept) = (ran.min(gap), gap.saturating_sub(ran));
        // Without ends, as of a fault, the time of a read lies in the gap: a task that read from a
        // disk waited.
        let waited = !has_end && event.before.waited != self.task.waited;
        (compute, if waited { Nanos::ZERO } else { slept })
    }

    /// What its last run takes by itself is in what was computed since.
    fn without_unseen(&mut self, compute: Nanos) -> Nanos {
        let unseen = std::mem::take(&mut self.unseen);
        Nanos(compute.0.saturating_sub(unseen.0))
    }

    /// That it wakes another.
    pub(super) fn wakes(&mut self, woke: &Woke) -> Run {
        self.wakes += 1;
        self.beside(Kind::Wake, &woke.by, woke.at)
    }

    /// That it slept until it was woken.
    pub(super) fn waited(&mut self, woke: &Woke) -> Run {
        self.beside(Kind::Wait, &woke.asleep, woke.at)
    }

    /// A run that has no file.
    fn beside(&mut self, kind: Kind, task: &Task, at: Nanos) -> Run {
        let gap = Nanos(at.0.saturating_sub(self.ended.0));
        let (compute, sleep) = self.between(task, gap);
        let compute = self.without_unseen(compute);
        (self.task, self.ended) = (*task, at.max(self.ended));
        Run {
            compute,
            sleep,
            took: std::mem::take(&mut self.took),
            kind,
            file: 0,
            offset: 0,
            length: 0,
        }
    }
}
