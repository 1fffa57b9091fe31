//! Every state of a change, with every cut: a command is killed before, in and after each thing
//! that it does to the world, and then the timer fires, the machine reboots, or the user goes on;
//! and every order of commands, reboots, passing time and an administrator's own writes.

mod failures;
mod held;
mod orders;
mod overlaps;
mod trials;
mod world;

use mm::settings::Setting;
use mm::units::Nanos;
use plimsoll_change::apply::{Request, apply};
use plimsoll_change::confirm::{Files, confirm};
use plimsoll_change::status::{Now, status};
use plimsoll_change::{Phase, Role, undo};
use world::{BYTES, HUGE, MIN_FREE, RATIO, SWAPPINESS, When, World};

pub(crate) fn files() -> Files {
    Files {
        sysctl: "etc/sysctl.d/99-plimsoll.conf".to_owned(),
        tmpfiles: "etc/tmpfiles.d/00-plimsoll.conf".to_owned(),
    }
}

pub(crate) fn request(settings: &[(&str, &str)]) -> Request {
    let setting = |&(tunable, value): &(&str, &str)| Setting {
        tunable: tunable.to_owned(),
        value: value.to_owned(),
    };
    Request {
        settings: settings.iter().map(setting).collect(),
        confirm: Nanos(600 * Nanos::SECOND.0),
        why: "a test".to_owned(),
        lasts: false,
        watch: None,
    }
}

/// Two sysctls, one of them the side of a pair that does not count, and huge pages, which move a
/// third.
fn everything() -> Request {
    request(&[
        ("vm.swappiness", "10"),
        ("vm.dirty_bytes", "600000000"),
        ("thp.enabled", "always"),
    ])
}

/// What the tunables hold before and after [`everything`].
const OLD: [(&str, &str); 5] = [
    (SWAPPINESS, "60"),
    (RATIO, "20"),
    (BYTES, "0"),
    (MIN_FREE, "5000"),
    (HUGE, "madvise"),
];
const NEW: [(&str, &str); 5] = [
    (SWAPPINESS, "10"),
    (RATIO, "0"),
    (BYTES, "600000000"),
    (MIN_FREE, "67584"),
    (HUGE, "always"),
];

fn is(world: &World, values: [(&str, &str); 5]) -> bool {
    values.iter().all(|(path, text)| world.live[*path] == *text)
}

type Command = fn(&mut World);

fn do_apply(world: &mut World) {
    let _ = apply(world, &everything());
}
fn do_confirm(world: &mut World) {
    let _ = confirm(world, 1, None);
}
fn do_persist(world: &mut World) {
    let _ = confirm(world, 1, Some(&files()));
}
fn do_undo(world: &mut World) {
    let _ = undo::undo(world, 1, "asked");
}

/// Runs `before`, then `command` killed at every place; yields each world that this leaves.
fn every_cut(before: &[Command], command: Command) -> Vec<(World, usize, When)> {
    let mut start = World::new();
    for done in before {
        start.command();
        done(&mut start);
    }
    start.command();
    let mut whole = start.clone();
    command(&mut whole);
    assert!(whole.done > 1, "the command does something");
    let cuts = (0..whole.done)
        .flat_map(|at| [When::Before, When::Within, When::After].map(|when| (at, when)));
    let cut = |(at, when)| {
        let mut world = start.clone();
        world.cut = Some((at, when));
        command(&mut world);
        world.command();
        (world, at, when)
    };
    cuts.map(cut).collect()
}

/// All old, or all new with the change confirmed and, where it is to last, its native lines there.
fn check_settled(world: &mut World, told: &str) {
    let standing = status(world).expect("a ledger");
    match standing.as_slice() {
        [] => {
            assert!(
                is(world, OLD),
                "{told}: no change stands, and {:?}",
                world.live
            );
            assert!(world.native.is_empty(), "{told}: {:?}", world.native);
        }
        [one] => {
            assert_eq!(one.change.phase, Phase::Confirmed, "{told}");
            assert!(is(world, NEW), "{told}: confirmed, and {:?}", world.live);
            assert!(!one.has_drifted(), "{told}");
        }
        _ => panic!("{told}: one change was made"),
    }
}

/// `status` tells what is not as the change has it, and undoing ends with everything as it was.
fn check_known(world: &mut World, told: &str) {
    let standing = status(world).expect("a ledger");
    if standing.is_empty() {
        assert!(
            is(world, OLD) && world.native.is_empty(),
            "{told}: {:?}",
            world.live
        );
    }
    for one in &standing {
        for (step, now) in one
            .steps
            .iter()
            .filter(|(step, _)| step.role != Role::Aside)
        {
            let is_new = world.live[&step.new.path] == step.new.text;
            assert_eq!(is_new, *now == Now::AsSet, "{told}: {step:?} {now:?}");
        }
    }
    for id in standing.iter().map(|one| one.change.id).rev() {
        undo::undo(world, id, "asked").expect("what stands can be undone");
    }
    assert!(
        is(world, OLD) && world.native.is_empty(),
        "{told}: {:?}",
        world.live
    );
    assert!(status(world).expect("a ledger").is_empty(), "{told}");
}

const SCRIPTS: &[(&str, &[Command], Command)] = &[
    ("apply", &[], do_apply),
    ("confirm", &[do_apply], do_confirm),
    ("confirm --persist", &[do_apply], do_persist),
    ("undo", &[do_apply], do_undo),
    ("undo of a confirmed one", &[do_apply, do_confirm], do_undo),
    ("undo of a lasting one", &[do_apply, do_persist], do_undo),
    ("the timer", &[do_apply], World::wait),
];

#[test]
fn after_any_cut_and_the_timer_all_is_old_or_all_is_new_and_confirmed() {
    let mut cuts = 0;
    for (name, before, command) in SCRIPTS {
        for (mut world, at, when) in every_cut(before, *command) {
            let told = format!("{name} killed at {at} {when:?}, then the timer");
            if name.starts_with("undo of") {
                // Nothing waits for a timer: whoever was killed tries again.
                do_undo(&mut world);
            }
            world.wait();
            undo::settle(&mut world).expect("nothing fails here");
            check_settled(&mut world, &told);
            cuts += 1;
        }
    }
    assert!(cuts > 120, "{cuts}");
}

#[test]
fn after_any_cut_a_value_that_was_written_has_a_timer_or_a_confirmation() {
    for (mut world, at, when) in every_cut(&[], do_apply) {
        let changed = !is(&world, OLD);
        assert!(
            !changed || world.is_armed(1),
            "apply killed at {at} {when:?}"
        );
        world.wait();
        assert!(
            is(&world, OLD),
            "apply killed at {at} {when:?}: {:?}",
            world.live
        );
    }
}

#[test]
fn after_any_cut_of_the_power_all_is_old_or_all_is_new_or_status_knows() {
    for (name, before, command) in SCRIPTS {
        for (mut world, at, when) in every_cut(before, *command) {
            let told = format!("{name} at {at} {when:?}, then a reboot");
            world.reboot();
            assert!(
                is(&world, OLD) || is(&world, NEW) || {
                    // A confirmation or an undo of two native files was cut between them.
                    status(&mut world)
                        .expect("a ledger")
                        .iter()
                        .any(plimsoll_change::status::Status::has_drifted)
                },
                "{told}: {:?}",
                world.live
            );
            if *name == "undo of a lasting one" && world.native.is_empty() {
                assert_eq!(status(&mut world), Ok(vec![]), "{told}: its lines are gone");
            }
            let mut settled = world.clone();
            undo::settle(&mut settled).expect("nothing fails here");
            check_known(&mut settled, &format!("{told}, then settled"));
            check_known(&mut world, &told);
        }
    }
}

#[test]
fn a_way_back_that_is_cut_itself_is_taken_up_again() {
    for (mut world, at, when) in every_cut(&[do_apply], do_persist) {
        world.now += Nanos(1000 * Nanos::SECOND.0);
        let mut whole = world.clone();
        undo::settle(&mut whole).expect("nothing fails here");
        for again in 0..whole.done {
            for how in [When::Before, When::Within, When::After] {
                let mut world = world.clone();
                world.cut = Some((again, how));
                let _ = undo::settle(&mut world);
                world.command();
                undo::settle(&mut world).expect("nothing fails now");
                let told = format!("confirm cut at {at} {when:?}, the timer at {again} {how:?}");
                check_settled(&mut world, &told);
                world.reboot();
                check_known(&mut world, &format!("{told}, then a reboot"));
            }
        }
        world.command();
    }
}

#[test]
fn what_an_administrator_writes_in_between_is_never_lost() {
    let mut whole = World::new();
    do_apply(&mut whole);
    do_undo(&mut whole);
    for at in 0..=whole.done {
        let mut world = World::new();
        world.meddler = Some((at, SWAPPINESS, "33"));
        do_apply(&mut world);
        do_undo(&mut world);
        let kept = world.live[SWAPPINESS] == "33";
        // Between our last look and our write there is no telling: our write came after theirs.
        let ours = whole.writes.iter().filter(|(_, path)| path == SWAPPINESS);
        let overwritten = ours.into_iter().any(|(when, _)| *when == at);
        assert!(
            kept || overwritten || at == whole.done,
            "at {at}: {:?}",
            world.live
        );
        let others = [RATIO, BYTES, MIN_FREE, HUGE];
        let same = others
            .iter()
            .all(|path| OLD.contains(&(path, world.live[*path].as_str())));
        assert!(same, "at {at}: {:?}", world.live);
    }
}

#[test]
fn what_is_so_already_is_not_written() {
    let mut world = World::new();
    let same = request(&[("vm.swappiness", "60"), ("vm.dirty_ratio", "20")]);
    assert_eq!(apply(&mut world, &same), Ok(None));
    assert_eq!(world.done, 0);
}

#[test]
fn a_write_that_the_kernel_does_not_take_is_taken_back_with_all_before_it() {
    let mut world = World::new();
    let bad = request(&[("vm.swappiness", "10"), ("vm.nr_hugepages", "5")]);
    let error = apply(&mut world, &bad).expect_err("no such file here");
    assert!(
        error.to_string().starts_with("nothing was written"),
        "{error}"
    );
    assert!(is(&world, OLD) && world.done == 0);
}

#[test]
fn a_change_that_a_native_file_cannot_keep_is_confirmed_without_or_not_at_all() {
    let mut world = World::new();
    world
        .live
        .insert("sys/block/sda/bdi/max_ratio".to_owned(), "100".to_owned());
    let device = request(&[("bdi.sda.max_ratio", "20")]);
    apply(&mut world, &device).expect("applied");
    let error = confirm(&mut world, 1, Some(&files())).expect_err("a device comes and goes");
    assert!(error.to_string().contains("without --persist"), "{error}");
    assert!(world.native.is_empty());
    confirm(&mut world, 1, None).expect("for this boot");
}
