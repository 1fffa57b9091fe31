//! A trace of page accesses against the lists of the page cache alone: how often does it miss?
//!
//! There is no time, no zone, no readahead. Memory holds a number of page-cache pages; when it is
//! full, the task that needs a page reclaims directly, as in a control group at its `memory.max`.
//! Each access is a `read()` of one page. Shadow entries are kept for every page; the kernel drops
//! the oldest when they are many.

mod classic;
mod mglru;

use alloc::boxed::Box;

use mm::units::{PageSize, Pages};

use crate::mm::folio::{Folios, PageId};
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
use crate::mm::vmscan::state::BATCH;
use classic::Classic;
use mglru::MultiGeneration;

/// Accesses whose page state is fetched together, so that their cache misses overlap.
const AHEAD: usize = 32;

/// Which lists the pages are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lru {
    /// An active and an inactive list.
    #[default]
    Classic,
    /// Generations and tiers, as Linux 6.12 has them.
    MultiGeneration,
}

/// What is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Pages of the trace: accesses name pages below it; at most 2^31.
    pub pages: u32,
    /// Memory for them; at least one page.
    pub memory: Pages,
    /// The size of a page: how long the inactive list should be depends on it.
    pub page_size: PageSize,
    /// The lists.
    pub lru: Lru,
}

/// A replay under way.
#[derive(Clone, Debug)]
pub struct Replay(Lists);

#[derive(Clone, Debug)]
enum Lists {
    Classic(Box<Classic>),
    MultiGeneration(Box<MultiGeneration>),
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
    /// Refaults that went to the active list at once; of generations, those of pages that the
    /// present oldest generation lost (`workingset_activate_file`).
    pub refault_activations: u64,
    /// Pages that a second access moved to the active list (`pgactivate`); generations have none.
    pub activations: u64,
    /// Pages that reclaim moved back to the inactive list (`pgdeactivate`); generations have none.
    pub deactivations: u64,
    /// Pages that reclaim looked at and left: those it deactivated, or moved one generation up
    /// (`pgrefill`).
    pub refills: u64,
}

impl Replay {
    /// An empty memory.
    #[must_use]
    pub fn new(options: ReplayOptions) -> Self {
        let mut folios = Folios::default();
        folios.grow(options.pages as usize);
        let memory = options.memory.0.max(1);
        Self(match options.lru {
            Lru::Classic => {
                Lists::Classic(Box::new(Classic::new(folios, memory, options.page_size)))
            }
            Lru::MultiGeneration => {
                Lists::MultiGeneration(Box::new(MultiGeneration::new(folios, memory)))
            }
        })
    }

    /// Reads these pages, one after the other.
    ///
    /// # Panics
    /// A page is not below [`ReplayOptions::pages`].
    pub fn read(&mut self, pages: &[u32]) {
        match &mut self.0 {
            Lists::Classic(lists) => lists.read(pages),
            Lists::MultiGeneration(lists) => lists.read(pages),
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        match &self.0 {
            Lists::Classic(lists) => lists.counters,
            Lists::MultiGeneration(lists) => lists.counters,
        }
    }
}

/// Lists that a trace drives.
trait Policy {
    fn folios(&self) -> &Folios;

    fn counters(&mut self) -> &mut Counters;

    /// Reads one page.
    fn read_one(&mut self, page: PageId);

    /// One pass at one priority; gives back the pages it reclaimed.
    fn shrink(&mut self, priority: u32) -> u64;

    /// Wants 32 pages, with ever larger shares of the lists (`do_try_to_free_pages`). A call that
    /// reclaims nothing has made pages ready that the next one finds.
    fn reclaim(&mut self) {
        let mut reclaimed = 0;
        for priority in (0..=DEF_PRIORITY).rev() {
            reclaimed += self.shrink(priority);
            if reclaimed >= BATCH {
                break;
            }
        }
    }

    fn read(&mut self, pages: &[PageId]) {
        for block in pages.chunks(AHEAD) {
            self.folios().fetch(block.iter().copied());
            for &page in block {
                self.read_one(page);
            }
        }
        self.counters().accesses += pages.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    //! What the tests of both lists share.

    use alloc::vec::Vec;

    use super::Policy;

    /// Reads these pages; how many of the accesses missed.
    pub(super) fn misses(lists: &mut impl Policy, pages: impl IntoIterator<Item = u32>) -> u64 {
        let before = lists.counters().misses;
        let pages: Vec<u32> = pages.into_iter().collect();
        lists.read(&pages);
        lists.counters().misses - before
    }

    /// 1000 pages in a memory of 1000.
    pub(super) fn misses_once_what_fits(mut lists: impl Policy) {
        assert_eq!(misses(&mut lists, 0..1000), 1000);
        assert_eq!(misses(&mut lists, (0..1000).chain(0..1000)), 0);
        assert_eq!(lists.counters().accesses, 3000);
    }
}
