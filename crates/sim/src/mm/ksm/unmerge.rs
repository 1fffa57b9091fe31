//! How merged pages part again: by a write, with their region, or all at once.

use super::state::Cursor;
use super::tree::NodeId;
use crate::mm::folio::{PageId, State};
use crate::mm::ksm::state::{Area, Ksm};
use crate::mm::ksm::tree::{AreaId, Place};
use crate::mm::page_alloc::state::NoPage;
use crate::mm::parts::Memory;

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
        let node = self.folios.shared(page);
        self.allocate(page, State::Inactive)?;
        self.folios
            .add_anon(&self.cpu, &mut self.zones, &mut self.lruvecs, page);
        match node {
            Some(node) => {
                self.cpu.events.cow_ksm += 1;
                if self.unmap_shared(node) {
                    self.cpu.spent += self.cpu.costs.anon_free_ps;
                }
            }
            None => self.ksm.counts.zero_pages -= 1,
        }
        Ok(())
    }

    /// A page that is shared, or the zero page in its place, is unmapped.
    pub(crate) fn drop_shared(&mut self, page: PageId) {
        match self.folios.shared(page) {
            Some(node) => {
                self.unmap_shared(node);
            }
            None => self.ksm.counts.zero_pages -= 1,
        }
    }

    /// One mapping less; with the last one the page is freed, and its node is stale. Whether it was
    /// the last.
    fn unmap_shared(&mut self, id: NodeId) -> bool {
        let node = self.ksm.trees.node(id);
        node.mapped -= 1;
        let (page, is_last) = (node.page, node.mapped == 0);
        if is_last {
            self.ksm.trees.becomes_stale(id);
            self.drop_resident(page);
            self.folios.forget(page);
            self.ksm.indices.push(page);
        }
        is_last
    }

    /// Breaks all sharing and forgets every candidate (`unmerge_and_remove_all_rmap_items`).
    ///
    /// # Errors
    /// Too few pages are free; what was parted stays so.
    pub(crate) fn unmerge_all(&mut self) -> Result<(), NoPage> {
        for area in 0..self.ksm.areas.len() as u32 {
            let Some(Area { base, is_live, .. }) = &self.ksm.areas[area as usize] else {
                continue;
            };
            let (base, is_live, pages) = (*base, *is_live, self.ksm.pages_of(area));
            for index in 0..pages {
                let parted = is_live && self.unmerge(base + index)?;
                let cost = match parted {
                    true => 0,
                    false => self.cpu.costs.ksm_look_ps,
                };
                self.ksm.forget(&mut self.cpu, Place { area, index }, cost);
            }
        }
        self.ksm.end_everything();
        self.ksm
            .follow_candidates(&mut self.cpu, &mut self.zones, &mut self.objects);
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

    /// Gives a place a page of its own, if it shares one; whether it does. Kernels before 6.6 look
    /// at the zero page and leave it.
    fn unmerge(&mut self, page: PageId) -> Result<bool, NoPage> {
        if !self.folios.is_merged(page) {
            return Ok(false);
        }
        let is_zero = self.folios.is_zero(page);
        self.cpu.spent += match is_zero {
            true => self.cpu.costs.ksm_unmerge_zero_ps,
            false => self.cpu.costs.ksm_unmerge_ps,
        };
        if self.cpu.rules.ksm_parts_zero_pages || !is_zero {
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
