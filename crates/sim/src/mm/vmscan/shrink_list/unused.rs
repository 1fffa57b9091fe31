//! Clean pages of files that nobody used, which most pages are that reclaim looks at: those that
//! lie side by side on the list go together, each as it would alone.

use crate::mm::folio::{Folios, PageId};
use crate::mm::lru::Lru;
use crate::mm::lruvec::state::ROOT;
use crate::mm::parts::Memory;
use crate::mm::vmscan::shrink_list::Shrunk;

impl Memory {
    /// Reclaims the pages at the tail of the inactive list of files that are unused, clean, mapped
    /// nowhere and of zones up to `highest`, where no group but the root has any; whether there was
    /// one.
    pub(super) fn reclaim_unused(&mut self, most: u64, highest: usize, done: &mut Shrunk) -> bool {
        if self.groups.any() {
            return false;
        }
        let lru = Lru::InactiveFile as usize;
        let age = self.lruvecs[ROOT].nonresident_age;
        let (mut tail, mut pages) = (self.lruvecs[ROOT].lists[lru].tail(), 0);
        while pages < most
            && let Some(page) = tail
        {
            let raw = self.folios.raw(page);
            let zone = Folios::zone_in(raw);
            let is_plain = Folios::is_unused(raw) && zone <= highest;
            if !is_plain || self.writeback.is_writing(page) || self.objects.has_buffers(page) {
                break;
            }
            tail = self.folios.previous(page);
            self.zones[zone].lru[lru] -= 1;
            self.zones.free_in_batch(page, zone);
            self.folios.leave_shadow(page, (age + pages) as u32, None);
            pages += 1;
        }
        if pages == 0 {
            return false;
        }
        let lruvec = &mut self.lruvecs[ROOT];
        lruvec.lists[lru].cut_tail(&mut self.folios, tail, pages);
        lruvec.nonresident_age += pages;
        self.cpu.events.pgfree += pages;
        self.cpu.spent += pages * self.cpu.clean_page_ps();
        done.scanned += pages;
        done.reclaimed += pages;
        true
    }

    /// Reclaims a page that was taken out of its generation, if it is a clean one of a file, mapped
    /// nowhere, and no group but the root has any; whether it is.
    pub(in crate::mm::vmscan) fn evict_clean(&mut self, page: PageId, done: &mut Shrunk) -> bool {
        let raw = self.folios.raw(page);
        let is_plain = Folios::is_clean(raw) && !self.groups.any();
        if !is_plain || self.writeback.is_writing(page) || self.objects.has_buffers(page) {
            return false;
        }
        self.zones.free_in_batch(page, Folios::zone_in(raw));
        let shadow = self.lruvecs.generation_shadow(&self.folios, page);
        self.folios.leave_shadow(page, shadow, None);
        self.cpu.events.pgfree += 1;
        self.cpu.spent += self.cpu.clean_page_ps();
        done.scanned += 1;
        done.reclaimed += 1;
        true
    }
}
