//! What the hierarchy promises.

use crate::mm::memcontrol::group_id::ROOT;
use crate::mm::memcontrol::state::Charged;
use crate::mm::memcontrol::state::Groups;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use scenario::workload::Cgroup;

use super::*;

/// Groups with one file each: path, file, text.
fn groups(list: &[(&str, &str, &str)]) -> Groups {
    let cgroup = |(path, file, text): &(&str, &str, &str)| Cgroup {
        path: (*path).into(),
        files: match file.is_empty() {
            true => vec![],
            false => vec![((*file).into(), (*text).into())],
        },
    };
    let cgroups: Vec<Cgroup> = list.iter().map(cgroup).collect();
    Groups::new(&cgroups).expect("they are groups")
}

fn usage(groups: &Groups) -> Vec<u64> {
    groups.all().map(|id| groups.get(id).memory.usage).collect()
}

#[test]
fn a_page_is_charged_to_the_group_and_all_above_in_batches_of_64() {
    let mut groups = groups(&[("a", "", ""), ("a/b", "", ""), ("c", "", "")]);
    assert_eq!(groups.charge(2, 1), Ok(Charged(64)));
    assert_eq!(usage(&groups), [64, 64, 0]);
    assert_eq!(groups.charge(2, 63), Ok(Charged(0)), "from the stock");
    assert_eq!(usage(&groups), [64, 64, 0]);
    groups.uncharge(2, 64);
    assert_eq!(usage(&groups), [0, 0, 0]);
}

#[test]
fn what_is_kept_for_a_group_goes_back_when_another_one_charges() {
    let mut groups = groups(&[("a", "", ""), ("b", "", "")]);
    groups.charge(1, 1).expect("no limit");
    groups.charge(2, 1).expect("no limit");
    assert_eq!(usage(&groups), [1, 64]);
    groups.drain_stock();
    assert_eq!(usage(&groups), [1, 1]);
}

#[test]
fn more_than_a_batch_beside_what_another_group_kept_gives_both_back() {
    let mut groups = groups(&[("a", "", ""), ("b", "", "")]);
    groups.charge_kernel(2, 65);
    groups.charge(1, 1).expect("no limit");
    assert_eq!(usage(&groups), [64, 65]);
    groups.uncharge_kernel(2, 65);
    assert_eq!(usage(&groups), [1, 0]);
}

#[test]
fn a_limit_is_reached_to_the_page_and_the_group_that_sets_it_is_named() {
    let mut groups = groups(&[("a", "memory.max", "40K"), ("a/b", "memory.max", "1M")]);
    for _ in 0..10 {
        groups.charge(2, 1).expect("ten pages fit");
    }
    assert_eq!(groups.charge(2, 1), Err(1));
    assert_eq!((usage(&groups), groups.margin(1)), (vec![10, 10], 0));
    groups.charge_kernel(2, 1);
    assert_eq!(usage(&groups), [11, 11]);
}

#[test]
fn a_huge_page_that_does_not_fit_charges_nothing() {
    let mut groups = groups(&[("a", "memory.max", "2M")]);
    groups.charge(1, 1).expect("it fits");
    assert_eq!(groups.charge(1, 512), Err(1));
    assert_eq!(usage(&groups), [64]);
}

#[test]
fn the_root_is_charged_for_nothing() {
    let mut groups = groups(&[("a", "memory.max", "0")]);
    assert_eq!(groups.charge(ROOT, 1), Ok(Charged(0)));
    groups.uncharge(ROOT, 1);
    assert_eq!(usage(&groups), [0]);
}

#[test]
fn swap_is_limited_by_every_group_above() {
    let mut groups = groups(&[
        ("a", "memory.swap.max", "8K"),
        ("a/b", "", ""),
        ("a/c", "", ""),
    ]);
    assert!(groups.charge_swap(2) && groups.charge_swap(3));
    assert!(!groups.charge_swap(2));
    assert_eq!(
        (groups.swap_left(1, 100), groups.swap_left(ROOT, 100)),
        (0, 100)
    );
    groups.uncharge_swap(3);
    assert_eq!((groups.swap_left(2, 100), groups.get(1).swap.usage), (1, 1));
}

#[test]
fn small_objects_are_charged_in_whole_pages() {
    let mut groups = groups(&[("a", "", "")]);
    for _ in 0..8 {
        groups.charge_bytes(1, 584);
    }
    assert_eq!(groups.get(1).kernel_pages(), 2, "4672 bytes");
    for _ in 0..8 {
        groups.uncharge_bytes(1, 584);
    }
    groups.drain_stock();
    assert_eq!(usage(&groups), [0]);
}

#[test]
fn a_walk_goes_down_before_it_goes_on() {
    let groups = groups(&[
        ("a", "", ""),
        ("b", "", ""),
        ("a/x", "", ""),
        ("a/x/y", "", ""),
    ]);
    assert_eq!(groups.subtree(ROOT), [0, 1, 3, 4, 2]);
    assert_eq!(groups.subtree(1), [1, 3, 4]);
    assert_eq!(groups.subtree(2), [2]);
}

/// How the groups stand to global reclaim.
fn standings(groups: &mut Groups) -> Vec<Standing> {
    let walk = groups.subtree(ROOT).to_vec();
    walk.iter()
        .for_each(|&id| groups.calculate_protection(ROOT, id));
    groups.all().map(|id| groups.standing(ROOT, id)).collect()
}

#[test]
fn a_group_is_protected_as_long_as_it_uses_no_more_than_it_claims() {
    let mut groups = groups(&[("a", "memory.min", "400K"), ("b", "memory.low", "400K")]);
    groups.charge(1, 100).expect("no limit");
    groups.charge(2, 100).expect("no limit");
    assert_eq!(
        standings(&mut groups),
        [Standing::BelowMin, Standing::BelowLow]
    );
    groups.charge(1, 100).expect("no limit");
    groups.charge(2, 100).expect("no limit");
    assert_eq!(standings(&mut groups), [Standing::Bare, Standing::Bare]);
    assert_eq!(groups.open_to_scan(ROOT, 1, 201, false), 101);
    assert_eq!(
        groups.open_to_scan(ROOT, 2, 201, true),
        201,
        "low holds no more"
    );
    assert_eq!(
        groups.open_to_scan(2, 2, 201, false),
        201,
        "nor against its own limit"
    );
}

#[test]
fn a_childs_claim_holds_as_far_as_its_parents_does() {
    let mut groups = groups(&[
        ("a", "memory.low", "200K"),
        ("a/b", "memory.low", "max"),
        ("c", "", ""),
        ("c/d", "memory.low", "max"),
        ("e", "memory.low", "max"),
        ("e/f", "", ""),
    ]);
    for leaf in [2, 4, 6] {
        groups.charge(leaf, 100).expect("no limit");
    }
    standings(&mut groups);
    let low = |id| groups.get(id).protection.low;
    assert_eq!((low(2), low(4)), (50, 0));
    assert_eq!(
        low(6),
        0,
        "without memory_recursiveprot a parent's claim is lost"
    );
}

#[test]
fn events_are_counted_in_every_group_above() {
    let mut groups = groups(&[("a", "", ""), ("a/b", "", "")]);
    groups.count(2, Event::Max);
    groups.count(1, Event::OomKill);
    assert_eq!(
        groups.events_text(1),
        "low 0\nhigh 0\nmax 1\noom 0\noom_kill 1\noom_group_kill 0\n"
    );
    assert_eq!(groups.happened(2, Event::OomKill), 0);
}

#[test]
fn the_high_limit_of_any_group_above_counts() {
    let mut groups = groups(&[("a", "memory.high", "4M"), ("a/b", "", "")]);
    groups.charge(2, 1024).expect("no maximum");
    assert!(!groups.is_above_high(2));
    groups.charge(2, 1024).expect("no maximum");
    assert!(groups.is_above_high(2));
    assert_eq!(groups.above_high(2).collect::<Vec<_>>(), [1]);
    let two_seconds = mm::units::Nanos(2_000_000_000);
    assert_eq!(groups.high_penalty(2, 64), Some(two_seconds));
}

#[test]
fn processes_die_together_up_to_the_group_that_is_out_of_memory() {
    let groups = groups(&[
        ("a", "memory.oom.group", "1"),
        ("a/b", "memory.oom.group", "1"),
        ("a/b/c", "", ""),
    ]);
    assert_eq!(groups.oom_group(3, ROOT), Some(1));
    assert_eq!(groups.oom_group(3, 2), Some(2), "not beyond it");
    assert_eq!(groups.oom_group(3, 3), None);
}

#[test]
fn bad_files_and_values_are_refused_with_their_place() {
    let write = |file: &str, text: &str| {
        let mut groups = groups(&[("db", "", "")]);
        groups
            .write(1, file, text)
            .expect_err("it is refused")
            .to_string()
    };
    assert_eq!(
        write("memory.max", "64 MiB"),
        "db/memory.max = 64 MiB: expected \"max\" or bytes, as in 64M"
    );
    assert!(write("memory.oom.group", "2").contains("expected 0 or 1"));
    assert!(write("io.max", "8:0").contains("the file io.max of control groups"));
    assert!(write("memory.current", "0").contains("memory.current"));
}

#[test]
fn a_group_needs_its_parent() {
    let orphan = Cgroup {
        path: "a/b".into(),
        files: vec![],
    };
    let error = Groups::new(&[orphan]).expect_err("a is missing");
    assert_eq!(error.to_string(), "a/b: there is no control group a");
}
