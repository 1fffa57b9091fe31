//! The files of a recording: their numbers, and that one which is mapped keeps its size, as a bench
//! maps it once and as a whole.

use std::collections::BTreeMap;

use mm::units::Bytes;
use scenario::recording::{Kind, Writer, place};

use super::event::Event;

/// The most files: beyond them files are passed over.
const FILES: usize = 200_000;

/// The largest file: the model has 7 bytes for each of its pages.
const LARGEST: u64 = 256 << 30;

/// Device and number.
type Inode = (u64, u64);

/// A file that was met.
#[derive(Clone, Copy, Debug)]
struct File {
    number: u32,
    /// When it was met.
    size: u64,
    is_mapped: bool,
    is_resized: bool,
}

/// The files that were met.
#[derive(Debug, Default)]
pub(crate) struct Files {
    by_inode: BTreeMap<Inode, File>,
    /// Files that have a number.
    numbered: u32,
    /// The size of all together.
    size: u64,
}

impl Files {
    /// The size of all together, each when it was first met.
    pub(crate) fn size(&self) -> Bytes {
        Bytes(self.size)
    }

    /// A file of which the kernel drops pages was made shorter or removed, or its inode was
    /// reclaimed: then nothing happened to it. What was never met is not cut.
    pub(crate) fn cuts_what_is_known(&self, event: &Event) -> bool {
        let is_reclaimed = event.length > 0 && event.size > event.offset;
        event.kind != Kind::Truncate || (self.by_inode.contains_key(&event.file) && !is_reclaimed)
    }

    /// The number of the event's file, and the event as it can be done again. Of a file that
    /// changed its size a load is a read, and of one that is mapped the end is not cut but dropped.
    /// What makes that longer is for another file. Nothing where there is no place.
    pub(crate) fn place(
        &mut self,
        event: &Event,
        level: u32,
        writer: &mut Writer<'_>,
    ) -> Option<(u32, Event)> {
        let resizes = |file: &File| match event.kind {
            Kind::Write => event.offset.saturating_add(event.length) > file.size,
            kind => kind == Kind::Truncate,
        };
        let known = self.by_inode.get(&event.file);
        if event.kind == Kind::Write && known.is_some_and(|it| it.is_mapped && resizes(it)) {
            self.forget(event.file);
        }
        if !self.by_inode.contains_key(&event.file) {
            self.meet(event, level, writer)?;
        }
        let file = self.by_inode.get_mut(&event.file)?;
        let (kind, length) = match event.kind {
            Kind::Load if file.is_resized => (Kind::Read, event.length),
            Kind::Truncate if file.is_mapped => (Kind::DontNeed, 0),
            kind => (kind, event.length),
        };
        file.is_mapped |= kind == Kind::Load;
        file.is_resized |= kind != Kind::DontNeed && resizes(file);
        Some((
            file.number,
            Event {
                kind,
                length,
                ..*event
            },
        ))
    }

    /// It is removed: its inode may become another file.
    pub(crate) fn forget(&mut self, file: Inode) {
        self.by_inode.remove(&file);
    }

    fn meet(&mut self, event: &Event, level: u32, writer: &mut Writer<'_>) -> Option<()> {
        if self.by_inode.len() >= FILES || event.size > LARGEST {
            return None;
        }
        let half = |size, level| place(self.numbered, level, size);
        let number = writer.file(Bytes((0..level).fold(event.size, half)));
        self.numbered += 1;
        self.size = self.size.saturating_add(event.size);
        let file = File {
            number,
            size: event.size,
            is_mapped: false,
            is_resized: false,
        };
        self.by_inode.insert(event.file, file);
        Some(())
    }
}
