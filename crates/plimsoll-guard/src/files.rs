//! The numbers that files have for the policies.

use guard::shares::Shares;
use guard::{File, User};

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
    /// On whose share it counts: who used it first, or the system.
    user: User,
    /// The number of that user's last use.
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
    /// long time, and is not locked; `None` where there is none for this user.
    pub(crate) fn used(
        &mut self,
        key: Key,
        user: User,
        is_locked: impl Fn(File) -> bool,
    ) -> Option<File> {
        self.uses += 1;
        if let Ok(index) = self.slots.binary_search_by_key(&key, |slot| slot.key) {
            let slot = &mut self.slots[index];
            if user == slot.user || user == User::System {
                (slot.user, slot.used) = (user, self.uses);
            }
            return Some(slot.file);
        }
        if self.slots.len() == FILES_MAX {
            self.forget_oldest(user, is_locked);
        }
        if self.slots.len() == FILES_MAX {
            return None;
        }
        let file = File(self.next);
        self.next = self.next.wrapping_add(1);
        let at = self.slots.partition_point(|slot| slot.key < key);
        let used = self.uses;
        let slot = Slot {
            key,
            file,
            user,
            used,
        };
        self.slots.insert(at, slot);
        Some(file)
    }

    /// Forgets those that were not used for the longest time: of users that have more than their
    /// share, where this one may claim a place, else its own.
    fn forget_oldest(&mut self, user: User, is_locked: impl Fn(File) -> bool) {
        let shares = Shares::of(self.slots.iter().map(|slot| (slot.user, 1)));
        let total = FILES_MAX as u64;
        let may = shares.may_claim(user, 1, total);
        let theirs = |slot: &Slot| may && shares.gives(slot.user, 1, user, total);
        let own = |slot: &Slot| slot.user == user;
        self.forget(|slot| theirs(slot) && !is_locked(slot.file));
        if self.slots.len() == FILES_MAX {
            self.forget(|slot| own(slot) && !is_locked(slot.file));
        }
    }

    fn forget(&mut self, goes: impl Fn(&Slot) -> bool) {
        let oldest = self.slots.iter().filter(|slot| goes(slot));
        self.uses_of.clear();
        self.uses_of.extend(oldest.map(|slot| slot.used));
        let Some(last) = self.uses_of.len().checked_sub(1) else {
            return;
        };
        let last = last.min(FORGOTTEN - 1);
        let (_, newest, _) = self.uses_of.select_nth_unstable(last);
        let newest = *newest;
        self.slots.retain(|slot| slot.used > newest || !goes(slot));
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
        let numbers = [3, 1, 3].map(|number| files.used(key(number), User::System, |_| false));
        assert_eq!(numbers, [Some(File(0)), Some(File(1)), Some(File(0))]);
        assert_eq!(files.key(File(1)), Some(key(1)));
    }

    #[test]
    fn files_that_were_not_used_for_longest_go_unless_they_are_locked() {
        let mut files = Files::new();
        for number in 0..2048 {
            files.used(key(number), User::System, |_| false);
        }
        files.used(key(0), User::System, |_| false);
        files.used(key(9999), User::System, |file| file == File(1));
        let known = [0, 1, 2, 513, 514, 2048].map(|number| files.key(File(number)).is_some());
        assert_eq!(known, [true, true, false, false, true, true]);
        assert_eq!(files.slots.len(), FILES_MAX - FORGOTTEN + 1);
    }

    #[test]
    fn where_all_files_are_locked_no_other_is_known() {
        let mut files = Files::new();
        let room = files.slots.capacity();
        for number in 0..5000 {
            let file = files.used(key(number), User::System, |_| true);
            assert_eq!(file.is_some(), number < 2048, "{number}");
        }
        for number in 0..50_000 {
            files.used(key(number), User::System, |file| file.0 % 7 == 0);
        }
        assert_eq!(files.slots.capacity(), room);
    }

    #[test]
    fn a_flood_of_one_users_files_makes_nobody_elses_forgotten() {
        let mut files = Files::new();
        let other = User::Other(7);
        let first = files.used(key(0), User::System, |_| false);
        for number in 1..50_000 {
            files.used(key(number), other, |_| false);
            // Nor does it keep what others use.
            files.used(key(1), other, |_| false);
        }
        assert_eq!(files.used(key(0), User::System, |_| false), first);
        for number in 60_000..61_000 {
            assert!(files.used(key(number), User::System, |_| false).is_some());
        }
        assert_eq!(
            files.used(key(0), other, |_| false),
            first,
            "the system has half"
        );
    }
}
