//! `apply`, `confirm` and `undo`, killed (`kill -9`) at a system call that changes something: at
//! each of them (`PLIMSOLL_KILLS=all`), or at a share of them in the usual check.

use crate::place::{Place, State};

/// The calls that change something or that others wait for.
pub(crate) const CALLS: &[&str] = &[
    "openat",
    "write",
    "ftruncate",
    "fsync",
    "renameat",
    "unlinkat",
    "mkdirat",
    "flock",
    "execve",
    "clone3",
    "clone",
    "vfork",
];

/// What is applied: sysctls and a file of `/sys`.
const SETTINGS: &[&str] = &[
    "vm.swappiness=10",
    "vm.watermark_scale_factor=200",
    "vm.vfs_cache_pressure=50",
    "vm.page-cluster=0",
    "vm.stat_interval=10",
    "vm.watermark_boost_factor=0",
    "vm.compaction_proactiveness=0",
    "vm.dirty_expire_centisecs=500",
    "vm.dirty_writeback_centisecs=100",
    "ksm.pages_to_scan=400",
];

const APPLY: &[&str] = &["apply", "--confirm", "1h"];

/// What is done before, and what is killed.
type Script<'a> = (&'a str, &'a [&'a [&'a str]], &'a [&'a str]);

/// What was killed is known to `status`; tried again, it ends with all old or all new.
pub(crate) fn every_kill_leaves_the_old_or_the_new_state(place: &Place) {
    let apply: Vec<&str> = [APPLY, SETTINGS].concat();
    let lasting: Vec<&str> = [APPLY, &["--persist"], SETTINGS].concat();
    let now: Vec<&str> = [&["apply", "--now"], SETTINGS].concat();
    let at_once: Vec<&str> = [&["apply", "--now", "--persist"], SETTINGS].concat();
    let scripts: [Script<'_>; 10] = [
        ("apply", &[], &apply),
        ("apply --now", &[], &now),
        ("apply --now --persist", &[], &at_once),
        ("confirm", &[&apply], &["confirm"]),
        ("confirm --persist", &[&lasting], &["confirm"]),
        (
            "confirm --persist, afterwards",
            &[&now],
            &["confirm", "1", "--persist"],
        ),
        ("undo", &[&apply], &["undo"]),
        ("undo of a confirmed one", &[&now], &["undo"]),
        ("undo of a lasting one", &[&at_once], &["undo"]),
        ("undo of one that was to last", &[&lasting], &["undo"]),
    ];
    let (mut kills, mut wrong) = (0, vec![]);
    for (name, before, command) in scripts {
        for (call, number) in place.calls(before, command, CALLS) {
            kills += 1;
            place.reset();
            before.iter().for_each(|done| drop(place.run(done)));
            place.killed(command, call, number);
            let told = format!("{name}, killed at {call} {number}");
            wrong.extend(
                check(place, name)
                    .err()
                    .map(|what| format!("{told}: {what}")),
            );
        }
    }
    println!("{kills} kills");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(kills > 30, "{kills}");
}

fn check(place: &Place, name: &str) -> Result<(), String> {
    let status = place.status()?;
    let state = place.state();
    if status.standing == 0 && state != State::Old {
        return Err(format!("no change stands, and the values are {state:?}"));
    }
    if status.is_confirmed && state != State::New && !status.has_drifted {
        return Err(format!(
            "status knows nothing, and the values are {state:?}"
        ));
    }
    if status.is_pending && state != State::Old && !status.is_watched {
        return Err("it is written, and nothing would take it back".to_owned());
    }
    if name.starts_with("confirm") && status.is_pending {
        place.run(&["confirm"]);
        let native = place.has_native();
        let is_lasting = name.contains("--persist");
        if place.state() != State::New || native != is_lasting {
            return Err(format!("confirmed again: {:?}, {native}", place.state()));
        }
    }
    if place.status()?.standing > 0 {
        place.run(&["undo"]);
    }
    let status = place.status()?;
    let drafts = place.drafts();
    if !drafts.is_empty() {
        return Err(format!("drafts are left: {}", drafts.join(", ")));
    }
    match (place.state(), place.has_native(), status.standing) {
        (State::Old, false, 0) => Ok(()),
        left => Err(format!("taken back: {left:?}")),
    }
}
