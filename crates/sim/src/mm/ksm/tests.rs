//! ksmd on pages of known content, pass by pass.

mod swap;

use crate::mm::folio::PageId;
use crate::mm::ksm::state::Counts;
use crate::mm::ksm::state::Run;
use crate::mm::memory::state::Region;
use alloc::vec::Vec;

use mm::rules::Mechanism;
use mm::units::Bytes;
use mm::units::Nanos;
use scenario::contents::Contents;
use scenario::workload::{Content, ContentShare, Huge, Map};

use crate::mm::ksm::state::Scan;
use crate::mm::memcontrol::group_id::ROOT;
use crate::mm::memory::state::Held;
use crate::mm::parts::Memory;
use crate::rules::HugePages;

/// A memory, and the regions of processes in it.
struct Machine {
    memory: Memory,
    /// Of the processes that run; each is another entity of the scheduler.
    regions: Vec<Region>,
    entities: Vec<usize>,
    started: usize,
}

impl Machine {
    fn new() -> Self {
        let mut memory = Memory::with_zone(100_000, 100);
        memory.ksm.settings.run = Run::Merge;
        memory.cpu.rules.huge_pages = HugePages::Advised;
        Self {
            memory,
            regions: Vec::new(),
            entities: Vec::new(),
            started: 0,
        }
    }

    /// Another process with this many pages that hold this, all touched.
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
            populate: false,
            contents: contents.collect(),
        };
        let base = self.memory.take_range(pages).expect("there is room");
        let mut region = Region::new(base, size, huge, ROOT);
        let name = alloc::format!("guest.{}", self.started);
        region.contents = Contents::new(&map, &name, pages);
        self.memory.ksm.make_mergeable(self.started, &region);
        self.regions.push(region);
        self.entities.push(self.started);
        self.started += 1;
        (0..pages).for_each(|page| self.write(self.regions.len() - 1, page));
        self
    }

    /// Free pages, those on per-CPU lists included.
    fn free(&self) -> u64 {
        let zones = self.memory.zones.iter();
        zones.map(|zone| zone.free + zone.pcp.count()).sum()
    }

    fn write(&mut self, region: usize, page: u64) {
        let held = &mut Held::default();
        let region = &mut self.regions[region];
        let progress = self.memory.fault(region, page, true, true, held);
        assert_eq!(progress, crate::mm::filemap::state::Progress::Complete);
    }

    /// One full scan; what the counters say then: shared, sharing, unshared, volatile.
    fn scan(&mut self) -> [u64; 4] {
        self.memory.ksm.left = u64::MAX;
        assert_eq!(self.memory.ksm_do_scan(), Scan::Sleeps);
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
    assert_eq!(machine.memory.folios.anon_pages, 140);
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
    assert_eq!(machine.memory.cpu.events.cow_ksm, 1);
    assert_eq!(machine.memory.folios.anon_pages, 11);
    let counts = machine.memory.ksm.counts;
    assert_eq!((counts.shared, counts.sharing), (10, 20), "not noticed yet");
    assert_eq!(
        machine.scan(),
        [10, 20, 0, 0],
        "it has the old content and merges again"
    );
    assert_eq!(machine.memory.folios.anon_pages, 10);
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
    assert_eq!(machine.memory.folios.anon_pages, 10);
    assert_eq!(machine.scan(), [0, 0, 10, 0], "they are no candidates now");
    machine.write(0, 0);
    assert_eq!(machine.memory.ksm.counts.zero_pages, 39);
    assert_eq!(machine.memory.cpu.events.cow_ksm, 0);
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
    assert_eq!(machine.memory.folios.anon_huge_pages, 1024);
    machine.scan();
    let merged = machine.scan();
    assert_eq!(
        merged[..2],
        [257, 256 + 50],
        "51 empty pages of the third are left"
    );
    assert_eq!(
        machine.memory.cpu.events.thp_split_page, 1,
        "the other has no twins"
    );
    assert_eq!(machine.memory.folios.anon_pages, 3 * 512 - 256 - 51 - 50);
}

#[test]
fn volatile_pages_never_enter_a_tree() {
    let mut machine = Machine::new();
    let every = Nanos::SECOND;
    machine.process(20, &[(Content::Volatile { every }, 100)]);
    for second in 1..4 {
        machine.memory.cpu.began = Nanos(second * Nanos::SECOND.0);
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
    assert_eq!(machine.memory.folios.anon_pages, 200);
    assert_eq!(machine.memory.ksm.counts.items, 0);
    assert_eq!(machine.memory.cpu.events.cow_ksm, 100);
    assert_eq!(machine.memory.ksm.counts.full_scans, 0);
}

#[test]
fn what_has_ended_is_counted_until_ksmd_comes_by() {
    let mut machine = Machine::new();
    let contents = [(identical(), 100)];
    machine.process(10, &contents).process(10, &contents);
    machine.scan();
    machine.scan();
    machine.end_first();
    machine.end_first();
    assert_eq!(machine.memory.folios.anon_pages, 0);
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
    assert_eq!(machine.memory.folios.anon_pages, 200);
    assert_eq!(
        machine.scan(),
        [100, 100, 0, 0],
        "they hold the old content and merge again"
    );
    assert_eq!(machine.memory.folios.anon_pages, 100);
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

/// Whatever is done in whatever order, the counters are those of the candidates and the trees, and
/// every page has one owner.
#[test]
fn counters_follow_from_candidates_and_pages_after_any_steps() {
    for seed in 0..40 {
        let mut prng = mm::prng::Prng::new(seed);
        let mut machine = Machine::new();
        machine.memory.ksm.settings.max_page_sharing = 3;
        machine
            .memory
            .cpu
            .rules
            .mechanisms
            .set(Mechanism::KsmChecksFirst, seed % 2 == 0);
        for step in 0..120 {
            machine.memory.cpu.began = Nanos(step * 300_000_000);
            machine.step_at_random(&mut prng);
            machine.check();
        }
    }
}

impl Machine {
    fn step_at_random(&mut self, prng: &mut mm::prng::Prng) {
        let contents = [
            (identical(), 30),
            (Content::Repeated { copies: 5 }, 20),
            (Content::Zero, 20),
            (
                Content::Volatile {
                    every: Nanos::SECOND,
                },
                10,
            ),
        ];
        match prng.next_u64() % 12 {
            0 if self.regions.len() < 6 => {
                self.process(1 + prng.next_u64() % 60, &contents);
            }
            1 if !self.regions.is_empty() => self.end_first(),
            2 => {
                let settings = &mut self.memory.ksm.settings;
                settings.smart_scan = !settings.smart_scan;
            }
            3 => {
                let settings = &mut self.memory.ksm.settings;
                settings.use_zero_pages = !settings.use_zero_pages;
            }
            4 if prng.next_u64().is_multiple_of(4) => {
                assert_eq!(self.memory.write_ksm("ksm.run", "2"), Ok(()));
                assert_eq!(self.memory.write_ksm("ksm.run", "1"), Ok(()));
            }
            5..=7 => {
                for index in 0..self.regions.len() {
                    let page = prng.next_u64() % self.regions[index].pages();
                    self.write(index, page);
                }
            }
            _ => {
                self.memory.ksm.left = prng.next_u64() % 200;
                self.memory.ksm_do_scan();
            }
        }
    }

    /// The process that was started first ends.
    fn end_first(&mut self) {
        let mut region = self.regions.remove(0);
        self.memory.drop_region(&mut region);
        self.memory.ksm.leave_region(region.base);
        self.memory.ksm.leave_process(self.entities.remove(0));
    }

    fn check(&self) {
        use super::candidate::Held;
        let ksm = &self.memory.ksm;
        let candidates = ksm.areas.iter().flatten().flat_map(|area| &area.candidates);
        let known: Vec<_> = candidates.filter(|candidate| candidate.exists()).collect();
        let held = |wanted: fn(&Held) -> bool| {
            known
                .iter()
                .filter(|candidate| wanted(&candidate.held()))
                .count() as u64
        };
        assert_eq!(ksm.counts.items, known.len() as u64, "candidates");
        let unstable = held(|held| matches!(held, Held::Unstable { .. }));
        assert_eq!(ksm.counts.unshared, unstable, "pages_unshared");
        let (shared, sharing) = ksm.trees.listed();
        assert_eq!((ksm.counts.shared, ksm.counts.sharing), (shared, sharing));
        assert!(held(|held| matches!(held, Held::Stable { .. })) >= shared + sharing);
        let folios = &self.memory.folios;
        let pages = (0..folios.len() as PageId).filter(|&page| folios.is_anon_mapped(page));
        assert_eq!(
            self.memory.folios.anon_pages,
            pages.count() as u64,
            "anonymous pages"
        );
        let places = self
            .regions
            .iter()
            .flat_map(|region| region.base..region.base + region.pages() as PageId);
        let zero = places.filter(|&page| folios.is_merged(page) && folios.is_zero(page));
        assert_eq!(ksm.counts.zero_pages, zero.count() as u64, "zero pages");
        let zones = self.memory.zones.iter();
        let used = zones.map(|zone| {
            zone.free
                + zone.pcp.count()
                + zone.kernel
                + zone.lru.iter().sum::<u64>()
                + zone.unevictable
        });
        assert_eq!(
            used.sum::<u64>(),
            100_000,
            "pages are neither made nor lost"
        );
        self.check_entries();
    }
}
