//! The multi-generation LRU in the node's memory: switching it on and off, pages that come and go,
//! refaults. [`crate::mm::lru_gen`] has the lists themselves.

pub(crate) mod debugfs;

mod enough;
mod shrink;
mod shrink_many;
mod walk;

use mm::rules::Mechanism;
use mm::units::Nanos;

use crate::mm::folio::{Flag, Folios, PageId, State};
use crate::mm::lru::Kind;
use crate::mm::lru::Lru;
use crate::mm::lru_gen::{Generations, Place, Shadow};
use crate::mm::lruvec::state::{Lruvecs, ROOT};
use crate::mm::page_alloc::zone::Zones;
use crate::mm::workingset::GROUP_BITS;
use crate::sched::cpu::Cpu;

impl Lruvecs {
    /// The groups' generations are as old as the groups; the root's are as old as the ticks.
    pub(crate) fn groups_were_made(&mut self, at: Nanos) {
        for group in ROOT + 1..self.len() {
            self[group].generations = Generations::new(at.0);
        }
    }

    /// Moves all pages to the other kind of lists (`lru_gen_change_state`).
    pub(crate) fn set_lru_gen_enabled(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        enabled: bool,
    ) {
        if cpu.rules.lru_gen.enabled == enabled {
            return;
        }
        cpu.rules.lru_gen.enabled = false;
        for group in 0..self.len() {
            match enabled {
                true => self.fill_generations(cpu, zones, folios, group),
                false => self.drain_generations(cpu, zones, folios, group),
            }
        }
        cpu.rules.lru_gen.enabled = enabled;
    }

    /// Active pages become the youngest, the others come where new ones would.
    fn fill_generations(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        group: usize,
    ) {
        for lru in Lru::ALL {
            while let Some(page) = self[group].lists[lru as usize].tail() {
                self.take_from_list(cpu, zones, folios, page);
                let place = folios.place_for(page, lru);
                self.add_to_generation(zones, folios, page, place);
            }
        }
    }

    /// Pages of the two youngest generations become active, the others inactive.
    fn drain_generations(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        group: usize,
    ) {
        while let Some((page, active)) = self[group].generations.any_page() {
            self.take_from_generation(zones, folios, page);
            folios.set_uses(page, 0);
            let kind = folios.kind(page);
            self.add_to_list(
                cpu,
                zones,
                folios,
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
    pub(crate) fn add_to_generation(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
        place: Place,
    ) {
        let (group, kind) = (folios.group(page), folios.kind(page));
        let generations = &mut self[group].generations;
        generations.add(folios, page, place);
        let lru = generations.list_of(folios.generation(page), kind);
        zones[folios.zone(page)].lru[lru as usize] += 1;
    }

    /// Takes a page out of its generation; gives back the list that it was counted to.
    pub(crate) fn take_from_generation(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
    ) -> Lru {
        let (group, kind) = (folios.group(page), folios.kind(page));
        let generations = &mut self[group].generations;
        let lru = generations.list_of(folios.generation(page), kind);
        generations.remove(folios, page);
        zones[folios.zone(page)].lru[lru as usize] -= 1;
        lru
    }

    /// Works on a group's generations; the zones' counts follow.
    fn with_generations<R>(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        group: usize,
        work: impl FnOnce(&mut Generations, &mut Folios) -> R,
    ) -> R {
        self.count_generations(zones, group, u64::wrapping_sub);
        let result = work(&mut self[group].generations, folios);
        self.count_generations(zones, group, u64::wrapping_add);
        result
    }

    fn count_generations(&self, zones: &mut Zones, group: usize, change: fn(u64, u64) -> u64) {
        for (index, zone) in zones.iter_mut().enumerate() {
            let sizes = self[group].generations.list_sizes(index);
            for (count, size) in zone.lru.iter_mut().zip(sizes) {
                *count = change(*count, size);
            }
        }
    }

    /// The shadow entry of a page that is evicted, with its group where there are several.
    pub(crate) fn generation_shadow(&mut self, folios: &Folios, page: PageId) -> u32 {
        let group = folios.group(page);
        let shadow = self[group].generations.shadow(folios, page);
        match self.len() {
            1 => shadow,
            _ => (shadow << GROUP_BITS) | group as u32,
        }
    }

    /// Judges a page that comes back (`lru_gen_refault`); one that another group lost is new here.
    /// 6.1 counts nothing of a refault that is not recent, and calls none an activation.
    pub(crate) fn admit_to_generation(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        page: PageId,
        shadow: u32,
        workingset: bool,
    ) {
        let (group, kind) = (folios.group(page), folios.kind(page));
        let (shadow, bits) = match self.len() {
            1 => (shadow, 30),
            _ if shadow & ((1 << GROUP_BITS) - 1) != group as u32 => return,
            _ => (shadow >> GROUP_BITS, 30 - GROUP_BITS),
        };
        let generations = &mut self[group].generations;
        let in_fault = kind == Kind::Anon || cpu.current.in_fault;
        let shadow = Shadow {
            token: shadow,
            bits,
            workingset,
        };
        let refault = generations.refault(folios, page, shadow, in_fault);
        if in_fault && refault.restored && cpu.rules.has(Mechanism::ActivationForgetsUses) {
            folios.set_uses(page, 0);
        }
        let early = cpu.rules.has(Mechanism::EarlyLruGen);
        *cpu.count_refault(kind) += u64::from(refault.recent || !early);
        *cpu.count_activation(kind) += u64::from(refault.recent && !early);
        *cpu.count_restore(kind) += u64::from(refault.restored);
    }
}

impl Folios {
    /// Where a page belongs that would be on a classic list.
    pub(crate) fn place_for(&self, page: PageId, lru: Lru) -> Place {
        match lru {
            Lru::ActiveAnon | Lru::ActiveFile => Place::Youngest,
            Lru::InactiveAnon if !self.has(page, Flag::Swapcache) => Place::SecondYoungest,
            _ => Place::Old,
        }
    }

    /// Marks a page that a fault on a mapped file reads: it will be young.
    pub(crate) fn note_fault(&mut self, cpu: &Cpu, page: PageId) {
        if cpu.rules.lru_gen.enabled && cpu.current.in_fault {
            self.set(page, Flag::Active);
        }
    }

    /// Whether a page table maps a page of a generation, and it was used through it.
    fn is_young(&self, page: PageId) -> bool {
        self.state(page) == State::Inactive
            && self.is_mapped(page)
            && self.has(page, Flag::Accessed)
    }
}

#[cfg(test)]
mod tests;
