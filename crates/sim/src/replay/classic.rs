//! The classic two lists.

use mm::formula::inactive::inactive_is_low;
use mm::units::{PageSize, Pages};

use super::{Counters, Policy};
use crate::mm::folio::{Flag, Folios, PageId, State};
use crate::mm::lru::List;
use crate::mm::vmscan::BATCH;

/// Memory with an active and an inactive list.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    folios: Folios,
    inactive: List,
    active: List,
    memory: u64,
    page_size: PageSize,
    /// Evictions and activations so far: the clock of the shadow entries.
    age: u64,
    /// Activated refaults when reclaim last looked.
    refaults_seen: u64,
    pub(super) counters: Counters,
}

impl Policy for Classic {
    fn folios(&self) -> &Folios {
        &self.folios
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    #[inline]
    fn read_one(&mut self, page: PageId) {
        let raw = self.folios.raw(page);
        if Folios::is_settled(raw) {
            return;
        }
        match self.folios.state(page) {
            State::Active => self.folios.set(page, Flag::Referenced),
            State::Inactive => self.read_inactive(page),
            State::Shadow => self.refault(page),
            _ => self.bring_in(page, State::Inactive),
        }
    }

    /// One pass over both lists (`shrink_lruvec`).
    fn shrink(&mut self, priority: u32) -> u64 {
        let (mut inactive, mut active) = (
            self.inactive.len() >> priority,
            self.active.len() >> priority,
        );
        if !self.may_deactivate() {
            active = 0;
        }
        let mut reclaimed = 0;
        while reclaimed < BATCH && (inactive > 0 || active > 0) {
            reclaimed += self.shrink_inactive(inactive.min(BATCH));
            self.shrink_active(active.min(BATCH));
            inactive = inactive.saturating_sub(BATCH);
            active = active.saturating_sub(BATCH);
        }
        reclaimed
    }
}

impl Classic {
    pub(super) fn new(folios: Folios, memory: u64, page_size: PageSize) -> Self {
        Self {
            folios,
            inactive: List::default(),
            active: List::default(),
            memory,
            page_size,
            age: 0,
            refaults_seen: 0,
            counters: Counters::default(),
        }
    }

    /// The second access activates (`folio_mark_accessed`).
    fn read_inactive(&mut self, page: PageId) {
        if !self.folios.has(page, Flag::Referenced) {
            self.folios.set(page, Flag::Referenced);
            return;
        }
        self.inactive.remove(&mut self.folios, page);
        self.folios.place(page, 0, State::Active);
        self.active.push_head(&mut self.folios, page);
        self.age += 1;
        self.counters.activations += 1;
    }

    /// A page that would still be resident had the active pages' memory been its own comes in
    /// active (`workingset_refault`).
    fn refault(&mut self, page: PageId) {
        self.counters.refaults += 1;
        let distance = u64::from((self.age as u32).wrapping_sub(self.folios.shadow(page)));
        if distance > self.active.len() {
            return self.bring_in(page, State::Inactive);
        }
        self.age += 1;
        self.counters.refault_activations += 1;
        self.bring_in(page, State::Active);
    }

    /// The read that brings a page in is its first access.
    fn bring_in(&mut self, page: PageId, state: State) {
        self.counters.misses += 1;
        while self.inactive.len() + self.active.len() >= self.memory {
            self.reclaim();
            self.refaults_seen = self.counters.refault_activations;
        }
        self.folios.place(page, 0, state);
        self.folios.set(page, Flag::Referenced);
        let list = match state {
            State::Active => &mut self.active,
            _ => &mut self.inactive,
        };
        list.push_head(&mut self.folios, page);
    }

    fn may_deactivate(&self) -> bool {
        let [inactive, active] = [&self.inactive, &self.active].map(|list| Pages(list.len()));
        self.refaults_seen != self.counters.refault_activations
            || inactive_is_low(inactive, active, self.page_size)
    }

    /// Evicts from the tail; a clean page goes whether it was read again or not.
    fn shrink_inactive(&mut self, pages: u64) -> u64 {
        for done in 0..pages {
            let Some(page) = self.inactive.tail() else {
                return done;
            };
            self.inactive.remove(&mut self.folios, page);
            self.folios.leave_shadow(page, self.age as u32, None);
            self.age += 1;
        }
        pages
    }

    fn shrink_active(&mut self, pages: u64) {
        for _ in 0..pages {
            let Some(page) = self.active.tail() else {
                return;
            };
            self.active.remove(&mut self.folios, page);
            // The referenced mark stays, as the kernel leaves it.
            self.folios.set_state(page, State::Inactive);
            self.inactive.push_head(&mut self.folios, page);
            self.counters.deactivations += 1;
            self.counters.refills += 1;
        }
    }
}

#[cfg(test)]
mod tests;
