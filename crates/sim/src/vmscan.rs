//! Reclaim with the classic two lists (`mm/vmscan.c`), without swap: only the page cache is
//! scanned.

use mm::formula::inactive::inactive_is_low;
use mm::units::{PageSize, Pages};

use crate::folio::{Flag, PageId, State};
use crate::lru::Lru;
use crate::memory::Memory;

/// Pages handled at a time (`SWAP_CLUSTER_MAX`).
pub(crate) const BATCH: u64 = 32;

/// The priority at which a scan begins (`DEF_PRIORITY`): a 4096th of each list.
pub(crate) const DEF_PRIORITY: u32 = 12;

/// Who reclaims: it decides the counters and how a scan ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reclaimer {
    Kswapd,
    Direct,
}

/// One pass over the lists at one priority (`shrink_lruvec`).
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    reclaimer: Reclaimer,
    goal: u64,
    /// Pages left to scan on each list, and how many it was at first.
    left: [u64; 4],
    targets: [u64; 4],
    may_deactivate: bool,
    /// The scan of a reached goal has been trimmed already, or must not be.
    untrimmable: bool,
    /// The next list of the round.
    next: usize,
    pub(crate) scanned: u64,
    pub(crate) reclaimed: u64,
}

impl Memory {
    /// Begins a pass at `priority` that wants `goal` pages.
    pub(crate) fn begin_scan(&self, reclaimer: Reclaimer, priority: u32, goal: u64) -> Scan {
        let mut left = [0; 4];
        for lru in [Lru::InactiveFile, Lru::ActiveFile] {
            left[lru as usize] = self.list(lru) >> priority;
        }
        Scan {
            reclaimer,
            goal,
            left,
            targets: left,
            may_deactivate: self.may_deactivate_file(),
            untrimmable: reclaimer == Reclaimer::Direct && priority == DEF_PRIORITY,
            next: 0,
            scanned: 0,
            reclaimed: 0,
        }
    }

    /// Scans the next batch of the pass; false when the pass is over.
    pub(crate) fn scan_batch(&mut self, scan: &mut Scan) -> bool {
        if scan.next == Lru::ALL.len() {
            scan.next = 0;
            scan.trim_when_done();
        }
        if scan.next == 0 && !scan.has_work() {
            return false;
        }
        let lru = Lru::ALL[scan.next];
        scan.next += 1;
        let pages = scan.left[lru as usize].min(BATCH);
        if pages == 0 {
            return true;
        }
        scan.left[lru as usize] -= pages;
        if !lru.is_active() {
            self.shrink_inactive(scan, pages);
        } else if scan.may_deactivate {
            self.shrink_active(pages);
        }
        true
    }

    /// Reclaims 32 pages for the task that needs one (`try_to_free_pages`); returns how many it
    /// got.
    pub(crate) fn reclaim_directly(&mut self) -> u64 {
        let mut reclaimed = 0;
        for priority in (0..=DEF_PRIORITY).rev() {
            let mut scan = self.begin_scan(Reclaimer::Direct, priority, BATCH);
            while self.scan_batch(&mut scan) {}
            reclaimed += scan.reclaimed;
            if reclaimed >= BATCH {
                break;
            }
        }
        self.refaults_seen = self.events.workingset_activate_file;
        if reclaimed > 0 {
            self.forgive_kswapd();
        }
        reclaimed
    }

    /// Whether active pages may be deactivated: the inactive list is short, or refaults were
    /// activated since reclaim last looked, so the active list competes with a new working set.
    fn may_deactivate_file(&self) -> bool {
        self.refaults_seen != self.events.workingset_activate_file || self.is_inactive_file_low()
    }

    fn is_inactive_file_low(&self) -> bool {
        let (inactive, active) = (self.list(Lru::InactiveFile), self.list(Lru::ActiveFile));
        inactive_is_low(Pages(inactive), Pages(active), PageSize::FOUR_KIB)
    }

    /// Reclaims clean, unmapped pages from the tail of the inactive file list.
    fn shrink_inactive(&mut self, scan: &mut Scan, pages: u64) {
        let mut done = 0;
        while done < pages {
            let Some(page) = self.lists[Lru::InactiveFile as usize].tail() else {
                break;
            };
            self.take_from_list(page, Lru::InactiveFile);
            self.evict_file(page);
            done += 1;
        }
        scan.scanned += done;
        scan.reclaimed += done;
        self.count_reclaim(scan.reclaimer, done, done);
        self.spent += done * self.costs.reclaim_file_ps;
    }

    fn count_reclaim(&mut self, reclaimer: Reclaimer, scanned: u64, stolen: u64) {
        let events = &mut self.events;
        let (scan, steal) = match reclaimer {
            Reclaimer::Kswapd => (&mut events.pgscan_kswapd, &mut events.pgsteal_kswapd),
            Reclaimer::Direct => (&mut events.pgscan_direct, &mut events.pgsteal_direct),
        };
        *scan += scanned;
        *steal += stolen;
        events.pgscan_file += scanned;
        events.pgsteal_file += stolen;
    }

    /// Moves pages from the tail of the active file list to the head of the inactive one; pages
    /// used through `read()` are moved whether referenced or not.
    fn shrink_active(&mut self, pages: u64) {
        let mut done = 0;
        while done < pages {
            let Some(page) = self.lists[Lru::ActiveFile as usize].tail() else {
                break;
            };
            self.deactivate(page);
            done += 1;
        }
        self.events.pgrefill += done;
        self.events.pgdeactivate += done;
        self.spent += done * self.costs.deactivate_ps;
    }

    fn deactivate(&mut self, page: PageId) {
        debug_assert_eq!(
            self.folios.state(page),
            State::Active,
            "it is on the active list"
        );
        self.take_from_list(page, Lru::ActiveFile);
        self.folios.set(page, Flag::Workingset);
        self.add_to_list(page, Lru::InactiveFile);
    }
}

impl Scan {
    /// The pass goes on while any list but the active anonymous one has pages to scan.
    fn has_work(&self) -> bool {
        self.left[Lru::InactiveAnon as usize] > 0
            || self.left[Lru::InactiveFile as usize] > 0
            || self.left[Lru::ActiveFile as usize] > 0
    }

    /// Once the goal is met, the smaller of the two types is dropped and the larger trimmed in
    /// proportion (the change of Linux 3.11). With one type only, the pass ends.
    fn trim_when_done(&mut self) {
        if self.reclaimed < self.goal || self.untrimmable {
            return;
        }
        let anon = self.left[Lru::InactiveAnon as usize] + self.left[Lru::ActiveAnon as usize];
        let file = self.left[Lru::InactiveFile as usize] + self.left[Lru::ActiveFile as usize];
        if anon == 0 || file == 0 {
            self.left = [0; 4];
            return;
        }
        let (small, large) = if file > anon { (0, 2) } else { (2, 0) };
        let target = self.targets[small] + self.targets[small + 1] + 1;
        let percent = anon.min(file) * 100 / target;
        for lru in [small, small + 1] {
            self.left[lru] = 0;
        }
        for lru in [large, large + 1] {
            let done = self.targets[lru] - self.left[lru];
            let wanted = self.targets[lru] * (100 - percent) / 100;
            self.left[lru] = wanted.saturating_sub(done);
        }
        self.untrimmable = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(memory: &mut Memory, priority: u32, goal: u64) -> Scan {
        let mut scan = memory.begin_scan(Reclaimer::Kswapd, priority, goal);
        while memory.scan_batch(&mut scan) {}
        scan
    }

    #[test]
    fn active_pages_are_deactivated_only_while_the_inactive_list_is_low() {
        let mut enough = Memory::with_cache(20_000, 10, 4096, 4096);
        pass(&mut enough, 2, 10_000);
        assert_eq!(enough.events.pgdeactivate, 0);
        assert_eq!(enough.events.pgsteal_kswapd, 1024, "a quarter of the list");
        let mut low = Memory::with_cache(20_000, 10, 4096, 8192);
        pass(&mut low, 2, 10_000);
        assert_eq!(low.events.pgdeactivate, 2048);
        assert_eq!(low.list(Lru::InactiveFile), 4096 - 1024 + 2048);
    }

    #[test]
    fn an_activated_refault_lets_active_pages_be_deactivated() {
        let mut memory = Memory::with_cache(20_000, 10, 4096, 4096);
        memory.events.workingset_activate_file += 1;
        pass(&mut memory, 2, 10_000);
        assert_eq!(memory.events.pgdeactivate, 1024);
    }

    #[test]
    fn a_pass_ends_with_the_round_that_meets_its_goal() {
        let mut memory = Memory::with_cache(20_000, 10, 8192, 0);
        assert_eq!(pass(&mut memory, 0, 100).reclaimed, 128);
    }

    #[test]
    fn of_two_types_the_smaller_is_dropped_and_the_larger_trimmed_in_proportion() {
        let mut scan = Memory::with_zone(100, 1).begin_scan(Reclaimer::Kswapd, 12, 0);
        scan.targets = [199, 0, 1000, 0];
        scan.left = [100, 0, 900, 0];
        scan.trim_when_done();
        assert_eq!(scan.left, [0, 0, 400, 0], "half of both is scanned");
    }

    #[test]
    fn direct_reclaim_scans_larger_shares_until_it_has_a_batch() {
        let mut memory = Memory::with_cache(20_000, 10, 8192, 0);
        // A 4096th of the list, a 2048th of what is left, …: four passes come to 27.
        assert_eq!(memory.reclaim_directly(), 2 + 3 + 7 + 15 + 31);
        assert_eq!(memory.events.pgsteal_direct, 58);
        assert_eq!(Memory::with_zone(100, 1).reclaim_directly(), 0);
    }
}
