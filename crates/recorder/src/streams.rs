//! Events become the streams of a recording. A task has a stream of its own while it lives; after
//! that the next task may have it, so that a build of a thousand compilers has as many streams as
//! ran at once.

use std::collections::BTreeMap;

use mm::units::{Bytes, Nanos};
use scenario::recording::{Kind, Pack, Part, Run, Writer};

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
#[derive(Debug)]
pub struct Streams<'p> {
    writer: Writer<'p>,
    /// When the recording began, by the kernel's monotonic clock.
    began: Nanos,
    sees_ends: bool,
    by_thread: BTreeMap<u32, usize>,
    all: Vec<Stream>,
    files: BTreeMap<(u64, u64), u32>,
    /// Where pages that come in are seen.
    cached: Option<Cached>,
    /// The size of all files together, each when it was first met.
    size: u64,
    tally: Tally,
}

impl<'p> Streams<'p> {
    /// Begins.
    #[must_use]
    pub fn new(began: Nanos, probe: Sees, pack: Pack<'p>) -> Self {
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
            files: BTreeMap::new(),
            size: 0,
            tally: Tally::default(),
        }
    }

    /// What a task did next.
    pub fn event(&mut self, event: &Event, tasks: &impl Tasks) {
        if !event.is_regular || !self.cuts_what_is_known(event) {
            return;
        }
        let places = (self.file(event), self.stream(event, tasks));
        let (Some(file), Some(stream)) = places else {
            self.tally.passed_over += 1;
            return;
        };
        let run = self.all[stream].run(event, file, self.began, self.sees_ends);
        self.tally.count(&run);
        // Stream 0 is what was cached.
        self.writer.run(stream as u32 + 1, &run);
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
        cached.map(|it| it.blocks(pack)).unwrap_or_default()
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
            let number = self.writer.file(Bytes(event.size));
            self.size = self.size.saturating_add(event.size);
            self.files.insert(event.file, number);
            number
        })
    }

    fn stream(&mut self, event: &Event, tasks: &impl Tasks) -> Option<usize> {
        if let Some(&stream) = self.by_thread.get(&event.thread) {
            return Some(stream);
        }
        let stream = match self.ended_last(tasks) {
            Some(stream) => {
                self.by_thread.remove(&self.all[stream].thread);
                self.all[stream].next(event);
                stream
            }
            None if self.all.len() < STREAMS => {
                self.all.push(Stream::new(event, self.began));
                self.all.len() - 1
            }
            None => return None,
        };
        self.by_thread.insert(event.thread, stream);
        Some(stream)
    }

    /// The stream whose task is gone and was there until last. A shell's next command waits for the
    /// one before, and so it must when that takes another time: then both are in one stream.
    fn ended_last(&self, tasks: &impl Tasks) -> Option<usize> {
        let mut streams: Vec<usize> = (0..self.all.len()).collect();
        streams.sort_by_key(|&stream| std::cmp::Reverse(self.all[stream].ended));
        let is_gone = |&stream: &usize| !tasks.exists(self.all[stream].thread);
        streams.into_iter().find(is_gone)
    }
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
            slept: u64::MAX,
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
mod tests {
    use scenario::recording::Recording;

    use super::*;

    /// All tasks exist up to this number.
    struct Living(u32);

    impl Tasks for Living {
        fn exists(&self, thread: u32) -> bool {
            thread >= self.0
        }
    }

    const SECOND: u64 = 1_000_000_000;

    const SEES: Sees = Sees {
        ends: true,
        added: false,
    };

    fn event(thread: u32, began: u64, ran: u64, slept: u64) -> Event {
        let task = |ran| Task {
            ran: Nanos(ran),
            slept,
            read: 0,
        };
        Event {
            name: *b"sqlite3\0\0\0\0\0\0\0\0\0",
            kind: Kind::Read,
            thread,
            process: thread,
            began: Nanos(began),
            ended: Nanos(began + 5_000),
            before: task(ran),
            after: task(ran + 5_000),
            file: (1, 7),
            is_regular: true,
            size: 1 << 20,
            offset: 8192,
            length: 4096,
        }
    }

    fn recorded(events: &[(Event, u32)]) -> (Vec<Vec<Run>>, Vec<Stream>) {
        let plain = |bytes: &[u8]| bytes.to_vec();
        let mut said = Streams::new(Nanos(SECOND), SEES, &plain);
        for (event, living) in events {
            said.event(event, &Living(*living));
        }
        let mut bytes = Writer::new("", &plain).take(Part::All);
        bytes.extend(said.take(Part::All));
        let read = Recording::read(&bytes, &|_, _| None).expect("a recording");
        let streams = read.recorded.streams.iter();
        (
            streams
                .skip(1)
                .map(|stream| stream.iter().collect())
                .collect(),
            said.all().to_vec(),
        )
    }

    #[test]
    fn a_task_computes_or_sleeps_between_its_runs() {
        let begin = SECOND + 3_000_000;
        let (streams, _) = recorded(&[
            (event(5, begin, 1_000_000, 0), 0),
            (event(5, begin + 25_000, 1_005_000, 0), 0),
            (event(5, begin + 50_030_000, 1_040_000, 1), 0),
        ]);
        let [first, second, third] = streams[0][..] else {
            panic!("three runs");
        };
        assert_eq!(
            (first.compute.0, first.sleep.0),
            (0, 3_000_000),
            "it came later"
        );
        assert_eq!(
            (second.compute.0, second.sleep.0, second.took.0),
            (20_000, 0, 5_000)
        );
        assert_eq!(
            third.compute.0, 30_000,
            "CPU time less what the run itself used"
        );
        assert_eq!(third.sleep.0 / 1_000_000, 49);
        assert_eq!((third.offset, third.length), (8192, 4096));
    }

    #[test]
    fn a_task_that_is_gone_leaves_its_stream_to_the_next() {
        let (streams, said) = recorded(&[
            (event(5, SECOND, 0, 0), 0),
            (event(6, SECOND + 10_000, 0, 0), 0),
            (event(8, SECOND + 20_000, 0, 0), 0),
            (event(9, SECOND + 1_000_000, 0, 0), 8),
            (event(10, SECOND + 2_000_000, 0, 0), 8),
        ]);
        assert_eq!(streams.len(), 3);
        assert_eq!(said[0].name(), "sqlite3");
        // Of 5 and 6 the second ended last.
        assert_eq!([0, 1, 2].map(|stream| said[stream].tasks), [2, 2, 1]);
        assert_eq!(streams[1][1].compute, Nanos::ZERO);
    }

    #[test]
    fn an_inode_that_is_reclaimed_is_not_a_file_that_is_cut() {
        let cut = |names, size, offset| Event {
            kind: Kind::Truncate,
            length: names,
            size,
            offset,
            ..event(5, SECOND + 10_000, 0, 0)
        };
        let kinds = |last: Event| {
            let (streams, _) = recorded(&[(event(5, SECOND, 0, 0), 0), (last, 0)]);
            streams[0].len()
        };
        assert_eq!(kinds(cut(1, 1 << 20, 0)), 1, "reclaimed");
        assert_eq!(kinds(cut(1, 4096, 4096)), 2, "made shorter");
        assert_eq!(kinds(cut(0, 1 << 20, 0)), 2, "removed");
    }
}
