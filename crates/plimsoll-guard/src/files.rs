//! The numbers that files have for the policies.

use guard::File;

use crate::sys::Key;

/// Files that are known at most: twice what the policies remember.
const FILES_MAX: usize = 2048;
/// Files that are forgotten at once: to find them takes a look at all.
const FORGOTTEN: usize = FILES_MAX / 4;

/// Files by their keys, in order of these. It never grows after it was made.
#[derive(Debug)]
pub(crate) struct Files {
    slots: Vec<Slot>,
    /// When each was used last, while files are forgotten.
    uses_of: Vec<u64>,
    /// The number of the next file that is new. One is never given twice.
    next: u32,
    /// Uses so far, of all files.
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Key,
    file: File,
    /// The number of its last use.
    used: u64,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self {
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
        if let Ok(index) = self.slots.binary_search_by_key(&key, |slot| slot.key) {
            self.slots[index].used = self.uses;
            return Some(self.slots[index].file);
        }
        if self.slots.len() == FILES_MAX {
            self.forget_oldest(is_locked);
        }
        if self.slots.len() == FILES_MAX {
            return None;
        }
        let file = File(self.next);
        self.next = self.next.wrapping_add(1);
        let at = self.slots.partition_point(|slot| slot.key < key);
        let used = self.uses;
        self.slots.insert(at, Slot { key, file, used });
        Some(file)
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
        self.slots
            .retain(|slot| slot.used > newest || is_locked(slot.file));
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
    }

    #[test]
    fn where_all_files_are_locked_no_other_is_known() {
        let mut files = Files::new();
        let room = files.slots.capacity();
        for number in 0..5000 {
            let file = files.used(key(number), |_| true);
            assert_eq!(file.is_some(), number < 2048, "{number}");
        }
        for number in 0..50_000 {
            files.used(key(number), |file| file.0 % 7 == 0);
        }
        assert_eq!(files.slots.capacity(), room);
    }
}
