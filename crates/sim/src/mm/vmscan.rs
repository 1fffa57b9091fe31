//! Reclaim with the classic lists (`mm/vmscan.c`): which lists are scanned, how far, and when it is
//! enough. What becomes of a page is in [`crate::mm::vmscan::shrink_list`].

pub(crate) mod kswapd;
pub(crate) mod lru_gen;
pub(crate) mod scan_control;
pub(crate) mod shrink_list;
pub(crate) mod state;

use mm::formula::inactive::inactive_is_low;
use mm::formula::scan_balance::{Balance, Both, Inputs, Reason};
use mm::rules::Mechanism;
use mm::units::{PageSize, Pages};

use crate::mm::lru::Kind;
use crate::mm::lru::Lru;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::lruvec::state::ROOT;
use crate::mm::memcontrol::state::Groups;
use crate::mm::memcontrol::{self, Standing};
use crate::mm::page_alloc::zone::Mark;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_io::state::PageIo;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
pub(crate) use crate::mm::vmscan::scan_control::{Control, Reclaimer};
use crate::mm::vmscan::state::{BATCH, Broken, Met, Pass, Progress, Scan};
use crate::sched::cpu::Cpu;

/// A pass is not over before all its writes are on their way.
pub(crate) fn done_unless_stuck(memory: &mut Memory) -> Progress {
    match memory.io.retry(&mut memory.cpu, &memory.folios) {
        None => Progress::Done,
        stuck => memory.wait_if_stuck(stuck),
    }
}

impl Memory {
    /// Begins a pass; one over the whole node asks every shrinker, whatever there is to reclaim.
    pub(crate) fn begin_pass(&mut self, control: Control) -> Pass {
        if control.target == ROOT {
            let disks = self.io.disks.len() as u64;
            self.cpu.spent += self.cpu.costs.pass_ps + disks * self.cpu.costs.pass_disk_ps;
        }
        Pass {
            control,
            inputs: self
                .lruvecs
                .inputs(&self.cpu, &self.zones, &self.groups, &self.swap, &control),
            floors: self.zones.broken_floors(&self.cpu),
            next: 0,
            walk: (control.target == ROOT && self.cpu.rules.has_memcg_lru())
                .then(|| self.lruvecs.memcg_lru.walk()),
            scan: None,
            generations: None,
            met: Met::default(),
            scanned: 0,
            reclaimed: 0,
        }
    }

    /// Scans the next batch of the pass.
    pub(crate) fn pass_step(&mut self, pass: &mut Pass) -> Progress {
        if self.cpu.rules.lru_gen.enabled {
            return self.generations_step(pass);
        }
        let Some(mut scan) = pass.scan.take().or_else(|| {
            let (lruvecs, groups) = (&mut self.lruvecs, &mut self.groups);
            lruvecs.next_scan(&mut self.cpu, &self.zones, groups, &self.swap, pass)
        }) else {
            return done_unless_stuck(self);
        };
        let mut stuck = self.io.retry(&mut self.cpu, &self.folios);
        let mut goes_on = true;
        if stuck.is_none() {
            self.cpu.current.reclaiming = pass.control.target;
            goes_on = self.scan_batch(pass, &mut scan);
            stuck = self.io.is_stuck_at(self.cpu.current.entity);
        }
        match goes_on {
            true => pass.scan = Some(scan),
            false => self.end_scan(pass, &scan),
        }
        self.wait_if_stuck(stuck)
    }

    /// A reclaimer that sleeps holds nothing back (`sched_submit_work`).
    pub(crate) fn wait_if_stuck(&mut self, stuck: Option<usize>) -> Progress {
        let Some(disk) = stuck else {
            return Progress::More;
        };
        self.io.unplug(&mut self.cpu, &self.folios);
        Progress::Congested { disk }
    }

    /// Lets old active anonymous pages go to the inactive list while that is short, so that their
    /// use is noticed (`kswapd_age_node`, and the end of `shrink_lruvec`).
    pub(crate) fn age_active_anon(&mut self, group: usize, control: &Control) {
        if self.cpu.rules.lru_gen.enabled {
            return;
        }
        if self.swap.total() > 0
            && self
                .lruvecs
                .is_inactive_low(&self.cpu, &self.zones, group, Kind::Anon)
        {
            self.shrink_active(group, Lru::ActiveAnon, BATCH, control.highest);
        }
    }

    /// Scans the next batch of a group's lists; false when its scan is over.
    fn scan_batch(&mut self, pass: &mut Pass, scan: &mut Scan) -> bool {
        if scan.next == Lru::ALL.len() {
            scan.next = 0;
            let stops = pass.control.reclaimer == Reclaimer::Direct
                || self.cpu.rules.has(Mechanism::KswapdStopsAtGoal);
            if stops && scan.reclaimed >= pass.control.goal {
                scan.trim();
            }
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
        self.lruvecs.drain_folio_batch(&mut self.cpu);
        self.cpu.spent += self.cpu.small_batch_ps(pages);
        let kind = if scan.next <= 2 {
            Kind::Anon
        } else {
            Kind::File
        };
        if !lru.is_active() {
            let done = self.shrink_inactive(&pass.control, scan.group, kind, pages);
            if self.io.is_stuck_at(self.cpu.current.entity).is_some() {
                scan.left[lru as usize] += pages.saturating_sub(done.scanned);
                scan.next -= 1;
            }
            pass.met.add(done);
            scan.scanned += done.weighed();
            scan.reclaimed += done.reclaimed;
        } else if pass.may_deactivate(kind) {
            self.shrink_active(scan.group, lru, pages, pass.control.highest);
        } else {
            pass.control.skipped_deactivate = true;
        }
        true
    }

    fn end_scan(&mut self, pass: &mut Pass, scan: &Scan) {
        self.age_active_anon(scan.group, &pass.control);
        self.io.unplug(&mut self.cpu, &self.folios);
        self.shrink_shadow_nodes(scan.group, pass.control.priority);
        pass.scanned += scan.scanned;
        pass.reclaimed += scan.reclaimed;
    }
}

impl Lruvecs {
    /// Remembers how many refaults were activated, for the next reclaim (`snapshot_refaults`).
    pub(crate) fn snapshot_refaults(&mut self, cpu: &Cpu, target: usize) {
        self[target].refaults_seen = self.known_refaults(cpu, target);
    }

    fn is_inactive_low(&self, cpu: &Cpu, zones: &Zones, group: usize, kind: Kind) -> bool {
        let inactive = cpu.real(self.known_list(cpu, zones, group, kind.inactive()));
        let active = cpu.real(self.known_list(cpu, zones, group, kind.active()));
        inactive_is_low(inactive, active, PageSize::FOUR_KIB)
    }

    /// What decides the balance of a pass (`prepare_scan_control`).
    fn inputs(
        &self,
        cpu: &Cpu,
        zones: &Zones,
        groups: &Groups,
        swap: &Swap,
        control: &Control,
    ) -> Inputs {
        let target = control.target;
        let lruvec = &self[target];
        let refaults = self.known_refaults(cpu, target);
        let may = |kind: Kind| {
            let index = kind as usize;
            control.force_deactivate
                || lruvec.refaults_seen[index] != refaults[index]
                || self.is_inactive_low(cpu, zones, target, kind)
        };
        let anon = cpu.real(self.list_below(cpu, zones, target, Lru::InactiveAnon));
        let file = cpu.real(self.known_list(cpu, zones, target, Lru::InactiveFile));
        let kept = match target {
            ROOT => zones.kept_blocks(Lru::InactiveFile),
            _ => 0,
        };
        Inputs {
            priority: control.priority,
            swappiness: control.swappiness,
            can_swap: control.may_swap && groups.can_swap_in(swap, target),
            global: target == ROOT,
            inactive: Both {
                anon,
                file: Pages(file.0 + kept),
            },
            node_file: cpu.real(zones.list(Lru::InactiveFile) + zones.list(Lru::ActiveFile)),
            free: cpu.real(zones.free_pages()),
            high_watermarks: cpu.real(zones.iter().map(|zone| zone.mark(Mark::High)).sum()),
            may_deactivate: Both {
                anon: may(Kind::Anon),
                file: may(Kind::File),
            },
            no_cache_trim: control.no_cache_trim
                || !cpu.rules.has(Mechanism::SparesAnonBesideCache),
            costs: lruvec.cost,
        }
    }

    /// The scan of the pass's next group.
    fn next_scan(
        &mut self,
        cpu: &mut Cpu,
        zones: &Zones,
        groups: &mut Groups,
        swap: &Swap,
        pass: &mut Pass,
    ) -> Option<Scan> {
        let group = groups.next_group(cpu, pass)?;
        Some(self.begin_scan(cpu, zones, groups, swap, pass, group))
    }

    /// How far each of a group's lists is scanned (`get_scan_count`).
    fn begin_scan(
        &mut self,
        cpu: &Cpu,
        zones: &Zones,
        groups: &Groups,
        swap: &Swap,
        pass: &mut Pass,
        group: usize,
    ) -> Scan {
        let mut balance = groups.balance(swap, pass, group);
        if matches!(balance, Balance::Fractions(_)) && !cpu.rules.has(Mechanism::WeighsByCost) {
            balance = self.balance_by_use(cpu, group, &pass.control);
        }
        let control = &mut pass.control;
        control.low_skipped |= !control.low_too && groups.is_kept_by_low(control.target, group);
        let mut left = [0; 4];
        for lru in Lru::ALL {
            let is_file = matches!(lru, Lru::InactiveFile | Lru::ActiveFile);
            let size = self.eligible(zones, group, lru, control.highest);
            let open = groups.open_to_scan(control.target, group, size, control.low_too);
            let due = Pages(open >> control.priority);
            let spared = match is_file {
                true => pass.floors.clean_min,
                false => pass.floors.anon_min,
            };
            if !spared {
                left[lru as usize] = balance.share(is_file, due).0;
            }
        }
        Scan {
            group,
            left,
            targets: left,
            untrimmable: control.reclaimer == Reclaimer::Direct
                && control.target == ROOT
                && control.priority == DEF_PRIORITY,
            next: 0,
            scanned: 0,
            reclaimed: 0,
        }
    }

    /// Both kinds by how few of their pages are in use, but at priority 0 all of both
    /// (`get_scan_ratio`).
    fn balance_by_use(&mut self, cpu: &Cpu, group: usize, control: &Control) -> Balance {
        let spares_at_zero = cpu.rules.has(Mechanism::SparesAnonAtZero);
        if control.priority == 0 && !(spares_at_zero && control.swappiness == 0) {
            return Balance::Equal;
        }
        let lruvec = &mut self[group];
        let size = |kind: Kind| {
            let of = |lru: Lru| lruvec.lists[lru as usize].len();
            Pages(of(kind.inactive()) + of(kind.active()))
        };
        let lists = Both {
            anon: size(Kind::Anon),
            file: size(Kind::File),
        };
        lruvec.recent.fade(lists);
        Balance::Fractions(lruvec.recent.fractions(control.swappiness, spares_at_zero))
    }

    /// Pages of a list that lie in the zones up to `highest`. How many of a zone's pages are which
    /// group's is not known: where there are groups, the list is the bound.
    fn eligible(&self, zones: &Zones, group: usize, lru: Lru, highest: usize) -> u64 {
        let size = self[group].lists[lru as usize].len();
        match (highest < zones.len()).then(|| &zones[..=highest]) {
            Some(zones) => size.min(zones.iter().map(|zone| zone.lru[lru as usize]).sum()),
            None => size,
        }
    }

    /// Charges a kind with what reclaiming it cost, in the group and all above it
    /// (`lru_note_cost`).
    pub(crate) fn note_cost(
        &mut self,
        cpu: &Cpu,
        zones: &Zones,
        group: usize,
        kind: Kind,
        written: u64,
        in_vain: u64,
    ) {
        let mut at = Some(group);
        while let Some(group) = at {
            let size = Lru::ALL
                .map(|lru| self.known_list(cpu, zones, group, lru))
                .iter()
                .sum();
            let is_file = kind == Kind::File;
            let lruvec = &mut self[group];
            let cost = &mut lruvec.cost;
            match cpu.rules.has(Mechanism::CountsRotations) {
                true => cost.note(is_file, written, in_vain, Pages(size)),
                false => cost.add(is_file, written, Pages(size)),
            }
            at = lruvec.parent;
        }
    }
}

impl Zones {
    /// The disk to wait for where reclaim got nothing because at least half of what it could have
    /// is on its way to swap (`reclaim_throttle`).
    pub(crate) fn waits_for_writes(&self, swap: &Swap, io: &PageIo) -> Option<usize> {
        let listed: u64 = Lru::ALL.map(|lru| self.list(lru)).iter().sum();
        io.writing_disk()
            .filter(|_| 2 * swap.writing > listed + swap.writing)
    }

    /// le9uo's floors against the node's pages.
    fn broken_floors(&self, cpu: &Cpu) -> Broken {
        let floors = cpu.rules.floors;
        let total: u64 = self.iter().map(|zone| zone.managed).sum();
        let below = |pages: u64, percent: u64| percent > 0 && pages < total * percent / 100;
        let anon = self.list(Lru::InactiveAnon) + self.list(Lru::ActiveAnon);
        let clean = self.list(Lru::InactiveFile) + self.list(Lru::ActiveFile);
        Broken {
            anon_min: below(anon, floors.anon_min),
            clean_low: below(clean, floors.clean_low),
            clean_min: below(clean, floors.clean_min),
        }
    }
}

impl Swap {
    /// Whether anonymous pages can go anywhere.
    pub(crate) fn can_swap(&self) -> bool {
        self.free() > 0
    }
}

impl Groups {
    /// Whether anonymous pages of a group can go anywhere.
    pub(crate) fn can_swap_in(&self, swap: &Swap, group: usize) -> bool {
        self.swap_left(group, swap.free()) > 0
    }

    /// The next group that is not protected.
    pub(crate) fn next_group(&mut self, cpu: &mut Cpu, pass: &mut Pass) -> Option<usize> {
        let target = pass.control.target;
        loop {
            let group = *self.subtree(target).get(pass.next)?;
            pass.next += 1;
            self.calculate_protection(target, group);
            match self.standing(target, group) {
                Standing::BelowMin => continue,
                Standing::BelowLow if !pass.control.low_too => {
                    pass.control.low_skipped = true;
                    continue;
                }
                Standing::BelowLow => self.count(group, memcontrol::Event::Low),
                Standing::Bare => {}
            }
            cpu.pay_for_visit(group);
            return Some(group);
        }
    }

    /// Broken floors of the page cache turn to anonymous memory what would go by costs or trim the
    /// cache (le9uo's change to `get_scan_count`).
    fn balance(&self, swap: &Swap, pass: &Pass, group: usize) -> Balance {
        let inputs = Inputs {
            can_swap: pass.control.may_swap && self.can_swap_in(swap, group),
            ..pass.inputs
        };
        let by_choice = matches!(inputs.reason(), Reason::CacheTrim | Reason::Costs);
        match by_choice && (pass.floors.clean_low || pass.floors.clean_min) {
            true => Balance::Anon,
            false => inputs.balance(),
        }
    }
}

impl Cpu {
    /// What a visit to a group takes beyond its pages, in picoseconds: a third of a pass over the
    /// node, the rest of which is its shrinkers. So it is in traces of 6.1 and 6.12.
    fn visit_ps(&self) -> u64 {
        self.costs.pass_ps / 3
    }

    /// Pays for a visit to a group; that to the root is part of the pass.
    pub(crate) fn pay_for_visit(&mut self, group: usize) {
        self.spent += if group == ROOT { 0 } else { self.visit_ps() };
    }

    /// What a batch that is not full takes beyond its pages, in picoseconds: a page's cost is
    /// measured where all batches are full. The same traces show as much as a visit takes where one
    /// page makes a batch.
    fn small_batch_ps(&self, pages: u64) -> u64 {
        self.visit_ps() * (BATCH - pages) / BATCH
    }
}

#[cfg(test)]
mod tests;
