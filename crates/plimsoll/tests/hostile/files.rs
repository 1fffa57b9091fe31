//! Files that root replaces in a folder of the attacker's: the metrics of the guard.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::actor::Actor;
use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{CONFIG, Guard, SETS};
use crate::place::{PROMPT, Place, SWAPPINESS, VICTIM, give_away};
use crate::process::becomes;

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "metrics_over_a_link",
        must_not: "a link in the metrics' folder leads to no file of root's",
        run: metrics_over_a_link,
    },
    Attack {
        name: "metrics_over_a_hard_link",
        must_not: "a second name in the metrics' folder leads to no file of root's",
        run: metrics_over_a_hard_link,
    },
    Attack {
        name: "metrics_over_a_fifo",
        must_not: "a FIFO in the metrics' folder hangs no guard: it ends at SIGTERM",
        run: metrics_over_a_fifo,
    },
    Attack {
        name: "metrics_over_a_folder",
        must_not: "a folder in the place of the metrics ends no guard",
        run: metrics_over_a_folder,
    },
    Attack {
        name: "metrics_behind_a_link",
        must_not: "a link on the way to the metrics leads to no folder of root's",
        run: metrics_behind_a_link,
    },
    Attack {
        name: "metrics_while_names_are_swapped",
        must_not: "1000 swaps of names in the metrics' folder lead to no file of root's",
        run: metrics_while_names_are_swapped,
    },
    Attack {
        name: "metrics_while_drafts_are_caught",
        must_not: "a link in the place of a draft leads to no file of root's",
        run: metrics_while_drafts_are_caught,
    },
];

const FOLDER: &str = "/tmp/theirs";
const METRICS: &str = "/tmp/theirs/p.prom";
/// The names by which a writer has made its draft.
const DRAFTS: [&str; 3] = ["p.prom.new", ".p.prom.new", "p.prom"];

fn config() -> String {
    format!("metrics = \"{METRICS}\"\n{SETS}")
}

fn guard_at_work(place: &Place) -> Result<Guard, String> {
    let guard = Guard::start(place, &config())?;
    assert!(
        becomes(PROMPT, || place.read(SWAPPINESS) == "0"),
        "it works"
    );
    Ok(guard)
}

/// The guard writes its status after its actions: it has, or it cannot, when it answers to a stop.
fn after_a_guard(place: &Place) -> Outcome {
    let mut guard = guard_at_work(place)?;
    becomes(Duration::from_secs(2), || {
        fs::symlink_metadata(METRICS).is_ok_and(|it| it.is_file()) || guard.has_ended()
    });
    guard.stop()?;
    place.victim_is_whole()
}

fn metrics_over_a_link(place: &Place) -> Outcome {
    place.theirs(FOLDER);
    for name in DRAFTS {
        symlink(VICTIM, Path::new(FOLDER).join(name)).expect("a link");
    }
    after_a_guard(place)
}

/// As a machine without `fs.protected_hardlinks` allows.
fn metrics_over_a_hard_link(place: &Place) -> Outcome {
    place.theirs(FOLDER);
    for name in DRAFTS {
        fs::hard_link(VICTIM, Path::new(FOLDER).join(name)).expect("a second name");
    }
    after_a_guard(place)
}

fn metrics_over_a_fifo(place: &Place) -> Outcome {
    place.theirs(FOLDER);
    for name in DRAFTS {
        let fifo = Path::new(FOLDER).join(name);
        let made = Command::new("mkfifo").arg(&fifo).status();
        assert!(made.expect("mkfifo").success());
        give_away(&fifo);
    }
    after_a_guard(place)
}

fn metrics_over_a_folder(place: &Place) -> Outcome {
    place.theirs(FOLDER);
    for name in DRAFTS {
        fs::create_dir(Path::new(FOLDER).join(name)).expect("a folder");
    }
    let mut guard = guard_at_work(place)?;
    held_if(!guard.has_ended(), || guard.log())?;
    guard.stop()
}

/// Who owns the folder above may put a link in the place of the metrics' own.
fn metrics_behind_a_link(place: &Place) -> Outcome {
    const ROOTS: &str = "/tmp/roots/p.prom";
    place.theirs(FOLDER);
    place.file(ROOTS, "root's");
    let is_whole = || fs::read_to_string(ROOTS).is_ok_and(|text| text == "root's\n");
    symlink("/tmp/roots", Path::new(FOLDER).join("m")).expect("a link");
    let config = format!("metrics = \"{FOLDER}/m/p.prom\"\n{SETS}");
    let mut guard = Guard::start(place, &config)?;
    becomes(Duration::from_secs(2), || guard.has_ended() || !is_whole());
    guard.stop()?;
    held_if(is_whole(), || format!("{ROOTS} is not as root left it"))
}

/// As long as it takes for 1000 swaps, and for the guard to write a few times meanwhile.
fn metrics_while_names_are_swapped(place: &Place) -> Outcome {
    place.theirs(FOLDER);
    let [draft, other] = ["p.prom.new", "other"].map(|name| Path::new(FOLDER).join(name));
    symlink(VICTIM, &draft).expect("a link");
    fs::write(&other, "").expect("a file");
    give_away(&other);
    let (swapper, _) = Actor::start("swap", &[&draft, &other]);
    let outcome = written_often(place);
    let swaps: u64 = swapper.end().parse().expect("a number");
    assert!(swaps >= 1000 || outcome.is_err(), "{swaps} swaps");
    outcome
}

fn metrics_while_drafts_are_caught(place: &Place) -> Outcome {
    let folder = place.theirs(FOLDER);
    let (catcher, _) = Actor::start("catch-draft", &[&folder, Path::new(VICTIM)]);
    let outcome = written_often(place);
    catcher.end();
    outcome
}

/// A reload with another configuration makes the guard write again, a second later at most: its own
/// status first, then the metrics.
fn written_often(place: &Place) -> Outcome {
    let mut guard = guard_at_work(place)?;
    for round in 1..=4 {
        let other = format!(
            "metrics = \"{METRICS}\"\n[floor]\nanon_min = \"{} %\"",
            80 + round
        );
        place.file(CONFIG, &other);
        let before = status();
        guard.signal(Signal::HUP);
        let is_written = becomes(PROMPT, || status() != before || guard.has_ended());
        assert!(is_written, "{}", guard.log());
        place.victim_is_whole()?;
    }
    guard.stop()?;
    place.victim_is_whole()
}

/// The file that the status is in; another one whenever it is replaced.
fn status() -> Option<u64> {
    let about = fs::metadata("/run/plimsoll/guard.prom").ok()?;
    Some(about.ino())
}
