//! The floor, steered by somebody else, and what the guard tells everybody.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::actor::Actor;
use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::Guard;
use crate::locks::nobody_can;
use crate::place::{Place, give_away, system};
use crate::process::becomes;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "the_floor_is_filled",
        must_not: "the attacker's 100 MiB take no lock from a file that root uses",
        run: the_floor_is_filled,
    },
    Attack {
        name: "the_slots_are_taken",
        must_not: "the attacker's files of a byte leave slots for a file that root uses",
        run: the_slots_are_taken,
    },
    Attack {
        name: "the_floor_is_flooded",
        must_not: "the attacker's opens keep the guard from no file that root uses",
        run: the_floor_is_flooded,
    },
    Attack {
        name: "events_are_for_root",
        must_not: "nobody else reads which files others use, or asks for a release",
        run: events_are_for_root,
    },
];

const MIB: usize = 1 << 20;
/// How long root's file may take to be locked.
const LONG: Duration = Duration::from_secs(12);

/// A floor with room for what others use on this machine meanwhile, such as a build.
const ROOMY: &str = "[floor]\nclean_min = \"256 MiB\"";

/// A file of root's, and a folder with this many of the attacker's.
fn files(place: &Place, own: usize, count: usize, size: usize) -> (PathBuf, PathBuf) {
    let own = place.file("/tmp/disk/own", &"x".repeat(own));
    let theirs = place.theirs("/tmp/disk/theirs");
    for number in 0..count {
        let path = theirs.join(format!("{number:04}"));
        fs::write(&path, vec![7; size]).expect("a file");
        give_away(&path);
    }
    system("sync", &["-f", "/tmp/disk"]);
    (own, theirs)
}

fn many(count: usize, name: &str, folder: &Path) -> Vec<Actor> {
    let start = |_| Actor::start(name, &[folder]).0;
    (0..count).map(start).collect()
}

/// All of them together do not fit below the floor: 100 MiB and 8 of 104.
fn the_floor_is_filled(place: &Place) -> Outcome {
    let (own, theirs) = files(place, 8 * MIB, 5, 20 * MIB);
    let mut guard = Guard::start(place, "[floor]\nclean_min = \"104 MiB\"")?;
    let attackers = many(20, "use-files", &theirs);
    let all = 100 * MIB as u64;
    becomes(Duration::from_secs(4), || {
        figure(place, "locked_bytes") >= all
    });
    let taken = figure(place, "locked_bytes") >> 20;
    let is_locked = guard.comes_to_lock(&own, LONG);
    drop(attackers);
    held_if(is_locked, || {
        format!("{taken} MiB of theirs are locked, and root's 8 MiB are not")
    })
}

fn the_slots_are_taken(place: &Place) -> Outcome {
    let (own, theirs) = files(place, MIB, 900, 1);
    let mut guard = Guard::start(place, ROOMY)?;
    let attackers = many(2, "use-files", &theirs);
    // As many as it takes, or as few as it lets them.
    becomes(Duration::from_secs(4), || {
        figure(place, "locked_files") >= 760
    });
    let taken = figure(place, "locked_files");
    let is_locked = guard.comes_to_lock(&own, LONG);
    drop(attackers);
    held_if(is_locked, || {
        format!("{taken} files of a byte are locked, and root's is not")
    })
}

/// What the guard says of itself; 0 where it says nothing.
fn figure(place: &Place, name: &str) -> u64 {
    let figures = place.read("/run/plimsoll/guard.prom");
    let name = format!("plimsoll_guard_{name} ");
    let mut lines = figures.lines();
    let value = lines.find_map(|line| line.strip_prefix(&name));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn the_floor_is_flooded(place: &Place) -> Outcome {
    let (own, theirs) = files(place, MIB, 5000, 4096);
    let mut guard = Guard::start(place, ROOMY)?;
    let mut attackers = many(4, "flood", &theirs);
    let is_locked = guard.comes_to_lock(&own, LONG);
    let rate = attackers.pop().map(Actor::end).unwrap_or_default();
    drop(attackers);
    held_if(is_locked, || {
        format!("at 4 times {rate} root's file is not locked")
    })
}

fn events_are_for_root(place: &Place) -> Outcome {
    let (own, _) = files(place, MIB, 0, 0);
    let mut guard = Guard::start(place, ROOMY)?;
    assert!(guard.comes_to_lock(&own, LONG), "{}", guard.log());
    assert!(Path::new("/run/plimsoll/guard.events").exists());
    held_if(!nobody_can(&["cat", "/run/plimsoll/guard.events"]), || {
        "user 65534 reads guard.events".to_owned()
    })?;
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&own).expect("a file"));
    for words in [&["guard", "events"][..], &["guard", "explain"]] {
        let ended = place.run_as_nobody(words)?;
        let is_told = ended.said().contains(&format!("/{inode}"));
        held_if(!is_told, || {
            format!("{words:?} as user 65534: {}", ended.said())
        })?;
    }
    let ended = place.run_as_nobody(&["guard", "release", "/tmp/disk"])?;
    held_if(ended.code != Some(0), || ended.said())
}
