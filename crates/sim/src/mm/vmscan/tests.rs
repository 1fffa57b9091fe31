//! Scans of the classic lists.

mod older;

use mm::rules::Mechanism;

use super::*;
use crate::mm::vmscan::shrink_list::Shrunk;
use crate::mm::vmscan::state::Kswapd;

fn pass(memory: &mut Memory, priority: u32, goal: u64) -> Pass {
    let mut control = Control::new(Reclaimer::Kswapd, goal, 60);
    control.priority = priority;
    let mut pass = memory.begin_pass(control);
    while memory.pass_step(&mut pass) == Progress::More {}
    pass
}

#[test]
fn active_pages_are_deactivated_only_while_the_inactive_list_is_low() {
    let mut enough = Memory::with_cache(20_000, 10, 4096, 4096);
    pass(&mut enough, 2, 10_000);
    assert_eq!(enough.cpu.events.pgdeactivate, 0);
    assert_eq!(
        enough.cpu.events.pgsteal_kswapd, 1024,
        "a quarter of the list"
    );
    let mut low = Memory::with_cache(20_000, 10, 4096, 8192);
    pass(&mut low, 2, 10_000);
    let file = low.zones.list(Lru::InactiveFile);
    assert_eq!(
        (low.cpu.events.pgdeactivate, file),
        (2048, 4096 - 1024 + 2048)
    );
}

#[test]
fn an_activated_refault_lets_active_pages_be_deactivated() {
    let mut memory = Memory::with_cache(20_000, 10, 4096, 4096);
    memory.lruvecs[ROOT].activated_refaults[Kind::File as usize] += 1;
    pass(&mut memory, 2, 10_000);
    assert_eq!(memory.cpu.events.pgdeactivate, 1024);
}

#[test]
fn a_pass_ends_with_the_round_that_meets_its_goal() {
    let mut memory = Memory::with_cache(20_000, 10, 8192, 0);
    assert_eq!(pass(&mut memory, 0, 100).reclaimed, 128);
}

#[test]
fn before_3_11_kswapd_scanned_its_whole_share() {
    let mut memory = Memory::with_cache(20_000, 10, 8192, 0);
    memory
        .cpu
        .rules
        .mechanisms
        .set(Mechanism::KswapdStopsAtGoal, false);
    assert_eq!(pass(&mut memory, 1, 100).reclaimed, 4096);
}

#[test]
fn of_two_types_the_smaller_is_dropped_and_the_larger_trimmed_in_proportion() {
    let mut memory = Memory::with_zone(100, 1);
    let mut pass = memory.begin_pass(Control::new(Reclaimer::Kswapd, 0, 60));
    let (cpu, zones, groups) = (&memory.cpu, &memory.zones, &memory.groups);
    let lruvecs = &mut memory.lruvecs;
    let mut scan = lruvecs.begin_scan(cpu, zones, groups, &memory.swap, &mut pass, ROOT);
    scan.targets = [199, 0, 1000, 0];
    scan.left = [100, 0, 900, 0];
    scan.trim();
    assert_eq!(scan.left, [0, 0, 400, 0], "half of both is scanned");
}

#[test]
fn page_cache_below_its_floor_is_left_alone() {
    let mut memory = Memory::with_cache(20_000, 10, 2000, 0);
    memory.cpu.rules.floors.clean_min = 15;
    assert_eq!(pass(&mut memory, 0, 100).reclaimed, 0);
    memory.cpu.rules.floors.clean_min = 5;
    assert!(pass(&mut memory, 0, 100).reclaimed > 0);
}

#[test]
fn kswapd_is_ahead_of_writes_once_it_meets_them_again_and_met_nothing_else() {
    let met = |taken, again| {
        let mut met = Met::default();
        met.add(Shrunk {
            scanned: taken,
            writing: 8,
            met_again: again,
            ..Shrunk::default()
        });
        met
    };
    let mut kswapd = Kswapd::default();
    assert!(!kswapd.is_ahead_of_writes(met(9, 8)), "it met others");
    assert!(kswapd.is_congested, "what it met of files had come round");
    assert!(!kswapd.is_ahead_of_writes(met(8, 0)), "the first time");
    assert!(kswapd.is_ahead_of_writes(met(9, 8)));
    assert!(!kswapd.is_ahead_of_writes(met(9, 0)));
}
