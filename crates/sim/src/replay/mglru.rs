//! The generations of a control group that holds the page cache alone, and no swap.

use super::{Counters, Policy};
use crate::mm::folio::{Flag, Folios, PageId, State};
use crate::mm::lru_gen::{Batch, Generations, Place, Shadow, Wanted, note_use};
use crate::mm::vmscan::scan_control::DEF_PRIORITY;

/// Memory with generations.
#[derive(Clone, Debug)]
pub(super) struct MultiGeneration {
    folios: Folios,
    generations: Generations,
    memory: u64,
    resident: u64,
    pub(super) counters: Counters,
}

impl Policy for MultiGeneration {
    fn folios(&self) -> &Folios {
        &self.folios
    }

    fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    #[inline]
    fn read_one(&mut self, page: PageId) {
        let raw = self.folios.raw(page);
        if Folios::is_saturated(raw) {
            return;
        }
        match self.folios.state(page) {
            State::Inactive => note_use(&mut self.folios, page),
            State::Shadow => self.refault(page),
            _ => self.bring_in(page),
        }
    }

    /// One pass of `try_to_shrink_lruvec`. It makes a new generation where one is wanted and leaves
    /// the rest to the next pass, but for the first priority, which gets by with what there is.
    fn shrink(&mut self, priority: u32) -> u64 {
        let (mut scanned, mut reclaimed) = (0, 0);
        loop {
            let budget = self.generations.budget(false);
            if budget.needs_aging && priority < DEF_PRIORITY {
                self.generations.age(&mut self.folios, false, 0);
                return reclaimed;
            }
            let goal = budget.scan(priority);
            let (progress, evicted) = match goal {
                0 => (0, 0),
                _ => self.evict(),
            };
            reclaimed += evicted;
            scanned += progress;
            if progress == 0 || scanned >= goal {
                return reclaimed;
            }
        }
    }
}

impl MultiGeneration {
    pub(super) fn new(folios: Folios, memory: u64) -> Self {
        Self {
            folios,
            generations: Generations::new(0),
            memory,
            resident: 0,
            counters: Counters::default(),
        }
    }

    /// Its shadow entry is judged when there is room for the page.
    fn refault(&mut self, page: PageId) {
        self.counters.refaults += 1;
        let shadow = Shadow {
            token: self.folios.shadow(page),
            bits: 30,
            workingset: self.folios.has(page, Flag::Workingset),
        };
        self.make_room();
        self.folios.place(page, 0, State::Inactive);
        let refault = (self.generations).refault(&mut self.folios, page, shadow, false);
        self.counters.refault_activations += u64::from(refault.recent);
        self.folios.set(page, Flag::Referenced);
        self.generations.add(&mut self.folios, page, Place::Old);
    }

    /// The read that brings a page in is its first use.
    fn bring_in(&mut self, page: PageId) {
        self.make_room();
        let raw = Folios::placed(self.folios.raw(page), 0, State::Inactive);
        let raw = raw | Flag::Referenced.bit();
        self.generations
            .add_as(&mut self.folios, page, raw, Place::Old);
    }

    fn make_room(&mut self) {
        self.counters.misses += 1;
        while self.resident >= self.memory {
            self.reclaim();
        }
        self.resident += 1;
    }

    /// Evicts up to 64 pages (`evict_folios`); gives back the progress made, and their number.
    fn evict(&mut self) -> (u64, u64) {
        let mut batch = Batch::EMPTY;
        let folios = &mut self.folios;
        let isolated = self
            .generations
            .isolate(folios, &mut batch, Wanted::any(0), |_, _| false);
        self.generations.leave_shadows(folios, batch.pages());
        let evicted = batch.pages().len() as u64;
        self.resident -= evicted;
        self.counters.refills += isolated.sorted;
        (isolated.progress, evicted)
    }
}

#[cfg(test)]
mod tests;
