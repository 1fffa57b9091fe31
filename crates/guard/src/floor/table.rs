//! The files that are known, and how often they are used.

use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};

use crate::sample::{File, LOOKED_AT, Touch, Use};
use crate::uses::Uses;

/// Files that are known at most; of more, the least used is forgotten.
const MOST_FILES: usize = 1024;
/// Files that are locked at most: there is always one that can be forgotten.
pub(super) const MOST_LOCKS: usize = MOST_FILES / 4 * 3;
/// What a disk reads in the time that one request takes.
const REQUEST: Bytes = Bytes(128 << 10);

/// The files that are known. It never grows after it was made.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// In order of their numbers.
    entries: Vec<Entry>,
}

/// A file that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) file: File,
    pub(super) lock: Lock,
    /// The configuration names it: it goes before all others.
    pub(super) is_named: bool,
    pub(super) uses: Uses,
    /// What would be locked of it, as it was when it was looked at last.
    pub(super) size: Option<Bytes>,
}

/// How a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    None,
    /// It is to be looked at.
    Asked,
    /// So much is locked, from its beginning.
    Held(Bytes),
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::with_capacity(MOST_FILES),
        }
    }

    pub(super) fn get(&self, file: File) -> Option<&Entry> {
        self.place(file).ok().map(|index| &self.entries[index])
    }

    pub(super) fn find(&mut self, file: File) -> Option<&mut Entry> {
        self.place(file).ok().map(|index| &mut self.entries[index])
    }

    /// Where a file is, or where it belongs.
    fn place(&self, file: File) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&file, |entry| entry.file)
    }

    /// Counts a use. A file that is new takes the place of the least used one that is not locked.
    pub(super) fn touch(&mut self, touch: Touch, now: Nanos) -> &mut Entry {
        let known = self.place(touch.file);
        let index = known.unwrap_or_else(|_| self.add(touch.file));
        let entry = &mut self.entries[index];
        match touch.how {
            Use::Named => entry.is_named = true,
            Use::Closed | Use::Executed => entry.uses.add(now),
            Use::Opened | Use::Written => {}
        }
        entry
    }

    fn add(&mut self, file: File) -> usize {
        let new = Entry {
            file,
            lock: Lock::None,
            is_named: false,
            uses: Uses::NONE,
            size: None,
        };
        if self.entries.len() == MOST_FILES {
            self.forget_the_least_used();
        }
        let index = self.place(file).unwrap_or_else(|index| index);
        self.entries.insert(index, new);
        index
    }

    /// Of those that are not locked, which some always are.
    fn forget_the_least_used(&mut self) {
        let entries = self.entries.iter().enumerate();
        let free = entries.filter(|(_, entry)| !entry.is_locked());
        let least = free.min_by(|(_, one), (_, other)| one.rank().total_cmp(&other.rank()));
        if let Some((index, _)) = least {
            self.entries.remove(index);
        }
    }

    /// Forgets a file; it is returned.
    pub(super) fn forget(&mut self, file: File) -> Option<Entry> {
        let index = self.place(file).ok()?;
        Some(self.entries.remove(index))
    }

    /// What is locked, or to be.
    pub(super) fn locked(&self) -> Bytes {
        self.entries.iter().map(Entry::locked).sum()
    }

    /// Whether there are as many locks as there may be.
    pub(super) fn is_full(&self) -> bool {
        self.locks().count() >= MOST_LOCKS
    }

    /// What is locked of files that rank below `rank`.
    pub(super) fn locked_below(&self, rank: f64) -> Bytes {
        let below = self.entries.iter().filter(|entry| entry.rank() <= rank);
        below.map(Entry::locked).sum()
    }

    pub(super) fn least_used_lock(&mut self) -> Option<&mut Entry> {
        let locked = self.entries.iter_mut().filter(|entry| entry.is_locked());
        locked.min_by(|one, other| one.rank().total_cmp(&other.rank()))
    }

    /// The lock that saves least, and what that is worth.
    pub(super) fn least_worth(&self) -> Option<(File, f64)> {
        let worth = self.locks().map(|entry| (entry.file, entry.worth()));
        worth.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    fn locks(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_locked())
    }
}

impl Entry {
    /// What it is compared with others by.
    pub(super) fn rank(&self) -> f64 {
        match self.is_named {
            true => f64::INFINITY,
            false => self.uses.rank(),
        }
    }

    /// What its lock saves, where the number of locks is what is short: the binary logarithm of the
    /// uses times the time that it takes to read it, up to a constant. What was not looked at yet
    /// may be large.
    pub(super) fn worth(&self) -> f64 {
        let bytes = REQUEST.saturating_add(self.size.unwrap_or(LOOKED_AT));
        self.rank() + libm::log2(bytes.0 as f64)
    }

    fn is_locked(&self) -> bool {
        matches!(self.lock, Lock::Held(_))
    }

    fn locked(&self) -> Bytes {
        match self.lock {
            Lock::Held(length) => length,
            Lock::None | Lock::Asked => Bytes::ZERO,
        }
    }
}
