//! The multi-generation LRU in the node's memory: switching it on and off, pages that come and go,
//! refaults. [`crate::mm::lru_gen`] has the lists themselves.

pub(crate) mod debugfs;

mod shrink;
mod walk;

pub(crate) use shrink::GenerationScan;
pub(crate) use walk::Walked;

use crate::mm::folio::{Flag, Folios, PageId, State, TO_ACTIVE};
use crate::mm::lru::Lru;
use crate::mm::lru_gen::{Generations, Place, Shadow};
use crate::mm::lruvec::Kind;
use crate::mm::parts::Memory;
use crate::mm::workingset::GROUP_BITS;

impl Memory {
    /// Moves all pages to the other kind of lists (`lru_gen_change_state`).
    pub(crate) fn set_lru_gen_enabled(&mut self, enabled: bool) {
        if self.cpu.rules.lru_gen.enabled == enabled {
            return;
        }
        self.cpu.rules.lru_gen.enabled = false;
        for group in 0..self.lruvecs.len() {
            match enabled {
                true => self.fill_generations(group),
                false => self.drain_generations(group),
            }
        }
        self.cpu.rules.lru_gen.enabled = enabled;
    }

    /// Active pages become the youngest, the others come where new ones would.
    fn fill_generations(&mut self, group: usize) {
        for lru in Lru::ALL {
            while let Some(page) = self.lruvecs[group].lists[lru as usize].tail() {
                self.take_from_list(page);
                let place = self.place_for(page, lru);
                self.add_to_generation(page, place);
            }
        }
    }

    /// Where a page belongs that would be on a classic list.
    pub(crate) fn place_for(&self, page: PageId, lru: Lru) -> Place {
        match lru {
            Lru::ActiveAnon | Lru::ActiveFile => Place::Youngest,
            Lru::InactiveAnon if !self.folios.has(page, Flag::Slot) => Place::SecondYoungest,
            _ => Place::Old,
        }
    }

    /// Pages of the two youngest generations become active, the others inactive.
    fn drain_generations(&mut self, group: usize) {
        while let Some((page, active)) = self.lruvecs[group].generations.any_page() {
            self.take_from_generation(page);
            self.folios.set_uses(page, 0);
            let kind = self.kind(page);
            self.add_to_list(
                page,
                if active {
                    kind.active()
                } else {
                    kind.inactive()
                },
            );
        }
    }

    /// Puts a page that is on no list into a generation.
    pub(crate) fn add_to_generation(&mut self, page: PageId, place: Place) {
        let (group, kind) = (self.group(page), self.kind(page));
        let generations = &mut self.lruvecs[group].generations;
        generations.add(&mut self.folios, page, place);
        let lru = generations.list_of(self.folios.generation(page), kind);
        self.zones[self.folios.zone(page)].lru[lru as usize] += 1;
    }

    /// Takes a page out of its generation; gives back the list that it was counted to.
    pub(crate) fn take_from_generation(&mut self, page: PageId) -> Lru {
        let (group, kind) = (self.group(page), self.kind(page));
        let generations = &mut self.lruvecs[group].generations;
        let lru = generations.list_of(self.folios.generation(page), kind);
        generations.remove(&mut self.folios, page);
        self.zones[self.folios.zone(page)].lru[lru as usize] -= 1;
        lru
    }

    /// Works on a group's generations; the zones' counts follow.
    fn with_generations<R>(
        &mut self,
        group: usize,
        work: impl FnOnce(&mut Generations, &mut Folios) -> R,
    ) -> R {
        self.count_generations(group, u64::wrapping_sub);
        let result = work(&mut self.lruvecs[group].generations, &mut self.folios);
        self.count_generations(group, u64::wrapping_add);
        result
    }

    fn count_generations(&mut self, group: usize, change: fn(u64, u64) -> u64) {
        for (index, zone) in self.zones.iter_mut().enumerate() {
            let sizes = self.lruvecs[group].generations.list_sizes(index);
            for (count, size) in zone.lru.iter_mut().zip(sizes) {
                *count = change(*count, size);
            }
        }
    }

    /// The shadow entry of a page that is evicted, with its group where there are several.
    pub(crate) fn generation_shadow(&mut self, page: PageId) -> u32 {
        let group = self.group(page);
        let shadow = self.lruvecs[group].generations.shadow(&self.folios, page);
        match self.lruvecs.len() {
            1 => shadow,
            _ => (shadow << GROUP_BITS) | group as u32,
        }
    }

    /// Judges a page that comes back (`lru_gen_refault`); one that another group lost is new here.
    /// 6.1 counts nothing of a refault that is not recent, and calls none an activation.
    pub(crate) fn admit_to_generation(&mut self, page: PageId, shadow: u32, workingset: bool) {
        let (group, kind) = (self.group(page), self.kind(page));
        let (shadow, bits) = match self.lruvecs.len() {
            1 => (shadow, 30),
            _ if shadow & ((1 << GROUP_BITS) - 1) != group as u32 => return,
            _ => (shadow >> GROUP_BITS, 30 - GROUP_BITS),
        };
        let generations = &mut self.lruvecs[group].generations;
        let in_fault = kind == Kind::Anon || self.cpu.current.in_fault;
        let shadow = Shadow {
            token: shadow,
            bits,
            workingset,
        };
        let refault = generations.refault(&mut self.folios, page, shadow, in_fault);
        if in_fault && refault.restored && self.cpu.rules.activation_forgets_uses {
            self.folios.set_uses(page, 0);
        }
        let early = self.cpu.rules.lru_gen_is_early;
        *self.count_refault(kind) += u64::from(refault.recent || !early);
        *self.count_activation(kind) += u64::from(refault.recent && !early);
        *self.count_restore(kind) += u64::from(refault.restored);
    }

    /// Marks a page that a fault on a mapped file reads: it will be young.
    pub(crate) fn note_fault(&mut self, page: PageId) {
        if self.cpu.rules.lru_gen.enabled && self.cpu.current.in_fault {
            self.folios.set(page, TO_ACTIVE);
        }
    }

    /// Whether a page table maps a page of a generation, and it was used through it.
    fn is_young(&self, page: PageId) -> bool {
        self.folios.state(page) == State::Inactive
            && self.is_mapped(page)
            && self.folios.has(page, Flag::Accessed)
    }
}

#[cfg(test)]
mod tests;
