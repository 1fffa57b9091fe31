//! Generations inside the node's memory.

mod kswapd;

use mm::rules::Mechanism;
use mm::units::Nanos;

use super::*;
use crate::mm::lru_gen::{BATCH, Batch, Place, Wanted};
use crate::mm::parts::Memory;
use crate::mm::swapfile::Backing;
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
use crate::mm::vmscan::shrink_list::Shrunk;
use crate::mm::vmscan::{Control, Reclaimer};

/// A zone with this many anonymous pages, on the inactive list, used or not, and room in zram.
fn with_anon(pages: u64) -> (Memory, PageId) {
    let mut memory = Memory::with_zone(20_000, 10);
    memory.swap.add(Backing::Zram { ratio_milli: 4000 }, 10_000);
    let base = memory.take_range(pages).expect("there is room");
    for page in base..base + pages as PageId {
        memory.folios.set(page, Flag::Anon);
        memory.allocate(page, State::Inactive).expect("it fits");
        memory.folios.set(page, Flag::Dirty);
        memory
            .lruvecs
            .add_new(&memory.cpu, &mut memory.zones, &mut memory.folios, page);
        memory.folios.anon_pages += 1;
    }
    (memory, base)
}

fn pass(memory: &mut Memory, priority: u32) -> u64 {
    let mut control = Control::new(Reclaimer::Direct, 10_000, 60);
    control.priority = priority;
    let mut pass = memory.begin_pass(control);
    while memory.pass_step(&mut pass) == crate::mm::vmscan::state::Progress::More {}
    pass.reclaimed
}

#[test]
fn switching_there_and_back_keeps_every_page_and_whether_it_was_active() {
    let mut memory = Memory::with_cache(20_000, 10, 1000, 500);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    assert_eq!(memory.zones.list(Lru::ActiveFile), 500);
    assert_eq!(memory.zones.list(Lru::InactiveFile), 1000);
    crate::mm::invariants::conservation(&memory);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        false,
    );
    assert_eq!(memory.zones.list(Lru::ActiveFile), 500);
    assert_eq!(
        memory.lruvecs[ROOT].lists[Lru::InactiveFile as usize].len(),
        1000
    );
    crate::mm::invariants::conservation(&memory);
}

#[test]
fn pages_that_were_used_through_page_tables_outlive_those_that_were_not() {
    let (mut memory, base) = with_anon(2000);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    memory.cpu.rules.lru_gen.walks = true;
    (base..base + 500).for_each(|page| memory.folios.set(page, Flag::Accessed));
    while memory.cpu.events.pgsteal_anon < 1000 {
        pass(&mut memory, 2);
    }
    let kept = (base..base + 500).filter(|&page| memory.folios.is_resident(page));
    assert_eq!(kept.count(), 500);
    assert!(
        memory.cpu.events.pgscan_anon < 2000,
        "the used ones were not even looked at"
    );
    crate::mm::invariants::conservation(&memory);
}

#[test]
fn without_walks_eviction_looks_around_the_pages_that_it_finds_used() {
    let (mut memory, base) = with_anon(2000);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    (base..base + 512).for_each(|page| memory.folios.set(page, Flag::Accessed));
    while memory.cpu.events.pgsteal_anon < 1000 {
        pass(&mut memory, 2);
    }
    let kept = (base..base + 512).filter(|&page| memory.folios.is_resident(page));
    assert_eq!(kept.count(), 512);
    assert_eq!(
        memory.cpu.events.pgactivate, 0,
        "used once, it is kept only"
    );
}

#[test]
fn the_entries_around_a_used_page_are_looked_at_too() {
    let (mut memory, base) = with_anon(2000);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    let pages = base..base + 512;
    pages
        .clone()
        .for_each(|page| memory.folios.set(page, Flag::Accessed));
    memory.lruvecs.take_from_list(
        &memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        base + 100,
    );
    memory.folios.set_state(base + 100, State::Unevictable);
    assert_eq!(memory.walk().look_around(ROOT, base + 100), 1);
    let noticed = pages.filter(|&page| !memory.folios.has(page, Flag::Accessed));
    assert_eq!(noticed.count(), 64);
}

#[test]
fn what_another_process_used_is_not_noticed_by_a_look_at_ones_own_entries() {
    let mut memory = Memory::with_cache(10_000, 10, 30, 0);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    for (owner, pages) in [(0, 0..5), (7, 3..5)] {
        memory.cpu.current.space = owner;
        let mapping = memory.rmap.mapping(&memory.cpu, 0);
        pages.for_each(|page| {
            memory
                .rmap
                .map_page(&mut memory.folios, mapping, page, false);
        });
    }
    assert_eq!(memory.walk().look_around(ROOT, 0), 1);
    let used = |page| memory.folios.has(page, Flag::Accessed);
    assert_eq!([0, 1, 2, 3, 4].map(used), [false, false, false, true, true]);
    assert_eq!(memory.rmap.users_of(&memory.folios, 3), [7]);
    assert_eq!(memory.walk().look_around(ROOT, 3), 1, "the other's");
}

/// A file's page cache in generations, with walks.
fn with_walks(pages: u64) -> Memory {
    let mut memory = Memory::with_cache(20_000, 10, pages, 0);
    memory.cpu.rules.lru_gen.walks = true;
    memory.cpu.rules.lru_gen.looks_above = true;
    memory
        .cpu
        .rules
        .mechanisms
        .set(Mechanism::FirstWalkLeavesBits, false);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    memory
}

/// A process uses pages of the file at 0 that it maps from now on.
fn use_as(memory: &mut Memory, owner: usize, pages: core::ops::Range<PageId>) {
    memory.cpu.current.space = owner;
    let mapping = memory.rmap.mapping(&memory.cpu, 0);
    memory.rmap.use_tables(mapping, pages.clone());
    for page in pages {
        memory
            .rmap
            .map_page(&mut memory.folios, mapping, page, false);
    }
}

#[test]
fn each_process_has_its_own_page_tables_walked_if_an_eighth_of_all_their_entries_was_used() {
    let mut memory = with_walks(1024);
    use_as(&mut memory, 3, 0..64);
    use_as(&mut memory, 7, 512..575);
    memory.walk().age_group(ROOT, false);
    let young = |memory: &Memory| {
        let used = |page: &PageId| memory.folios.has(*page, Flag::Accessed);
        (0..1024).filter(used).count()
    };
    assert_eq!(young(&memory), 0, "the first walk goes everywhere");
    use_as(&mut memory, 3, 0..64);
    use_as(&mut memory, 7, 0..64);
    use_as(&mut memory, 7, 512..1024);
    memory.walk().age_group(ROOT, false);
    assert_eq!(
        memory.rmap.users_of(&memory.folios, 0),
        [7],
        "of the process that used 63 entries nothing is walked"
    );
    assert_eq!(young(&memory), 64 + 512);
}

#[test]
fn page_tables_that_a_process_has_not_touched_since_a_walk_are_passed_over() {
    let mut memory = with_walks(1024);
    use_as(&mut memory, 3, 0..1024);
    memory.walk().age_group(ROOT, false);
    let mapping = memory.rmap.mapping(&memory.cpu, 0);
    (0..1024).for_each(|page| memory.rmap.use_mapped(&mut memory.folios, mapping, page));
    memory.rmap.use_tables(mapping, 0..1);
    memory.walk().age_group(ROOT, false);
    let noticed = |page: &PageId| !memory.folios.has(*page, Flag::Accessed);
    assert_eq!((0..512).filter(noticed).count(), 512);
    assert_eq!((512..1024).filter(noticed).count(), 0);
    assert!(
        memory.rmap.table_users(0, ROOT).is_empty(),
        "the walk went by"
    );
}

#[test]
fn since_6_12_the_second_walk_goes_through_what_the_first_did() {
    for leaves_bits in [false, true] {
        let (mut memory, base) = with_anon(2000);
        (base..base + 2000).for_each(|page| memory.folios.set(page, Flag::Accessed));
        memory.cpu.rules.lru_gen.walks = true;
        memory.cpu.rules.lru_gen.looks_above = true;
        memory
            .cpu
            .rules
            .mechanisms
            .set(Mechanism::FirstWalkLeavesBits, leaves_bits);
        memory.lruvecs.set_lru_gen_enabled(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.folios,
            true,
        );
        memory.cpu.costs.walk_ps = 1;
        let mut entries = || {
            memory.cpu.spent = 0;
            memory.walk().age_group(ROOT, true);
            memory.cpu.spent
        };
        let second = if leaves_bits { 2000 } else { 0 };
        assert_eq!([entries(), entries(), entries()], [2000, second, 0]);
    }
}

#[test]
fn what_a_fault_brings_back_is_not_protected_for_having_been_evicted_but_by_6_1() {
    for forgets in [true, false] {
        let mut memory = Memory::with_cache(20_000, 10, 300, 0);
        memory
            .cpu
            .rules
            .mechanisms
            .set(Mechanism::ActivationForgetsUses, forgets);
        memory.lruvecs.set_lru_gen_enabled(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.folios,
            true,
        );
        while memory.folios.is_resident(0) {
            pass(&mut memory, 0);
        }
        let history = memory.folios.history(0);
        memory.allocate(0, State::Reading).expect("it fits");
        memory.cpu.current.in_fault = true;
        memory.admit(0, history);
        assert_eq!(memory.cpu.events.workingset_restore_file, 1);
        assert_eq!(memory.folios.uses(0) == 0, forgets);
        assert!(memory.folios.has(0, Flag::Workingset), "for pressure");
    }
}

#[test]
fn a_page_that_a_look_around_of_its_batch_kept_does_not_count_as_dirty() {
    let mut memory = with_walks(64);
    use_as(&mut memory, 3, 0..64);
    (0..64).for_each(|page| memory.folios.set(page, Flag::Dirty));
    memory.writeback.dirty = 64;
    for page in 0..64 {
        memory
            .lruvecs
            .take_from_list(&memory.cpu, &mut memory.zones, &mut memory.folios, page);
        memory.folios.set_state(page, State::Unevictable);
    }
    let mut done = Shrunk::default();
    (0..64).for_each(|page| memory.shrink_isolated(ROOT, page, &mut done));
    assert_eq!((done.scanned, done.unqueued_dirty), (64, 1));
}

/// Files of which the first 64 pages are being read and the rest were read once, in generations.
fn with_reads(early: bool) -> (Memory, PageId) {
    let mut memory = Memory::with_zone(20_000, 10);
    memory
        .cpu
        .rules
        .mechanisms
        .set(Mechanism::EarlyLruGen, early);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    let base = memory.take_range(1000).expect("there is room");
    for page in base..base + 1000 {
        memory.cache(page, State::Reading);
        memory
            .lruvecs
            .add_new(&memory.cpu, &mut memory.zones, &mut memory.folios, page);
        if page >= base + 64 {
            memory.folios.unlock(page);
        }
    }
    (memory, base)
}

#[test]
fn a_page_that_is_being_read_becomes_young_when_eviction_comes_across_it() {
    let (mut memory, base) = with_reads(false);
    memory.folios.set(base, Flag::Readahead);
    pass(&mut memory, 0);
    assert_eq!(memory.zones.list(Lru::ActiveFile), 64);
    assert!(memory.cpu.events.pgscan_file >= memory.cpu.events.pgsteal_file + 64);
    assert!(
        !memory.folios.has(base, Flag::Readahead),
        "the mark is lost"
    );
    assert!(memory.folios.is_reading(base));
    crate::mm::invariants::conservation(&memory);
}

#[test]
fn on_6_1_a_page_that_is_being_read_moves_up_by_one_generation_unscanned_and_passes_for_marked() {
    let (mut memory, base) = with_reads(true);
    while memory.cpu.events.pgrefill == 0 {
        pass(&mut memory, 0);
    }
    assert_eq!(memory.folios.generation(base), 2, "it came to 1");
    assert_eq!(
        memory.cpu.events.pgscan_file,
        memory.cpu.events.pgsteal_file
    );
    assert_eq!(memory.cpu.events.pgrefill, 64);
    let is_marked = |page| memory.folios.has(page, Flag::Readahead);
    assert!((base..base + 64).all(is_marked), "it is the bit PG_reclaim");
}

#[test]
fn on_6_1_pages_that_were_used_too_often_to_be_evicted_count_as_activated() {
    for early in [false, true] {
        let (mut memory, base) = with_reads(early);
        for page in (0..5).flat_map(|_| base + 100..base + 200) {
            memory.lruvecs.mark_accessed(
                &mut memory.cpu,
                &mut memory.zones,
                &mut memory.folios,
                &mut memory.groups,
                page,
            );
        }
        while memory.cpu.events.pgrefill < 100 {
            pass(&mut memory, 0);
        }
        let counted = memory.cpu.events.workingset_activate_file;
        assert_eq!(counted, if early { 100 } else { 0 });
    }
}

#[test]
fn a_page_that_a_fault_brings_back_soon_is_restored_to_the_youngest_generation() {
    let (mut memory, base) = with_anon(300);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    while memory.folios.is_resident(base) {
        pass(&mut memory, 0);
    }
    let history = memory.folios.history(base);
    memory.allocate(base, State::Reading).expect("it fits");
    memory.admit(base, history);
    assert_eq!(memory.cpu.events.workingset_refault_anon, 1);
    memory
        .lruvecs
        .add_new(&memory.cpu, &mut memory.zones, &mut memory.folios, base);
    assert!(memory.zones.list(Lru::ActiveAnon) >= 1);
}
