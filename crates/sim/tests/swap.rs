//! What swap, locks, mappings and reads past the cache do to a machine that is too small.

mod common;

use common::*;
use mm::settings::Settings;
use scenario::machine::SwapBacking;
use scenario::outcome::{Outcome, Status};
use scenario::workload::{Access, Action, Advice, Huge, Pattern, Step, Target, Via};

fn counter(outcome: &Outcome, name: &str) -> u64 {
    let last = outcome.capture.frames.last().expect("a frame");
    let text = last.file("proc/vmstat").expect("vmstat");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.expect(name).parse().expect("a number")
}

fn status(outcome: &Outcome, label: &str) -> Status {
    outcome.labelled(label).next().expect(label).status.clone()
}

fn fill(mib: u64) -> Vec<Step> {
    let write = || Access {
        write_percent: 100,
        ..touch("heap")
    };
    vec![
        map("heap", mib, Huge::Never),
        labelled("fill", Action::Access(write())),
        labelled("again", Action::Access(write())),
        snapshot("end"),
    ]
}

#[test]
fn a_process_larger_than_memory_lives_by_swap_and_dies_without() {
    let alone = scenario(&[], vec![process("a", fill(60))]);
    let without = run(&alone);
    assert_eq!(status(&without, "fill"), Status::Killed(9));
    let with = run(&with_swap(alone, on_disk(), 64));
    assert_eq!(status(&with, "again"), Status::Done);
    let (out, back) = (counter(&with, "pswpout"), counter(&with, "pswpin"));
    assert!(out > 13 * MIB / 4096, "what does not fit went out: {out}");
    assert!(back > 0 && back <= out, "{back} came back of {out}");
    assert_eq!(counter(&with, "oom_kill"), 0);
}

#[test]
fn files_in_memory_that_boot_left_are_the_first_to_be_swapped() {
    let swapped = |left: u64| {
        let mut calibration = calibration();
        let files = &mut calibration.boots[0].capture.frames[0].files;
        let zoneinfo = files.get_mut("proc/zoneinfo").expect("it is there");
        let item = "zone_inactive_anon";
        *zoneinfo = zoneinfo.replace(&format!("{item} 0"), &format!("{item} {left}"));
        // With the map of an area so large, memory is a few pages short.
        let mut scenario = with_swap(scenario(&[], vec![process("a", fill(45))]), on_disk(), 680);
        scenario.base = Settings(vec![setting("vm.watermark_boost_factor", "0")]);
        let capture = plimsoll_sim::run(&scenario, &calibration).expect("the model runs it");
        let outcome = Outcome::from_capture(capture).expect("it is whole");
        ["pswpout", "pswpin"].map(|name| counter(&outcome, name))
    };
    assert_eq!(swapped(0), [0, 0]);
    assert_eq!(swapped(20), [2 * 20, 0], "those of both zones");
    assert_eq!(swapped(150), [2 * 150, 0]);
}

#[test]
fn swap_that_is_too_small_puts_the_killer_off() {
    let scenario = scenario(&[], vec![process("a", fill(60))]);
    let outcome = run(&with_swap(scenario, on_disk(), 4));
    assert_eq!(status(&outcome, "fill"), Status::Killed(9));
    assert!(counter(&outcome, "pswpout") >= 1000);
}

#[test]
fn compressed_swap_takes_memory_but_less() {
    let zram = SwapBacking::Zram { ratio_milli: 4000 };
    let scenario = scenario(&[], vec![process("a", fill(55))]);
    let outcome = run(&with_swap(scenario, zram, 64));
    assert_eq!(status(&outcome, "again"), Status::Done);
    assert_eq!(counter(&outcome, "pgmajfault"), counter(&outcome, "pswpin"));
}

#[test]
fn neighbours_are_read_ahead_and_page_cluster_0_forbids_it() {
    let reads_ahead = |cluster: &str| {
        let scenario = scenario(&[], vec![process("a", fill(60))]);
        let mut scenario = with_swap(scenario, on_disk(), 64);
        scenario.base = Settings(vec![setting("vm.page-cluster", cluster)]);
        let outcome = run(&scenario);
        (
            counter(&outcome, "swap_ra"),
            counter(&outcome, "swap_ra_hit"),
        )
    };
    let (read, hit) = reads_ahead("3");
    assert!(
        read > 0 && hit * 10 > read * 8,
        "in order, most are used: {hit} of {read}"
    );
    assert_eq!(reads_ahead("0").0, 0);
}

/// A heap that is used now and then, beside a file that is read four times, in this order.
fn beside_a_file(via: Via, pattern: Pattern, lock: bool) -> Outcome {
    let mut steps = vec![map("heap", 30, Huge::Never)];
    steps.push(labelled("fill", Action::Access(touch("heap"))));
    let target = Target::Region("heap".to_owned());
    if lock {
        steps.push(step(Action::Lock { target }));
    }
    for _ in 0..4 {
        let access = Access {
            via,
            pattern,
            ..read(0)
        };
        steps.push(step(Action::Access(access)));
    }
    steps.push(labelled("use", Action::Access(touch("heap"))));
    let scenario = scenario(&[30], vec![process("a", steps)]);
    let mut scenario = with_swap(scenario, on_disk(), 64);
    // No run for a boost of the lower zone, where nothing but the heap lies.
    scenario.base = Settings(vec![
        setting("vm.swappiness", "200"),
        setting("vm.watermark_boost_factor", "0"),
    ]);
    run(&scenario)
}

#[test]
fn a_lock_and_direct_reads_keep_the_heap() {
    let swapped = |lock| {
        counter(
            &beside_a_file(Via::Syscall, Pattern::Sequential, lock),
            "pswpout",
        )
    };
    assert!(swapped(false) > 10 * OWN_PAGES, "{}", swapped(false));
    let others = swapped(true);
    assert!(others <= 4 * OWN_PAGES, "what is not locked: {others}");
    assert_eq!(
        counter(
            &beside_a_file(Via::Direct, Pattern::Sequential, false),
            "pswpout"
        ),
        0
    );
}

#[test]
fn of_its_own_memory_a_process_keeps_what_it_uses() {
    let outcome = beside_a_file(Via::Syscall, Pattern::Random, true);
    let (out, back) = (counter(&outcome, "pswpout"), counter(&outcome, "pswpin"));
    assert!(out >= OWN_PAGES / 2, "{out}");
    assert!(back < out, "{back} of {out}");
}

#[test]
fn what_was_read_and_dropped_takes_no_memory() {
    let target = Target::File("file 0".to_owned());
    let advice = Advice::DontNeed;
    let drop = step(Action::Advise { target, advice });
    let steps = vec![step(Action::Access(read(0))), drop, snapshot("end")];
    let outcome = run(&scenario(&[20], vec![process("a", steps)]));
    assert_eq!(counter(&outcome, "nr_inactive_file"), 0);
    assert_eq!(counter(&outcome, "nr_active_file"), 0);
}

#[test]
fn direct_reads_leave_no_page_cache_and_take_the_disks_time() {
    let direct = Access {
        via: Via::Direct,
        ..read(0)
    };
    let steps = vec![labelled("read", Action::Access(direct)), snapshot("end")];
    let outcome = run(&scenario(&[20], vec![process("a", steps)]));
    assert_eq!(counter(&outcome, "nr_inactive_file"), 0);
    let took = outcome.labelled("read").next().expect("read").duration();
    let at_least = 20 * MIB * 10 + 160 * 100_000;
    assert!(took.0 > at_least, "{} of at least {at_least} ns", took.0);
}

#[test]
fn pages_of_a_mapped_file_in_use_outlive_a_stream() {
    let mapped = |label| {
        let access = Access {
            via: Via::Mmap,
            pattern: Pattern::Sequential,
            ..read(1)
        };
        labelled(label, Action::Access(access))
    };
    let mut steps = vec![mapped("first")];
    for _ in 0..6 {
        steps.push(step(Action::Access(read(0))));
        steps.push(mapped("again"));
    }
    let outcome = run(&scenario(&[30, 8], vec![process("a", steps)]));
    let faults = counter(&outcome, "pgmajfault");
    let read_once = 8 * MIB / 4096 / 32;
    assert!(
        faults < 2 * read_once,
        "{faults} major faults, {read_once} to read it once"
    );
}

#[test]
fn the_hugetlb_pool_is_out_of_reach_of_reclaim() {
    let steps = vec![
        step(Action::Set(vec![setting("vm.nr_hugepages", "10")])),
        map("heap", 20, Huge::Hugetlb),
        labelled("fill", Action::Access(touch("heap"))),
        step(Action::Access(read(0))),
        labelled("use", Action::Access(touch("heap"))),
        map("more", 2, Huge::Hugetlb),
    ];
    let outcome = run(&scenario(&[60], vec![process("a", steps)]));
    assert_eq!(status(&outcome, "use"), Status::Done);
    let last = outcome.capture.frames.last().expect("a frame");
    let meminfo = last.file("proc/meminfo").expect("meminfo");
    assert!(!meminfo.contains("AnonPages:         2"), "{meminfo}");
}
