//! Names that are not UTF-8: of mount points, processes and files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::actor::Actor;
use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{Guard, SETS};
use crate::place::{Place, give_away, mode, system};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "a_mount_that_is_not_utf8_and_a_running_guard",
        must_not: "a mount point of the attacker's ends no guard",
        run: a_running_guard,
    },
    Attack {
        name: "a_mount_that_is_not_utf8_and_a_start",
        must_not: "a mount point of the attacker's keeps no guard from starting",
        run: a_start,
    },
    Attack {
        name: "a_mount_that_is_not_utf8_and_the_command",
        must_not: "a mount point of the attacker's keeps no verb from its work",
        run: the_command,
    },
    Attack {
        name: "a_process_whose_name_is_not_utf8",
        must_not: "a process of the attacker's keeps no verb from its work",
        run: a_process,
    },
    Attack {
        name: "files_whose_names_are_not_utf8",
        must_not: "a file's name keeps neither lint nor inspect from the other files",
        run: files,
    },
];

const FLOOR: &str = "[floor]\nclean_min = \"256 MiB\"";

/// A folder of the attacker's whose name is not UTF-8 and moves the cursor.
fn point(place: &Place) -> PathBuf {
    let folder = place.theirs("/tmp/theirs");
    let point = folder.join(OsStr::from_bytes(b"m\xff\x1b[2J"));
    fs::create_dir(&point).expect("a folder");
    give_away(&point);
    point
}

fn program(place: &Place) -> PathBuf {
    let path = place.file("/tmp/disk/library", &"x".repeat(1 << 20));
    system("sync", &["-f", "/tmp/disk"]);
    path
}

fn a_running_guard(place: &Place) -> Outcome {
    let (point, library) = (point(place), program(place));
    let mut guard = Guard::start(place, FLOOR)?;
    let (_mount, _) = Actor::start("mount", &[&point]);
    // It looks at the mounts before it locks again.
    let locks = guard.comes_to_lock(&library, Duration::from_secs(15));
    held_if(locks, || format!("the guard ended: {}", guard.log()))
}

fn a_start(place: &Place) -> Outcome {
    let (_mount, _) = Actor::start("mount", &[&point(place)]);
    Guard::start(place, SETS).map(drop)
}

/// Verbs that read `/proc` and `/sys`, and whether each does what it is to do without the attack.
const VERBS: &[&[&str]] = &[
    &["inspect"],
    &["explain", "vm.swappiness"],
    &["explain"],
    &["lint"],
    &["status"],
    &["history"],
    &["guard", "check"],
    &["apply", "vm.swappiness=10", "--dry-run"],
];

fn codes(place: &Place) -> Result<Vec<Option<i32>>, String> {
    let codes = VERBS.iter().map(|words| {
        let ended = place.run(words)?;
        Ok(ended.code)
    });
    codes.collect()
}

fn same_codes(place: &Place, attack: impl FnOnce() -> Actor) -> Outcome {
    place.file(crate::guarding::CONFIG, SETS);
    let before = codes(place)?;
    let actor = attack();
    for (words, before) in VERBS.iter().zip(before) {
        let ended = place.run(words)?;
        held_if(ended.code == before, || {
            format!("{words:?}: {before:?} before, now {}", ended.said())
        })?;
    }
    drop(actor);
    Ok(())
}

fn the_command(place: &Place) -> Outcome {
    let point = point(place);
    same_codes(place, || Actor::start("mount", &[&point]).0)
}

/// `comm` is what the file is called.
fn a_process(place: &Place) -> Outcome {
    let folder = place.theirs("/tmp/theirs");
    let name = folder.join(OsStr::from_bytes(b"p\xff\xfe\n) R 1"));
    fs::copy("/bin/sleep", &name).expect("a copy");
    mode(&name, 0o755);
    let mut sleep = Command::new(&name);
    let mut sleeping = crate::process::as_nobody(sleep.arg("60"))
        .spawn()
        .expect("it runs");
    let outcome = same_codes(place, || Actor::start("lock-all", &[&folder]).0);
    sleeping.kill().expect("a child");
    sleeping.wait().expect("a child");
    outcome
}

fn files(place: &Place) -> Outcome {
    let folder = Path::new("/tmp/image/etc/sysctl.d");
    place.file(folder.join("a.conf"), "vm.swapiness = 10");
    fs::write(
        folder.join(OsStr::from_bytes(b"b\xff.conf")),
        "vm.dirty_ratoi = 5\n",
    )
    .expect("a file");
    fs::write(folder.join("c.conf"), b"# \xff\xfe\nvm.swapiness = 20\n").expect("a file");
    let ended = place.run(&["lint", "/tmp/image"])?;
    let said = ended.said();
    held_if(
        said.contains("a.conf") && said.contains("key-misspelt"),
        || said,
    )?;
    place.file(
        "/tmp/evidence/proc/meminfo",
        "MemTotal: 1000 kB\nMemFree: 500 kB",
    );
    let name = OsStr::from_bytes(b"\xff");
    fs::write(Path::new("/tmp/evidence").join(name), b"\xff").expect("a file");
    let ended = place.run(&["inspect", "/tmp/evidence"])?;
    held_if(ended.code == Some(0), || ended.said())
}
