//! ksmd on pages of known content, pass by pass.

use mm::units::Bytes;
use mm::workload::{Content, ContentShare, Huge, Map};

use super::*;
use crate::fault::Held;
use crate::memcontrol::ROOT;
use crate::tunables::Tunables;

/// A memory, and the regions of processes in it.
struct Machine {
    memory: Memory,
    regions: Vec<Region>,
}

impl Machine {
    fn new() -> Self {
        let mut memory = Memory::with_zone(100_000, 100);
        memory.ksm.settings.run = Run::Merge;
        Self {
            memory,
            regions: Vec::new(),
        }
    }

    /// Another process with so many pages that hold this, all touched.
    fn process(&mut self, pages: u64, contents: &[(Content, u8)]) -> &mut Self {
        self.process_of(Huge::Never, pages, contents)
    }

    fn process_of(&mut self, huge: Huge, pages: u64, contents: &[(Content, u8)]) -> &mut Self {
        let contents = contents.iter().cloned();
        let contents = contents.map(|(content, percent)| ContentShare { content, percent });
        let size = Bytes(pages * 4096);
        let map = Map {
            region: "ram".into(),
            size: size.into(),
            huge,
            mergeable: true,
            contents: contents.collect(),
        };
        let base = self.memory.take_range(pages).expect("there is room");
        let mut region = Region::new(base, size, huge, ROOT);
        let name = alloc::format!("guest.{}", self.regions.len());
        region.contents = Contents::new(&map, &name, pages);
        self.memory.make_mergeable(self.regions.len(), &region);
        self.regions.push(region);
        (0..pages).for_each(|page| self.write(self.regions.len() - 1, page));
        self
    }

    /// Free pages, those on per-CPU lists included.
    fn free(&self) -> u64 {
        let zones = self.memory.zones.iter();
        zones.map(|zone| zone.free + zone.pcp.count()).sum()
    }

    fn write(&mut self, region: usize, page: u64) {
        let mut boot = mm::capture::Frame::default();
        let path = "sys/kernel/mm/transparent_hugepage/enabled".into();
        boot.files.insert(path, "always [madvise] never\n".into());
        let tunables = Tunables::new(&boot, Vec::new());
        let held = &mut Held::default();
        let region = &mut self.regions[region];
        let progress = self.memory.fault(region, page, true, true, &tunables, held);
        assert_eq!(progress, crate::filemap::Progress::Complete);
    }

    /// One full scan; what the counters say then: shared, sharing, unshared, volatile.
    fn scan(&mut self) -> [u64; 4] {
        self.memory.ksm.left = u64::MAX;
        assert_eq!(self.memory.ksm_step(), Scan::Sleeps);
        let Counts {
            items,
            shared,
            sharing,
            unshared,
            ..
        } = self.memory.ksm.counts;
        [
            shared,
            sharing,
            unshared,
            items - shared - sharing - unshared,
        ]
    }
}

fn identical() -> Content {
    Content::Identical { class: "os".into() }
}

#[test]
fn twins_merge_in_the_second_scan_and_what_they_save_is_free() {
    let mut machine = Machine::new();
    let contents = [(identical(), 60), (Content::Unique, 40)];
    machine.process(100, &contents).process(100, &contents);
    let free = machine.free();
    assert_eq!(machine.scan(), [0, 0, 0, 200], "no checksum is known yet");
    assert_eq!(machine.scan(), [60, 60, 80, 0]);
    let held = machine.memory.ksm.slabs;
    assert_eq!(
        held,
        [4, 1],
        "200 candidates and 60 merged pages of 64 bytes"
    );
    assert_eq!(machine.free(), free + 60 - 5);
    assert_eq!(machine.memory.anon_pages, 140);
    assert_eq!(machine.scan(), [60, 60, 80, 0]);
}

#[test]
fn a_write_to_a_merged_page_parts_it_and_the_counters_follow_with_the_next_scan() {
    let mut machine = Machine::new();
    let contents = [(identical(), 100)];
    machine
        .process(10, &contents)
        .process(10, &contents)
        .process(10, &contents);
    machine.scan();
    assert_eq!(machine.scan(), [10, 20, 0, 0]);
    machine.write(0, 3);
    assert_eq!(machine.memory.events.cow_ksm, 1);
    assert_eq!(machine.memory.anon_pages, 11);
    let counts = machine.memory.ksm.counts;
    assert_eq!((counts.shared, counts.sharing), (10, 20), "not noticed yet");
    assert_eq!(
        machine.scan(),
        [10, 20, 0, 0],
        "it has the old content and merges again"
    );
    assert_eq!(machine.memory.anon_pages, 10);
}

#[test]
fn a_page_is_shared_by_so_many_and_then_another_copy_is_kept() {
    let mut machine = Machine::new();
    machine.memory.ksm.settings.max_page_sharing = 4;
    machine.process(18, &[(Content::Zero, 100)]);
    machine.scan();
    assert_eq!(machine.scan(), [5, 13, 0, 0]);
    let trees = &machine.memory.ksm.trees;
    assert_eq!((trees.chains, trees.dups), (1, 5));
}

#[test]
fn empty_pages_become_the_zero_page_where_that_is_wanted() {
    let mut machine = Machine::new();
    machine.memory.ksm.settings.use_zero_pages = true;
    machine.process(50, &[(Content::Zero, 80), (Content::Unique, 20)]);
    machine.scan();
    assert_eq!(machine.scan(), [0, 0, 10, 40]);
    assert_eq!(machine.memory.ksm.counts.zero_pages, 40);
    assert_eq!(machine.memory.anon_pages, 10);
    assert_eq!(machine.scan(), [0, 0, 10, 0], "they are no candidates now");
    machine.write(0, 0);
    assert_eq!(machine.memory.ksm.counts.zero_pages, 39);
    assert_eq!(machine.memory.events.cow_ksm, 0);
}

#[test]
fn a_huge_page_is_split_where_one_of_its_pages_merges_and_its_empty_ones_go() {
    let mut machine = Machine::new();
    let contents = [
        (identical(), 50),
        (Content::Zero, 10),
        (Content::Unique, 40),
    ];
    machine.process_of(Huge::Advise, 512, &contents);
    machine.process_of(Huge::Advise, 512, &[(Content::Unique, 100)]);
    machine.process(512, &contents);
    assert_eq!(machine.memory.anon_huge_pages, 1024);
    machine.scan();
    let merged = machine.scan();
    assert_eq!(
        merged[..2],
        [257, 256 + 50],
        "51 empty pages of the third are left"
    );
    assert_eq!(
        machine.memory.events.thp_split_page, 1,
        "the other has no twins"
    );
    assert_eq!(machine.memory.anon_pages, 3 * 512 - 256 - 51 - 50);
}

#[test]
fn volatile_pages_never_enter_a_tree() {
    let mut machine = Machine::new();
    let every = Nanos::SECOND;
    machine.process(20, &[(Content::Volatile { every }, 100)]);
    for second in 1..4 {
        machine.memory.began = Nanos(second * Nanos::SECOND.0);
        assert_eq!(machine.scan(), [0, 0, 0, 20]);
    }
    assert_eq!(
        machine.scan(),
        [0, 0, 20, 0],
        "one that rests is no longer volatile"
    );
}

#[test]
fn smart_scan_passes_over_what_found_no_twin() {
    let mut machine = Machine::new();
    machine.memory.ksm.settings.smart_scan = true;
    machine.process(10, &[(Content::Unique, 100)]);
    (0..4).for_each(|_| {
        machine.scan();
    });
    assert_eq!(machine.memory.ksm.counts.skipped, 0);
    assert_eq!(
        machine.scan(),
        [0, 0, 0, 10],
        "a page that is passed over leaves its tree"
    );
    assert_eq!(machine.memory.ksm.counts.skipped, 10);
}

#[test]
fn unmerging_gives_every_page_back_and_forgets_the_candidates() {
    let mut machine = Machine::new();
    let contents = [(identical(), 50), (Content::Unique, 50)];
    machine.process(100, &contents).process(100, &contents);
    let free = machine.free();
    machine.scan();
    machine.scan();
    assert_eq!(machine.memory.write_ksm("ksm.run", "2"), Ok(()));
    assert_eq!(machine.free(), free - 5, "empty slabs are kept");
    assert_eq!(machine.memory.anon_pages, 200);
    assert_eq!(machine.memory.ksm.counts.items, 0);
    assert_eq!(machine.memory.events.cow_ksm, 100);
    assert_eq!(machine.memory.ksm.counts.full_scans, 0);
}

#[test]
fn what_has_ended_is_counted_until_ksmd_comes_by() {
    let mut machine = Machine::new();
    let contents = [(identical(), 100)];
    machine.process(10, &contents).process(10, &contents);
    machine.scan();
    machine.scan();
    for entity in 0..2 {
        let mut region = machine.regions.remove(0);
        machine.memory.drop_region(&mut region);
        machine.memory.leave_region(region.base);
        machine.memory.leave_process(entity);
    }
    assert_eq!(machine.memory.anon_pages, 0);
    assert_eq!(machine.memory.ksm.counts.sharing, 10);
    assert_eq!(machine.scan(), [0; 4]);
    assert!(machine.memory.ksm.spaces.is_empty());
}

#[test]
fn merged_pages_whose_sharers_all_wrote_leave_the_tree_with_the_next_searches() {
    let mut machine = Machine::new();
    let contents = [(identical(), 100)];
    machine.process(100, &contents).process(100, &contents);
    machine.scan();
    machine.scan();
    for page in 0..100 {
        machine.write(0, page);
        machine.write(1, page);
    }
    assert_eq!(machine.memory.anon_pages, 200);
    assert_eq!(
        machine.scan(),
        [100, 100, 0, 0],
        "they hold the old content and merge again"
    );
    assert_eq!(machine.memory.anon_pages, 100);
}

#[test]
fn the_advisor_sets_what_is_scanned_and_nobody_else_may() {
    let mut machine = Machine::new();
    machine.process(10, &[(Content::Unique, 100)]);
    assert_eq!(
        machine.memory.write_ksm("ksm.advisor_mode", "scan-time"),
        Ok(())
    );
    assert_eq!(machine.memory.ksm.settings.pages_to_scan, 500);
    let refused = machine.memory.write_ksm("ksm.pages_to_scan", "100");
    assert!(refused.is_err_and(|why| why.contains("advisor")));
    assert_eq!(machine.memory.write_ksm("ksm.advisor_mode", "none"), Ok(()));
    assert_eq!(machine.memory.ksm.settings.pages_to_scan, 100);
}
