//! Values that a program holds: it is killed at every place, and its next start writes back.

use mm::settings::Setting;
use plimsoll_change::Hold;
use plimsoll_change::hold::{HoldError, Restored};

use crate::world::{BYTES, HUGE, MIN_FREE, RATIO, READ_AHEAD, SWAPPINESS, When, World};
use crate::{OLD, is};

const STATE: &str = "run/plimsoll/guard.state";

fn setting(tunable: &str, value: &str) -> Setting {
    Setting {
        tunable: tunable.to_owned(),
        value: value.to_owned(),
    }
}

/// A life: values that come and go, both sides of a pair, and one that is refused.
fn live(world: &mut World) -> Result<(), HoldError> {
    let mut hold = Hold::open(world, STATE)?;
    hold.restore(world)?;
    let settings = [
        ("vm.swappiness", "0"),
        ("vm.dirty_bytes", "400000000"),
        ("vm.swappiness", "60"),
        ("vm.dirty_bytes", "200000000"),
        ("vm.dirty_bytes", "200000000"),
        ("vm.dirty_ratio", "20"),
        ("vm.swappiness", "10"),
        ("vm.dirty_ratio", "5"),
        ("vm.swappiness", "0"),
    ];
    for (tunable, value) in settings {
        hold.set(world, &setting(tunable, value))?;
    }
    hold.restore(world).map(drop)
}

fn restore(world: &mut World) -> Vec<Restored> {
    let hold = Hold::open(world, STATE);
    let restored = hold.and_then(|mut hold| hold.restore(world));
    restored.expect("nothing fails here")
}

#[test]
fn a_program_that_is_killed_anywhere_leaves_nothing_that_its_next_start_does_not_write_back() {
    let mut whole = World::new();
    live(&mut whole).expect("nothing fails here");
    assert!(is(&whole, OLD) && whole.native.is_empty(), "{whole:?}");
    for at in 0..whole.done {
        for when in [When::Before, When::Within, When::After] {
            let mut world = World::new();
            world.cut = Some((at, when));
            live(&mut world).expect_err("it is killed");
            world.command();
            restore(&mut world);
            assert!(is(&world, OLD), "{at} {when:?}: {:?}", world.live);
            assert!(world.native.is_empty(), "{at} {when:?}");
        }
    }
}

#[test]
fn a_value_that_the_kernel_adjusts_is_not_held_and_leaves_nothing_however_it_is_killed() {
    let adjusted = |world: &mut World| {
        let mut hold = Hold::open(world, STATE)?;
        hold.set(world, &setting("bdi.sda.read_ahead_kb", "64"))?;
        hold.set(world, &setting("bdi.sda.read_ahead_kb", "201"))
    };
    let mut whole = World::new();
    let error = adjusted(&mut whole).expect_err("not taken");
    assert!(
        error.to_string().contains("it adjusted the value"),
        "{error}"
    );
    assert_eq!(whole.live[READ_AHEAD], "64");
    for at in 0..whole.done {
        for when in [When::Before, When::Within, When::After] {
            let mut world = World::new();
            world.cut = Some((at, when));
            adjusted(&mut world).expect_err("it is killed");
            world.command();
            restore(&mut world);
            assert_eq!(world.live[READ_AHEAD], "128", "{at} {when:?}");
            assert!(world.native.is_empty(), "{at} {when:?}");
        }
    }
}

#[test]
fn what_an_administrator_writes_between_two_of_its_actions_stays() {
    let mut world = World::new();
    let mut hold = Hold::open(&mut world, STATE).expect("nothing there");
    for (tunable, value) in [("vm.swappiness", "0"), ("vm.dirty_bytes", "400000000")] {
        hold.set(&mut world, &setting(tunable, value)).expect("set");
    }
    world.set(RATIO, "7");
    let restored = restore(&mut world);
    assert_eq!(restored.len(), 2);
    assert!(
        restored
            .iter()
            .any(|it| matches!(it, Restored::Theirs(value) if value.text == "7"))
    );
    let live = [SWAPPINESS, RATIO, BYTES].map(|path| world.live[path].as_str());
    assert_eq!(live, ["60", "7", "0"]);
}

#[test]
fn a_device_that_is_gone_is_no_failure() {
    let mut world = World::new();
    let mut hold = Hold::open(&mut world, STATE).expect("nothing there");
    hold.set(&mut world, &setting("vm.swappiness", "0"))
        .expect("set");
    world.live.remove(SWAPPINESS);
    assert_eq!(restore(&mut world), [Restored::Gone(SWAPPINESS.to_owned())]);
    assert!(world.native.is_empty());
}

#[test]
fn what_moves_others_or_is_no_tunable_is_not_held() {
    let mut world = World::new();
    let mut hold = Hold::open(&mut world, STATE).expect("nothing there");
    for tunable in ["thp.enabled", "vm.drop_caches", "vm.nothing"] {
        let error = hold
            .set(&mut world, &setting(tunable, "always"))
            .expect_err("not held");
        assert!(matches!(error, HoldError::Unknown(_)), "{error}");
    }
    let live = [HUGE, MIN_FREE].map(|path| world.live[path].as_str());
    assert_eq!(live, ["madvise", "5000"]);
}

#[test]
fn a_damaged_file_is_named_and_stays() {
    let mut world = World::new();
    let mut hold = Hold::open(&mut world, STATE).expect("nothing there");
    hold.set(&mut world, &setting("vm.swappiness", "0"))
        .expect("set");
    let text = world.native[STATE].replace("swappiness", "swappinesS");
    world.native.insert(STATE.to_owned(), text.clone());
    let error = Hold::open(&mut world, STATE).expect_err("damaged");
    let expected = "/run/plimsoll/guard.state: line 2 is damaged: read it, put right by hand what \
                    it set, and move it away";
    assert_eq!(error.to_string(), expected);
    assert_eq!(world.native[STATE], text);
}
