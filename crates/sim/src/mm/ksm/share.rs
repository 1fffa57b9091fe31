//! Pages that several entries of page tables lead to: merged ones, and what swap made of them.
//!
//! A place that shares a page has none itself; its links say which, and whether its entry maps the
//! page or is one of its swap slot. As reclaim unmaps all of a page's entries at once, and asks all
//! for their accessed bits, the page counts how often that was done, and an entry is right that
//! knows the count.

use alloc::vec::Vec;

use super::tree::NodeId;
use crate::mm::folio::{Flag, Folios, NIL, NODE_PAGES, PageId, State};

/// Pages for which indices are set aside at a time, as some become shared ones.
pub(super) const INDICES: PageId = 64 * NODE_PAGES;

/// A shared page's index.
pub(crate) type ShareId = u32;

/// Where a page that came back from swap is mapped as it is (`ksm_might_need_to_copy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Owner {
    /// Of the first that maps it.
    #[default]
    First,
    Place(PageId),
    /// It was merged, and everything has been unmerged since.
    Nobody,
}

/// A page that is shared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The page; while it is in swap alone this index knows its slot.
    pub(crate) page: PageId,
    /// Its node in the stable tree; none once the merged page was freed, though what it held is
    /// still in swap.
    pub(super) node: Option<NodeId>,
    /// Entries that map it, and those that name its swap slot.
    pub(super) mapped: u32,
    pub(super) swapped: u32,
    /// Entries in locked regions that map it.
    locked: u32,
    pub(super) owner: Owner,
    /// How often all its entries were unmapped, and their accessed bits cleared.
    unmapped: u16,
    cleared: u16,
    /// Entries whose accessed bit is set, as long as [`Flag::Accessed`] of the page is.
    young: u32,
}

/// The shared pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    all: Vec<Share>,
    /// The ranges of indices that they have, in order, with the first share of each.
    ranges: Vec<(PageId, ShareId)>,
    free: Vec<ShareId>,
}

/// What a place's entry leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Its own page, or nothing.
    Own,
    /// The zero page, by merging.
    Zero,
    Mapped(ShareId),
    Swapped(ShareId),
}

impl Share {
    fn new(page: PageId) -> Self {
        Self {
            page,
            node: None,
            mapped: 0,
            swapped: 0,
            locked: 0,
            owner: Owner::First,
            unmapped: 0,
            cleared: 0,
            young: 0,
        }
    }

    /// What an entry knows that maps the page and was used.
    fn stamp(&self) -> u32 {
        u32::from(self.unmapped) << 16 | u32::from(self.cleared)
    }

    /// What an entry knows that maps the page and was not used.
    fn unused(&self) -> u32 {
        u32::from(self.unmapped) << 16 | u32::from(self.cleared.wrapping_sub(1))
    }

    pub(super) fn maps(&self, stamp: u32) -> bool {
        stamp >> 16 == u32::from(self.unmapped)
    }

    pub(super) fn is_unused(&self) -> bool {
        self.mapped == 0 && self.swapped == 0
    }
}

impl Shares {
    pub(super) fn get(&self, id: ShareId) -> &Share {
        &self.all[id as usize]
    }

    pub(super) fn get_mut(&mut self, id: ShareId) -> &mut Share {
        &mut self.all[id as usize]
    }

    /// Adds a range of indices for pages to come.
    pub(super) fn extend(&mut self, base: PageId) {
        let first = self.all.len() as ShareId;
        let at = self.ranges.partition_point(|&(other, _)| other < base);
        self.ranges.insert(at, (base, first));
        self.all.extend((base..base + INDICES).map(Share::new));
        self.free.extend((first..first + INDICES).rev());
    }

    pub(super) fn take(&mut self) -> Option<ShareId> {
        self.free.pop()
    }

    /// Nobody shares the page any longer.
    pub(super) fn give(&mut self, id: ShareId) {
        let share = self.get_mut(id);
        debug_assert!(share.is_unused() && share.node.is_none(), "{share:?}");
        (share.owner, share.locked, share.young) = (Owner::First, 0, 0);
        self.free.push(id);
    }

    /// The share that a page is; none where it is a place's own.
    pub(crate) fn of(&self, page: PageId) -> Option<ShareId> {
        let after = self.ranges.partition_point(|&(base, _)| base <= page);
        let (base, first) = *self.ranges.get(after.checked_sub(1)?)?;
        (page - base < INDICES).then_some(first + (page - base))
    }

    /// What a place's entry leads to.
    pub(super) fn entry(&self, folios: &Folios, place: PageId) -> Entry {
        if !folios.is_merged(place) {
            return Entry::Own;
        }
        match folios.shared(place) {
            None => Entry::Zero,
            Some(id) if self.get(id).maps(folios.stamp(place)) => Entry::Mapped(id),
            Some(id) => Entry::Swapped(id),
        }
    }

    /// The page that a place shared before it went to swap.
    pub(crate) fn swapped_page(&self, folios: &Folios, place: PageId) -> Option<PageId> {
        match self.entry(folios, place) {
            Entry::Swapped(id) => Some(self.get(id).page),
            _ => None,
        }
    }

    /// A process uses the page through an entry that maps it.
    pub(super) fn touch(&mut self, folios: &mut Folios, place: PageId, id: ShareId) {
        let share = self.get_mut(id);
        if !folios.has(share.page, Flag::Accessed) {
            folios.set(share.page, Flag::Accessed);
            share.young = 0;
            share.cleared = share.cleared.wrapping_add(1);
        }
        let stamp = share.stamp();
        if folios.stamp(place) != stamp {
            folios.set_next(place, stamp);
            share.young += 1;
        }
    }

    /// A place's own page has become the shared one: its entry maps it as before.
    pub(super) fn begin(&mut self, folios: &mut Folios, place: PageId, id: ShareId, locked: bool) {
        let share = self.get_mut(id);
        let used = folios.has(share.page, Flag::Accessed);
        (share.mapped, share.young) = (1, u32::from(used));
        share.locked = u32::from(locked);
        let stamp = match used {
            true => share.stamp(),
            false => share.unused(),
        };
        folios.set_merged(place, Some(id), stamp, locked);
    }

    /// An entry maps the page, and counts as used. Whether it is the first.
    pub(super) fn map(
        &mut self,
        folios: &mut Folios,
        place: PageId,
        id: ShareId,
        locked: bool,
    ) -> bool {
        let share = self.get_mut(id);
        share.mapped += 1;
        share.locked += u32::from(locked);
        let (page, is_first) = (share.page, share.mapped == 1);
        folios.set_merged(place, Some(id), share.unused(), locked);
        if is_first && folios.has(page, Flag::Unmapped) {
            folios.clear(page, Flag::Unmapped);
            // The bit told of readahead.
            folios.clear(page, Flag::Accessed);
            folios.anon_pages += 1;
        }
        self.touch(folios, place, id);
        is_first
    }

    /// An entry that maps the page goes; it knew `stamp`. Whether the last that kept it locked did.
    pub(super) fn unmap(
        &mut self,
        folios: &mut Folios,
        id: ShareId,
        stamp: u32,
        locked: bool,
    ) -> bool {
        let share = self.get_mut(id);
        share.mapped -= 1;
        share.locked -= u32::from(locked);
        let page = share.page;
        if folios.has(page, Flag::Accessed) && stamp == share.stamp() {
            share.young -= 1;
            if share.young == 0 {
                folios.clear(page, Flag::Accessed);
            }
        }
        if share.mapped == 0 {
            folios.unmap(page);
        }
        locked && share.locked == 0
    }

    /// Reclaim replaces all entries that map a page by its swap slot; how many there were.
    pub(crate) fn unmap_all(&mut self, page: PageId) -> u32 {
        let Some(id) = self.of(page) else {
            return 1;
        };
        let share = self.get_mut(id);
        let mapped = core::mem::take(&mut share.mapped);
        share.swapped += mapped;
        share.unmapped = share.unmapped.wrapping_add(u16::from(mapped > 0));
        (share.locked, share.young) = (0, 0);
        mapped
    }

    /// Entries whose accessed bit was set of a page that was used.
    pub(crate) fn users(&self, page: PageId) -> usize {
        let id = self.of(page);
        id.map_or(1, |id| self.get(id).young as usize)
    }

    /// Everything was unmerged: what is still in the swap cache is mapped as it is by nobody.
    pub(super) fn forget_nodes(&mut self) {
        for share in self.all.iter_mut().filter(|share| share.node.is_some()) {
            (share.node, share.owner) = (None, Owner::Nobody);
        }
    }

    /// Entries that are counted, which map pages and which name slots.
    #[cfg(test)]
    pub(super) fn entries(&self) -> [u32; 2] {
        let all = self.all.iter();
        all.fold([0; 2], |[mapped, swapped], share| {
            [mapped + share.mapped, swapped + share.swapped]
        })
    }

    /// A page is there as long as entries map it, and each has its slot while entries name that.
    ///
    /// # Panics
    /// If that is not so: the model is wrong.
    pub(crate) fn check(&self, folios: &Folios) {
        for share in &self.all {
            let page = share.page;
            let is_mapped = folios.is_resident(page) && !folios.has(page, Flag::Unmapped);
            assert_eq!(share.mapped > 0, is_mapped, "{share:?}");
            let has_slot = match folios.state(page) {
                State::Swapped => true,
                _ => folios.is_resident(page) && folios.has(page, Flag::Swapcache),
            };
            assert!(share.swapped == 0 || has_slot, "{share:?}");
            assert!(share.locked <= share.mapped, "{share:?}");
        }
    }
}

impl Folios {
    /// Whether the place shares a page (or, by merging, the zero page), in memory or in swap, and
    /// has none itself.
    pub(crate) fn is_merged(&self, place: PageId) -> bool {
        self.state(place) == State::Shadow && self.has(place, Flag::Anon)
    }

    /// Whether what such a place shares is the zero page.
    pub(super) fn is_zero(&self, place: PageId) -> bool {
        self.shared(place).is_none()
    }

    /// Which page a place shares; none where it is the zero page.
    pub(super) fn shared(&self, place: PageId) -> Option<ShareId> {
        let [share, _] = self.links(place);
        (share != NIL).then_some(share)
    }

    /// What the place's entry knows of the page that it shares.
    pub(super) fn stamp(&self, place: PageId) -> u32 {
        let [_, stamp] = self.links(place);
        stamp
    }

    /// The place, in a locked region or not, shares a page from now on, or the zero page.
    pub(super) fn set_merged(
        &mut self,
        place: PageId,
        share: Option<ShareId>,
        stamp: u32,
        locked: bool,
    ) {
        self.set_raw(place, State::Shadow as u16 | Flag::Anon.bit());
        self.set_links(place, [share.unwrap_or(NIL), stamp]);
        if locked {
            self.set(place, Flag::Locked);
        }
    }

    /// Whether the place shares a page and is in a locked region.
    pub(crate) fn is_locked(&self, place: PageId) -> bool {
        self.is_merged(place) && self.has(place, Flag::Locked)
    }
}
