//! The numbers that files have for the policies.

use std::collections::HashMap;

use guard::File;

use crate::sys::Key;

/// Files that are known at most: twice what the policies remember.
const FILES_MAX: usize = 2048;
/// Files that are forgotten at once: to find them takes a look at all.
const FORGOTTEN: usize = FILES_MAX / 4;

/// Files by their keys and by their numbers. It never grows after it was made.
#[derive(Debug)]
pub(crate) struct Files {
    numbers: HashMap<Key, File>,
    /// In order of their numbers.
    slots: Vec<Slot>,
    /// When each was used last, while files are forgotten.
    uses_of: Vec<u64>,
    /// The number of the next file that is new. They begin again after four thousand million.
    next: u32,
    /// Uses so far, of all files.
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    file: File,
    key: Key,
    /// The number of its last use.
    used: u64,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self {
            // Twice the room: a table that is half full is tidied up where it is.
            numbers: HashMap::with_capacity(2 * FILES_MAX),
            slots: Vec::with_capacity(FILES_MAX),
            uses_of: Vec::with_capacity(FILES_MAX),
            next: 0,
            uses: 0,
        }
    }

    /// The number of a file that is used. A new one takes the place of one that was not used for a
    /// long time, and is not locked; `None` where there is none.
    pub(crate) fn used(&mut self, key: Key, is_locked: impl Fn(File) -> bool) -> Option<File> {
        self.uses += 1;
        if let Some(file) = self.numbers.get(&key).copied() {
            let place = self.place(file)?;
            self.slots[place].used = self.uses;
            return Some(file);
        }
        if self.slots.len() == FILES_MAX {
            self.forget_oldest(is_locked);
        }
        if self.slots.len() == FILES_MAX {
            return None;
        }
        let (file, used) = (self.free_number(), self.uses);
        self.numbers.insert(key, file);
        // At the end, until the numbers begin again.
        let place = self.slots.partition_point(|slot| slot.file < file);
        self.slots.insert(place, Slot { file, key, used });
        Some(file)
    }

    fn free_number(&mut self) -> File {
        loop {
            let file = File(self.next);
            self.next = self.next.wrapping_add(1);
            if self.place(file).is_none() {
                return file;
            }
        }
    }

    /// Forgets those that were not used for the longest time.
    fn forget_oldest(&mut self, is_locked: impl Fn(File) -> bool) {
        let free = self.slots.iter().filter(|slot| !is_locked(slot.file));
        self.uses_of.clear();
        self.uses_of.extend(free.map(|slot| slot.used));
        let Some(last) = self.uses_of.len().checked_sub(1) else {
            return;
        };
        let last = last.min(FORGOTTEN - 1);
        let (_, newest, _) = self.uses_of.select_nth_unstable(last);
        let newest = *newest;
        let numbers = &mut self.numbers;
        self.slots.retain(|slot| {
            let stays = slot.used > newest || is_locked(slot.file);
            if !stays {
                numbers.remove(&slot.key);
            }
            stays
        });
    }

    /// The key of a file; `None` for one that was forgotten.
    pub(crate) fn key(&self, file: File) -> Option<Key> {
        self.place(file).map(|place| self.slots[place].key)
    }

    fn place(&self, file: File) -> Option<usize> {
        let found = self.slots.binary_search_by_key(&file, |slot| slot.file);
        found.ok()
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
    fn files_that_were_not_used_for_longest_go_unless_they_are_locked() {
        let mut files = Files::new();
        for number in 0..2048 {
            files.used(key(number), |_| false);
        }
        files.used(key(0), |_| false);
        files.used(key(9999), |file| file == File(1));
        let known = [0, 1, 2, 513, 514, 2048].map(|number| files.key(File(number)).is_some());
        assert_eq!(known, [true, true, false, false, true, true]);
        assert_eq!(files.slots.len(), FILES_MAX - FORGOTTEN + 1);
        assert_eq!(files.slots.len(), files.numbers.len());
    }

    #[test]
    fn numbers_begin_again() {
        let mut files = Files::new();
        let number = |files: &mut Files, of| files.used(key(of), |_| false);
        assert_eq!(number(&mut files, 0), Some(File(0)));
        files.next = u32::MAX;
        let given = [1, 2].map(|of| number(&mut files, of));
        assert_eq!(given, [Some(File(u32::MAX)), Some(File(1))]);
        let keys = [0, 1, u32::MAX].map(|number| files.key(File(number)));
        assert_eq!(keys, [0, 2, 1].map(|of| Some(key(of))));
    }

    #[test]
    fn where_all_files_are_locked_no_other_is_known() {
        let mut files = Files::new();
        let room = files.numbers.capacity();
        for number in 0..5000 {
            let file = files.used(key(number), |_| true);
            assert_eq!(file.is_some(), number < 2048, "{number}");
        }
        for number in 0..50_000 {
            files.used(key(number), |file| file.0 % 7 == 0);
        }
        assert!(files.numbers.capacity() <= room, "it has grown");
    }
}
