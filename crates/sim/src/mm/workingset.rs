//! Shadow entries and refault distance (`mm/workingset.c`).

pub(crate) mod shadow_nodes;

use crate::mm::folio::{Flag, PageId, State, TO_ACTIVE};
use crate::mm::lru::Lru;
use crate::mm::lruvec::{Kind, ROOT};
use crate::mm::parts::Memory;

/// Bits of a shadow entry that name the group, where there are several.
pub(crate) const GROUP_BITS: u32 = 8;

/// What is remembered of a page that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// Nothing.
    None,
    /// It was evicted.
    Evicted {
        /// Its shadow entry.
        shadow: u32,
        /// Whether it was part of the working set.
        workingset: bool,
    },
}

impl Memory {
    /// Evicts a page that is on no list and mapped nowhere: frees it and leaves its shadow entry;
    /// an anonymous page stays in its slot.
    pub(crate) fn evict(&mut self, page: PageId) {
        self.free_with_batch(page);
        let slot = self.folios.has(page, Flag::Slot) && self.kind(page) == Kind::Anon;
        let slot = slot.then(|| self.swap.slot_of(page));
        self.folios.swap_cached -= u64::from(slot.is_some());
        if self.cpu.rules.lru_gen.enabled {
            let shadow = self.generation_shadow(page);
            self.folios.leave_shadow(page, shadow, slot);
            return self.list_shadow_node(page);
        }
        let shadow = self.pack_shadow(self.cpu.current.reclaiming);
        self.folios.leave_shadow(page, shadow, slot);
        self.list_shadow_node(page);
        self.age_nonresident(self.cpu.current.reclaiming, 1);
    }

    /// What is known of a page that is not resident.
    pub(crate) fn history(&self, page: PageId) -> History {
        match self.folios.state(page) {
            State::Shadow | State::Swapped => History::Evicted {
                shadow: self.folios.shadow(page),
                workingset: self.folios.has(page, Flag::Workingset),
            },
            _ => History::None,
        }
    }

    /// Decides where a page that comes in will go: a first-timer to the inactive list, a refault to
    /// the active one if it would still be resident had the memory of those that compete with it
    /// been its own (`workingset_refault`). The page must be in state [`State::Reading`].
    pub(crate) fn admit(&mut self, page: PageId, history: History) {
        let History::Evicted { shadow, workingset } = history else {
            return;
        };
        let kind = self.kind(page);
        if self.cpu.rules.lru_gen.enabled {
            return self.admit_to_generation(page, shadow, workingset);
        }
        let (evicted_by, age) = self.unpack_shadow(shadow);
        *self.count_refault(kind) += 1;
        let stat = self.groups.stat(self.group(page));
        stat.count_refault(kind);
        let now = self.lruvecs[evicted_by].nonresident_age;
        let distance = now.wrapping_sub(age) & self.age_mask();
        if distance > self.workingset_size(evicted_by, kind) {
            return;
        }
        let group = self.group(page);
        self.age_nonresident(group, 1);
        *self.count_activation(kind) += 1;
        self.groups.stat(group).count_activation(kind);
        self.upwards(group, |lruvec| {
            lruvec.activated_refaults[kind as usize] += 1
        });
        self.folios.set(page, TO_ACTIVE);
        if workingset {
            self.folios.set(page, Flag::Workingset);
            *self.count_restore(kind) += 1;
            self.groups.stat(group).count_restore(kind);
            self.note_cost(group, kind, 1, 0);
        }
    }

    /// The memory that a refault competes for: the active page cache, for anonymous pages all of
    /// the page cache, and with swap the anonymous pages too.
    fn workingset_size(&self, group: usize, kind: Kind) -> u64 {
        let below = |lru| self.known_list(group, lru);
        let mut size = below(Lru::ActiveFile);
        if kind == Kind::Anon {
            size += below(Lru::InactiveFile);
        }
        if self.can_swap_in(group) {
            size += below(Lru::ActiveAnon);
            if kind == Kind::File {
                size += below(Lru::InactiveAnon);
            }
        }
        size
    }

    /// The shadow of a page that a reclaim of `target` evicts: whose age it is, and the age.
    pub(crate) fn pack_shadow(&self, target: usize) -> u32 {
        let age = self.lruvecs[target].nonresident_age as u32;
        match self.lruvecs.len() {
            1 => age,
            _ => (age << GROUP_BITS) | target as u32,
        }
    }

    fn unpack_shadow(&self, shadow: u32) -> (usize, u64) {
        match self.lruvecs.len() {
            1 => (ROOT, u64::from(shadow)),
            _ => {
                let group = shadow & ((1 << GROUP_BITS) - 1);
                (group as usize, u64::from(shadow >> GROUP_BITS))
            }
        }
    }

    fn age_mask(&self) -> u64 {
        let bits = match self.lruvecs.len() {
            1 => 32,
            _ => 32 - GROUP_BITS,
        };
        (1 << bits) - 1
    }

    pub(crate) fn count_refault(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Anon => &mut self.cpu.events.workingset_refault_anon,
            Kind::File => &mut self.cpu.events.workingset_refault_file,
        }
    }

    pub(crate) fn count_activation(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Anon => &mut self.cpu.events.workingset_activate_anon,
            Kind::File => &mut self.cpu.events.workingset_activate_file,
        }
    }

    pub(crate) fn count_restore(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Anon => &mut self.cpu.events.workingset_restore_anon,
            Kind::File => &mut self.cpu.events.workingset_restore_file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evicts the oldest inactive page, lets `others` follow it, and brings it in again.
    fn refault(active: u64, others: u64, deactivated: bool) -> (Memory, PageId) {
        let mut memory = Memory::with_cache(10_000, 10, 1000, active);
        let tail = |memory: &Memory| memory.lruvecs[ROOT].lists[Lru::InactiveFile as usize].tail();
        let first = tail(&memory).expect("a page");
        if deactivated {
            memory.folios.set(first, Flag::Workingset);
        }
        for _ in 0..=others {
            let page = tail(&memory).expect("a page");
            memory.take_from_list(page);
            memory.evict(page);
        }
        let history = memory.history(first);
        memory.allocate(first, State::Reading).expect("it fits");
        memory.admit(first, history);
        (memory, first)
    }

    #[test]
    fn a_refault_within_the_active_lists_size_is_activated_and_one_beyond_is_not() {
        let (memory, page) = refault(100, 99, false);
        assert!(memory.folios.has(page, TO_ACTIVE));
        assert_eq!(memory.cpu.events.workingset_activate_file, 1);
        let (memory, page) = refault(100, 100, false);
        assert!(!memory.folios.has(page, TO_ACTIVE));
        assert_eq!(memory.cpu.events.workingset_refault_file, 1);
        assert_eq!(memory.cpu.events.workingset_activate_file, 0);
    }

    #[test]
    fn only_a_page_that_had_been_active_counts_as_restored() {
        assert_eq!(
            refault(100, 0, false).0.cpu.events.workingset_restore_file,
            0
        );
        let (memory, page) = refault(100, 0, true);
        assert_eq!(memory.cpu.events.workingset_restore_file, 1);
        assert!(memory.folios.has(page, Flag::Workingset));
    }
}
