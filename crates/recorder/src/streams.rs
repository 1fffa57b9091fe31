//! Events become the streams of a recording. A task has a stream of its own while it lives; after
//! that the next task may have it, so that a build of a thousand compilers has as many streams as
//! ran at once.

use std::collections::BTreeMap;
use std::fmt;

use mm::units::{Bytes, Nanos};
use scenario::recording::{Kind, OwnTime, Pack, Part, Run, Thinner, Writer, place};

use super::cached::Cached;
use super::event::{Added, Event, NAME, PAGE, Task};

/// The most streams, and the most files: beyond them tasks and files are passed over.
const STREAMS: usize = 128;
const FILES: usize = 200_000;

/// The largest file: the model has 7 bytes for each of its pages.
const LARGEST: u64 = 256 << 30;

/// The most pages of one event: 1 GiB, more than one call reads or writes.
const MOST_PAGES: u64 = 1 << 18;

/// How much less than the truth the kernel may say of CPU time: a tick of 100 Hz.
const TICK: Nanos = Nanos(10_000_000);

/// A task that did nothing for this long may be gone.
const QUIET: Nanos = Nanos(100_000_000);

/// What is asked about tasks.
pub trait Tasks {
    /// Whether the thread still exists.
    fn exists(&self, thread: u32) -> bool;
}

/// What the programs of a probe see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// When a read ends.
    pub ends: bool,
    /// Pages that come into the page cache.
    pub added: bool,
}

/// A stream, and the tasks that did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What its task was called last.
    name: [u8; NAME],
    /// How many tasks were in it, one after the other.
    pub tasks: u64,
    /// How many runs it has.
    pub runs: u64,
    /// When its last run ended.
    pub ended: Nanos,
    thread: u32,
    /// What the task had done then.
    task: Task,
    took: Nanos,
}

/// What was passed over, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reads and writes, and their bytes.
    pub reads: u64,
    /// Bytes that were read.
    pub read: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes that were written.
    pub written: u64,
    /// Runs of tasks or on files for which there was no place.
    pub passed_over: u64,
}

/// Writes the streams of events.
pub struct Streams<'p> {
    writer: Writer<'p>,
    /// When the recording began, by the kernel's monotonic clock.
    began: Nanos,
    sees_ends: bool,
    by_thread: BTreeMap<u32, usize>,
    all: Vec<Stream>,
    /// One page of `1 << level` is kept: by stream, a thinner for each level.
    level: u32,
    thinners: Vec<Vec<Thinner>>,
    own_time: OwnTime<'p>,
    files: BTreeMap<(u64, u64), u32>,
    /// Files that have a number.
    numbered: u32,
    /// Where pages that come in are seen.
    cached: Option<Cached>,
    /// The size of all files together, each when it was first met.
    size: u64,
    tally: Tally,
}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?} in {} streams", self.tally, self.all.len())
    }
}

impl<'p> Streams<'p> {
    /// Begins.
    #[must_use]
    pub fn new(began: Nanos, probe: Sees, pack: Pack<'p>, own_time: OwnTime<'p>) -> Self {
        let mut writer = Writer::new("", pack);
        // The text comes when the recording is put together.
        writer.take(Part::Full);
        Self {
            writer,
            began,
            sees_ends: probe.ends,
            cached: probe.added.then(Cached::default),
            by_thread: BTreeMap::new(),
            all: Vec::new(),
            level: 0,
            thinners: Vec::new(),
            own_time,
            files: BTreeMap::new(),
            numbered: 0,
            size: 0,
            tally: Tally::default(),
        }
    }

    /// What a task did next.
    pub fn event(&mut self, event: &Event, tasks: &impl Tasks) {
        if !self.cuts_what_is_known(event) {
            return;
        }
        let places = (self.file(event), self.stream(event, tasks));
        let (Some(file), Some(stream)) = places else {
            self.tally.passed_over += 1;
            return;
        };
        let run = self.all[stream].run(event, file, self.began, self.sees_ends);
        self.tally.count(&run);
        if let Some(run) = thin(&mut self.thinners[stream], run, self.own_time) {
            // Stream 0 is what was cached.
            self.writer.run(stream as u32 + 1, &run);
        }
        self.touch(event, file);
        if event.kind == Kind::Truncate && event.length == 0 {
            // Removed: its inode may become another file.
            self.files.remove(&event.file);
            if let Some(cached) = &mut self.cached {
                cached.forget(event.file);
            }
        }
    }

    /// Pages came into the page cache.
    pub fn added(&mut self, added: &Added) {
        if let Some(cached) = &mut self.cached {
            let last = added
                .page
                .saturating_add(added.pages.clamp(1, MOST_PAGES) - 1);
            cached.added(added.file, added.page..=last);
        }
    }

    /// Whether anything was cached when the recording began.
    #[must_use]
    pub fn has_cached(&self) -> bool {
        self.cached.as_ref().is_some_and(|it| !it.is_empty())
    }

    /// What was cached when the recording began, as blocks that stand behind all others.
    #[must_use]
    pub fn cached(&self, pack: Pack<'_>) -> Vec<u8> {
        let cached = self.cached.as_ref();
        cached
            .map(|it| it.blocks(pack, self.level))
            .unwrap_or_default()
    }

    /// From here on half as many blocks are kept; what was taken before is for the caller to thin.
    pub fn keep_half(&mut self) {
        let level = self.level;
        self.level += 1;
        self.thinners
            .iter_mut()
            .for_each(|it| it.push(Thinner::new(level)));
    }

    /// One page of `1 << level` is kept.
    #[must_use]
    pub fn level(&self) -> u32 {
        self.level
    }

    /// The pages of a read or a write.
    fn touch(&mut self, event: &Event, file: u32) {
        let Some(cached) = &mut self.cached else {
            return;
        };
        let first = event.offset / PAGE;
        let bytes = event.length.clamp(1, MOST_PAGES * PAGE);
        let last = event.offset.saturating_add(bytes - 1) / PAGE;
        match event.kind {
            Kind::Read => cached.read(event.file, file, first..=last),
            Kind::Write => cached.added(event.file, first..=last),
            _ => {}
        }
    }

    /// The blocks that were written since this was last asked: the full ones, or all.
    pub fn take(&mut self, part: Part) -> Vec<u8> {
        self.writer.take(part)
    }

    /// The streams, from number 1 on.
    #[must_use]
    pub fn all(&self) -> &[Stream] {
        &self.all
    }

    /// How much was seen.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The size of all files together, each when it was first met.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    /// A file of which the kernel drops pages was made shorter or removed, or its inode was
    /// reclaimed: then nothing happened to it. What was never met is not cut.
    fn cuts_what_is_known(&self, event: &Event) -> bool {
        let is_reclaimed = event.length > 0 && event.size > event.offset;
        event.kind != Kind::Truncate || (self.files.contains_key(&event.file) && !is_reclaimed)
    }

    fn file(&mut self, event: &Event) -> Option<u32> {
        if let Some(&number) = self.files.get(&event.file) {
            return Some(number);
        }
        let has_room = self.files.len() < FILES && event.size <= LARGEST;
        has_room.then(|| {
            let half = |size, level| place(self.numbered, level, size);
            let number = self
                .writer
                .file(Bytes((0..self.level).fold(event.size, half)));
            self.numbered += 1;
            self.size = self.size.saturating_add(event.size);
            self.files.insert(event.file, number);
            number
        })
    }

    fn stream(&mut self, event: &Event, tasks: &impl Tasks) -> Option<usize> {
        if let Some(&stream) = self.by_thread.get(&event.thread) {
            return Some(stream);
        }
        let free = |stream: &Stream| {
            let quiet = Nanos(event.began.0.saturating_sub(stream.ended.0)) > QUIET;
            quiet && !tasks.exists(stream.thread)
        };
        let stream = match self.all.iter().position(free) {
            Some(stream) => {
                self.by_thread.remove(&self.all[stream].thread);
                self.all[stream].next(event);
                stream
            }
            None if self.all.len() < STREAMS => {
                self.all.push(Stream::new(event, self.began));
                self.thinners
                    .push((0..self.level).map(Thinner::new).collect());
                self.all.len() - 1
            }
            None => return None,
        };
        self.by_thread.insert(event.thread, stream);
        Some(stream)
    }
}

/// What one thinner after the other leaves of a run.
pub(crate) fn thin(thinners: &mut [Thinner], run: Run, own_time: OwnTime<'_>) -> Option<Run> {
    let mut thinners = thinners.iter_mut();
    thinners.try_fold(run, |run, thinner| thinner.take(&run, own_time))
}

impl Stream {
    /// What its task was called last.
    #[must_use]
    pub fn name(&self) -> String {
        let end = self.name.iter().position(|&byte| byte == 0);
        String::from_utf8_lossy(&self.name[..end.unwrap_or(NAME)]).into_owned()
    }

    fn new(event: &Event, began: Nanos) -> Self {
        Self {
            name: event.name,
            tasks: 1,
            runs: 0,
            ended: began,
            thread: event.thread,
            task: event.before,
            took: Nanos::ZERO,
        }
    }

    /// Another task has it from here on.
    fn next(&mut self, event: &Event) {
        self.tasks += 1;
        self.thread = event.thread;
        // What it did before it was seen is not known; the stream slept meanwhile.
        self.task = Task {
            slept: event.before.slept.wrapping_sub(1),
            ..event.before
        };
        self.took = Nanos::ZERO;
    }

    /// The event as the stream's next run.
    fn run(&mut self, event: &Event, file: u32, began: Nanos, sees_ends: bool) -> Run {
        let since = if self.runs == 0 { began } else { self.ended };
        let gap = Nanos(event.began.0.saturating_sub(since.0));
        let is_first = self.runs == 0;
        let (compute, sleep) = match is_first {
            true => (Nanos::ZERO, gap),
            false => self.between(event, gap, sees_ends),
        };
        let took = std::mem::replace(
            &mut self.took,
            Nanos(event.ended.0.saturating_sub(event.began.0)),
        );
        (self.task, self.ended, self.name) = (event.after, event.ended, event.name);
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
                Kind::Read | Kind::Write | Kind::DontNeed => event.length,
                _ => 0,
            },
        }
    }

    /// What of the time between two events the task computed, and what it slept of its own accord.
    fn between(&self, event: &Event, gap: Nanos, sees_ends: bool) -> (Nanos, Nanos) {
        let ran = Nanos(event.before.ran.0.saturating_sub(self.task.ran.0));
        if event.before.slept == self.task.slept {
            // It ran all the time, or waited for a CPU: then the kernel's count says so.
            let is_preempted = gap.0 > ran.0 + TICK.0;
            return (if is_preempted { ran } else { gap }, Nanos::ZERO);
        }
        let compute = ran.min(gap);
        let slept = Nanos(gap.0 - compute.0);
        // Without ends the time of a read lies in the gap: a task that read from a disk waited.
        let waited = !sees_ends && event.before.read != self.task.read;
        (compute, if waited { Nanos::ZERO } else { slept })
    }
}

impl Tally {
    fn count(&mut self, run: &Run) {
        match run.kind {
            Kind::Read => (self.reads, self.read) = (self.reads + 1, self.read + run.length),
            Kind::Write => {
                (self.writes, self.written) = (self.writes + 1, self.written + run.length);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
