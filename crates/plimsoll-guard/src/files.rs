//! The numbers that files have for the policies.

use guard::File;

use crate::sys::Key;

/// Files that are known at most.
const FILES_MAX: usize = 4096;

/// Files by their keys, in order of these. It never grows after it was made.
#[derive(Debug)]
pub(crate) struct Files {
    slots: Vec<Slot>,
    /// The number of the next file that is new. One is never given twice.
    next: u32,
    /// Uses so far, of all files.
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Key,
    file: File,
    used: u64,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::with_capacity(FILES_MAX),
            next: 0,
            uses: 0,
        }
    }

    /// The number of a file that is used. A new one takes the place of the one that was not used
    /// for the longest time, and is not locked.
    pub(crate) fn used(&mut self, key: Key, is_locked: impl Fn(File) -> bool) -> Option<File> {
        self.uses += 1;
        if let Ok(index) = self.slots.binary_search_by_key(&key, |slot| slot.key) {
            self.slots[index].used = self.uses;
            return Some(self.slots[index].file);
        }
        if self.slots.len() == FILES_MAX {
            self.forget_oldest(is_locked)?;
        }
        let file = File(self.next);
        self.next = self.next.wrapping_add(1);
        let at = self.slots.partition_point(|slot| slot.key < key);
        let used = self.uses;
        self.slots.insert(at, Slot { key, file, used });
        Some(file)
    }

    /// Makes room for a file; `None` where all are locked.
    fn forget_oldest(&mut self, is_locked: impl Fn(File) -> bool) -> Option<()> {
        for _ in 0..self.slots.len() {
            let slots = self.slots.iter().enumerate();
            let (oldest, slot) = slots.min_by_key(|(_, slot)| slot.used)?;
            if !is_locked(slot.file) {
                self.slots.remove(oldest);
                return Some(());
            }
            // Being locked counts as a use, so that the next search does not find it first.
            self.uses += 1;
            self.slots[oldest].used = self.uses;
        }
        None
    }

    /// The key of a file; `None` for one that was forgotten.
    pub(crate) fn key(&self, file: File) -> Option<Key> {
        let found = self.slots.iter().find(|slot| slot.file == file);
        found.map(|slot| slot.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Key {
        Key::new(7, 1, &number.to_be_bytes()).expect("short")
    }

    #[test]
    fn a_file_keeps_its_number() {
        let mut files = Files::new();
        let numbers = [3, 1, 3].map(|number| files.used(key(number), |_| false));
        assert_eq!(numbers, [Some(File(0)), Some(File(1)), Some(File(0))]);
        assert_eq!(files.key(File(1)), Some(key(1)));
    }

    #[test]
    fn the_file_that_was_not_used_for_longest_goes_unless_it_is_locked() {
        let mut files = Files::new();
        for number in 0..4096 {
            files.used(key(number), |_| false);
        }
        files.used(key(0), |_| false);
        files.used(key(9999), |file| file == File(1));
        let known = [0, 1, 2, 3, 4096].map(|number| files.key(File(number)).is_some());
        assert_eq!(known, [true, true, false, true, true]);
        assert_eq!(files.slots.len(), FILES_MAX);
    }
}
