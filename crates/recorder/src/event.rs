//! What the programs hand out: one event for each thing that a task did to a file.

use mm::units::Nanos;
use scenario::recording::Kind;

/// An event as it lies in the ring: 64-bit words, in the machine's order of bytes.
pub(crate) const WORDS: usize = 16;

/// The length of a task's name (`TASK_COMM_LEN`).
pub(crate) const NAME: usize = 16;

/// In the place of a kind: pages came into the page cache.
pub(crate) const ADDED: usize = Kind::ALL.len();

/// A tunable was written.
pub(crate) const SET: usize = ADDED + 1;

/// A task woke another.
pub(crate) const WOKE: usize = SET + 1;

/// Waits are counted in steps of two to the power of this, in nanoseconds.
pub(crate) const STEP: u32 = 10;

/// Its parts, by their places in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// How many events stand before it, and one: it is stored last.
    Number,
    /// When it began and ended, by the kernel's monotonic clock.
    Began,
    Ended,
    /// CPU time of the task at both, since it was first seen.
    RanAtBegin,
    RanAtEnd,
    /// The lower half of the task's `nvcsw` at both: how often it has slept.
    Slept,
    /// How long it has waited without being interruptible at both, by halves, in steps of 1024 ns.
    /// Where switches are not seen, KiB that it has read from disks.
    Waited,
    /// Thread in the lower half, process in the upper.
    Task,
    /// The inode's number; of a wake how long the woken task has waited. And where its superblock
    /// is, which tells file systems apart.
    Inode,
    Super,
    /// `i_size`; of a wake how often the woken task has slept.
    Size,
    /// The first byte; of a wake the woken thread.
    Offset,
    /// How many bytes; of what makes a file shorter, how many names it still has (`i_nlink`); of a
    /// wake what the woken task had run when it fell asleep.
    Length,
    /// The place of its kind in [`Kind::ALL`], or [`ADDED`], [`SET`] or [`WOKE`].
    Kind,
    /// The task's name (`comm`), in two words.
    Name,
}

/// What a task did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The task's name, up to a zero byte.
    pub name: [u8; NAME],
    /// What it was.
    pub kind: Kind,
    /// The thread's number.
    pub thread: u32,
    /// Its process.
    pub process: u32,
    /// When it began, by the kernel's monotonic clock.
    pub began: Nanos,
    /// When it ended; as it began where that was not seen.
    pub ended: Nanos,
    /// What the task was and had done when it began, and when it ended.
    pub before: Task,
    /// As `before`.
    pub after: Task,
    /// The file: its file system, and its inode there.
    pub file: (u64, u64),
    /// Its size in bytes.
    pub size: u64,
    /// The first byte.
    pub offset: u64,
    /// Bytes; of [`Kind::Truncate`], how many names the file still has.
    pub length: u64,
}

/// Pages that came into the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// The file: its file system, and its inode there.
    pub file: (u64, u64),
    /// The first page.
    pub page: u64,
    /// How many.
    pub pages: u64,
}

/// A task woke another that slept of its own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woke {
    /// The thread that woke it.
    pub thread: u32,
    /// When, by the kernel's monotonic clock.
    pub at: Nanos,
    /// What that thread had done then.
    pub by: Task,
    /// The thread that is woken.
    pub woken: u32,
    /// What that one had done when it fell asleep.
    pub asleep: Task,
}

/// A tunable of `/proc/sys` was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// The task's name, up to a zero byte.
    pub name: [u8; NAME],
    /// Its process.
    pub process: u32,
    /// The inode of the tunable's file.
    pub inode: u64,
}

/// What a task has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// CPU time since it was first seen. Where switches are not seen, what the kernel counts, which
    /// may lag by one tick.
    pub ran: Nanos,
    /// How often it has slept (voluntary context switches); the count wraps.
    pub slept: u32,
    /// How long it has waited for disks, dirty limits and the like, which cannot be interrupted, in
    /// steps of 1024 ns; the count wraps. Where switches are not seen, KiB that it has read from
    /// disks.
    pub waited: u32,
}

/// What a program hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// What a task did.
    Event(Event),
    /// Pages that came into the page cache, for whoever it was.
    Added(Added),
    /// A tunable was written.
    Set(Set),
    /// A task woke another.
    Woke(Woke),
}

impl Task {
    /// CPU time that it has used since it had done that much.
    #[must_use]
    pub fn ran_since(&self, before: &Self) -> Nanos {
        let ran = self.ran.0.wrapping_sub(before.ran.0).cast_signed();
        Nanos(ran.max(0).cast_unsigned())
    }

    /// How long it has waited for disks and the like since then.
    #[must_use]
    pub fn waited_since(&self, before: &Self) -> Nanos {
        let steps = self.waited.wrapping_sub(before.waited).cast_signed().max(0);
        Nanos(u64::from(steps.cast_unsigned()) << STEP)
    }
}

impl Seen {
    /// Reads what is in the ring; nothing where it is none.
    #[must_use]
    pub(crate) fn read(words: &[u64; WORDS]) -> Option<Self> {
        let part = |part: Part| words[part as usize];
        let file = (part(Part::Super), part(Part::Inode));
        let kind = usize::try_from(part(Part::Kind)).ok()?;
        match Kind::ALL.get(kind) {
            Some(&kind) => Some(Self::Event(Event::read(words, kind, file))),
            None if kind == ADDED => Some(Self::Added(Added {
                file,
                page: part(Part::Offset),
                pages: part(Part::Length),
            })),
            None if kind == SET => Some(Self::Set(Set {
                name: name(words),
                process: half(part(Part::Task), 1),
                inode: part(Part::Inode),
            })),
            None if kind == WOKE => Some(Self::Woke(Woke::read(words))),
            None => None,
        }
    }
}

impl Woke {
    fn read(words: &[u64; WORDS]) -> Self {
        let part = |part: Part| words[part as usize];
        Self {
            thread: half(part(Part::Task), 0),
            at: Nanos(part(Part::Ended)),
            by: Task {
                ran: Nanos(part(Part::RanAtEnd)),
                slept: half(part(Part::Slept), 1),
                waited: half(part(Part::Waited), 1),
            },
            woken: half(part(Part::Offset), 0),
            asleep: Task {
                ran: Nanos(part(Part::Length)),
                slept: half(part(Part::Size), 0),
                waited: half(part(Part::Inode), 0),
            },
        }
    }
}

impl Event {
    fn read(words: &[u64; WORDS], kind: Kind, file: (u64, u64)) -> Self {
        let part = |part: Part| words[part as usize];
        let task = |ran, at| Task {
            ran: Nanos(part(ran)),
            slept: half(part(Part::Slept), at),
            waited: half(part(Part::Waited), at),
        };
        Self {
            name: name(words),
            kind,
            thread: half(part(Part::Task), 0),
            process: half(part(Part::Task), 1),
            began: Nanos(part(Part::Began)),
            ended: Nanos(part(Part::Ended)),
            before: task(Part::RanAtBegin, 0),
            after: task(Part::RanAtEnd, 1),
            file,
            size: part(Part::Size),
            offset: part(Part::Offset),
            length: part(Part::Length),
        }
    }
}

/// A half of a word, the lower one first.
fn half(word: u64, at: u32) -> u32 {
    (word >> (32 * at)) as u32
}

/// The task's name.
fn name(words: &[u64; WORDS]) -> [u8; NAME] {
    let mut name = [0; NAME];
    let parts = words[Part::Name as usize..].iter();
    for (to, word) in name.chunks_exact_mut(8).zip(parts) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    name
}

/// Bytes of a page on x86, for which the programs are made.
pub(crate) const PAGE: u64 = 4096;

impl Event {
    /// An event whose range is a first and a last page, where that of one page has a last page
    /// `of_one` behind the first.
    pub(crate) fn in_bytes(self, of_one: u64) -> Self {
        let pages = (self.length.saturating_sub(self.offset) + 1)
            .saturating_sub(of_one)
            .max(1);
        let first = self.offset * PAGE;
        let left = self.size.saturating_sub(first).max(1);
        Self {
            offset: first,
            length: left.min(pages * PAGE),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_from_its_words() {
        let mut words: [u64; WORDS] = std::array::from_fn(|at| at as u64);
        words[Part::Slept as usize] = 8 << 32 | 7;
        words[Part::Task as usize] = 20 << 32 | 21;
        words[Part::Kind as usize] = 1;
        words[Part::Name as usize] = u64::from_ne_bytes(*b"postgres");
        words[Part::Name as usize + 1] = 0;
        let Some(Seen::Event(event)) = Seen::read(&words) else {
            panic!("an event");
        };
        assert_eq!(
            (event.kind, &event.name),
            (Kind::Write, b"postgres\0\0\0\0\0\0\0\0")
        );
        assert_eq!((event.thread, event.process), (21, 20));
        assert_eq!((event.before.slept, event.after.slept), (7, 8));
        words[Part::Kind as usize] = ADDED as u64;
        assert!(matches!(Seen::read(&words), Some(Seen::Added(_))));
        words[Part::Kind as usize] = SET as u64;
        let Some(Seen::Set(set)) = Seen::read(&words) else {
            panic!("a tunable was written");
        };
        assert_eq!((set.process, set.inode), (20, Part::Inode as u64));
        assert_eq!(&set.name, b"postgres\0\0\0\0\0\0\0\0");
        words[Part::Kind as usize] = WOKE as u64;
        let Some(Seen::Woke(woke)) = Seen::read(&words) else {
            panic!("a task was woken");
        };
        assert_eq!((woke.thread, woke.woken), (21, Part::Offset as u32));
        assert_eq!((woke.by.slept, woke.asleep.slept), (8, Part::Size as u32));
        words[Part::Kind as usize] += 1;
        assert_eq!(Seen::read(&words), None, "of no kind");
    }
}
