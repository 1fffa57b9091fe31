//! A `/proc` or `/sys` that is not there, and disks that are full.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{self, CONFIG, Guard, STATE};
use crate::place::{PROMPT, Place, SWAPPINESS, system};
use crate::process::{Ended, becomes, ends};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "restore_without_proc",
        must_not: "a vanished /proc takes nothing from the record of what the guard set",
        run: restore_without_proc,
    },
    Attack {
        name: "undo_without_proc",
        must_not: "a vanished /proc ends no change that stands",
        run: undo_without_proc,
    },
    Attack {
        name: "undo_without_sys",
        must_not: "a vanished /sys ends no change that stands",
        run: undo_without_sys,
    },
    Attack {
        name: "a_full_run_and_the_guard",
        must_not: "where /run is full the guard sets nothing, and says that it is full",
        run: a_full_run_and_the_guard,
    },
    Attack {
        name: "a_full_run_and_apply",
        must_not: "where /run is full apply writes nothing, and says that it is full",
        run: a_full_run_and_apply,
    },
    Attack {
        name: "a_full_etc_and_persist",
        must_not: "where /etc is full no part of a native file is left, and it is said",
        run: a_full_etc_and_persist,
    },
];

/// Runs a program in a namespace in which something is not mounted.
fn without(point: &str, program: &[&str]) -> Result<Ended, String> {
    let script = format!("umount -l {point} && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        &script,
        "sh",
    ]);
    let ended = ends(command.args(program).current_dir("/"), PROMPT);
    ended.ok_or_else(|| format!("{program:?} without {point} did not end"))
}

fn restore_without_proc(place: &Place) -> Outcome {
    Guard::killed(place)?;
    let ended = without("/proc", &["/tmp/bin/plimsoll-guard", "--restore"])?;
    held_if(Path::new(STATE).exists() && ended.code != Some(0), || {
        format!("the record is gone, {:?}: {}", ended.code, ended.said())
    })?;
    guarding::ends_with(&["--restore"])?;
    held_if(place.read(SWAPPINESS) == "60", || {
        "vm.swappiness stays as the guard set it".to_owned()
    })
}

fn undo_without_proc(place: &Place) -> Outcome {
    undone_later(place, "vm.swappiness=10", "/proc", SWAPPINESS, "60")
}

fn undo_without_sys(place: &Place) -> Outcome {
    let path = "/sys/kernel/mm/ksm/pages_to_scan";
    undone_later(place, "ksm.pages_to_scan=400", "/sys", path, "100")
}

fn undone_later(place: &Place, setting: &str, point: &str, path: &str, old: &str) -> Outcome {
    place.does(&["apply", setting, "--now"])?;
    let ended = without(point, &["/tmp/bin/plimsoll", "undo"])?;
    place.run(&["undo"])?;
    held_if(place.read(path) == old, || {
        format!(
            "{path} is {}; undo without {point} said: {}",
            place.read(path),
            ended.said()
        )
    })
}

/// Leaves no byte free.
fn fill(folder: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let options = "mode=755,size=32k";
    system("mount", &["-t", "tmpfs", "-o", options, "full", folder]);
    ballast(folder);
}

fn ballast(folder: &str) {
    let file = fs::File::create(Path::new(folder).join("ballast")).expect("a file");
    let mut file = std::io::BufWriter::with_capacity(4096, file);
    let is_full = (0..100).any(|_| {
        use std::io::Write as _;
        file.write_all(&[7; 4096])
            .and_then(|()| file.flush())
            .is_err()
    });
    assert!(is_full, "{folder} is full");
    // What the buffer holds has no room.
    drop(file.into_parts());
}

fn says_full(said: &str) -> bool {
    ["space", "room", "full"]
        .iter()
        .any(|word| said.contains(word))
}

/// It is full when a policy comes that sets something.
fn a_full_run_and_the_guard(place: &Place) -> Outcome {
    fill("/run/plimsoll");
    fs::remove_file("/run/plimsoll/ballast").expect("the ballast");
    let mut guard = Guard::start(place, "[floor]\nanon_min = \"1 KiB\"")?;
    ballast("/run/plimsoll");
    place.file(CONFIG, "[ksm]\nmost_cpu = \"20 %\"");
    guard.signal(Signal::HUP);
    let blames = |guard: &mut Guard| guard.log().contains("somebody else") || guard.has_ended();
    becomes(Duration::from_secs(4), || blames(&mut guard));
    let said = guard.log();
    held_if(says_full(&said) && !blames(&mut guard), || said)?;
    held_if(!is_set(place), || {
        "vm.swappiness is set, and nothing records it".to_owned()
    })?;
    guard.stop()
}

fn is_set(place: &Place) -> bool {
    place.read(SWAPPINESS) == "0"
}

fn a_full_run_and_apply(place: &Place) -> Outcome {
    fill("/run/plimsoll");
    let ended = place.run(&["apply", "vm.swappiness=10", "--now"])?;
    let value = place.read(SWAPPINESS);
    held_if(value == "60" && says_full(&ended.said()), || {
        format!("vm.swappiness is {value}: {}", ended.said())
    })
}

fn a_full_etc_and_persist(place: &Place) -> Outcome {
    fill("/etc/sysctl.d");
    let ended = place.run(&["apply", "vm.swappiness=10", "--now", "--persist"])?;
    let entries = fs::read_dir("/etc/sysctl.d").expect("a folder").flatten();
    let left = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<String> = left.filter(|name| name != "ballast").collect();
    held_if(left.is_empty() && says_full(&ended.said()), || {
        format!("{left:?} is left: {}", ended.said())
    })
}
