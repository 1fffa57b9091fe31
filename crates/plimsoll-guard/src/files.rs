//! The numbers that files have for the policies.

use std::collections::HashMap;

use guard::File;

use crate::sys::Key;

/// Files that are known at most.
const FILES_MAX: usize = 4096;
/// Files that are forgotten at once: to find them takes a look at all.
const FORGOTTEN: usize = FILES_MAX / 4;

/// Files by their keys and by their numbers. It never grows after it was made.
#[derive(Debug)]
pub(crate) struct Files {
    known: HashMap<Key, Known>,
    keys: HashMap<File, Key>,
    /// When each was used last, while files are forgotten.
    uses_of: Vec<u64>,
    /// The number of the next file that is new. One is never given twice.
    next: u32,
    /// Uses so far, of all files.
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    file: File,
    /// The number of its last use.
    used: u64,
}

impl Files {
    pub(crate) fn new() -> Self {
        // Twice the room: a table that is half full is tidied up where it is.
        Self {
            known: HashMap::with_capacity(2 * FILES_MAX),
            keys: HashMap::with_capacity(2 * FILES_MAX),
            uses_of: Vec::with_capacity(FILES_MAX),
            next: 0,
            uses: 0,
        }
    }

    /// The number of a file that is used. A new one takes the place of one that was not used for a
    /// long time, and is not locked; `None` where there is none.
    pub(crate) fn used(&mut self, key: Key, is_locked: impl Fn(File) -> bool) -> Option<File> {
        self.uses += 1;
        if let Some(known) = self.known.get_mut(&key) {
            known.used = self.uses;
            return Some(known.file);
        }
        if self.known.len() == FILES_MAX {
            self.forget_oldest(is_locked);
        }
        if self.known.len() == FILES_MAX {
            return None;
        }
        let (file, used) = (File(self.next), self.uses);
        self.next = self.next.wrapping_add(1);
        self.known.insert(key, Known { file, used });
        self.keys.insert(file, key);
        Some(file)
    }

    /// Forgets those that were not used for the longest time.
    fn forget_oldest(&mut self, is_locked: impl Fn(File) -> bool) {
        let free = self.known.values().filter(|known| !is_locked(known.file));
        self.uses_of.clear();
        self.uses_of.extend(free.map(|known| known.used));
        let Some(last) = self.uses_of.len().checked_sub(1) else {
            return;
        };
        let last = last.min(FORGOTTEN - 1);
        let (_, newest, _) = self.uses_of.select_nth_unstable(last);
        let newest = *newest;
        let keys = &mut self.keys;
        self.known.retain(|_, known| {
            let stays = known.used > newest || is_locked(known.file);
            if !stays {
                keys.remove(&known.file);
            }
            stays
        });
    }

    /// The key of a file; `None` for one that was forgotten.
    pub(crate) fn key(&self, file: File) -> Option<Key> {
        self.keys.get(&file).copied()
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
        for number in 0..4096 {
            files.used(key(number), |_| false);
        }
        files.used(key(0), |_| false);
        files.used(key(9999), |file| file == File(1));
        let known = [0, 1, 2, 1025, 1026, 4096].map(|number| files.key(File(number)).is_some());
        assert_eq!(known, [true, true, false, false, true, true]);
        assert_eq!(files.known.len(), FILES_MAX - FORGOTTEN + 1);
        assert_eq!(files.known.len(), files.keys.len());
    }

    #[test]
    fn where_all_files_are_locked_no_other_is_known() {
        let mut files = Files::new();
        let room = files.known.capacity();
        for number in 0..5000 {
            let file = files.used(key(number), |_| true);
            assert_eq!(file.is_some(), number < 4096, "{number}");
        }
        for number in 0..50_000 {
            files.used(key(number), |file| file.0 % 7 == 0);
        }
        assert!(files.known.capacity() <= room, "it has grown");
    }
}
