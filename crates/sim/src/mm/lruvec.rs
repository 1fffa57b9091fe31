//! The lists of one control group (a kernel `lruvec`), and what reclaim remembers of them.

pub(crate) mod state;

use core::ops::Range;

use mm::rules::Mechanism;

use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId};
use crate::mm::lru::Kind;
use crate::mm::lru::{List, Lru};
use crate::mm::lru_gen::Place;
use crate::mm::lruvec::state::{Lruvecs, ROOT, Stats};
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_writeback::state::Writeback;
use crate::rules::Rules;
use crate::sched::cpu::Cpu;

impl Lruvecs {
    /// Brings the groups' statistics up to date (`do_flush_stats`).
    pub(crate) fn flush_stats(&mut self, cpu: &Cpu, zones: &Zones, writeback: &Writeback) {
        for group in 0..self.len() {
            let stats = Stats {
                lists: Lru::ALL.map(|lru| self.list_below(cpu, zones, group, lru)),
                own: self.own_pages(cpu, zones, group),
                activated_refaults: self[group].activated_refaults,
                dirty: self.dirty_below(writeback, group),
            };
            self[group].stats = stats;
        }
    }

    /// Pages on a list of a group and those below it, as reclaim knows them.
    pub(crate) fn known_list(&self, cpu: &Cpu, zones: &Zones, group: usize, lru: Lru) -> u64 {
        match cpu.rules.has(Mechanism::StatsLag) {
            true => self[group].stats.lists[lru as usize],
            false => self.list_below(cpu, zones, group, lru),
        }
    }

    /// Pages on a group's own lists, as reclaim knows them.
    pub(crate) fn known_own_pages(&self, cpu: &Cpu, zones: &Zones, group: usize) -> u64 {
        match cpu.rules.has(Mechanism::StatsLag) {
            true => self[group].stats.own,
            false => self.own_pages(cpu, zones, group),
        }
    }

    fn own_pages(&self, cpu: &Cpu, zones: &Zones, group: usize) -> u64 {
        Lru::ALL
            .map(|lru| self.list_of(cpu, zones, group, lru))
            .iter()
            .sum()
    }

    /// Refaults that were activated, as reclaim knows them.
    pub(crate) fn known_refaults(&self, cpu: &Cpu, group: usize) -> [u64; 2] {
        let lruvec = &self[group];
        match cpu.rules.has(Mechanism::StatsLag) {
            true => lruvec.stats.activated_refaults,
            false => lruvec.activated_refaults,
        }
    }

    /// Pages of a group and those below it that are dirty, and that are being written, as the
    /// throttling of writers knows them.
    pub(crate) fn known_dirty(&self, cpu: &Cpu, writeback: &Writeback, group: usize) -> [u64; 2] {
        match cpu.rules.has(Mechanism::StatsLag) {
            true => self[group].stats.dirty,
            false => self.dirty_below(writeback, group),
        }
    }

    fn dirty_below(&self, writeback: &Writeback, group: usize) -> [u64; 2] {
        let below = (group..self.len()).filter(|&other| self.is_below(other, group));
        below
            .map(|other| writeback.groups.counts(other))
            .fold([0; 2], |sum, own| [sum[0] + own[0], sum[1] + own[1]])
    }

    /// Pages on a list of a group and those below it.
    pub(crate) fn list_below(&self, cpu: &Cpu, zones: &Zones, group: usize, lru: Lru) -> u64 {
        if group == ROOT {
            return zones.list(lru);
        }
        let below = (group..self.len()).filter(|&other| self.is_below(other, group));
        below
            .map(|other| self.list_of(cpu, zones, other, lru))
            .sum()
    }

    /// Pages on a list of one group.
    fn list_of(&self, cpu: &Cpu, zones: &Zones, group: usize, lru: Lru) -> u64 {
        let lruvec = &self[group];
        match cpu.rules.lru_gen.enabled {
            true => (0..zones.len())
                .map(|zone| lruvec.generations.list_sizes(zone)[lru as usize])
                .sum(),
            false => lruvec.lists[lru as usize].len(),
        }
    }

    /// Puts a page on the head of a list of its group.
    pub(crate) fn add_to_list(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
        lru: Lru,
    ) {
        if cpu.rules.lru_gen.enabled {
            let place = folios.place_for(page, lru);
            return self.add_to_generation(zones, folios, page, place);
        }
        self.enlist(zones, folios, page, lru, List::push_head);
    }

    /// Puts a page on the tail of a list: the next to be looked at.
    pub(crate) fn add_to_tail(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
        lru: Lru,
    ) {
        if cpu.rules.lru_gen.enabled {
            return self.add_to_generation(zones, folios, page, Place::Next);
        }
        self.enlist(zones, folios, page, lru, List::push_tail);
    }

    fn enlist(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
        lru: Lru,
        push: impl FnOnce(&mut List, &mut crate::mm::folio::Folios, PageId),
    ) {
        let group = folios.group(page);
        folios.set_listed(page, lru.is_active());
        push(&mut self[group].lists[lru as usize], folios, page);
        zones[folios.zone(page)].lru[lru as usize] += 1;
    }

    /// Takes a page off the list that it is on.
    pub(crate) fn take_from_list(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
    ) -> Lru {
        if cpu.rules.lru_gen.enabled {
            return self.take_from_generation(zones, folios, page);
        }
        let lru = folios.list_of(page);
        let group = folios.group(page);
        self[group].lists[lru as usize].remove(folios, page);
        zones[folios.zone(page)].lru[lru as usize] -= 1;
        lru
    }

    /// Puts pages that lie side by side, of one zone and group, none of which is being read, on the
    /// head of a list, one after the other; there are no generations.
    pub(crate) fn add_run(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        pages: Range<PageId>,
        lru: Lru,
    ) {
        let (group, zone) = (folios.group(pages.start), folios.zone(pages.start));
        folios.set_run_listed(pages.clone(), lru.is_active());
        zones[zone].lru[lru as usize] += pages.len() as u64;
        self[group].lists[lru as usize].push_heads(folios, pages);
    }

    /// Takes such pages, which follow each other [in line](Folios::in_line), off their list.
    pub(crate) fn take_run(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        pages: Range<PageId>,
    ) {
        let (group, zone) = (folios.group(pages.start), folios.zone(pages.start));
        let lru = folios.list_of(pages.start);
        zones[zone].lru[lru as usize] -= pages.len() as u64;
        self[group].lists[lru as usize].remove_run(folios, pages);
    }

    /// Gives a page another index, in the place of its list where it was.
    pub(crate) fn rename(&mut self, cpu: &Cpu, folios: &mut Folios, page: PageId, to: PageId) {
        let group = folios.group(page);
        if cpu.rules.lru_gen.enabled {
            self[group].generations.rename(folios, page, to);
        } else {
            let lru = folios.list_of(page);
            self[group].lists[lru as usize].rename(page, to);
        }
        folios.move_to(page, to);
    }

    /// Puts a page that comes in on the list that it belongs to: a refault that should not have
    /// been evicted on the active list, a new one on the inactive list. It may still be read.
    pub(crate) fn add_new(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
    ) {
        let kind = folios.kind(page);
        let refault = folios.is_reading(page) && folios.has(page, Flag::Active);
        let active = refault || cpu.rules.begins_active(folios, page);
        if cpu.rules.lru_gen.enabled {
            // What a fault brings in is young, and so is what it reads ahead.
            let place = match active || kind == Kind::Anon {
                true => Place::Youngest,
                false => Place::Old,
            };
            return self.add_to_generation(zones, folios, page, place);
        }
        let lru = match active {
            true => kind.active(),
            false => kind.inactive(),
        };
        self.add_to_list(cpu, zones, folios, page, lru);
        self.note_recent(cpu, folios.group(page), kind, 1, u64::from(active));
    }

    /// Notes pages that came to a list or were looked at, and those of them that are in use
    /// (`update_page_reclaim_stat`, before 5.8).
    pub(crate) fn note_recent(
        &mut self,
        cpu: &Cpu,
        group: usize,
        kind: Kind,
        scanned: u64,
        rotated: u64,
    ) {
        if !cpu.rules.has(Mechanism::WeighsByCost) {
            let recent = &mut self[group].recent;
            recent.note(kind == Kind::File, scanned, rotated);
        }
    }
}

impl Rules {
    /// Whether a new page begins on the active list: before 5.9 an anonymous one that a fault maps.
    /// One that is read from swap waits for the fault on the inactive list.
    pub(crate) fn begins_active(&self, folios: &Folios, page: PageId) -> bool {
        !self.has(Mechanism::AnonBeginsInactive)
            && folios.kind(page) == Kind::Anon
            && !folios.has(page, Flag::Unmapped)
    }
}

impl Folios {
    /// The group whose lists hold the page.
    pub(crate) fn group(&self, page: PageId) -> usize {
        self.charge
            .get(page as usize)
            .map_or(ROOT, |group| usize::from(*group))
    }

    /// The list that the page is on, where there are no generations.
    fn list_of(&self, page: PageId) -> Lru {
        let kind = self.kind(page);
        match self.is_listed_active(page) {
            true => kind.active(),
            false => kind.inactive(),
        }
    }

    pub(crate) fn kind(&self, page: PageId) -> Kind {
        match self.has(page, Flag::Anon) {
            true => Kind::Anon,
            false => Kind::File,
        }
    }

    /// Whether a page table maps the page.
    pub(crate) fn is_mapped(&self, page: PageId) -> bool {
        match self.kind(page) {
            Kind::Anon => !self.has(page, Flag::Unmapped),
            Kind::File => self.has(page, Flag::Mapped),
        }
    }
}

impl Zones {
    /// Pages on a list of all groups.
    pub(crate) fn list(&self, lru: Lru) -> u64 {
        self.iter().map(|zone| zone.lru[lru as usize]).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::mm::lruvec::state::FLUSH_PERIOD;
    use crate::sched::timer::TICK;
    use mm::units::Nanos;

    use crate::sched::timer::Clock;

    #[test]
    fn flushes_keep_to_the_timer_wheel_from_the_first_tick_on() {
        // A trace of 6.12, whose ticks began at 100 ms, has flushes at these times after power-on.
        let seen = [4_132_570, 6_148_570, 8_164_827, 10_180_603, 12_196_727].map(|us| us * 1000);
        for uptime in [780_000_000, 4_000_000_000, 10_000_000_000] {
            let clock = Clock::after(Nanos(uptime), Nanos(100_000_000));
            let next = uptime + clock.next(Nanos::ZERO, FLUSH_PERIOD).0;
            let after = (0..).map(|n| next + n * FLUSH_PERIOD.0);
            let due: alloc::vec::Vec<u64> = after.take(8).collect();
            for at in seen.into_iter().filter(|&at| at > next + TICK.0) {
                assert!(due.iter().any(|due| at.abs_diff(*due) < TICK.0), "{at}");
            }
        }
    }
}
