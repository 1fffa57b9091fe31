//! Shadow entries and refault distance (`mm/workingset.c`).

pub(crate) mod shadow_nodes;
pub(crate) mod state;

use mm::rules::Mechanism;

use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lru::Kind;
use crate::mm::lru::Lru;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::lruvec::state::ROOT;
use crate::mm::memcontrol::state::Groups;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

/// Bits of a shadow entry that name the group, where there are several.
pub(crate) const GROUP_BITS: u32 = 8;

/// Pages beyond which a CPU adds what it has counted (`MEMCG_CHARGE_BATCH` of those kernels).
const STATS_BATCH: u64 = 32;

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
    /// Evicts a page that is on no list and mapped nowhere: frees it and leaves its shadow entry
    /// (`workingset_eviction`); an anonymous page stays in its slot.
    pub(crate) fn evict(&mut self, page: PageId) {
        self.zones.free_with_batch(
            &mut self.cpu,
            &self.folios,
            &mut self.groups,
            &mut self.objects,
            page,
        );
        let slot = self.folios.kind(page) == Kind::Anon && self.folios.has(page, Flag::Swapcache);
        let slot = slot.then(|| self.swap.slot_of(page));
        self.folios.swap_cached -= u64::from(slot.is_some());
        if self.cpu.rules.lru_gen.enabled {
            let shadow = self.lruvecs.generation_shadow(&self.folios, page);
            self.folios.leave_shadow(page, shadow, slot);
            return self
                .lruvecs
                .list_shadow_node(&self.folios, &self.groups, &self.objects, page);
        }
        let shadow = self.lruvecs.pack_shadow(self.cpu.current.reclaiming);
        self.folios.leave_shadow(page, shadow, slot);
        self.lruvecs
            .list_shadow_node(&self.folios, &self.groups, &self.objects, page);
        self.lruvecs.age_nonresident(self.cpu.current.reclaiming, 1);
    }

    /// Decides where a page that comes in will go: a first-timer to the inactive list, a refault to
    /// the active one if it would still be resident had the memory of those that compete with it
    /// been its own (`workingset_refault`). The page must be in state [`State::Reading`].
    pub(crate) fn admit(&mut self, page: PageId, history: History) {
        let History::Evicted { shadow, workingset } = history else {
            return;
        };
        let kind = self.folios.kind(page);
        if self.cpu.rules.lru_gen.enabled {
            return self.lruvecs.admit_to_generation(
                &mut self.cpu,
                &mut self.folios,
                page,
                shadow,
                workingset,
            );
        }
        if kind == Kind::Anon && !self.cpu.rules.has(Mechanism::AnonBeginsInactive) {
            return;
        }
        let (evicted_by, age) = self.lruvecs.unpack_shadow(shadow);
        *self.cpu.count_refault(kind) += 1;
        let stat = self.groups.stat(self.folios.group(page));
        stat.count_refault(kind);
        let now = self.lruvecs[evicted_by].nonresident_age;
        let distance = now.wrapping_sub(age) & self.lruvecs.age_mask();
        if distance
            > self.lruvecs.workingset_size(
                &self.cpu,
                &self.zones,
                &self.groups,
                &self.swap,
                evicted_by,
                kind,
            )
        {
            return;
        }
        let group = self.folios.group(page);
        self.lruvecs.age_nonresident(group, 1);
        *self.cpu.count_activation(kind) += 1;
        self.groups.stat(group).count_activation(kind);
        self.lruvecs.add_activated_refault(&self.cpu, group, kind);
        self.folios.set(page, Flag::Active);
        if workingset {
            self.folios.set(page, Flag::Workingset);
            *self.cpu.count_restore(kind) += 1;
            self.groups.stat(group).count_restore(kind);
            self.lruvecs
                .note_cost(&self.cpu, &self.zones, group, kind, 1, 0);
        }
    }
}

impl Folios {
    /// What is known of a page that is not resident.
    pub(crate) fn history(&self, page: PageId) -> History {
        match self.state(page) {
            State::Shadow | State::Swapped => History::Evicted {
                shadow: self.shadow(page),
                workingset: self.has(page, Flag::Workingset),
            },
            _ => History::None,
        }
    }
}

impl Lruvecs {
    /// Adds one to a group's activated refaults and to those of the groups above, or keeps it until
    /// there are more (`__mod_memcg_lruvec_state`).
    fn add_activated_refault(&mut self, cpu: &Cpu, group: usize, kind: Kind) {
        let unadded = &mut self[group].unadded_refaults[kind as usize];
        *unadded += 1;
        if cpu.rules.has(Mechanism::StatsInBatches) && cpu.real(*unadded).0 <= STATS_BATCH {
            return;
        }
        let added = core::mem::take(unadded);
        self.upwards(group, |lruvec| {
            lruvec.activated_refaults[kind as usize] += added
        });
    }

    /// The memory that a refault competes for: the active page cache, for anonymous pages all of
    /// the page cache, and with swap the anonymous pages too.
    pub(crate) fn workingset_size(
        &self,
        cpu: &Cpu,
        zones: &Zones,
        groups: &Groups,
        swap: &Swap,
        group: usize,
        kind: Kind,
    ) -> u64 {
        let below = |lru| self.known_list(cpu, zones, group, lru);
        let mut size = below(Lru::ActiveFile);
        if kind == Kind::Anon {
            size += below(Lru::InactiveFile);
        }
        if groups.can_swap_in(swap, group) {
            size += below(Lru::ActiveAnon);
            if kind == Kind::File {
                size += below(Lru::InactiveAnon);
            }
        }
        size
    }

    /// The shadow of a page that a reclaim of `target` evicts: whose age it is, and the age.
    pub(crate) fn pack_shadow(&self, target: usize) -> u32 {
        let age = self[target].nonresident_age as u32;
        match self.len() {
            1 => age,
            _ => (age << GROUP_BITS) | target as u32,
        }
    }

    fn unpack_shadow(&self, shadow: u32) -> (usize, u64) {
        match self.len() {
            1 => (ROOT, u64::from(shadow)),
            _ => {
                let group = shadow & ((1 << GROUP_BITS) - 1);
                (group as usize, u64::from(shadow >> GROUP_BITS))
            }
        }
    }

    fn age_mask(&self) -> u64 {
        let bits = match self.len() {
            1 => 32,
            _ => 32 - GROUP_BITS,
        };
        (1 << bits) - 1
    }
}

impl Cpu {
    pub(crate) fn count_refault(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Anon => &mut self.events.workingset_refault_anon,
            Kind::File => &mut self.events.workingset_refault_file,
        }
    }

    pub(crate) fn count_activation(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Anon => &mut self.events.workingset_activate_anon,
            Kind::File => &mut self.events.workingset_activate_file,
        }
    }

    pub(crate) fn count_restore(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Anon => &mut self.events.workingset_restore_anon,
            Kind::File => &mut self.events.workingset_restore_file,
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
            memory
                .lruvecs
                .take_from_list(&memory.cpu, &mut memory.zones, &mut memory.folios, page);
            memory.evict(page);
        }
        let history = memory.folios.history(first);
        memory.allocate(first, State::Reading).expect("it fits");
        memory.admit(first, history);
        (memory, first)
    }

    /// 5.14 `__mod_memcg_lruvec_state`: reclaim goes on trimming the cache for 32 refaults.
    #[test]
    fn before_5_15_reclaim_learns_of_activated_refaults_by_the_batch() {
        let known = |release: &str, refaults: usize| {
            let mut memory = Memory::with_zone(100, 1);
            memory.cpu.rules = crate::rules::Rules::of(release);
            for _ in 0..refaults {
                memory
                    .lruvecs
                    .add_activated_refault(&memory.cpu, ROOT, Kind::File);
            }
            memory.lruvecs.known_refaults(&memory.cpu, ROOT)[Kind::File as usize]
        };
        assert_eq!([1, 32, 33, 65].map(|n| known("5.14.0", n)), [0, 0, 33, 33]);
        assert_eq!([1, 32, 33].map(|n| known("5.15.0", n)), [1, 32, 33]);
    }

    #[test]
    fn a_refault_within_the_active_lists_size_is_activated_and_one_beyond_is_not() {
        let (memory, page) = refault(100, 99, false);
        assert!(memory.folios.has(page, Flag::Active));
        assert_eq!(memory.cpu.events.workingset_activate_file, 1);
        let (memory, page) = refault(100, 100, false);
        assert!(!memory.folios.has(page, Flag::Active));
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
