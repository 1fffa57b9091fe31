//! What ksmd does with a page (`cmp_and_merge_page`).

use mm::units::Pages;

use super::candidate::Held;
use super::tree::{Node, NodeId};
use crate::mm::folio::Folios;
use crate::mm::folio::{NODE_PAGES, PageId, State};
use crate::mm::ksm::state::Ksm;
use crate::mm::ksm::tree::UNIT;
use crate::mm::ksm::tree::{AreaId, Place};
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

/// Pages for which indices are set aside at a time, as some become merged ones.
const INDICES: u64 = 64 * NODE_PAGES as u64;

impl Memory {
    /// Looks at a page of a region: it is merged with a merged one, or with one that found no twin
    /// yet, or waits for a twin.
    pub(super) fn consider(&mut self, place: Place) {
        self.cpu.spent += self.cpu.costs.ksm_visit_ps;
        if self.folios.is_merged(self.ksm.page(place)) {
            return;
        }
        self.ksm.leave_tree(place);
        let word = self.ksm.word(place, self.cpu.now());
        let nid = self
            .ksm
            .tree_of(&self.zones, &self.folios, self.ksm.page(place));
        let is_done = match self.cpu.rules.ksm_checks_first {
            true => self.has_changed(place, word) || self.joins_stable(place, nid, word),
            false => self.joins_stable(place, nid, word) || self.has_changed(place, word),
        };
        if !is_done {
            self.search_unstable(place, nid, word);
        }
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
            self.drop_copy(place);
            self.cpu.spent += self.cpu.costs.ksm_merge_zero_ps;
            self.folios.set_merged(self.ksm.page(place), None);
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
            if self.cpu.rules.split_drops_empty_pages {
                self.drop_empty(place.area, first);
            }
        }
        self.folios.is_resident(page)
    }

    fn drop_empty(&mut self, area: AreaId, first: PageId) {
        let now = self.cpu.now();
        let base = self.ksm.area(area).base;
        for page in first..first + HUGE_PAGES as PageId {
            let place = Place {
                area,
                index: page - base,
            };
            if self.ksm.word(place, now) == 0 {
                self.drop_copy(place);
                self.folios.forget(page);
            }
        }
    }

    /// The page becomes the one that others share; not where the model has no index left for it.
    fn become_shared(&mut self, place: Place, nid: usize, word: u64) -> Option<NodeId> {
        let page = self.ksm.page(place);
        let shared = self.take_index()?;
        let lru = self
            .lruvecs
            .take_from_list(&self.cpu, &mut self.zones, &mut self.folios, page);
        self.folios.move_to(page, shared);
        self.zones.frames[shared as usize] = self.zones.frames[page as usize];
        if let Some(group) = self.folios.charge.get(page as usize).copied() {
            self.folios.charge[shared as usize] = group;
        }
        self.lruvecs
            .add_to_list(&self.cpu, &mut self.zones, &mut self.folios, shared, lru);
        let node = self.ksm.trees.insert(nid, word, shared);
        self.folios.set_merged(page, Some(node));
        Some(node)
    }

    /// The page is given up for a merged one.
    fn give_up_for(&mut self, place: Place, node: NodeId) {
        self.drop_copy(place);
        self.folios.set_merged(self.ksm.page(place), Some(node));
        self.ksm.trees.node(node).mapped += 1;
        self.ksm.join(place, node);
    }

    fn drop_copy(&mut self, place: Place) {
        let page = self.ksm.page(place);
        self.lruvecs
            .take_from_list(&self.cpu, &mut self.zones, &mut self.folios, page);
        self.folios.anon_pages -= 1;
        self.zones.free(
            &mut self.cpu,
            &self.folios,
            &mut self.groups,
            &mut self.objects,
            page,
        );
    }

    /// An index for a page that becomes a merged one.
    fn take_index(&mut self) -> Option<PageId> {
        if self.ksm.indices.is_empty() {
            let base = self.take_range(INDICES)?;
            let indices = base..base + INDICES as PageId;
            self.ksm.indices.extend(indices.rev());
        }
        self.ksm.indices.pop()
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
        let state = folios.state(self.page(place));
        matches!(state, State::Inactive | State::Active) && self.word(place, cpu.now()) == word
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
                if node.is_listed {
                    match node.len {
                        1 => self.counts.shared -= 1,
                        _ => self.counts.sharing -= 1,
                    }
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
