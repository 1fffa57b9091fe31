//! What the programs hand out: one event for each thing that a task did to a file.

use mm::units::Nanos;
use scenario::recording::Kind;

/// An event as it lies in the ring buffer: 64-bit words, in the machine's order of bytes.
pub(crate) const WORDS: usize = 17;

/// The length of a task's name (`TASK_COMM_LEN`).
pub(crate) const NAME: usize = 16;

/// Its parts, by their places in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// When it began and ended, by the kernel's monotonic clock.
    Began,
    Ended,
    /// The task's `se.sum_exec_runtime` at both.
    RanAtBegin,
    RanAtEnd,
    /// The task's `nvcsw` at both: how often it has slept.
    SleptAtBegin,
    SleptAtEnd,
    /// `ioac.read_bytes` of the task at the end: what it has read from disks.
    ReadFromDisks,
    /// Thread in the lower half, process in the upper.
    Task,
    /// The inode's number, its device (`s_dev`), and its mode (`i_mode`).
    Inode,
    Device,
    Mode,
    /// `i_size`.
    Size,
    Offset,
    /// How many bytes; of what makes a file shorter, how many names it still has (`i_nlink`).
    Length,
    /// The place of its kind in [`Kind::ALL`].
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
    /// The file: device and inode.
    pub file: (u64, u64),
    /// Whether it is a regular file.
    pub is_regular: bool,
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
    /// The file: device and inode.
    pub file: (u64, u64),
    /// The first page.
    pub page: u64,
    /// How many.
    pub pages: u64,
}

impl Added {
    /// Its words: inode, device, first page, number of pages.
    pub(crate) const WORDS: usize = 4;

    /// Reads one; nothing where it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let words: [u8; Self::WORDS * 8] = bytes.try_into().ok()?;
        let word = |at: usize| {
            words[at * 8..]
                .first_chunk()
                .map(|it| u64::from_ne_bytes(*it))
        };
        Some(Self {
            file: (word(1)?, word(0)?),
            page: word(2)?,
            pages: word(3)?,
        })
    }
}

/// What a task has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// CPU time; the kernel adds to it at each tick and switch, so it may lag by one tick.
    pub ran: Nanos,
    /// How often it has slept (voluntary context switches).
    pub slept: u64,
    /// Bytes that it has read from disks; known at the end of an event only.
    pub read: u64,
}

/// `S_IFMT` and `S_IFREG`.
const FORMAT: u64 = 0o170_000;
const REGULAR: u64 = 0o100_000;

impl Event {
    /// Reads one; nothing where it is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let part = |part: Part| {
            let word = bytes.get(part as usize * 8..)?.first_chunk()?;
            Some(u64::from_ne_bytes(*word))
        };
        let read = part(Part::ReadFromDisks)?;
        let task = |ran, slept| {
            Some(Task {
                ran: Nanos(part(ran)?),
                slept: part(slept)?,
                read,
            })
        };
        let from = Part::Name as usize * 8;
        Some(Self {
            name: bytes.get(from..from + NAME)?.try_into().ok()?,
            kind: *Kind::ALL.get(usize::try_from(part(Part::Kind)?).ok()?)?,
            thread: part(Part::Task)? as u32,
            process: (part(Part::Task)? >> 32) as u32,
            began: Nanos(part(Part::Began)?),
            ended: Nanos(part(Part::Ended)?),
            before: task(Part::RanAtBegin, Part::SleptAtBegin)?,
            after: task(Part::RanAtEnd, Part::SleptAtEnd)?,
            file: (part(Part::Device)?, part(Part::Inode)?),
            is_regular: part(Part::Mode)? & FORMAT == REGULAR,
            size: part(Part::Size)?,
            offset: part(Part::Offset)?,
            length: part(Part::Length)?,
        })
    }
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
