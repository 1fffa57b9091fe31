//! Shadow entries and refault distance (`mm/workingset.c`).

use crate::folio::{Flag, PageId, State};
use crate::lru::Lru;
use crate::memory::Memory;

/// What the page cache remembers of a page that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// Nothing.
    None,
    /// It was evicted when the node's age was `age`.
    Evicted {
        /// Low 32 bits of the age.
        age: u32,
        /// Whether it was part of the working set.
        workingset: bool,
    },
}

impl Memory {
    /// Evicts a page-cache page: frees it and leaves its shadow entry.
    pub(crate) fn evict_file(&mut self, page: PageId) {
        self.free(page);
        self.folios
            .leave_shadow(page, self.nonresident_age as u32, None);
        self.nonresident_age += 1;
    }

    /// What is known of a page that is not resident.
    pub(crate) fn history(&self, page: PageId) -> History {
        match self.folios.state(page) {
            State::Shadow => History::Evicted {
                age: self.folios.shadow(page),
                workingset: self.folios.has(page, Flag::Workingset),
            },
            _ => History::None,
        }
    }

    /// Decides where a page that comes in will go: a first-timer to the inactive list, a refault to
    /// the active one if it would still be resident had the active pages' memory been its own
    /// (`workingset_refault`, without swap: the working set's size is the active file list).
    pub(crate) fn admit(&mut self, page: PageId, history: History) {
        let History::Evicted { age, workingset } = history else {
            return;
        };
        self.events.workingset_refault_file += 1;
        let distance = u64::from((self.nonresident_age as u32).wrapping_sub(age));
        if distance > self.list(Lru::ActiveFile) {
            return;
        }
        self.nonresident_age += 1;
        self.events.workingset_activate_file += 1;
        self.folios.set_state(page, State::InFlightActive);
        if workingset {
            self.folios.set(page, Flag::Workingset);
            self.events.workingset_restore_file += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folio::PageId;

    /// Evicts the oldest inactive page, lets `others` follow it, and brings it in again.
    fn refault(active: u64, others: u64, deactivated: bool) -> (Memory, PageId) {
        let mut memory = Memory::with_cache(10_000, 10, 1000, active);
        let tail = |memory: &Memory| memory.lists[Lru::InactiveFile as usize].tail();
        let first = tail(&memory).expect("a page");
        if deactivated {
            memory.folios.set(first, Flag::Workingset);
        }
        for _ in 0..=others {
            let page = tail(&memory).expect("a page");
            memory.take_from_list(page, Lru::InactiveFile);
            memory.evict_file(page);
        }
        let history = memory.history(first);
        memory.allocate(first, State::InFlight).expect("it fits");
        memory.admit(first, history);
        (memory, first)
    }

    #[test]
    fn a_refault_within_the_active_lists_size_is_activated_and_one_beyond_is_not() {
        let (memory, page) = refault(100, 99, false);
        assert_eq!(memory.folios.state(page), State::InFlightActive);
        assert_eq!(memory.events.workingset_activate_file, 1);
        let (memory, page) = refault(100, 100, false);
        assert_eq!(memory.folios.state(page), State::InFlight);
        assert_eq!(memory.events.workingset_refault_file, 1);
        assert_eq!(memory.events.workingset_activate_file, 0);
    }

    #[test]
    fn only_a_page_that_had_been_active_counts_as_restored() {
        assert_eq!(refault(100, 0, false).0.events.workingset_restore_file, 0);
        let (memory, page) = refault(100, 0, true);
        assert_eq!(memory.events.workingset_restore_file, 1);
        assert!(memory.folios.has(page, Flag::Workingset));
    }
}
