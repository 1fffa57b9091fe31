//! kswapd and the generations: zones, boosts, priorities.

use alloc::vec::Vec;

use mm::rules::Mechanism;
use scenario::workload::Cgroup;

use super::*;
use crate::sched::timer::Clock;

/// Two zones of generations with this many pages of a file in each.
fn with_zones(pages: u64) -> Memory {
    let mut memory = Memory::with_two_zones(2000, 20);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    let base = memory.take_range(2 * pages).expect("there is room");
    for page in base..base + 2 * pages as PageId {
        let upper = u64::from(page - base) < pages;
        memory.zones[1].set_free(if upper { 2000 } else { 0 });
        memory.cache(page, State::Inactive);
        memory
            .lruvecs
            .add_new(&memory.cpu, &mut memory.zones, &mut memory.folios, page);
    }
    memory
}

fn pass_of_kswapd(memory: &mut Memory, change: impl Fn(&mut Control)) -> u64 {
    let mut control = Control::new(Reclaimer::Kswapd, 10_000, 60);
    control.priority = 0;
    change(&mut control);
    let mut pass = memory.begin_pass(control);
    while memory.pass_step(&mut pass) == crate::mm::vmscan::state::Progress::More {}
    pass.reclaimed
}

#[test]
fn for_the_lowest_zone_pages_of_higher_ones_only_make_way_for_a_younger_generation() {
    let mut memory = with_zones(200);
    let for_the_lowest = |control: &mut Control| control.highest = 0;
    let mut reclaimed = 0;
    while reclaimed < 200 {
        reclaimed += pass_of_kswapd(&mut memory, for_the_lowest);
    }
    assert_eq!((reclaimed, memory.zones[0].lru[2]), (200, 0));
    assert_eq!(memory.zones[1].lru[2] + memory.zones[1].lru[3], 200);
    assert!(memory.cpu.events.pgrefill >= 200, "they were moved");
    assert_eq!(memory.cpu.events.pgscan_kswapd, 200, "but not scanned");
}

#[test]
fn kswapd_stops_once_the_zones_that_it_runs_for_are_safe() {
    for (highest, stops) in [(0, true), (1, false)] {
        let mut memory = with_zones(200);
        memory.zones[0].set_free(1000);
        memory.zones[1].set_free(0);
        while memory.cpu.events.pgscan_kswapd == 0 {
            pass_of_kswapd(&mut memory, |control| control.highest = highest);
        }
        assert_eq!(memory.cpu.events.pgscan_kswapd == BATCH as u64, stops);
    }
}

#[test]
fn a_run_for_boosts_alone_leaves_anonymous_memory() {
    let (mut memory, _) = with_anon(2000);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    for _ in 0..4 {
        pass_of_kswapd(&mut memory, |control| control.may_swap = false);
    }
    assert_eq!(memory.cpu.events.pgscan_anon, 0);
    while memory.cpu.events.pgscan_anon == 0 {
        pass_of_kswapd(&mut memory, |_| {});
    }
}

#[test]
fn on_6_1_a_run_for_boosts_alone_skips_what_would_have_to_be_written() {
    for (writes, taken) in [(false, 0), (true, BATCH)] {
        let (mut memory, base) = with_anon(200);
        memory.lruvecs.set_lru_gen_enabled(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.folios,
            true,
        );
        for page in base..base + 200 {
            memory
                .lruvecs
                .take_from_list(&memory.cpu, &mut memory.zones, &mut memory.folios, page);
            memory.lruvecs.add_to_generation(
                &mut memory.zones,
                &mut memory.folios,
                page,
                Place::Next,
            );
        }
        let wanted = Wanted {
            writes,
            ..Wanted::any(1)
        };
        let mut batch = Batch::EMPTY;
        memory.lruvecs.with_generations(
            &mut memory.zones,
            &mut memory.folios,
            ROOT,
            |generations, folios| {
                generations.isolate(folios, &mut batch, wanted, |_, _| false);
            },
        );
        assert_eq!(batch.pages().len(), taken);
        let left: u64 = memory.lruvecs[ROOT]
            .generations
            .rows()
            .map(|row| row.pages[0])
            .sum();
        assert_eq!(left, 200 - taken as u64);
    }
}

#[test]
fn a_run_for_boosts_alone_judges_generations_without_anonymous_memory_but_on_6_1() {
    let (mut memory, _) = with_anon(200);
    let mut control = Control::new(Reclaimer::Kswapd, 10_000, 60);
    assert_eq!(memory.swap.eviction_swappiness(&memory.cpu, &control), 60);
    control.may_swap = false;
    assert_eq!(memory.swap.eviction_swappiness(&memory.cpu, &control), 0);
    memory
        .cpu
        .rules
        .mechanisms
        .set(Mechanism::EarlyLruGen, true);
    assert_eq!(
        memory.swap.eviction_swappiness(&memory.cpu, &control),
        1,
        "the page cache first"
    );
    control.swappiness = 0;
    assert_eq!(memory.swap.eviction_swappiness(&memory.cpu, &control), 0);
}

#[test]
fn a_walk_through_page_tables_is_not_interrupted() {
    let (mut memory, _) = with_anon(2000);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    memory.cpu.rules.lru_gen.walks = true;
    memory.cpu.costs.walk_ps = 190_000;
    memory.walk().age_group(ROOT, true);
    assert_eq!(memory.cpu.unbroken, 2000 * 190_000);
}

#[test]
fn kswapd_calls_the_oom_killer_where_all_pages_are_too_young() {
    let mut memory = Memory::with_cache(10_000, 1000, 8740, 0);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    memory.cpu.rules.lru_gen.min_ttl = Nanos(1000);
    memory.cpu.began = Nanos(500);
    let mut control = Control::new(Reclaimer::Kswapd, 1000, 60);
    memory.prepare_generations(&mut control, true);
    assert!(memory.zones.kswapd.wants_kill);
    memory.zones.kswapd.wants_kill = false;
    memory.cpu.began = Nanos(1500);
    memory.prepare_generations(&mut control, true);
    assert!(
        !memory.zones.kswapd.wants_kill,
        "the oldest generation is old enough"
    );
}

#[test]
fn what_is_as_old_as_the_machine_is_old_enough_when_a_run_begins() {
    let mut memory = Memory::with_cache(10_000, 1000, 8740, 0);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    memory.cpu.rules.lru_gen.min_ttl = Nanos::SECOND;
    memory.cpu.clock = Clock::after(Nanos(3 * Nanos::SECOND.0), Nanos::ZERO);
    let mut control = Control::new(Reclaimer::Kswapd, 1000, 60);
    memory.prepare_generations(&mut control, true);
    assert!(!memory.zones.kswapd.wants_kill, "the root's are of boot");
}

#[test]
fn a_groups_generations_are_as_old_as_the_group() {
    let mut memory = Memory::with_zone(1000, 10);
    let group = Cgroup {
        path: "a".into(),
        files: Vec::new(),
    };
    memory.set_groups(&[group]).expect("a group");
    memory.lruvecs.groups_were_made(Nanos(700));
    let born = |group: usize| memory.lruvecs[group].generations.oldest_born(Kind::File);
    assert_eq!([born(ROOT), born(1)], [0, 700]);
}

#[test]
fn kswapd_first_asks_for_a_page_in_4096_and_then_for_less() {
    let mut memory = Memory::with_cache(10_000, 1000, 4000, 0);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    memory.cpu.rules.lru_gen.min_ttl = Nanos(1);
    memory.cpu.began = Nanos(1000);
    for first in [true, false] {
        let mut control = Control::new(Reclaimer::Kswapd, 1000, 60);
        memory.prepare_generations(&mut control, first);
        let killed = core::mem::take(&mut memory.zones.kswapd.wants_kill);
        assert_eq!(killed, first, "4000 pages are too few at priority 12 only");
        assert!(control.priority < DEF_PRIORITY);
    }
}

#[test]
fn kswapd_begins_with_the_priority_that_reaches_its_goal() {
    let mut memory = Memory::with_cache(10_000, 10, 8740, 0);
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    let mut control = Control::new(Reclaimer::Kswapd, 100, 60);
    memory.prepare_generations(&mut control, true);
    // 8740 is 13 bits long less one, 99 is 7.
    assert_eq!(control.priority, 6);
}

#[test]
fn a_run_for_boosts_alone_evicts_nothing_since_6_3() {
    for (pages, is_short) in [(7800, false), (8000, true)] {
        let mut memory = Memory::with_cache(10_000, 1000, pages, 0);
        memory.lruvecs.set_lru_gen_enabled(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.folios,
            true,
        );
        memory.zones[0].boost = 512;
        assert_eq!(memory.zones.is_balanced(&memory.cpu, 0), !is_short);
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        while memory.zones.kswapd.is_awake() {
            memory.kswapd_step();
        }
        assert_eq!(memory.cpu.events.pgsteal_kswapd > 0, is_short);
        assert_eq!(memory.zones[0].boost, 0);
    }
}

#[test]
fn the_floor_of_clean_pages_turns_eviction_to_anonymous_memory() {
    let (mut memory, _) = with_anon(1000);
    let file = memory.take_range(1000).expect("there is room");
    for page in file..file + 1000 {
        memory.cache(page, State::Inactive);
        memory.lruvecs.add_to_list(
            &memory.cpu,
            &mut memory.zones,
            &mut memory.folios,
            page,
            Lru::ActiveFile,
        );
    }
    memory.lruvecs.set_lru_gen_enabled(
        &mut memory.cpu,
        &mut memory.zones,
        &mut memory.folios,
        true,
    );
    memory.cpu.rules.floors.clean_min = 50;
    let stolen: u64 = (0..8).map(|_| pass(&mut memory, 4)).sum();
    assert!(stolen > 0);
    assert_eq!(memory.cpu.events.pgsteal_file, 0);
    assert!(memory.cpu.events.pgsteal_anon > 0);
}
