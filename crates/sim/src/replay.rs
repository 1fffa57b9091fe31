//! A trace of page accesses against the classic two lists alone: how often does it miss?
//!
//! There is no time, no zone, no readahead. Memory holds a number of page-cache pages; when it is
//! full, the task that needs a page reclaims directly, as in a control group at its `memory.max`.
//! Each access is a `read()` of one page. Shadow entries are kept for every page; the kernel drops
//! the oldest when they are many.

use core::hint::black_box;

use mm::formula::inactive::inactive_is_low;
use mm::units::{PageSize, Pages};

use crate::folio::{Flag, Folios, PageId, State};
use crate::lru::List;
use crate::vmscan::{BATCH, DEF_PRIORITY};

/// Accesses whose page state is fetched together, so that their cache misses overlap.
const AHEAD: usize = 32;

/// What is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Pages of the trace: accesses name pages below it; at most 2^31.
    pub pages: u32,
    /// Memory for them; at least one page.
    pub memory: Pages,
    /// The size of a page: how long the inactive list should be depends on it.
    pub page_size: PageSize,
}

/// A replay under way.
#[derive(Clone, Debug)]
pub struct Replay {
    folios: Folios,
    inactive: List,
    active: List,
    memory: u64,
    page_size: PageSize,
    /// Evictions and activations so far: the clock of the shadow entries.
    age: u64,
    /// Activated refaults when reclaim last looked.
    refaults_seen: u64,
    counters: Counters,
}

/// What a replay counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accesses in all.
    pub accesses: u64,
    /// Accesses to pages that were not in memory, first accesses included.
    pub misses: u64,
    /// Misses on pages that had been in memory before (`workingset_refault_file`).
    pub refaults: u64,
    /// Refaults that went to the active list at once (`workingset_activate_file`).
    pub refault_activations: u64,
    /// Pages that a second access moved to the active list (`pgactivate`).
    pub activations: u64,
    /// Pages that reclaim moved back to the inactive list (`pgdeactivate`).
    pub deactivations: u64,
}

impl Replay {
    /// An empty memory.
    #[must_use]
    pub fn new(options: ReplayOptions) -> Self {
        let mut folios = Folios::default();
        folios.grow(options.pages as usize);
        Self {
            folios,
            inactive: List::default(),
            active: List::default(),
            memory: options.memory.0.max(1),
            page_size: options.page_size,
            age: 0,
            refaults_seen: 0,
            counters: Counters::default(),
        }
    }

    /// Reads these pages, one after the other.
    ///
    /// # Panics
    /// A page is not below [`ReplayOptions::pages`].
    pub fn read(&mut self, pages: &[u32]) {
        for block in pages.chunks(AHEAD) {
            self.fetch(block);
            for &page in block {
                self.read_one(page);
            }
        }
        self.counters.accesses += pages.len() as u64;
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Loads the state of pages that will be needed soon. The loads do not depend on each other,
    /// so the processor waits for all of them at once.
    fn fetch(&self, block: &[PageId]) {
        let loaded = block
            .iter()
            .fold(0, |sum, &page| sum ^ self.folios.raw(page));
        black_box(loaded);
    }

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
        }
        self.folios.place(page, 0, state);
        self.folios.set(page, Flag::Referenced);
        let list = match state {
            State::Active => &mut self.active,
            _ => &mut self.inactive,
        };
        list.push_head(&mut self.folios, page);
    }

    /// Wants 32 pages, with ever larger shares of the lists (`do_try_to_free_pages`). A call that
    /// reclaims nothing has deactivated pages, which the next one finds.
    fn reclaim(&mut self) {
        let mut reclaimed = 0;
        for priority in (0..=DEF_PRIORITY).rev() {
            reclaimed += self.shrink(priority);
            if reclaimed >= BATCH {
                break;
            }
        }
        self.refaults_seen = self.counters.refault_activations;
    }

    /// One pass over both lists (`shrink_lruvec`); gives back the pages it reclaimed.
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
        }
    }
}

#[cfg(test)]
mod tests;
