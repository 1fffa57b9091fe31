//! Locks that somebody else holds, and files that somebody else has made or may write.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::actor::Actor;
use crate::attack::{Attack, Outcome, held_if};
use crate::guarding::{self, Guard, SETS, STATE};
use crate::place::{PROMPT, Place, SWAPPINESS, VICTIM, give_away, mode};
use crate::process::{as_nobody, becomes, ends};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "a_held_lock_and_undo",
        must_not: "a lock that the attacker holds keeps nobody from undoing a change",
        run: a_held_lock_and_undo,
    },
    Attack {
        name: "a_held_lock_and_the_deadline",
        must_not: "a lock that the attacker holds keeps no change beyond its deadline",
        run: a_held_lock_and_the_deadline,
    },
    Attack {
        name: "a_held_lock_and_the_guard",
        must_not: "a lock that the attacker holds keeps the guard from neither restoring nor starting",
        run: a_held_lock_and_the_guard,
    },
    Attack {
        name: "a_dead_watcher",
        must_not: "a lock that the attacker holds does not make status believe that a watcher lives",
        run: a_dead_watcher,
    },
    Attack {
        name: "umask_0",
        must_not: "whatever the umask, nobody but root may write what root believes",
        run: umask_0,
    },
    Attack {
        name: "umask_0_and_the_guard",
        must_not: "whatever the umask, nobody but root may write what the guard believes",
        run: umask_0_and_the_guard,
    },
    Attack {
        name: "a_state_of_theirs",
        must_not: "a state file that belongs to the attacker is not believed",
        run: a_state_of_theirs,
    },
    Attack {
        name: "a_journal_of_theirs",
        must_not: "a journal that belongs to the attacker is not believed",
        run: a_journal_of_theirs,
    },
    Attack {
        name: "a_folder_of_theirs",
        must_not: "the guard's files in the attacker's folder lead to no file of root's",
        run: a_folder_of_theirs,
    },
    Attack {
        name: "two_guards",
        must_not: "a second guard with another state file does not start",
        run: two_guards,
    },
    Attack {
        name: "links_in_the_place_of_files",
        must_not: "a link, FIFO or folder in the place of a lock, journal or state is neither \
                   followed nor waited for",
        run: links_in_the_place_of_files,
    },
];

/// Where the locks lie.
const LOCKED: [&str; 2] = ["/run/plimsoll", "/var/lib/plimsoll"];

fn hold_all() -> (Actor, String) {
    Actor::start("lock-all", &LOCKED.map(Path::new))
}

fn a_held_lock_and_undo(place: &Place) -> Outcome {
    place.does(&["apply", "vm.swappiness=10", "--now"])?;
    let (_locks, held) = hold_all();
    let ended = place
        .run(&["undo"])
        .map_err(|why| format!("{why}; {held}"))?;
    held_if(place.read(SWAPPINESS) == "60", || {
        format!("{held}; undo: {}", ended.said())
    })
}

fn a_held_lock_and_the_deadline(place: &Place) -> Outcome {
    place.does(&["apply", "vm.swappiness=10", "--confirm", "5s"])?;
    let (_locks, held) = hold_all();
    let is_back = becomes(Duration::from_secs(13), || place.read(SWAPPINESS) == "60");
    held_if(is_back, || {
        format!("{held}; the change stands after its deadline")
    })
}

fn a_held_lock_and_the_guard(place: &Place) -> Outcome {
    Guard::killed(place)?;
    let (_locks, held) = hold_all();
    let ended = guarding::ends_with(&["--restore"])?;
    held_if(place.read(SWAPPINESS) == "60", || {
        format!("{held}; --restore: {}", ended.said())
    })?;
    let (_again, held) = hold_all();
    let started = Guard::start(place, SETS);
    started.map(drop).map_err(|why| format!("{held}; {why}"))
}

fn a_dead_watcher(place: &Place) -> Outcome {
    place.does(&["apply", "vm.swappiness=10", "--confirm", "1h"])?;
    assert_eq!(place.run(&["status"])?.code, Some(0), "it is watched");
    crate::place::stop_commands();
    let told = |place: &Place| place.run(&["status"]).map(|ended| ended.code);
    assert!(
        becomes(PROMPT, || told(place) == Ok(Some(1))),
        "nothing watches it"
    );
    let (_locks, held) = hold_all();
    let ended = place.run(&["status"])?;
    held_if(ended.code == Some(1), || {
        format!("{held}; status: {}", ended.said())
    })
}

/// Everything below these folders that others may write.
fn open_to_all(folders: &[&str]) -> Vec<String> {
    let (mut waiting, mut open) = (
        folders.iter().map(PathBuf::from).collect::<Vec<_>>(),
        vec![],
    );
    while let Some(path) = waiting.pop() {
        let Ok(about) = fs::symlink_metadata(&path) else {
            continue;
        };
        if !about.is_symlink() && about.mode() & 0o022 != 0 {
            open.push(format!("{} {:o}", path.display(), about.mode() & 0o7777));
        }
        let inside = fs::read_dir(&path).into_iter().flatten().flatten();
        waiting.extend(inside.map(|entry| entry.path()));
    }
    open
}

/// A program, started with umask 0.
fn with_umask_0(program: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$@\"", "sh", program]);
    command
}

fn umask_0(_: &Place) -> Outcome {
    let mut command = with_umask_0("/tmp/bin/plimsoll");
    command.args(["apply", "vm.swappiness=10", "--now", "--persist"]);
    let ended = ends(&mut command, PROMPT).ok_or("apply did not end")?;
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let written = ["/run/plimsoll", "/var/lib/plimsoll", "/etc/sysctl.d"];
    let open = open_to_all(&written);
    held_if(open.is_empty(), || open.join(", "))
}

fn umask_0_and_the_guard(place: &Place) -> Outcome {
    place.file(guarding::CONFIG, SETS);
    let mut guard = Guard::spawn_by(&mut with_umask_0("/tmp/bin/plimsoll-guard"));
    guard.is_on()?;
    assert!(becomes(PROMPT, || place.read(SWAPPINESS) == "0"));
    let open = open_to_all(&["/run/plimsoll"]);
    held_if(open.is_empty(), || open.join(", "))
}

fn a_state_of_theirs(place: &Place) -> Outcome {
    Guard::killed(place)?;
    give_away(STATE.as_ref());
    let ended = guarding::ends_with(&["--restore"])?;
    held_if(
        place.read(SWAPPINESS) == "0" && ended.code != Some(0),
        || {
            format!(
                "--restore wrote what a file of user 65534 says: {}",
                ended.said()
            )
        },
    )
}

fn a_journal_of_theirs(place: &Place) -> Outcome {
    place.does(&["apply", "vm.swappiness=10", "--now"])?;
    give_away("/run/plimsoll/journal".as_ref());
    let ended = place.run(&["undo"])?;
    held_if(
        place.read(SWAPPINESS) == "10" && ended.code != Some(0),
        || {
            format!(
                "undo wrote what a file of user 65534 says: {}",
                ended.said()
            )
        },
    )
}

fn a_folder_of_theirs(place: &Place) -> Outcome {
    let folder = place.theirs("/tmp/theirs");
    let beside = [
        "g.state",
        "g.state.lock",
        "g.state.new",
        ".g.state.new",
        "g.events",
        "g.events.1",
        "g.prom",
        "g.prom.new",
        "g.sock",
    ];
    for name in &beside[1..] {
        std::os::unix::fs::symlink(VICTIM, folder.join(name)).expect("a link");
    }
    place.file(guarding::CONFIG, SETS);
    let state = folder.join(beside[0]);
    let state = state.to_str().expect("a path");
    let mut guard = Guard::spawn(place, SETS, &["--state", state]);
    let is_at_work = |guard: &mut Guard| guard.has_ended() || place.read(SWAPPINESS) == "0";
    assert!(
        becomes(PROMPT, || is_at_work(&mut guard)),
        "{}",
        guard.log()
    );
    guard.stop()?;
    place.victim_is_whole()
}

fn two_guards(place: &Place) -> Outcome {
    let _first = Guard::start(place, SETS)?;
    assert!(becomes(PROMPT, || place.read(SWAPPINESS) == "0"));
    let mut second = guarding::command(&["--state", "/run/other/guard.state"]);
    let mut second = Guard::spawn_by(&mut second);
    becomes(PROMPT, || {
        second.log().contains("on: ") || second.has_ended()
    });
    held_if(second.has_ended(), || {
        format!("the second guard runs: {}", second.log())
    })
}

/// Each file, with each kind of file in its place.
fn links_in_the_place_of_files(place: &Place) -> Outcome {
    let files = [
        "/run/plimsoll/lock",
        "/run/plimsoll/journal",
        "/run/plimsoll/guard.state",
        "/run/plimsoll/guard.state.lock",
        "/run/plimsoll/guard.events",
    ];
    for file in files {
        for kind in ["link", "hard link", "FIFO", "folder", "device"] {
            place.reset();
            place.theirs("/tmp/theirs");
            fs::create_dir_all("/run/plimsoll").expect("a folder");
            put(kind, file.as_ref());
            place.file(guarding::CONFIG, SETS);
            let tried = commands_end(place);
            tried.map_err(|what| format!("a {kind} as {file}: {what}"))?;
        }
    }
    Ok(())
}

fn put(kind: &str, path: &Path) {
    let made = match kind {
        "link" => std::os::unix::fs::symlink(VICTIM, path),
        "hard link" => {
            // On one file system with it.
            fs::write("/run/victim", "victim").expect("a file");
            give_away("/run/victim".as_ref());
            mode("/run/victim".as_ref(), 0o666);
            fs::hard_link("/run/victim", path)
        }
        "folder" => fs::create_dir(path),
        "device" => {
            let words = ["c", "1", "5"];
            Command::new("mknod")
                .arg(path)
                .args(words)
                .status()
                .map(drop)
        }
        _ => Command::new("mkfifo").arg(path).status().map(drop),
    };
    made.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn commands_end(place: &Place) -> Outcome {
    for words in [
        &["apply", "vm.swappiness=10", "--now"][..],
        &["undo"],
        &["status"],
    ] {
        place.run(words)?;
    }
    guarding::ends_with(&["--restore"])?;
    let mut guard = Guard::spawn_by(&mut guarding::command(&[]));
    becomes(PROMPT, || guard.has_ended() || guard.log().contains("on: "));
    guard.stop()?;
    let victim = Path::new("/run/victim");
    held_if(
        !victim.exists() || place.read("/run/victim") == "victim",
        || "a file with another name was written".to_owned(),
    )?;
    place.victim_is_whole()
}

/// A program of the system's, as the attacker; whether it succeeds.
pub(crate) fn nobody_can(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    let ended = ends(
        as_nobody(command.args(&words[1..]).current_dir("/")),
        PROMPT,
    );
    ended.is_some_and(|ended| ended.code == Some(0))
}
