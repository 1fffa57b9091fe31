//! Reclaim from generations: how far a group's scan goes, and what becomes of the pages that
//! eviction took.

use alloc::vec::Vec;

use mm::rules::Mechanism;
use mm::units::Nanos;

use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lru::Kind;
use crate::mm::lru_gen::{BATCH, Batch, Generations, Place, Wanted};
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::lruvec::state::ROOT;
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
use crate::mm::vmscan::shrink_list::{Fate, Shrunk};
use crate::mm::vmscan::state::GenerationScan;
use crate::mm::vmscan::state::{Pass, Progress};
use crate::mm::vmscan::{Control, Reclaimer, done_unless_stuck};
use crate::sched::cpu::Cpu;

/// What comes after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Batch,
    Group,
    /// The pass is over: there is enough.
    Enough,
}

impl Memory {
    /// Evicts the next batch of the pass.
    pub(crate) fn generations_step(&mut self, pass: &mut Pass) -> Progress {
        // kswapd that only makes room for boosts may not write, so it leaves generations alone
        // (`lru_gen_shrink_node`, since 6.3).
        let for_boosts = pass.control.reclaimer == Reclaimer::Kswapd && !pass.control.may_swap;
        if for_boosts && !self.cpu.rules.has(Mechanism::EarlyLruGen) {
            return Progress::Done;
        }
        let Some(mut scan) = pass.generations.take().or_else(|| {
            self.lruvecs
                .next_generations(&mut self.cpu, &mut self.groups, pass)
        }) else {
            return done_unless_stuck(self);
        };
        let mut stuck = self.io.retry(&mut self.cpu, &self.folios);
        let mut next = Next::Batch;
        if stuck.is_none() {
            self.cpu.current.reclaiming = pass.control.target;
            next = self.evict_step(pass, &mut scan);
            stuck = self.io.is_stuck_at(self.cpu.current.entity);
        }
        if next == Next::Batch || stuck.is_some() {
            pass.generations = Some(scan);
            return self.wait_if_stuck(stuck);
        }
        self.io.unplug(&mut self.cpu, &self.folios);
        self.shrink_shadow_nodes(scan.group, pass.control.priority);
        let only_dirty = scan.unqueued_dirty > 0 && scan.unqueued_dirty == scan.files;
        if only_dirty && !self.cpu.rules.has(Mechanism::AgingWakesFlushers) {
            self.writeback.wake_flushers();
        }
        let enough = self.ends_turn(pass, &scan) || next == Next::Enough;
        if enough {
            Progress::Done
        } else {
            Progress::More
        }
    }

    fn evict_step(&mut self, pass: &mut Pass, scan: &mut GenerationScan) -> Next {
        let swappiness = self.swap.eviction_swappiness(&self.cpu, &pass.control);
        if pass.floors.clean_min && swappiness == 0 {
            return Next::Group;
        }
        if scan.batch.is_none() {
            let Some(goal) = self.scan_goal(&pass.control, scan, swappiness > 0) else {
                return Next::Group;
            };
            (scan.goal, scan.batch) = (goal, Some(BATCH as u64));
        }
        if scan.batch != Some(0) && !self.evict_batch(pass, scan, swappiness) {
            return Next::Group;
        }
        if self.io.is_stuck_at(self.cpu.current.entity).is_some() {
            return Next::Batch;
        }
        scan.batch = None;
        let goal = scan.goal;
        let enough = scan.looked_at < goal && self.zones.has_enough(&self.cpu, pass, scan);
        self.zones.note_success(pass, scan);
        if scan.looked_at >= goal {
            Next::Group
        } else if enough {
            Next::Enough
        } else {
            Next::Batch
        }
    }

    /// How many pages of a group the pass looks at (`get_nr_to_scan`). A group that needs a new
    /// generation gets it, and is left for this pass; but the first priority gets by with what
    /// there is.
    fn scan_goal(
        &mut self,
        control: &Control,
        scan: &mut GenerationScan,
        swaps: bool,
    ) -> Option<u64> {
        let group = scan.group;
        let budget = self.lruvecs[group].generations.budget(swaps);
        scan.needs_aging = budget.needs_aging;
        let mut goal = budget.scan(control.priority);
        if budget.needs_aging && control.priority < DEF_PRIORITY {
            let early = self.cpu.rules.has(Mechanism::EarlyLruGen);
            if early && control.reclaimer == Reclaimer::Kswapd {
                return None;
            }
            self.walk().age_group(group, swaps);
            scan.was_aged = true;
            goal = match early {
                true => budget.total >> control.priority,
                false => 0,
            };
        }
        (goal > 0).then_some(goal)
    }

    /// Evicts up to 64 pages of a group (`evict_folios`); false where there are none. A reclaimer
    /// that slept in the middle goes on with what is left of them, and frees what has been written
    /// meanwhile (`retry` there), before it asks whether it has enough.
    fn evict_batch(&mut self, pass: &mut Pass, scan: &mut GenerationScan, swappiness: u32) -> bool {
        let mut batch = Batch::EMPTY;
        let wanted = Wanted {
            swappiness,
            forced: forced_kind(pass, swappiness),
            highest: pass.control.highest,
            // A run for boosts may not write (`may_writepage`).
            writes: pass.control.may_swap,
        };
        let moves_locked = self.cpu.rules.has(Mechanism::EarlyLruGen);
        let writeback = core::mem::take(&mut self.writeback);
        let isolated = self.lruvecs.with_generations(
            &mut self.zones,
            &mut self.folios,
            scan.group,
            |generations, folios| {
                generations.isolate(folios, &mut batch, wanted, |folios, page| {
                    moves_locked && (folios.is_reading(page) || writeback.waits_for(folios, page))
                })
            },
        );
        self.writeback = writeback;
        if self.cpu.current.reclaiming == ROOT {
            self.cpu.events.pgrefill += isolated.sorted;
        }
        for kind in Kind::BOTH.into_iter().filter(|_| moves_locked) {
            *self.cpu.count_activation(kind) += isolated.protected[kind as usize];
        }
        self.cpu.spent += isolated.sorted * self.cpu.costs.deactivate_ps;
        scan.writes = isolated.kind == Kind::Anon && !batch.pages().is_empty();
        let most = scan.batch.unwrap_or(BATCH as u64);
        let (done, left) = self.shrink_batch(scan.group, batch.pages(), most);
        let in_vain = done.scanned - done.reclaimed;
        let looked_at = isolated.progress.saturating_sub(left);
        scan.batch = (looked_at > 0).then(|| most.saturating_sub(in_vain));
        scan.looked_at += looked_at;
        self.groups.count_reclaim(
            &mut self.cpu,
            pass.control.reclaimer,
            scan.group,
            isolated.kind,
            done,
        );
        scan.files += u64::from(isolated.kind == Kind::File) * done.scanned;
        scan.unqueued_dirty += done.unqueued_dirty;
        pass.scanned += done.weighed();
        pass.reclaimed += done.reclaimed;
        looked_at > 0
    }

    /// Gives back what came of the batch, and of how many pages nothing did, as the reclaimer is
    /// stuck with another or `most` were not freed: these go back to where they were.
    fn shrink_batch(&mut self, group: usize, pages: &[PageId], most: u64) -> (Shrunk, u64) {
        let mut done = Shrunk::default();
        let is_locked = |page: &&PageId| self.folios.is_reading(**page);
        let (locked, pages): (Vec<PageId>, Vec<PageId>) = pages.iter().partition(is_locked);
        for page in locked {
            self.lruvecs.put_back_locked(
                &mut self.cpu,
                &mut self.zones,
                &mut self.folios,
                page,
                &mut done,
            );
        }
        for &page in &pages {
            self.folios.set_state(page, State::Unevictable);
        }
        let mut kept: Vec<PageId> = Vec::new();
        let mut left = 0;
        for (at, &page) in pages.iter().enumerate() {
            let is_stuck = self.io.is_stuck_at(self.cpu.current.entity).is_some();
            if is_stuck || done.scanned - done.reclaimed >= most {
                left = self.put_back_rest(&pages[at..]);
                break;
            }
            if self.evict_clean(page, &mut done) {
                continue;
            }
            let huge = self.objects.huge_first(page);
            match huge {
                Some(first) if kept.contains(&first) => {
                    self.lruvecs
                        .put_back(&mut self.cpu, &mut self.zones, &mut self.folios, page)
                }
                Some(first)
                    if self.objects.keeps_huge(
                        &mut self.cpu,
                        &mut self.folios,
                        &self.swap,
                        first,
                    ) =>
                {
                    kept.push(first);
                    self.lruvecs
                        .put_back(&mut self.cpu, &mut self.zones, &mut self.folios, page);
                    done.scanned += HUGE_PAGES;
                }
                _ => self.shrink_isolated(group, page, &mut done),
            }
        }
        self.zones.free_batch(&self.cpu);
        self.lruvecs.promote(
            &mut self.zones,
            &mut self.folios,
            &self.objects,
            group,
            &kept,
        );
        (done, left)
    }

    fn put_back_rest(&mut self, pages: &[PageId]) -> u64 {
        for &page in pages.iter().rev() {
            self.lruvecs
                .add_to_generation(&mut self.zones, &mut self.folios, page, Place::Next);
        }
        pages.len() as u64
    }

    pub(super) fn shrink_isolated(&mut self, group: usize, page: PageId, done: &mut Shrunk) {
        done.scanned += 1;
        if self.folios.is_mapped(page) && self.folios.take(page, Flag::Referenced) {
            return self
                .lruvecs
                .put_back(&mut self.cpu, &mut self.zones, &mut self.folios, page);
        }
        self.writeback.note_dirty(&self.folios, page, done);
        if self.folios.is_mapped(page) && self.folios.has(page, Flag::Accessed) {
            let users = self.walk().look_around(group, page);
            self.cpu.events.pgactivate += u64::from(users > 1);
            return self
                .lruvecs
                .put_back(&mut self.cpu, &mut self.zones, &mut self.folios, page);
        }
        if self
            .writeback
            .waits_for_writeback(&mut self.cpu, &mut self.folios, page)
        {
            self.cpu.events.pgactivate += 1;
            return self
                .lruvecs
                .put_back(&mut self.cpu, &mut self.zones, &mut self.folios, page);
        }
        match self.reclaim_page(page) {
            Fate::Freed => done.reclaimed += 1,
            Fate::Written => done.written += 1,
            Fate::NoSlot => {
                self.cpu.events.pgactivate += 1;
                self.lruvecs
                    .put_back(&mut self.cpu, &mut self.zones, &mut self.folios, page);
            }
        }
    }

    /// Before kswapd's pass: the priority to begin with, so that the pass comes to its goal, and
    /// whether there is anything that may be evicted (`lru_gen_age_node`). At a run's `first` pass
    /// that is asked before the goal is known, at the default priority.
    pub(crate) fn prepare_generations(&mut self, control: &mut Control, first: bool) {
        if !self.cpu.rules.lru_gen.enabled {
            return;
        }
        if self.cpu.rules.has(Mechanism::EarlyLruGen) {
            return self.age_all(control);
        }
        let asked_at = control.priority;
        self.zones.set_initial_priority(&self.swap, control);
        let priority = if first { asked_at } else { control.priority };
        let min_ttl = self.cpu.rules.lru_gen.min_ttl;
        let swaps = self.swap.eviction_swappiness(&self.cpu, control) > 0;
        let groups = 0..self.lruvecs.len();
        let mut any = groups.map(|group| {
            self.lruvecs
                .is_reclaimable(&self.cpu, group, swaps, priority)
        });
        if min_ttl > Nanos::ZERO && !any.any(|reclaimable| reclaimable) {
            self.zones.kswapd.wants_kill = true;
        }
    }

    /// 6.1: kswapd ages every group that needs it before it evicts (`lru_gen_age_node`), unless its
    /// last pass went well without; where no group may be touched, it calls the OOM killer.
    fn age_all(&mut self, control: &Control) {
        if !core::mem::replace(&mut self.zones.kswapd.ages, true) {
            return;
        }
        let min_ttl = self.cpu.rules.lru_gen.min_ttl;
        let swaps = self.swap.eviction_swappiness(&self.cpu, control) > 0;
        let mut any = false;
        for group in 0..self.lruvecs.len() {
            let generations = &self.lruvecs[group].generations;
            let budget = generations.budget(swaps);
            let old = generations.is_older_than(min_ttl, &self.cpu);
            let sizable = budget.total >> control.priority > 0 || control.priority == DEF_PRIORITY;
            if min_ttl > Nanos::ZERO && !(old && sizable) {
                continue;
            }
            any = true;
            if budget.needs_aging {
                self.walk().age_group(group, swaps);
            }
        }
        if min_ttl > Nanos::ZERO && !any {
            self.zones.kswapd.wants_kill = true;
        }
    }
}

impl Lruvecs {
    fn next_generations(
        &mut self,
        cpu: &mut Cpu,
        groups: &mut Groups,
        pass: &mut Pass,
    ) -> Option<GenerationScan> {
        let group = match pass.walk {
            Some(_) => self.next_of_walk(cpu, groups, pass)?,
            None => groups.next_group(cpu, pass)?,
        };
        self.drain_folio_batch(cpu);
        Some(GenerationScan {
            group,
            looked_at: 0,
            goal: 0,
            batch: None,
            writes: false,
            needs_aging: false,
            was_aged: false,
            files: 0,
            unqueued_dirty: 0,
        })
    }

    /// A page that is being read cannot be evicted; that readahead should go on at it is forgotten,
    /// for the mark is the bit by which reclaim tells pages that it writes (`PG_reclaim`).
    fn put_back_locked(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
        done: &mut Shrunk,
    ) {
        done.scanned += 1;
        done.locked += 1;
        if folios.kind(page) == Kind::File {
            folios.clear(page, Flag::Readahead);
        }
        self.put_back(cpu, zones, folios, page);
    }

    /// What cannot be evicted joins the youngest generation.
    fn put_back(&mut self, cpu: &mut Cpu, zones: &mut Zones, folios: &mut Folios, page: PageId) {
        cpu.spent += cpu.costs.rotate_ps;
        folios.forget_uses(page);
        self.add_to_generation(zones, folios, page, Place::Youngest);
    }

    /// Whether a group has pages to look at, and its oldest generation is old enough
    /// (`lruvec_is_reclaimable`).
    fn is_reclaimable(&self, cpu: &Cpu, group: usize, swaps: bool, priority: u32) -> bool {
        let generations = &self[group].generations;
        let is_old = generations.is_older_than(cpu.rules.lru_gen.min_ttl, cpu);
        generations.budget(swaps).total >> priority > 0 && is_old
    }
}

impl Generations {
    /// Whether the oldest generation was made longer ago.
    fn is_older_than(&self, ttl: Nanos, cpu: &Cpu) -> bool {
        cpu.clock.ticking(cpu.now()).0 > self.oldest_born(Kind::File) + ttl.0
    }
}

impl Swap {
    /// The swappiness that eviction goes by: 0 where nothing may be swapped, or swap has no room
    /// for a batch.
    pub(super) fn eviction_swappiness(&self, cpu: &Cpu, control: &Control) -> u32 {
        // 6.1 only turns a run for boosts to the page cache.
        let early = cpu.rules.has(Mechanism::EarlyLruGen) && control.target == ROOT;
        match control.may_swap {
            _ if self.free() < BATCH as u64 => 0,
            true => control.swappiness as u32,
            false => u32::from(early && control.swappiness > 0),
        }
    }
}

impl Objects {
    /// Whether a huge page stays whole: it was used, or cannot be swapped. Else it is split.
    fn keeps_huge(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        swap: &Swap,
        first: PageId,
    ) -> bool {
        if folios.take_accessed_huge(first) || !swap.can_swap() {
            return true;
        }
        folios.split_huge(cpu, self, first);
        false
    }
}

/// The kind that le9uo's floors ask for.
fn forced_kind(pass: &Pass, swappiness: u32) -> Option<Kind> {
    let floors = pass.floors;
    match swappiness {
        0 => None,
        _ if floors.clean_min => Some(Kind::Anon),
        _ if floors.anon_min => Some(Kind::File),
        _ if floors.clean_low => Some(Kind::Anon),
        _ => None,
    }
}
