//! How merged pages part again: by a write, with their region, or all at once.

use mm::rules::Mechanism;

use super::share::{Entry, ShareId};
use super::state::Cursor;
use crate::mm::folio::{Folios, PageId, State};
use crate::mm::ksm::state::{Area, Ksm};
use crate::mm::ksm::tree::{AreaId, Place};
use crate::mm::lru::Lru;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::parts::Memory;

/// What the entry of a place that shares a page knows.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// None where it is the zero page.
    share: Option<ShareId>,
    stamp: u32,
    locked: bool,
}

impl Link {
    fn of(folios: &Folios, place: PageId) -> Self {
        Self {
            share: folios.shared(place),
            stamp: folios.stamp(place),
            locked: folios.is_locked(place),
        }
    }
}

impl Memory {
    /// A process writes to a page that it shares: it gets a copy.
    ///
    /// # Errors
    /// There is no page, or not yet.
    pub(crate) fn copy_shared(&mut self, page: PageId) -> Result<(), NoPage> {
        let cost = match self.folios.is_zero(page) {
            true => self.cpu.costs.ksm_cow_zero_ps,
            false => self.cpu.costs.ksm_cow_ps,
        };
        self.take_copy(page)?;
        self.cpu.spent += cost;
        Ok(())
    }

    /// Gives a place that shares a page one of its own.
    ///
    /// # Errors
    /// There is no page, or not yet.
    fn take_copy(&mut self, page: PageId) -> Result<(), NoPage> {
        let link = Link::of(&self.folios, page);
        if let Some(id) = link.share {
            let is_merged = self.ksm.shares.get(id).node.is_some();
            self.take_page_instead(page)?;
            self.cpu.events.cow_ksm += u64::from(is_merged);
        } else {
            self.take_page_instead(page)?;
        }
        if self.drop_link(link) {
            self.cpu.spent += self.cpu.costs.anon_free_ps;
        }
        Ok(())
    }

    /// A place no longer leads to the page that it shares, or the zero page, in memory or in swap.
    pub(crate) fn drop_shared(&mut self, page: PageId) {
        self.drop_link(Link::of(&self.folios, page));
    }

    /// One entry less; with the last one the page is freed. Whether it was the last.
    fn drop_link(&mut self, link: Link) -> bool {
        let Some(id) = link.share else {
            self.ksm.counts.zero_pages -= 1;
            return false;
        };
        self.unlink(id, link);
        self.free_unused(id)
    }

    /// An entry goes, whether it maps a shared page or names its slot.
    fn unlink(&mut self, id: ShareId, link: Link) {
        let shares = &mut self.ksm.shares;
        if !shares.get(id).maps(link.stamp) {
            shares.get_mut(id).swapped -= 1;
            return;
        }
        let page = shares.get(id).page;
        let unlocked = shares.unmap(&mut self.folios, id, link.stamp, link.locked);
        if unlocked && self.folios.state(page) == State::Unevictable {
            self.zones[self.folios.zone(page)].unevictable -= 1;
            let (cpu, zones, folios) = (&self.cpu, &mut self.zones, &mut self.folios);
            self.lruvecs
                .add_to_list(cpu, zones, folios, page, Lru::InactiveAnon);
        }
    }

    /// A place gives its page up for one that it is to share, or for the zero page.
    pub(super) fn give_up(&mut self, place: PageId) {
        let link = Link::of(&self.folios, place);
        match self.folios.is_merged(place) {
            true => {
                self.drop_link(link);
            }
            false => self.drop_resident(place),
        }
    }

    /// Breaks all sharing and forgets every candidate (`unmerge_and_remove_all_rmap_items`).
    ///
    /// # Errors
    /// Too few pages are free; what was parted stays so.
    pub(crate) fn unmerge_all(&mut self) -> Result<(), NoPage> {
        for area in 0..self.ksm.areas.len() as AreaId {
            let Some(group) = self.ksm.areas[area as usize]
                .as_ref()
                .map(|area| area.group)
            else {
                continue;
            };
            // The copies are its process's.
            let writer = core::mem::replace(&mut self.cpu.current.group, group);
            let parted = self.unmerge_area(area);
            self.cpu.current.group = writer;
            parted?;
        }
        self.ksm.end_everything();
        self.ksm
            .follow_candidates(&mut self.cpu, &mut self.zones, &mut self.objects);
        Ok(())
    }

    fn unmerge_area(&mut self, area: AreaId) -> Result<(), NoPage> {
        let Area { base, is_live, .. } = *self.ksm.area(area);
        for index in 0..self.ksm.pages_of(area) {
            let parted = is_live && self.unmerge(base + index)?;
            let cost = match parted {
                true => 0,
                false => self.cpu.costs.ksm_look_ps,
            };
            self.ksm.forget(&mut self.cpu, Place { area, index }, cost);
        }
        Ok(())
    }

    /// Gives each page of a range that is shared a copy of its own (`unmerge_ksm_pages`).
    ///
    /// # Errors
    /// Too few pages are free.
    pub(crate) fn unmerge_range(&mut self, base: PageId, pages: u64) -> Result<(), NoPage> {
        for page in base..base + pages as PageId {
            self.unmerge(page)?;
        }
        Ok(())
    }

    /// Gives a place a page of its own, if it maps a merged one; whether it does. Kernels before
    /// 6.6 look at the zero page and leave it.
    fn unmerge(&mut self, page: PageId) -> Result<bool, NoPage> {
        let is_zero = match self.ksm.shares.entry(&self.folios, page) {
            Entry::Zero => true,
            Entry::Mapped(id) if self.ksm.shares.get(id).node.is_some() => false,
            _ => return Ok(false),
        };
        self.cpu.spent += match is_zero {
            true => self.cpu.costs.ksm_unmerge_zero_ps,
            false => self.cpu.costs.ksm_unmerge_ps,
        };
        if self.cpu.rules.has(Mechanism::UnmergesZeroPages) || !is_zero {
            self.take_copy(page)?;
        }
        Ok(true)
    }
}

impl Ksm {
    fn pages_of(&self, area: AreaId) -> u32 {
        let area = self.areas[area as usize].as_ref();
        area.map_or(0, |area| area.candidates.len() as u32)
    }

    /// Every candidate is forgotten: the trees are empty, and the next full scan is the first.
    fn end_everything(&mut self) {
        self.trees.clear();
        self.shares.forget_nodes();
        self.counts.full_scans = 0;
        self.cursor = Cursor::default();
        let areas = &self.areas;
        let is_live = |id: &AreaId| {
            areas[*id as usize]
                .as_ref()
                .is_some_and(|area| area.is_live)
        };
        for space in &mut self.spaces {
            space.areas.retain(is_live);
        }
        self.spaces
            .retain(|space| !space.exited && !space.areas.is_empty());
    }
}
