//! Pages come to their lists, and become active when they are used (`mm/swap.c`).
//!
//! New pages wait in a batch before they come to their list (`folio_add_lru`). The task that
//! fills the batch puts all of its pages on their lists and pays for it, or the one that reclaims
//! before it is full (`lru_add_drain`).
//!
//! Only the cost is modelled: a page counts on its list from the beginning, and all CPUs share one
//! batch, where a kernel has one for each.

use core::ops::Range;

use crate::mm::folio::{Flag, Folios, PageId, State};
use crate::mm::lru::{Kind, Lru};
use crate::mm::lru_gen::note_use;
use crate::mm::lruvec::state::{Lruvecs, ROOT};
use crate::mm::memcontrol::state::Groups;
use crate::mm::page_alloc::zone::Zones;
use crate::sched::cpu::Cpu;

impl Lruvecs {
    /// Pays for a new page, without what drawing it from its zone and putting it on its list take:
    /// the task that does that pays for it.
    pub(crate) fn pay_for_new_page(&mut self, cpu: &mut Cpu, cost_ps: u64) {
        let costs = &cpu.costs;
        cpu.spent += cost_ps.saturating_sub(costs.draw_ps + costs.lru_add_ps);
        self.batched += 1;
        if self.batched >= cpu.sampled(cpu.rules.folio_batch()).max(1) {
            self.drain_folio_batch(cpu);
        }
    }

    /// Puts the pages of the batch on their lists.
    pub(crate) fn drain_folio_batch(&mut self, cpu: &mut Cpu) {
        cpu.spent += core::mem::take(&mut self.batched) * cpu.costs.lru_add_ps;
    }

    /// Moves an inactive page to the head of its active list (`folio_activate`).
    pub(crate) fn activate(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        groups: &mut Groups,
        page: PageId,
    ) {
        self.take_from_list(cpu, zones, folios, page);
        self.add_active(cpu, zones, folios, groups, page);
        self.note_recent(cpu, folios.group(page), folios.kind(page), 1, 1);
        cpu.spent += cpu.costs.activate_ps;
    }

    /// Activates the pages from the first on that a `read()` has used once, and that follow each
    /// other on the inactive list, as [`Self::activate`] does one by one; how many. One alone is
    /// not worth the search.
    pub(crate) fn activate_in_line(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        groups: &mut Groups,
        pages: Range<PageId>,
    ) -> u64 {
        if pages.len() < 2 || cpu.rules.lru_gen.enabled || groups.any() {
            return 0;
        }
        let raws = folios.raws(pages.clone()).iter();
        let used = raws.take_while(|&&raw| Folios::is_used_once(raw)).count();
        let pages = folios.in_line(pages.start..pages.start + used as PageId);
        if pages.len() < 2 {
            return 0;
        }
        let count = pages.len() as u64;
        self.take_run(zones, folios, pages.clone());
        self.add_run(zones, folios, pages.clone(), Lru::ActiveFile);
        self.age_nonresident(ROOT, count);
        cpu.events.pgactivate += count;
        groups.stat(ROOT).pgactivate += count;
        self.note_recent(cpu, ROOT, Kind::File, count, count);
        cpu.spent += count * cpu.costs.activate_ps;
        for raw in folios.raws_mut(pages) {
            *raw &= !Flag::Referenced.bit();
        }
        count
    }

    /// Puts a page that is on no list at the head of its active one (`folio_set_active` and
    /// `workingset_age_nonresident`).
    pub(crate) fn add_active(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        groups: &mut Groups,
        page: PageId,
    ) {
        let (group, active) = (folios.group(page), folios.kind(page).active());
        self.add_to_list(cpu, zones, folios, page, active);
        self.age_nonresident(group, 1);
        cpu.events.pgactivate += 1;
        groups.stat(group).pgactivate += 1;
    }

    /// A page was used other than through a page table (`folio_mark_accessed`): by a `read()`, by
    /// the journal, or when a mapping that used it ends. The first use marks it, the second
    /// activates it.
    pub(crate) fn mark_accessed(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        groups: &mut Groups,
        page: PageId,
    ) {
        if cpu.rules.lru_gen.enabled {
            return note_use(folios, page);
        }
        if !folios.has(page, Flag::Referenced) {
            folios.set(page, Flag::Referenced);
        } else if folios.state(page) == State::Inactive {
            self.activate(cpu, zones, folios, groups, page);
            folios.clear(page, Flag::Referenced);
        }
    }
}

#[cfg(test)]
mod tests {

    use crate::mm::parts::Memory;
    use mm::rules::Mechanism;

    #[test]
    fn the_task_that_fills_the_batch_or_reclaims_pays_for_its_pages() {
        let mut memory = Memory::with_zone(1000, 10);
        memory
            .cpu
            .rules
            .mechanisms
            .set(Mechanism::LargeFolioBatch, false);
        (memory.cpu.costs.draw_ps, memory.cpu.costs.lru_add_ps) = (7, 3);
        let paid = |memory: &mut Memory, act: fn(&mut Memory)| {
            let before = memory.cpu.spent;
            act(memory);
            memory.cpu.spent - before
        };
        let new_page = |memory: &mut Memory| memory.lruvecs.pay_for_new_page(&mut memory.cpu, 100);
        assert!((0..14).all(|_| paid(&mut memory, new_page) == 90));
        assert_eq!(paid(&mut memory, new_page), 90 + 15 * 3);
        assert_eq!(paid(&mut memory, new_page), 90);
        let drain = |memory: &mut Memory| memory.lruvecs.drain_folio_batch(&mut memory.cpu);
        assert_eq!(paid(&mut memory, drain), 3);
        assert_eq!(paid(&mut memory, drain), 0, "it is empty");
        let own = |memory: &mut Memory| memory.lruvecs.pay_for_new_page(&mut memory.cpu, 5);
        assert_eq!(paid(&mut memory, own), 0, "a cost of one's own");
    }
}
