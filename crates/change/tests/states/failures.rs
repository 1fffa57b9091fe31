//! A step that fails: it leaves nothing, or what it leaves is known and can be taken back.

use plimsoll_change::apply::{ApplyError, apply};
use plimsoll_change::status::{Now, status};
use plimsoll_change::undo;

use crate::world::{Fails, MIN_FREE, READ_AHEAD, SWAPPINESS, When, World};
use crate::{OLD, is, request};

/// Huge pages move min_free_kbytes, and one of the others fails.
const PLANS: [[(&str, &str); 3]; 3] = [
    [
        ("thp.enabled", "always"),
        ("vm.swappiness", "10"),
        ("bdi.sda.read_ahead_kb", "201"),
    ],
    [
        ("bdi.sda.read_ahead_kb", "201"),
        ("thp.enabled", "always"),
        ("vm.dirty_bytes", "600000000"),
    ],
    [
        ("thp.enabled", "always"),
        ("vm.min_free_kbytes", "70000"),
        ("bdi.sda.read_ahead_kb", "201"),
    ],
];

fn is_old(world: &World) -> bool {
    is(world, OLD) && world.live[READ_AHEAD] == "128"
}

#[test]
fn a_value_that_the_kernel_adjusts_is_taken_back_with_all_that_moved() {
    for plan in PLANS {
        let mut world = World::new();
        let error = apply(&mut world, &request(&plan)).expect_err("200 is not 201");
        let said = error.to_string();
        assert!(
            said.contains(
                "it adjusted the value; change 1 is taken back: every value is as it was"
            ),
            "{said}"
        );
        assert!(is_old(&world), "{plan:?}: {:?}", world.live);
        assert_eq!(status(&mut world).expect("a ledger"), []);
    }
}

#[test]
fn a_write_that_fails_may_have_done_a_part() {
    for fails in [Fails::Refused(SWAPPINESS), Fails::InPart(SWAPPINESS)] {
        let plan = [("thp.enabled", "always"), ("vm.swappiness", "10")];
        let mut world = World::new();
        world.fails = Some(fails);
        let error = apply(&mut world, &request(&plan)).expect_err("it fails");
        assert!(matches!(error, ApplyError::TakenBack { .. }), "{error}");
        assert!(is_old(&world), "{fails:?}: {:?}", world.live);
    }
}

#[test]
fn what_cannot_be_put_back_is_said_and_undo_takes_it_back_later() {
    let mut world = World::new();
    world.fails = Some(Fails::Sticks(SWAPPINESS));
    let plan = [("thp.enabled", "always"), ("vm.swappiness", "10")];
    let error = apply(&mut world, &request(&plan))
        .expect_err("it fails")
        .to_string();
    assert!(error.contains("holds 11"), "{error}");
    let standing = status(&mut world).expect("a ledger");
    assert!(standing[0].change.stopped.is_some(), "{standing:?}");
    let of_swappiness = standing[0]
        .steps
        .iter()
        .find(|(step, _)| step.new.path == SWAPPINESS);
    assert!(of_swappiness.is_some_and(|(step, now)| *now == Now::AsSet && step.new.text == "11"));
    world.fails = None;
    undo::undo(&mut world, 1, "asked").expect("it can be written now");
    assert!(is_old(&world), "{:?}", world.live);
}

#[test]
fn what_the_kernel_moved_along_before_a_kill_is_put_back_asked_for_or_not() {
    let plan = [("thp.enabled", "always"), ("vm.min_free_kbytes", "70000")];
    let mut whole = World::new();
    apply(&mut whole, &request(&plan)).expect("applied");
    assert_eq!(whole.live[MIN_FREE], "70000");
    for at in 0..whole.done {
        for when in [When::Before, When::Within, When::After] {
            let mut world = World::new();
            world.cut = Some((at, when));
            apply(&mut world, &request(&plan)).ok();
            world.wait();
            assert!(is_old(&world), "{at} {when:?}: {:?}", world.live);
        }
    }
}

/// The journal takes no more lines from the n-th thing on.
#[test]
fn a_journal_that_is_full_loses_nothing() {
    for plan in PLANS {
        for full in 0..16 {
            let mut world = World::new();
            world.fails = Some(Fails::Full(full));
            apply(&mut world, &request(&plan)).expect_err("it fails");
            world.fails = None;
            world.command();
            undo::undo(&mut world, 1, "asked").ok();
            assert!(
                is_old(&world),
                "{plan:?}, full from {full}: {:?}",
                world.live
            );
            assert_eq!(status(&mut world).expect("a ledger"), [], "{full}");
        }
    }
}
