//! What ksmd does with a page (`cmp_and_merge_page`).

use mm::rules::Mechanism;
use mm::units::Pages;

use super::candidate::Held;
use super::share::{Entry, INDICES, ShareId};
use super::tree::{Node, NodeId};
use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::ksm::state::Ksm;
use crate::mm::ksm::tree::UNIT;
use crate::mm::ksm::tree::{AreaId, Place};
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

impl Memory {
    /// Looks at a page of a region: it is merged with a merged one, or with one that found no twin
    /// yet, or waits for a twin.
    pub(super) fn consider(&mut self, place: Place) {
        self.cpu.spent += self.cpu.costs.ksm_visit_ps;
        let page = self.ksm.page(place);
        if let Some(node) = self.ksm.merged(&self.folios, page) {
            return self.rejoin(place, node);
        }
        self.bring_home(page);
        self.ksm.leave_tree(place);
        let word = self.ksm.word(place, self.cpu.now());
        let nid = self.ksm.tree_of(
            &self.zones,
            &self.folios,
            self.ksm.held_page(&self.folios, page),
        );
        let is_done = match self.cpu.rules.has(Mechanism::KsmChecksFirst) {
            true => self.has_changed(place, word) || self.joins_stable(place, nid, word),
            false => self.joins_stable(place, nid, word) || self.has_changed(place, word),
        };
        if !is_done {
            self.search_unstable(place, nid, word);
        }
    }

    /// A place that maps a merged page is at its node; one that ksmd forgot while its page was on
    /// its way to swap comes there again.
    fn rejoin(&mut self, place: Place, node: NodeId) {
        if self.ksm.candidate(place).held() == (Held::Stable { node }) {
            return;
        }
        self.ksm.leave_tree(place);
        let nid = usize::from(self.ksm.trees.node(node).nid);
        let pages = self.cpu.real(self.ksm.trees.stable_len(nid));
        self.cpu.spent += levels_of(pages, true) * self.cpu.costs.ksm_stable_level_ps / UNIT;
        self.ksm.join(place, node);
    }

    /// Takes the page's checksum. One that has changed since last time is left alone; an empty page
    /// becomes the zero page, where that is wanted.
    fn has_changed(&mut self, place: Place, word: u64) -> bool {
        self.cpu.spent += self.cpu.costs.ksm_checksum_ps;
        if !self.ksm.candidate(place).is_unchanged(word) {
            return true;
        }
        let is_zero = self.ksm.settings.use_zero_pages && word == 0;
        if is_zero && self.prepare(place) {
            let page = self.ksm.page(place);
            let locked = self.is_locked(page);
            self.give_up(page);
            self.cpu.spent += self.cpu.costs.ksm_merge_zero_ps;
            self.folios.set_merged(page, None, 0, locked);
            self.ksm.counts.zero_pages += 1;
        }
        is_zero
    }

    /// Merges the page with one that is merged already; false where there is none with room.
    fn joins_stable(&mut self, place: Place, nid: usize, word: u64) -> bool {
        let pages = self.cpu.real(self.ksm.trees.stable_len(nid));
        while let Some(stale) = self.ksm.trees.meet_stale(nid, levels(pages)) {
            self.ksm.uncount(stale);
        }
        let most = self.ksm.settings.max_page_sharing;
        let found = self.ksm.trees.search(nid, word, most);
        self.cpu.spent +=
            levels_of(pages, found.is_some()) * self.cpu.costs.ksm_stable_level_ps / UNIT;
        let Some(node) = found else {
            return false;
        };
        if self.prepare(place) {
            self.give_up_for(place, node);
            self.cpu.spent += self.cpu.costs.ksm_merge_ps;
        }
        true
    }

    /// Looks for a twin among the pages that found none in this full scan, or waits for one there.
    fn search_unstable(&mut self, place: Place, nid: usize, word: u64) {
        let pages = self.cpu.real(self.ksm.trees.unstable_len(nid));
        let twin = self.ksm.trees.twin(nid, word);
        let twin = twin.filter(|&twin| self.ksm.holds(&self.cpu, &self.folios, twin, word));
        let levels = levels_of(pages, twin.is_some());
        self.cpu.spent += levels * self.cpu.costs.ksm_unstable_level_ps / UNIT;
        let Some(twin) = twin else {
            let scan = self.ksm.counts.full_scans;
            self.ksm.trees.insert_unstable(nid, word, place);
            self.ksm.candidate(place).enter_unstable(scan);
            self.ksm.counts.unshared += 1;
            self.cpu.spent += self.cpu.costs.ksm_insert_ps;
            return;
        };
        let of_one = self.objects.huge_first(self.ksm.page(place));
        let together = of_one.is_some() && of_one == self.objects.huge_first(self.ksm.page(twin));
        if !self.prepare(place) || together || !self.prepare(twin) {
            // Two parts of one huge page are merged another time, now that it is split.
            return;
        }
        let Some(node) = self.become_shared(place, nid, word) else {
            return;
        };
        self.ksm.leave_tree(twin);
        self.ksm.join(place, node);
        self.give_up_for(twin, node);
        self.cpu.spent += self.cpu.costs.ksm_merge_two_ps;
    }

    /// A huge page is split before one of its pages is merged; whether the page is there then.
    /// Since 6.12 a split leaves the zero page in place of empty ones (`RMP_USE_SHARED_ZEROPAGE`).
    fn prepare(&mut self, place: Place) -> bool {
        let page = self.ksm.page(place);
        if let Some(first) = self.objects.huge_first(page) {
            self.folios
                .split_huge(&mut self.cpu, &mut self.objects, first);
            self.cpu.spent += self.cpu.costs.ksm_split_ps;
            if self.cpu.rules.has(Mechanism::SplitDropsEmptyPages) {
                self.drop_empty(place.area, first);
            }
        }
        let held = self.ksm.held_page(&self.folios, page);
        self.folios.is_anon_mapped(held) && self.folios.state(held) != State::Writing
    }

    fn drop_empty(&mut self, area: AreaId, first: PageId) {
        let now = self.cpu.now();
        let base = self.ksm.area(area).base;
        for page in first..first + HUGE_PAGES as PageId {
            let index = page - base;
            if self.ksm.word(Place { area, index }, now) == 0 {
                self.give_up(page);
                self.folios.forget(page);
            }
        }
    }

    /// The page becomes the one that others share; not where the model has no index left for it.
    /// It counts as used, and is written before it is reclaimed (`try_to_merge_one_page`).
    fn become_shared(&mut self, place: Place, nid: usize, word: u64) -> Option<NodeId> {
        let page = self.ksm.page(place);
        let id = match self.ksm.shares.entry(&self.folios, page) {
            Entry::Mapped(lent) => lent,
            _ => self.share_page(page)?,
        };
        let shared = self.ksm.shares.get(id).page;
        self.folios.set(shared, Flag::Dirty);
        let (cpu, zones, folios) = (&mut self.cpu, &mut self.zones, &mut self.folios);
        self.lruvecs
            .mark_accessed(cpu, zones, folios, &mut self.groups, shared);
        let node = self.ksm.trees.insert(nid, word, id);
        self.ksm.shares.get_mut(id).node = Some(node);
        Some(node)
    }

    /// Makes a place's own page one that others may share, its swap slot included.
    fn share_page(&mut self, page: PageId) -> Option<ShareId> {
        let id = self.take_share()?;
        let shared = self.ksm.shares.get(id).page;
        let locked = self.is_locked(page);
        if self.folios.has(page, Flag::Swapcache)
            && !self.move_slot(self.swap.slot_of(page), page, shared)
        {
            self.leave_swap_cache(page);
        }
        self.move_page(page, shared);
        self.ksm.shares.begin(&mut self.folios, page, id, locked);
        Some(id)
    }

    /// The page is given up for a merged one.
    fn give_up_for(&mut self, place: Place, node: NodeId) {
        let (page, id) = (self.ksm.page(place), self.ksm.trees.node(node).share);
        let locked = self.is_locked(page);
        self.give_up(page);
        self.map_shared(page, id, locked);
        self.ksm.join(place, node);
    }

    /// Whether a place, with a page of its own or not, is in a locked region.
    fn is_locked(&self, page: PageId) -> bool {
        self.folios.is_locked(page) || self.folios.state(page) == State::Unevictable
    }

    /// An index for a page that becomes a shared one.
    fn take_share(&mut self) -> Option<ShareId> {
        if let Some(id) = self.ksm.shares.take() {
            return Some(id);
        }
        let base = self.take_range(u64::from(INDICES))?;
        self.ksm.shares.extend(base);
        self.ksm.shares.take()
    }
}

impl Ksm {
    /// Whether a place still has a page of its own with this content.
    fn holds(&self, cpu: &Cpu, folios: &Folios, place: Place, word: u64) -> bool {
        let area = self.areas[place.area as usize].as_ref();
        let is_live = area.is_some_and(|area| area.is_live);
        if !is_live {
            return false;
        }
        let page = self.page(place);
        let is_merged = self.merged(folios, page).is_some();
        let held = self.held_page(folios, page);
        !is_merged && folios.is_anon_mapped(held) && self.word(place, cpu.now()) == word
    }

    /// The page that a place maps: its own, or one that it shares.
    fn held_page(&self, folios: &Folios, page: PageId) -> PageId {
        match self.shares.entry(folios, page) {
            Entry::Mapped(id) => self.shares.get(id).page,
            _ => page,
        }
    }

    /// The node of the merged page that a place maps.
    pub(super) fn merged(&self, folios: &Folios, page: PageId) -> Option<NodeId> {
        match self.shares.entry(folios, page) {
            Entry::Mapped(id) => self.shares.get(id).node,
            _ => None,
        }
    }

    /// Notes that a candidate shares a merged page (`stable_tree_append`).
    fn join(&mut self, place: Place, id: NodeId) {
        let node = self.trees.node(id);
        node.len += 1;
        match node.len {
            1 => self.counts.shared += 1,
            _ => self.counts.sharing += 1,
        }
        self.candidate(place).enter_stable(id);
    }

    /// Takes a candidate out of the tree that it is in (`remove_rmap_item_from_tree`); whether it
    /// was in one.
    pub(super) fn leave_tree(&mut self, place: Place) -> bool {
        let held = self.candidate(place).held();
        self.candidate(place).leave();
        match held {
            Held::Nowhere => {}
            Held::Unstable { scan } => {
                self.counts.unshared -= 1;
                if scan == self.counts.full_scans as u8 {
                    let word = self.candidate(place).word;
                    self.trees.remove_unstable(word, place);
                }
            }
            Held::Stable { node: id } => {
                let node = *self.trees.node(id);
                match node.len {
                    _ if !node.is_listed => {}
                    // The first that finds its page freed uncounts all (`ksm_get_folio`).
                    _ if node.is_freed => {
                        self.uncount(node);
                        self.trees.unlist(id);
                    }
                    1 => self.counts.shared -= 1,
                    _ => self.counts.sharing -= 1,
                }
                self.trees.leave(id);
            }
        }
        held != Held::Nowhere
    }

    /// A merged page that nobody maps any longer is counted no more, nor are the candidates at it.
    fn uncount(&mut self, node: Node) {
        let counts = &mut self.counts;
        counts.shared -= u64::from(node.len.min(1));
        counts.sharing -= u64::from(node.len.saturating_sub(1));
    }

    /// ksmd forgets a candidate, which takes so long.
    pub(super) fn forget(&mut self, cpu: &mut Cpu, place: Place, cost: u64) {
        if self.candidate(place).exists() {
            self.leave_tree(place);
            cpu.spent += cost;
            *self.candidate(place) = super::Candidate::default();
            self.counts.items -= 1;
        }
    }

    /// The tree that a page of this place belongs into: its node's, unless pages are merged across
    /// nodes.
    fn tree_of(&self, zones: &Zones, folios: &Folios, page: PageId) -> usize {
        match self.settings.merge_across_nodes {
            true => 0,
            false => zones.node(folios, page),
        }
    }
}

/// Levels of a search among this many pages, in units of 1/1024. One that finds ends where the page
/// is: in a full tree of n pages after k - 1 + k / n levels on average, k being its log2(n + 1).
fn levels_of(pages: Pages, finds: bool) -> u64 {
    let all = levels(pages);
    match finds {
        true => (all + all / pages.0.max(1)).saturating_sub(UNIT),
        false => all,
    }
}

/// Levels to the end of a tree of this many pages, in units of 1/1024: log2(n + 1), to within
/// 0.002.
fn levels(pages: Pages) -> u64 {
    let number = pages.0.saturating_add(1);
    let whole = u64::from(number.ilog2());
    let rest = u128::from(number - (1 << whole));
    let x = ((rest * u128::from(UNIT)) >> whole) as u64;
    // log2(1 + x) is x, and a bow above that chord which leans to the left.
    let bow = (x * (UNIT - x) / UNIT) * (434 - 165 * x / UNIT) / UNIT;
    whole * UNIT + x + bow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_logarithm() {
        assert_eq!(levels(Pages(0)), 0);
        assert_eq!(levels(Pages(8191)), 13 * UNIT);
        assert_eq!(levels_of(Pages(1), true), UNIT);
        // One page at the root, two below it.
        assert_eq!(levels_of(Pages(3), true), 5 * UNIT / 3);
        assert_eq!(levels_of(Pages(3), false), 2 * UNIT);
        assert!(levels(Pages(u64::MAX)) >= 63 * UNIT);
        assert!(levels(Pages(2)).abs_diff(1623) <= 2, "log2(3) is 1.585");
        for pages in 1..20_000 {
            let squared = levels(Pages(pages * (pages + 2)));
            let apart = squared.abs_diff(2 * levels(Pages(pages)));
            assert!(apart <= 6, "{pages} pages: {apart} of {UNIT} apart");
        }
    }
}
