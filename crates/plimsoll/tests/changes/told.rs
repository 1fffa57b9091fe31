//! What users are told: of plans that kill, of changes that are covered, of several at once.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};

use crate::place::{PLIMSOLL, Place, State};
use crate::stories::until;

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const PRESSURE: &str = "/proc/sys/vm/vfs_cache_pressure";

pub(crate) fn a_plan_is_held_against_the_rules_of_lint(place: &Place) {
    let words = ["apply", "vfs_cache_pressure=0", "swappiness=0x0a"];
    let (code, said) = place.ends_plainly(&[&words[..], &["--dry-run"]].concat());
    assert_eq!(code, 1, "{said}");
    for told in [
        "refused",
        "(vfs-pressure-zero)",
        "swappiness = 0x0a: the kernel reads 10",
        "vm.swappiness: 60 -> 10",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    let (code, said) = place.ends_plainly(&words);
    assert!(code == 2 && said.contains("--even-so"), "{said}");
    assert_eq!(place.state(), State::Old);
    place.run(&[&words[..], &["--even-so", "--now"]].concat());
    assert_eq!(place.read(PRESSURE), "0");
}

pub(crate) fn a_change_that_a_later_one_covers_is_said_and_history_is_not_rewritten(place: &Place) {
    place.run(&["apply", "swappiness=10", "--now"]);
    place.run(&["apply", "swappiness=30", "--now"]);
    let (code, said) = place.ends_plainly(&["status"]);
    assert!(
        code == 1 && said.contains("change 2 covers it"),
        "{code}: {said}"
    );
    place.run(&["undo", "1"]);
    let said = place.run(&["history", "2"]);
    assert!(
        said.contains("10 -> 30 (undo restores 60)") && !said.contains("change 1,"),
        "{said}"
    );
    place.run(&["undo", "2"]);
    assert_eq!(place.state(), State::Old);
    let said = place.run(&["history"]);
    assert!(
        said.contains("10 -> 30") && said.contains("60 -> 10"),
        "{said}"
    );
    let (code, said) = place.ends_plainly(&["history", "9"]);
    assert!(code == 2 && said.contains("there is no change 9"), "{said}");
}

pub(crate) fn several_changes_are_undone_at_once_or_only_shown(place: &Place) {
    for setting in ["swappiness=10", "vfs_cache_pressure=50", "swappiness=30"] {
        place.run(&["apply", setting, "--now", "--persist"]);
    }
    let journal = place.read("/run/plimsoll/journal");
    let nobody = ["setpriv", "--reuid", "65534", "--clear-groups"];
    let (code, said) = place.ends(&nobody, &["undo", "--all", "--dry-run"]);
    assert_eq!(code, 0, "{said}");
    for told in [
        "/proc/sys/vm/swappiness would be 10",
        "/proc/sys/vm/swappiness would be 60",
        "/etc/sysctl.d/99-plimsoll.conf would lose its lines",
        "change 2 would be taken back: every old value is restored",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    assert_eq!(place.read(SWAPPINESS), "30");
    assert_eq!(place.read("/run/plimsoll/journal"), journal);
    let (code, said) = place.ends_plainly(&["undo", "1", "9", "3"]);
    assert!(code == 2 && said.contains("there is no change 9"), "{said}");
    assert!(
        said.contains("change 3 is taken back"),
        "the others are: {said}"
    );
    assert_eq!(
        (place.read(SWAPPINESS), place.read(PRESSURE)),
        ("60".into(), "50".into())
    );
    place.run(&["undo", "--all"]);
    assert_eq!((place.state(), place.has_native()), (State::Old, false));
    place.run(&["undo", "--all"]);
}

pub(crate) fn a_file_with_lines_of_others_is_taken_and_the_file_that_keeps_it_is_named(
    place: &Place,
) {
    let text = "net.core.somaxconn = 4096\nvm.swappiness = 10\nkernel.panic = 5";
    place.write("/etc/mine.conf", text);
    let words = ["apply", "/etc/mine.conf", "--persist", "--confirm", "1h"];
    let said = place.run(&[&words[..], &["--dry-run"]].concat());
    for told in [
        "line 1: net.core.somaxconn is left alone",
        "line 3: kernel.panic is left alone",
        "/etc/sysctl.d/99-plimsoll.conf keeps it",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    assert_eq!(place.state(), State::Old);
    place.run(&words);
    assert_eq!(place.read(SWAPPINESS), "10");
}

fn has_open(process: u32, path: &str) -> bool {
    let files = std::fs::read_dir(format!("/proc/{process}/fd"));
    let mut files = files.into_iter().flatten().flatten();
    files.any(|file| std::fs::read_link(file.path()).is_ok_and(|it| it == Path::new(path)))
}

/// Somebody sets the same while this waits for the lock; then something else.
pub(crate) fn of_two_that_race_each_says_what_happened(place: &Place) {
    for (other, code, told) in [
        ("10", 0, "Nothing was written: somebody else set it so"),
        ("33", 2, "the machine is not as in the plan any more"),
    ] {
        place.reset();
        place.run(&["apply", "page-cluster=0", "--now"]);
        let lock = std::fs::File::open("/run/plimsoll/lock").expect("a lock");
        flock(&lock, FlockOperation::LockExclusive).expect("it is free");
        let mut apply = Command::new(PLIMSOLL);
        let apply = apply.args(["apply", "swappiness=10", "--confirm", "1h"]);
        let child = apply
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        until("it waits for the lock", || {
            has_open(child.id(), "/run/plimsoll/lock")
        });
        place.write(SWAPPINESS, other);
        flock(&lock, FlockOperation::Unlock).expect("it was held");
        let output = child.wait_with_output().expect("it ends");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).replace('\n', " ");
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(told), "{said}");
        assert_eq!(place.read(SWAPPINESS), other);
    }
}
