//! Pages of a file that come in, or are read, together: what each of them does is what it would do
//! alone, as nothing can come between two of them.

use core::ops::Range;

use crate::mm::filemap::Reader;
use crate::mm::filemap::state::Span;
use crate::mm::folio::{Folios, NODE_PAGES, PageId, State};
use crate::mm::lru::{Kind, Lru};
use crate::mm::lruvec::state::ROOT;
use crate::mm::page_alloc::zone::Mark;
use crate::mm::parts::Memory;

impl Reader<'_> {
    /// Reads the pages from `start` on that are there and alike: not used yet, or used once; where
    /// all memory is as near and no window is interrupted; how many.
    pub(super) fn read_together(&mut self, start: u64, stop: u64, span: Span) -> u64 {
        if self.memory.zones.nodes.are_several() || self.readahead.is_interrupted() {
            return 0;
        }
        let pages = self.file.base + start as PageId..self.file.base + stop as PageId;
        let memory = &mut *self.memory;
        let read = match memory.folios.mark_new(pages.clone()) {
            0 => memory.lruvecs.activate_in_line(
                &mut memory.cpu,
                &mut memory.zones,
                &mut memory.folios,
                &mut memory.groups,
                pages,
            ),
            marked => marked,
        };
        if read > 0 {
            let copying = self.memory.cpu.costs.cached_read_ps;
            self.memory.cpu.spent += read * copying;
            self.memory.cpu.unbroken = copying;
            self.note_read(start + read - 1, span);
        }
        read
    }

    /// Inserts the pages of a gap from its first on that are alike, and pays for them, where there
    /// are frames for them at once and time is left; how many.
    pub(super) fn insert_together(&mut self, gap: Range<u64>, cost_ps: u64) -> u64 {
        let memory = &mut *self.memory;
        let yields = memory.cpu.may_yield && memory.zones.kswapd.wants_cpu();
        let reclaims = memory.allocation.reclaim.is_some();
        // What a fault brings into a generation is young.
        let is_young = memory.cpu.rules.lru_gen.enabled && memory.cpu.current.in_fault;
        if memory.groups.any() || reclaims || yields || is_young {
            return 0;
        }
        let first = self.file.base + gap.start as PageId;
        let in_node = u64::from(NODE_PAGES - first % NODE_PAGES);
        let most = in_node
            .min(gap.end - gap.start)
            .min(memory.pages_in_budget(cost_ps));
        let come_in = memory.alike(first..first + most as PageId);
        if come_in.is_empty() {
            return 0;
        }
        let Some(zone) = memory.zones.find_zone(&memory.cpu, Mark::Low, 1) else {
            return 0;
        };
        let taken = memory.zones.settle_listed(zone, come_in);
        if taken > 0 {
            memory.zones.count_allocation(&mut memory.cpu, zone, taken);
            memory.bring_in(first..first + taken as PageId, zone);
            for _ in 0..taken {
                memory.lruvecs.pay_for_new_page(&mut memory.cpu, cost_ps);
            }
        }
        taken
    }
}

impl Memory {
    /// How many new pages can be paid for within the budget, whatever they find.
    fn pages_in_budget(&self, cost_ps: u64) -> u64 {
        let listing = self.cpu.costs.lru_add_ps;
        let spent = self.cpu.spent + self.lruvecs.batched * listing;
        self.cpu.budget.saturating_sub(spent) / (cost_ps + listing).max(1)
    }

    /// Those of the pages, all of one node, that it needs nothing new for, and that are alike:
    /// never seen, or evicted so long ago that they are not activated.
    fn alike(&self, pages: Range<PageId>) -> Range<PageId> {
        let raws = self.folios.raws(pages.clone());
        let count = match raws.first().map(|&raw| Folios::state_in(raw)) {
            Some(State::Absent) if self.objects.has_entries(pages.start / NODE_PAGES) => {
                let is_absent = |raw: &&u16| Folios::state_in(**raw) == State::Absent;
                raws.iter().take_while(is_absent).count()
            }
            Some(State::Shadow) => {
                let is_old = self.is_too_old();
                let mut evicted = raws.iter().zip(pages.clone());
                let other = evicted.position(|(&raw, page)| {
                    Folios::state_in(raw) != State::Shadow || !is_old(self.folios.shadow(page))
                });
                other.unwrap_or(raws.len())
            }
            _ => 0,
        };
        pages.start..pages.start + count as PageId
    }

    /// Whether a page of a file, by its shadow entry, is no refault that is activated; every page
    /// comes in alike where the generations judge that themselves.
    fn is_too_old(&self) -> impl Fn(u32) -> bool {
        let is_classic = !self.cpu.rules.lru_gen.enabled;
        let now = self.lruvecs[ROOT].nonresident_age as u32;
        let size = self.lruvecs.workingset_size(
            &self.cpu,
            &self.zones,
            &self.groups,
            &self.swap,
            ROOT,
            Kind::File,
        );
        move |shadow| !is_classic || u64::from(now.wrapping_sub(shadow)) > size
    }

    /// Pages that are alike, and have their frames, become resident, locked and listed.
    fn bring_in(&mut self, pages: Range<PageId>, zone: usize) {
        let is_new = self.folios.state(pages.start) == State::Absent;
        if is_new {
            let node = (pages.start / NODE_PAGES) as usize;
            self.objects.node_entries[node] += pages.len() as u8;
        }
        if self.cpu.rules.lru_gen.enabled {
            return self.bring_into_generation(pages, zone);
        }
        if !is_new {
            let count = pages.len() as u64;
            self.cpu.events.workingset_refault_file += count;
            self.groups.stat(ROOT).workingset_refault_file += count;
        }
        let raw = Folios::placed(0, zone, State::Reading);
        self.folios.raws_mut(pages.clone()).fill(raw);
        self.zones[zone].lru[Lru::InactiveFile as usize] += pages.len() as u64;
        let list = &mut self.lruvecs[ROOT].lists[Lru::InactiveFile as usize];
        list.push_heads(&mut self.folios, pages);
    }

    fn bring_into_generation(&mut self, pages: Range<PageId>, zone: usize) {
        for page in pages.clone() {
            let history = self.folios.history(page);
            self.folios.place(page, zone, State::Reading);
            self.admit(page, history);
        }
        let generations = &mut self.lruvecs[ROOT].generations;
        let count = pages.len() as u64;
        let generation = generations.add_old(&mut self.folios, pages, zone);
        let lru = generations.list_of(generation, Kind::File);
        self.zones[zone].lru[lru as usize] += count;
    }
}
