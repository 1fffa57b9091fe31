//! Merged pages under pressure: reclaim, swap, control groups and locks.

use scenario::workload::Cgroup;

use super::*;
use crate::mm::filemap::state::Progress;
use crate::mm::folio::{Flag, State};
use crate::mm::ksm::share::{Entry, ShareId};
use crate::mm::mlock::Fill;
use crate::mm::swapfile::Backing;
use crate::mm::vmscan::shrink_list::{Fate, Verdict};

impl Machine {
    /// The same, with compressed swap of this many pages.
    pub(super) fn with_swap(pages: u64) -> Self {
        let mut machine = Self::new();
        let zram = Backing::Zram { ratio_milli: 2000 };
        assert!(machine.memory.swap.add(zram, pages + 1));
        machine
    }

    /// This many processes whose ten pages are the same, merged.
    fn merged(mut self, processes: usize) -> Self {
        (0..processes).for_each(|_| {
            self.process(10, &[(identical(), 100)]);
        });
        self.scan();
        self.scan();
        self
    }

    pub(super) fn read(&mut self, region: usize, page: u64) {
        let held = &mut Held::default();
        let region = &mut self.regions[region];
        let progress = self.memory.fault(region, page, false, true, held);
        assert_eq!(progress, Progress::Complete);
    }

    fn place(&self, region: usize, page: u64) -> PageId {
        self.regions[region].base + page as PageId
    }

    fn entry(&self, region: usize, page: u64) -> Entry {
        let place = self.place(region, page);
        self.memory.ksm.shares.entry(&self.memory.folios, place)
    }

    /// The merged page that a place maps.
    fn shared(&self, region: usize, page: u64) -> (ShareId, PageId) {
        match self.entry(region, page) {
            Entry::Mapped(id) => (id, self.memory.ksm.shares.get(id).page),
            other => panic!("it is {other:?}"),
        }
    }

    /// Reclaims a page that is on a list, whether it was used or not.
    pub(super) fn reclaim(&mut self, page: PageId) -> Fate {
        let memory = &mut self.memory;
        let (cpu, zones, folios) = (&memory.cpu, &mut memory.zones, &mut memory.folios);
        let lru = memory.lruvecs.take_from_list(cpu, zones, folios, page);
        let fate = memory.reclaim_page(page);
        if fate == Fate::NoSlot {
            let (cpu, zones, folios) = (&memory.cpu, &mut memory.zones, &mut memory.folios);
            memory.lruvecs.add_to_list(cpu, zones, folios, page, lru);
        }
        memory.zones.free_batch(&memory.cpu);
        fate
    }

    /// Slots in use.
    fn slots(&self) -> u64 {
        self.memory.swap.total() - self.memory.swap.free()
    }
}

#[test]
fn reclaim_unmaps_a_merged_page_from_all_that_share_it_and_takes_one_slot() {
    let mut machine = Machine::with_swap(100).merged(3);
    let (id, page) = machine.shared(1, 4);
    assert_eq!(machine.reclaim(page), Fate::Freed);
    assert_eq!(machine.slots(), 1);
    assert_eq!(machine.memory.folios.anon_pages, 9);
    (0..3).for_each(|region| assert_eq!(machine.entry(region, 4), Entry::Swapped(id)));
    let counts = machine.memory.ksm.counts;
    assert_eq!((counts.shared, counts.sharing), (10, 20), "not noticed yet");
    machine.scan();
    let counts = machine.memory.ksm.counts;
    assert_eq!((counts.shared, counts.sharing), (9, 18));
    assert_eq!(
        counts.items, 27,
        "ksmd forgets what is in swap, and leaves it there"
    );
    assert_eq!(machine.slots(), 1);
}

#[test]
fn the_first_that_reads_a_swapped_page_maps_it_and_the_others_get_copies() {
    let mut machine = Machine::with_swap(100).merged(3);
    let (_, page) = machine.shared(1, 4);
    machine.reclaim(page);
    machine.read(2, 4);
    let events = machine.memory.cpu.events;
    assert_eq!((events.pswpin, events.ksm_swpin_copy), (1, 0));
    machine.read(0, 4);
    let events = machine.memory.cpu.events;
    assert_eq!(
        (events.pswpin, events.ksm_swpin_copy),
        (1, 1),
        "it is in the swap cache"
    );
    assert_eq!(machine.memory.folios.anon_pages, 11);
    machine.write(1, 4);
    assert_eq!(machine.memory.cpu.events.ksm_swpin_copy, 2);
    assert_eq!(
        machine.memory.cpu.events.cow_ksm, 0,
        "it was merged no longer"
    );
    machine.read(2, 4);
    assert_eq!(machine.entry(2, 4), Entry::Own, "the last one owns it");
    (0..2).for_each(|_| {
        machine.scan();
    });
    assert_eq!(machine.memory.folios.anon_pages, 10, "they merge again");
}

#[test]
fn a_merged_page_that_was_not_freed_yet_is_mapped_as_it_is() {
    let mut machine = Machine::with_swap(100).merged(2);
    let (id, page) = machine.shared(0, 7);
    let memory = &mut machine.memory;
    let (cpu, zones, folios) = (&mut memory.cpu, &mut memory.zones, &mut memory.folios);
    let (groups, objects) = (&mut memory.groups, &mut memory.objects);
    assert!(
        memory
            .swap
            .add_to_swap(cpu, zones, folios, groups, objects, page)
    );
    memory.ksm.shares.unmap_all(page);
    memory.folios.unmap(page);
    machine.read(1, 7);
    machine.write(0, 7);
    let events = machine.memory.cpu.events;
    assert_eq!(
        (events.ksm_swpin_copy, events.cow_ksm, events.pswpin),
        (0, 1, 0)
    );
    assert_eq!(machine.entry(1, 7), Entry::Mapped(id));
    assert_eq!(machine.memory.ksm.counts.shared, 10);
}

#[test]
fn a_merged_page_that_two_processes_used_is_activated_at_the_first_look() {
    let mut machine = Machine::with_swap(100).merged(2);
    let verdict = |machine: &mut Machine| {
        let (_, page) = machine.shared(0, 3);
        let memory = &mut machine.memory;
        let shares = &memory.ksm.shares;
        memory
            .folios
            .check_references(&memory.objects, &memory.rmap, shares, page)
    };
    verdict(&mut machine);
    verdict(&mut machine);
    assert_eq!(verdict(&mut machine), Verdict::Reclaim);
    machine.read(0, 3);
    assert_eq!(verdict(&mut machine), Verdict::Keep);
    verdict(&mut machine);
    machine.read(0, 3);
    machine.read(1, 3);
    assert_eq!(verdict(&mut machine), Verdict::Activate);
}

#[test]
fn a_slot_is_free_once_nobody_needs_it() {
    let mut machine = Machine::with_swap(100).merged(3);
    for page in 0..10 {
        let (_, page) = machine.shared(0, page);
        machine.reclaim(page);
    }
    assert_eq!((machine.slots(), machine.memory.folios.anon_pages), (10, 0));
    machine.end_first();
    machine.end_first();
    assert_eq!(machine.slots(), 10, "the third has them still");
    machine.read(0, 0);
    assert_eq!(machine.slots(), 9, "zram takes no more of what is back");
    machine.end_first();
    assert_eq!((machine.slots(), machine.memory.folios.anon_pages), (0, 0));
}

#[test]
fn a_page_that_is_merged_keeps_its_place_on_its_list() {
    let mut machine = Machine::with_swap(100);
    machine.process(10, &[(identical(), 100)]);
    machine.process(10, &[(identical(), 100)]);
    machine.process(10, &[(Content::Unique, 100)]);
    machine.scan();
    machine.scan();
    let list = &machine.memory.lruvecs[ROOT].lists[crate::mm::lru::Lru::InactiveAnon as usize];
    let mut at = list.tail();
    let mut order = Vec::new();
    while let Some(page) = at {
        order.push(machine.memory.ksm.shares.of(page).is_some());
        at = machine.memory.folios.previous(page);
    }
    let merged = order.iter().take(10).all(|&is_shared| is_shared);
    assert!(
        merged && order.len() == 20,
        "the merged ones are the older ones: {order:?}"
    );
}

#[test]
fn a_merged_page_is_its_groups_and_a_copy_the_writers() {
    let mut machine = Machine::with_swap(100);
    let group = |path: &str| Cgroup {
        path: path.into(),
        files: Vec::new(),
    };
    let groups = [group("a"), group("b")];
    machine.memory.set_groups(&groups).expect("they are groups");
    let held = |machine: &Machine| {
        let folios = &machine.memory.folios;
        let of = |group| {
            let resident = (0..folios.len() as PageId).filter(|&page| folios.is_resident(page));
            resident.filter(|&page| folios.group(page) == group).count()
        };
        machine.memory.groups.check();
        [of(1), of(2)]
    };
    for group in [1, 2] {
        machine.memory.cpu.current.group = group;
        machine.process(10, &[(identical(), 100)]);
    }
    assert_eq!(held(&machine), [10, 10]);
    machine.memory.cpu.current.group = ROOT;
    machine.scan();
    machine.scan();
    assert_eq!(
        held(&machine),
        [0, 10],
        "the page of the process scanned last was kept"
    );
    machine.memory.cpu.current.group = 1;
    machine.write(0, 5);
    assert_eq!(held(&machine), [1, 10]);
    let (_, page) = machine.shared(0, 2);
    machine.reclaim(page);
    assert_eq!(held(&machine), [1, 9]);
    assert_eq!(machine.memory.groups.get(2).swap.usage, 1);
    machine.read(0, 2);
    assert_eq!(
        held(&machine),
        [1, 10],
        "what was swapped out is charged as it was"
    );
    machine.memory.cpu.current.group = 2;
    machine.read(1, 2);
    assert_eq!(held(&machine), [1, 11], "and a copy to its process's group");
    assert_eq!(machine.memory.groups.get(1).swap.usage, 0);
}

#[test]
fn unmerging_charges_the_copies_to_the_processes_groups() {
    let mut machine = Machine::with_swap(100);
    let cgroup = Cgroup {
        path: "a".into(),
        files: Vec::new(),
    };
    machine.memory.set_groups(&[cgroup]).expect("it is a group");
    machine.process(10, &[(identical(), 100)]);
    machine.process(10, &[(identical(), 100)]);
    machine.scan();
    machine.scan();
    machine.memory.cpu.current.group = 1;
    assert_eq!(machine.memory.write_ksm("ksm.run", "2"), Ok(()));
    assert_eq!(machine.memory.groups.get(1).memory.usage, 0);
    assert_eq!(machine.memory.cpu.current.group, 1);
}

#[test]
fn a_merged_page_stays_locked_as_long_as_a_locked_region_maps_it() {
    let mut machine = Machine::with_swap(100);
    let contents = [(identical(), 100)];
    machine.process(10, &contents).process(10, &contents);
    let mut region = machine.regions.remove(0);
    let held = &mut Held::default();
    let lock = |machine: &mut Machine, region: &mut Region, held: &mut Held| {
        machine.memory.fill_region(region, held, Fill::Lock)
    };
    assert_eq!(lock(&mut machine, &mut region, held), Progress::Complete);
    machine.regions.insert(0, region.clone());
    machine.scan();
    assert_eq!(machine.scan(), [10, 10, 0, 0], "ksmd merges locked pages");
    assert_eq!(machine.memory.zones.unevictable(), 10);
    let (_, page) = machine.shared(0, 6);
    assert_eq!(machine.memory.folios.state(page), State::Unevictable);
    assert_eq!(lock(&mut machine, &mut region, held), Progress::Complete);
    assert_eq!(
        machine.memory.zones.unevictable(),
        10,
        "they are locked already"
    );
    machine.write(0, 6);
    let own = machine.place(0, 6);
    assert_eq!(machine.memory.folios.state(own), State::Unevictable);
    assert!(matches!(
        machine.memory.folios.state(page),
        State::Inactive | State::Active
    ));
    machine.end_first();
    assert_eq!(machine.memory.zones.unevictable(), 0);
    assert_eq!(machine.reclaim(page), Fate::Freed);
    machine.check();
}

#[test]
fn locking_a_region_gives_it_copies_of_what_it_shares() {
    let mut machine = Machine::with_swap(100).merged(2);
    let (_, page) = machine.shared(0, 1);
    machine.reclaim(page);
    let mut region = machine.regions.remove(1);
    let held = &mut Held::default();
    let progress = machine.memory.fill_region(&mut region, held, Fill::Lock);
    machine.regions.insert(1, region);
    assert_eq!(progress, Progress::Complete);
    assert_eq!(machine.memory.zones.unevictable(), 10);
    assert_eq!(machine.memory.cpu.events.cow_ksm, 9);
    machine.check();
}

/// Whatever is merged, used, reclaimed and unmerged in whatever order, every entry is counted at
/// the page or slot that it leads to, and nothing is lost.
#[test]
fn entries_lead_to_pages_and_slots_after_any_steps() {
    for seed in 0..60 {
        let mut prng = mm::prng::Prng::new(seed);
        let mut machine = Machine::with_swap(400);
        machine.memory.ksm.settings.max_page_sharing = 3;
        machine.memory.cpu.rules.lru_gen.enabled = seed % 2 == 0;
        for step in 0..150 {
            machine.memory.cpu.began = Nanos(step * 300_000_000);
            match prng.next_u64() % 3 {
                0 => machine.reclaim_some(&mut prng),
                1 => machine.read_some(&mut prng),
                _ => machine.step_at_random(&mut prng),
            }
            machine.check();
        }
        while !machine.regions.is_empty() {
            machine.end_first();
        }
        machine.reclaim_all();
        assert_eq!((machine.slots(), machine.memory.folios.anon_pages), (0, 0));
    }
}

impl Machine {
    fn on_lists(&self) -> Vec<PageId> {
        let folios = &self.memory.folios;
        let listed = |page: &PageId| matches!(folios.state(*page), State::Inactive | State::Active);
        (0..folios.len() as PageId).filter(listed).collect()
    }

    fn reclaim_some(&mut self, prng: &mut mm::prng::Prng) {
        for page in self.on_lists() {
            if prng.next_u64().is_multiple_of(6) {
                self.reclaim(page);
            }
        }
    }

    fn reclaim_all(&mut self) {
        for page in self.on_lists() {
            self.reclaim(page);
        }
    }

    fn read_some(&mut self, prng: &mut mm::prng::Prng) {
        for index in 0..self.regions.len() {
            for _ in 0..8 {
                let page = prng.next_u64() % self.regions[index].pages();
                self.read(index, page);
            }
        }
    }

    /// Entries are counted where they lead to, and each slot in use has one page.
    pub(super) fn check_entries(&self) {
        let (folios, shares) = (&self.memory.folios, &self.memory.ksm.shares);
        shares.check(folios);
        let regions = self.regions.iter();
        let places = regions.flat_map(|region| region.base..region.base + region.pages() as PageId);
        let mut counts = alloc::collections::BTreeMap::<ShareId, [u32; 2]>::new();
        for place in places {
            match shares.entry(folios, place) {
                Entry::Mapped(id) => counts.entry(id).or_default()[0] += 1,
                Entry::Swapped(id) => counts.entry(id).or_default()[1] += 1,
                Entry::Own | Entry::Zero => {}
            }
        }
        let (mut mapped, mut swapped) = (0, 0);
        for (id, counted) in counts {
            let share = shares.get(id);
            assert_eq!(counted, [share.mapped, share.swapped], "{share:?}");
            mapped += counted[0];
            swapped += counted[1];
        }
        assert_eq!(shares.entries(), [mapped, swapped], "no others are counted");
        let has_slot = |page: &PageId| match folios.state(*page) {
            State::Swapped => true,
            _ => folios.is_resident(*page) && folios.has(*page, Flag::Swapcache),
        };
        let with_slot = (0..folios.len() as PageId).filter(has_slot).count();
        assert_eq!(self.slots(), with_slot as u64, "slots in use");
    }
}
