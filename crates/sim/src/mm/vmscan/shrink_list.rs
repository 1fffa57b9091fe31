//! What becomes of the pages that reclaim looks at (`shrink_inactive_list`, `shrink_folio_list`,
//! `shrink_active_list`).

mod unused;

use mm::rules::Mechanism;

use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId};
use crate::mm::ksm::share::Shares;
use crate::mm::lru::Kind;
use crate::mm::lru::Lru;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::lruvec::state::ROOT;
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::parts::Memory;
use crate::mm::rmap::state::Rmap;
use crate::mm::vmscan::state::Met;
use crate::mm::vmscan::{Control, Reclaimer};
use crate::sched::cpu::Cpu;

/// What a batch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shrunk {
    pub(crate) scanned: u64,
    /// Pages of zones that are not reclaimed; the counters of scans have them too.
    pub(crate) skipped: u64,
    pub(crate) reclaimed: u64,
    /// Pages that went to the active list.
    pub(crate) activated: u64,
    /// Pages on their way to swap.
    pub(crate) written: u64,
    /// Those of the scanned pages that were being read.
    pub(crate) locked: u64,
    /// Pages of files that are dirty, and that nobody has begun to write.
    pub(crate) unqueued_dirty: u64,
    /// Pages of files that are being written, and those of them that reclaim met before.
    pub(crate) writing: u64,
    pub(crate) met_again: u64,
}

impl Shrunk {
    /// The pages that count when reclaim chooses its next priority (`sc->nr_scanned`): not those
    /// whose lock it did not get.
    pub(crate) fn weighed(self) -> u64 {
        self.scanned - self.locked
    }
}

impl Met {
    pub(crate) fn add(&mut self, done: Shrunk) {
        self.taken += done.scanned;
        self.unqueued_dirty += done.unqueued_dirty;
        self.writing += done.writing;
        self.again += done.met_again;
    }
}

/// What is to be done with a page that reclaim looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was used, or is being read: another round on the inactive list.
    Keep,
    /// It was used again: to the active list.
    Activate,
    /// Nobody used it.
    Reclaim,
}

/// What came of reclaiming a page that nobody used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Freed,
    /// It is being written to swap and will be at the list's tail afterwards.
    Written,
    /// There is no slot for it.
    NoSlot,
}

impl Memory {
    /// Looks at pages from the tail of an inactive list and reclaims those that were not used.
    pub(crate) fn shrink_inactive(
        &mut self,
        control: &Control,
        group: usize,
        kind: Kind,
        pages: u64,
    ) -> Shrunk {
        let lru = kind.inactive();
        let mut done = Shrunk::default();
        let all = self.lruvecs[group].lists[lru as usize].len();
        let pages = pages.min(all);
        while done.scanned < pages && done.scanned + done.skipped < all {
            let most = (pages - done.scanned).min(all - done.scanned - done.skipped);
            if kind == Kind::File && self.reclaim_unused(most, control.highest, &mut done) {
                continue;
            }
            let Some(page) = self.lruvecs[group].lists[lru as usize].tail() else {
                break;
            };
            if self.folios.zone(page) > control.highest {
                self.lruvecs.skip(&mut self.folios, group, lru, page);
                done.skipped += 1;
                continue;
            }
            match self.objects.huge_first(page) {
                Some(first) => self.shrink_huge(first, &mut done),
                None => self.shrink_page(page, &mut done),
            }
            if self.io.is_stuck_at(self.cpu.current.entity).is_some() {
                break;
            }
        }
        self.zones.free_batch(&self.cpu);
        if done.unqueued_dirty > 0 && done.unqueued_dirty == done.scanned {
            self.writeback.wake_flushers();
        }
        let scanned = done.scanned + done.skipped;
        self.lruvecs.note_cost(
            &self.cpu,
            &self.zones,
            group,
            kind,
            done.written,
            scanned - done.reclaimed,
        );
        self.lruvecs
            .note_recent(&self.cpu, group, kind, done.scanned, done.activated);
        self.groups
            .count_reclaim(&mut self.cpu, control.reclaimer, group, kind, done);
        done
    }

    /// Moves pages from the tail of an active list to the head of the inactive one, whether they
    /// were used or not; that they were is forgotten.
    pub(crate) fn shrink_active(&mut self, group: usize, lru: Lru, pages: u64, highest: usize) {
        let (mut done, mut used) = (0, 0);
        let mut left = self.lruvecs[group].lists[lru as usize].len();
        while done < pages && left > 0 {
            let Some(page) = self.lruvecs[group].lists[lru as usize].tail() else {
                break;
            };
            left -= 1;
            if self.folios.zone(page) > highest {
                self.lruvecs.skip(&mut self.folios, group, lru, page);
                continue;
            }
            self.cpu.spent += self.cpu.costs.deactivate_ps;
            used += u64::from(self.folios.has(page, Flag::Accessed));
            match self.objects.huge_first(page) {
                Some(first) => {
                    (first..first + HUGE_PAGES as PageId).for_each(|page| {
                        self.lruvecs
                            .deactivate(&self.cpu, &mut self.zones, &mut self.folios, page)
                    });
                    done += HUGE_PAGES;
                }
                None => {
                    self.lruvecs
                        .deactivate(&self.cpu, &mut self.zones, &mut self.folios, page);
                    done += 1;
                }
            }
        }
        // As scans are: not in reclaim for a group's limit.
        if self.cpu.current.reclaiming == ROOT {
            self.cpu.events.pgrefill += done;
        }
        let kind = match lru {
            Lru::ActiveAnon | Lru::InactiveAnon => Kind::Anon,
            Lru::ActiveFile | Lru::InactiveFile => Kind::File,
        };
        self.lruvecs.note_recent(&self.cpu, group, kind, done, used);
        self.cpu.events.pgdeactivate += done;
        let stat = self.groups.stat(group);
        stat.pgrefill += done;
        stat.pgdeactivate += done;
    }

    /// Reclaims a page that is on no list: an anonymous one goes to swap first.
    pub(crate) fn reclaim_page(&mut self, page: PageId) -> Fate {
        if self.folios.kind(page) == Kind::File {
            self.rmap
                .unmap_everywhere(&mut self.cpu, &mut self.folios, page);
            self.cpu.spent += self.cpu.clean_page_ps();
            self.evict(page);
            return Fate::Freed;
        }
        let has_slot = self.folios.has(page, Flag::Swapcache);
        if !has_slot
            && !self.swap.add_to_swap(
                &mut self.cpu,
                &mut self.zones,
                &mut self.folios,
                &mut self.groups,
                &mut self.objects,
                page,
            )
        {
            return Fate::NoSlot;
        }
        let entries = self.ksm.shares.unmap_all(page);
        self.cpu.spent += u64::from(entries.saturating_sub(1)) * self.cpu.costs.unmap_ps;
        if !has_slot || self.folios.has(page, Flag::Dirty) {
            if self.swap.writepage(
                &mut self.cpu,
                &mut self.zones,
                &mut self.folios,
                &mut self.objects,
                &mut self.io,
                page,
            ) {
                return Fate::Written;
            }
        } else if self.folios.is_mapped(page) {
            self.cpu.spent += self.cpu.clean_page_ps();
        }
        self.folios.unmap(page);
        self.evict(page);
        self.note_evicted(page);
        Fate::Freed
    }

    fn shrink_page(&mut self, page: PageId, done: &mut Shrunk) {
        done.scanned += 1;
        self.lruvecs
            .take_from_list(&self.cpu, &mut self.zones, &mut self.folios, page);
        let verdict = match self.folios.is_reading(page) {
            true => {
                done.locked += 1;
                Verdict::Keep
            }
            false => self.check_page(page, done),
        };
        match verdict {
            Verdict::Keep => {
                self.cpu.spent += self.cpu.costs.rotate_ps;
                let list = self.folios.kind(page).inactive();
                self.lruvecs
                    .add_to_list(&self.cpu, &mut self.zones, &mut self.folios, page, list);
            }
            Verdict::Activate => {
                done.activated += 1;
                self.cpu.spent += self.cpu.costs.rotate_ps;
                self.lruvecs.add_active(
                    &mut self.cpu,
                    &mut self.zones,
                    &mut self.folios,
                    &mut self.groups,
                    page,
                );
            }
            Verdict::Reclaim => self.reclaim_or_activate(page, done),
        }
    }

    /// What is to be done with a page that is not locked: one that is being written, and one of a
    /// file that is dirty, is left to its writer, and reclaimed as soon as it is written.
    fn check_page(&mut self, page: PageId, done: &mut Shrunk) -> Verdict {
        let (cpu, folios) = (&mut self.cpu, &mut self.folios);
        self.writeback.note_dirty(folios, page, done);
        let out_of_the_way = match cpu.rules.has(Mechanism::ActivatesDirtyFiles) {
            true => Verdict::Activate,
            false => Verdict::Keep,
        };
        if self.writeback.is_writing(page) {
            done.writing += 1;
            done.met_again += u64::from(folios.has(page, Flag::Reclaim));
            self.writeback.waits_for_writeback(cpu, folios, page);
            return out_of_the_way;
        }
        match folios.check_references(&self.objects, &self.rmap, &self.ksm.shares, page) {
            Verdict::Reclaim if self.writeback.waits_for_writeback(cpu, folios, page) => {
                out_of_the_way
            }
            Verdict::Keep if one_use_is_enough(cpu, folios, page) => Verdict::Activate,
            verdict => verdict,
        }
    }

    /// A huge page is one entry of its list: it is kept or activated as a whole. One that goes to
    /// swap is split, and its pages go there with the same batch.
    fn shrink_huge(&mut self, first: PageId, done: &mut Shrunk) {
        done.scanned += HUGE_PAGES;
        self.cpu.spent += self.cpu.costs.rotate_ps;
        let pages = first..first + HUGE_PAGES as PageId;
        for page in pages.clone() {
            self.lruvecs
                .take_from_list(&self.cpu, &mut self.zones, &mut self.folios, page);
        }
        match self
            .folios
            .check_references(&self.objects, &self.rmap, &self.ksm.shares, first)
        {
            Verdict::Reclaim
                if self
                    .groups
                    .can_swap_in(&self.swap, self.folios.group(first)) =>
            {
                self.folios
                    .split_huge(&mut self.cpu, &mut self.objects, first);
                pages.for_each(|page| self.reclaim_or_activate(page, done));
            }
            Verdict::Keep => pages.for_each(|page| {
                self.lruvecs.add_to_list(
                    &self.cpu,
                    &mut self.zones,
                    &mut self.folios,
                    page,
                    Lru::InactiveAnon,
                )
            }),
            _ => pages.for_each(|page| {
                self.lruvecs.add_active(
                    &mut self.cpu,
                    &mut self.zones,
                    &mut self.folios,
                    &mut self.groups,
                    page,
                )
            }),
        }
    }

    /// Reclaims a page that is on no list; one for which swap has no room becomes active.
    fn reclaim_or_activate(&mut self, page: PageId, done: &mut Shrunk) {
        match self.reclaim_page(page) {
            Fate::Freed => done.reclaimed += 1,
            Fate::Written => done.written += 1,
            Fate::NoSlot => {
                self.cpu.spent += self.cpu.costs.rotate_ps;
                self.lruvecs.add_active(
                    &mut self.cpu,
                    &mut self.zones,
                    &mut self.folios,
                    &mut self.groups,
                    page,
                );
            }
        }
    }
}

/// Before 5.9 an anonymous page that was used goes to the active list at once.
fn one_use_is_enough(cpu: &Cpu, folios: &Folios, page: PageId) -> bool {
    !cpu.rules.has(Mechanism::AnonBeginsInactive) && folios.kind(page) == Kind::Anon
}

impl Lruvecs {
    /// Moves the oldest page of a list, which is of a zone that is not reclaimed, to the list's
    /// young end (`isolate_lru_folios`).
    fn skip(&mut self, folios: &mut Folios, group: usize, lru: Lru, page: PageId) {
        let list = &mut self[group].lists[lru as usize];
        list.remove(folios, page);
        list.push_head(folios, page);
    }

    fn deactivate(&mut self, cpu: &Cpu, zones: &mut Zones, folios: &mut Folios, page: PageId) {
        folios.clear(page, Flag::Accessed);
        self.take_from_list(cpu, zones, folios, page);
        folios.set(page, Flag::Workingset);
        self.add_to_list(cpu, zones, folios, page, folios.kind(page).inactive());
    }
}

impl Cpu {
    /// What reclaiming a clean page takes, in picoseconds.
    fn clean_page_ps(&self) -> u64 {
        match self.rules.lru_gen.enabled {
            true => self.costs.evict_file_ps,
            false => self.costs.reclaim_file_ps,
        }
    }
}

impl Folios {
    fn is_in_swap_cache_alone(&self, page: PageId) -> bool {
        self.kind(page) == Kind::Anon && self.has(page, Flag::Unmapped)
    }

    /// Takes a page out of the page table that maps it.
    pub(crate) fn unmap(&mut self, page: PageId) {
        if self.kind(page) == Kind::Anon && !self.has(page, Flag::Unmapped) {
            self.set(page, Flag::Unmapped);
            self.clear(page, Flag::SwapReadahead);
            self.anon_pages -= 1;
        }
    }

    /// Whether a page was used since it was last looked at (`folio_check_references`): a mapped
    /// page needs two rounds to become active.
    pub(crate) fn check_references(
        &mut self,
        objects: &Objects,
        rmap: &Rmap,
        shares: &Shares,
        page: PageId,
    ) -> Verdict {
        let was_referenced = self.take(page, Flag::Referenced);
        let used = match objects.huge_first(page) {
            Some(first) => self.take_accessed_huge(first),
            None if self.is_in_swap_cache_alone(page) => false,
            None => self.take(page, Flag::Accessed),
        };
        if !used {
            return Verdict::Reclaim;
        }
        self.set(page, Flag::Referenced);
        let users = match self.kind(page) {
            Kind::File if self.has(page, Flag::Mapped) => rmap.users(page),
            Kind::File => 0,
            Kind::Anon => shares.users(page),
        };
        match was_referenced || users > 1 {
            true => Verdict::Activate,
            false => Verdict::Keep,
        }
    }
}

impl Writeback {
    /// Counts a page that nobody has begun to write, used or not.
    pub(crate) fn note_dirty(&self, folios: &Folios, page: PageId, done: &mut Shrunk) {
        let unqueued = self.is_dirty_file(folios, page) && !self.is_writing(page);
        done.unqueued_dirty += u64::from(unqueued);
    }

    /// Whether a page that nobody used is one of a file that has to be written first, or is being
    /// written: it will be the next to be reclaimed once that is done.
    pub(crate) fn waits_for_writeback(
        &self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        page: PageId,
    ) -> bool {
        let is_dirty = self.is_dirty_file(folios, page);
        if !is_dirty && !self.is_writing(page) {
            return false;
        }
        cpu.events.nr_vmscan_immediate_reclaim += u64::from(is_dirty);
        folios.set(page, Flag::Reclaim);
        true
    }
}

impl Groups {
    pub(crate) fn count_reclaim(
        &mut self,
        cpu: &mut Cpu,
        reclaimer: Reclaimer,
        group: usize,
        kind: Kind,
        done: Shrunk,
    ) {
        let (events, stat) = (&mut cpu.events, self.stat(group));
        let (scan, steal, of_group) = match reclaimer {
            Reclaimer::Kswapd => (
                &mut events.pgscan_kswapd,
                &mut events.pgsteal_kswapd,
                (&mut stat.pgscan_kswapd, &mut stat.pgsteal_kswapd),
            ),
            Reclaimer::Direct => (
                &mut events.pgscan_direct,
                &mut events.pgsteal_direct,
                (&mut stat.pgscan_direct, &mut stat.pgsteal_direct),
            ),
        };
        let scanned = done.scanned + done.skipped;
        *of_group.0 += scanned;
        *of_group.1 += done.reclaimed;
        // Reclaim for a group's limit is counted by kind, but not by the task.
        if cpu.current.reclaiming == ROOT {
            *scan += scanned;
            *steal += done.reclaimed;
        }
        let (scan, steal) = match kind {
            Kind::Anon => (&mut events.pgscan_anon, &mut events.pgsteal_anon),
            Kind::File => (&mut events.pgscan_file, &mut events.pgsteal_file),
        };
        *scan += scanned;
        *steal += done.reclaimed;
    }
}

#[cfg(test)]
mod tests;
