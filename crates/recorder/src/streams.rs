//! Events become the streams of a recording. A task has a stream of its own while it lives; after
//! that the next task may have it, so that a build of a thousand compilers has as many streams as
//! ran at once.

mod stream;

use std::collections::BTreeMap;
use std::fmt;

use mm::units::{Bytes, Nanos};
use scenario::recording::{Kind, OwnTime, Pack, Part, Run, Thinner, Writer};

use super::cached::Cached;
use super::event::{Added, Event, NAME, PAGE, Woke};
use super::files::Files;
use super::owner::{KTHREADD, Owner, above_both, is_path};

pub use self::stream::Stream;

/// The most streams: beyond them tasks are passed over.
const STREAMS: usize = 128;

/// The most pages of one event: 1 GiB, more than one call reads or writes.
const MOST_PAGES: u64 = 1 << 18;

/// What is asked about tasks.
pub trait Tasks {
    /// Whether the thread still exists.
    fn exists(&self, thread: u32) -> bool;

    /// The control group of a thread or process, which is empty for the root; `None` where it has
    /// ended.
    fn group(&self, task: u32) -> Option<String>;

    /// The process that began a process; `None` where it has ended.
    fn parent(&self, process: u32) -> Option<u32>;

    /// The name of a process's first thread, by which its program goes; `None` where it has ended.
    fn program(&self, process: u32) -> Option<String>;
}

/// What the programs of a probe see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// When a read ends.
    pub ends: bool,
    /// Pages that come into the page cache.
    pub added: bool,
    /// When tasks leave their CPUs: so what they computed and waited for is known.
    pub switches: bool,
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
    /// Faults on mapped files.
    pub loads: u64,
    /// Waits for another task.
    pub waits: u64,
    /// Runs of tasks or on files for which there was no place.
    pub passed_over: u64,
    /// Tasks whose control group is not known, or that are in the stream of another group's.
    pub of_unknown_groups: u64,
}

/// Writes the streams of events.
pub struct Streams<'p> {
    writer: Writer<'p>,
    /// When the recording began, by the kernel's monotonic clock.
    began: Nanos,
    sees: Sees,
    by_thread: BTreeMap<u32, usize>,
    all: Vec<Stream>,
    /// One page of `1 << level` is kept: by stream, a thinner for each level.
    level: u32,
    thinners: Vec<Vec<Thinner>>,
    own_time: OwnTime<'p>,
    /// What a page takes besides that a write makes.
    new_page: Nanos,
    files: Files,
    /// Where pages that come in are seen.
    cached: Option<Cached>,
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
    pub fn new(
        began: Nanos,
        probe: Sees,
        pack: Pack<'p>,
        (own_time, new_page): (OwnTime<'p>, Nanos),
    ) -> Self {
        let mut writer = Writer::new("", pack);
        // The text comes when the recording is put together.
        writer.take(Part::Full);
        Self {
            writer,
            began,
            sees: probe,
            cached: probe.added.then(Cached::default),
            by_thread: BTreeMap::new(),
            all: Vec::new(),
            level: 0,
            thinners: Vec::new(),
            own_time,
            new_page,
            files: Files::default(),
            tally: Tally::default(),
        }
    }

    /// What a task did next.
    pub fn event(&mut self, event: &Event, tasks: &impl Tasks) {
        if !self.files.cuts_what_is_known(event) {
            return;
        }
        let is_removed = event.kind == Kind::Truncate && event.length == 0;
        let file = self.files.place(event, self.level, &mut self.writer);
        let (Some((file, event)), Some(stream)) = (file, self.stream(event, tasks)) else {
            self.tally.passed_over += 1;
            return;
        };
        let event = &event;
        if event.kind == Kind::Sync && event.began < self.all[stream].file_ended {
            // A function within another, and both are seen.
            return;
        }
        let run = self.all[stream].run(event, file, self.began, self.sees);
        if run.kind == Kind::Write || !self.sees.ends {
            let new = Nanos(new_pages(event).saturating_mul(self.new_page.0));
            self.all[stream].unseen = (self.own_time)(&run) + new;
        }
        self.tally.count(&run);
        if let Some(run) = thin(&mut self.thinners[stream], run, self.own_time) {
            // Stream 0 is what was cached.
            self.writer.run(stream as u32 + 1, &run);
        }
        self.touch(event, file, stream);
        if is_removed {
            self.files.forget(event.file);
            if let Some(cached) = &mut self.cached {
                cached.forget(event.file);
            }
        }
    }

    /// A task woke another. Of a sample nobody waits.
    pub fn woke(&mut self, woke: &Woke) {
        let known = |thread| self.by_thread.get(&thread).copied();
        let (Some(by), Some(woken)) = (known(woke.thread), known(woke.woken)) else {
            return;
        };
        if self.level > 0 || by == woken {
            return;
        }
        let wake = self.all[by].wakes(woke);
        self.writer.run(by as u32 + 1, &wake);
        let wait = Run {
            file: by as u32 + 1,
            offset: self.all[by].wakes,
            ..self.all[woken].waited(woke)
        };
        self.writer.run(woken as u32 + 1, &wait);
        self.tally.waits += 1;
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

    /// The groups whose tasks read what was cached when the recording began, and how many runs of
    /// [`Self::cached`] each has, in their order.
    #[must_use]
    pub fn cached_by(&self) -> Vec<(String, u64)> {
        let cached = self.cached.as_ref();
        cached.map(|it| it.by_group(self.level)).unwrap_or_default()
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
    fn touch(&mut self, event: &Event, file: u32, stream: usize) {
        let Some(cached) = &mut self.cached else {
            return;
        };
        let group = self.all[stream].owner.group.as_deref().unwrap_or_default();
        let first = event.offset / PAGE;
        let bytes = event.length.clamp(1, MOST_PAGES * PAGE);
        let last = event.offset.saturating_add(bytes - 1) / PAGE;
        match event.kind {
            Kind::Read | Kind::Load => cached.read(event.file, (group, file), first..=last),
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
        self.files.size()
    }

    /// The stream of an event's task. A task that has another name may have begun another program.
    fn stream(&mut self, event: &Event, tasks: &impl Tasks) -> Option<usize> {
        let had = self.by_thread.get(&event.thread).copied();
        if let Some(stream) = had.filter(|&it| self.all[it].name == event.name) {
            return Some(stream);
        }
        let owner = self.owner(event, had, tasks);
        if let Some(stream) = had {
            if self.all[stream].owner == owner {
                return had;
            }
            self.all[stream].thread = None;
            self.by_thread.remove(&event.thread);
        }
        let is_misplaced = owner.group.is_none();
        let stream = match self.free(&owner, tasks) {
            Some(stream) => {
                let owner = self.all[stream].owner.followed_by(owner);
                self.hand_over(stream, event, owner)
            }
            None if self.all.len() < STREAMS => {
                self.all.push(Stream::new(event, owner, self.began));
                self.thinners
                    .push((0..self.level).map(Thinner::new).collect());
                self.all.len() - 1
            }
            None => self.any_free(owner, event, tasks)?,
        };
        self.tally.of_unknown_groups += u64::from(is_misplaced);
        self.by_thread.insert(event.thread, stream);
        Some(stream)
    }

    /// Whose an event is. What has ended meanwhile is taken to be where its thread was before.
    fn owner(&self, event: &Event, had: Option<usize>, tasks: &impl Tasks) -> Owner {
        let before = || self.all[had?].owner.group.clone();
        let group = tasks.group(event.thread);
        let group = group.or_else(|| tasks.group(event.process)).or_else(before);
        let program = tasks.program(event.process);
        Owner {
            program: program.unwrap_or_else(|| text(&event.name)),
            parent: tasks.parent(event.process).filter(|&it| it > KTHREADD),
            group: group.filter(|path| is_path(path)),
        }
    }

    /// The stream of the same program or parent whose task is gone and was there until last. A
    /// shell's next command waits for the one before, and so it must when that takes another time:
    /// then both are in one stream.
    fn free(&self, owner: &Owner, tasks: &impl Tasks) -> Option<usize> {
        let all = self.all.iter().enumerate();
        let free = all.filter(|(_, it)| it.owner.goes_before(owner) && it.is_free(tasks));
        free.max_by_key(|(_, it)| it.ended).map(|(at, _)| at)
    }

    /// A stream of somebody else whose task is gone. Of another group, both are taken to be in the
    /// group above them.
    fn any_free(&mut self, owner: Owner, event: &Event, tasks: &impl Tasks) -> Option<usize> {
        let is_free = |&at: &usize| self.all[at].is_free(tasks);
        let free: Vec<usize> = (0..self.all.len()).filter(is_free).collect();
        let same = |at: &&usize| self.all[**at].owner.group == owner.group;
        let stream = *free.iter().find(same).or(free.first())?;
        let group = above_both(&self.all[stream].owner, &owner);
        self.tally.of_unknown_groups += u64::from(group != owner.group && owner.group.is_some());
        Some(self.hand_over(stream, event, Owner { group, ..owner }))
    }

    fn hand_over(&mut self, stream: usize, event: &Event, owner: Owner) -> usize {
        if let Some(thread) = self.all[stream].thread {
            self.by_thread.remove(&thread);
        }
        self.all[stream].next(event, owner);
        stream
    }
}

/// The pages that a write makes: those beyond the end of its file.
fn new_pages(event: &Event) -> u64 {
    let first = event.size.div_ceil(PAGE).max(event.offset / PAGE);
    let end = event.offset.saturating_add(event.length).div_ceil(PAGE);
    match event.kind {
        Kind::Write => end.saturating_sub(first).min(MOST_PAGES),
        _ => 0,
    }
}

/// A task's name, up to a zero byte.
fn text(name: &[u8; NAME]) -> String {
    let end = name.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&name[..end.unwrap_or(NAME)]).into_owned()
}

/// What one thinner after the other leaves of a run.
pub(crate) fn thin(thinners: &mut [Thinner], run: Run, own_time: OwnTime<'_>) -> Option<Run> {
    let mut thinners = thinners.iter_mut();
    thinners.try_fold(run, |run, thinner| thinner.take(&run, own_time))
}

impl Tally {
    fn count(&mut self, run: &Run) {
        match run.kind {
            Kind::Read => (self.reads, self.read) = (self.reads + 1, self.read + run.length),
            Kind::Write => {
                (self.writes, self.written) = (self.writes + 1, self.written + run.length);
            }
            Kind::Load => self.loads += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
