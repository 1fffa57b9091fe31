//! What other users, signals, full disks and vanished mounts can do to a change: nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::place::{PLIMSOLL, Place, State, signal, stop_watchers};
use crate::stories::until;

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const NOBODY: [&str; 4] = ["setpriv", "--reuid", "65534", "--clear-groups"];
const WAITING: [&str; 4] = ["apply", "swappiness=10", "--confirm", "1h"];

pub(crate) fn no_signal_but_kill_ends_what_waits_to_take_a_change_back(place: &Place) {
    place.run(&["apply", "swappiness=10", "--confirm", "8s"]);
    let watcher = place.watcher(1).expect("it runs");
    for one in [
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
        Signal::USR1,
        Signal::ALARM,
        Signal::TSTP,
        Signal::TERM,
    ] {
        signal(watcher, one);
    }
    until("the way back", || place.read(SWAPPINESS) == "60");
    until("its note goes", || {
        place.read("/run/plimsoll/watch-1").is_empty()
    });
    assert_eq!(place.watcher(1), None);
}

fn mode(path: &str) -> u32 {
    fs::metadata(path)
        .expect("it is there")
        .permissions()
        .mode()
        & 0o7777
}

/// A user without any rights locks a file for as long as this is kept.
fn locks(path: &str) -> Child {
    let mut command = Command::new(NOBODY[0]);
    command.args(&NOBODY[1..]);
    command.args([
        "flock",
        "--nonblock",
        path,
        "sh",
        "-c",
        "echo held; sleep 600",
    ]);
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    spawned.expect("flock is part of util-linux")
}

/// What it says first: "held", or nothing where it ends at once.
fn says(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("text");
    line.trim().to_owned()
}

pub(crate) fn another_user_holds_no_lock_whatever_the_umask(place: &Place) {
    let umask = ["sh", "-c", "umask 0; exec \"$@\"", "sh"];
    let (code, said) = place.ends(&umask, &WAITING);
    assert_eq!(code, 0, "{said}");
    let modes = ["", "/lock", "/journal", "/watch-1"];
    let modes = modes.map(|name| mode(&format!("/run/plimsoll{name}")));
    assert_eq!(modes, [0o755, 0o600, 0o644, 0o644]);
    let mut other = locks("/run/plimsoll/lock");
    assert_eq!(says(&mut other), "", "it cannot be opened");
    other.wait().expect("it ends");
    // What may be read may be locked, and proves nothing.
    stop_watchers();
    let mut other = locks("/run/plimsoll/watch-1");
    assert_eq!(says(&mut other), "held");
    let (code, said) = place.ends_plainly(&["status"]);
    assert!(
        code == 1 && said.contains("nothing waits to take it back"),
        "{said}"
    );
    place.run(&["undo"]);
    assert_eq!(place.state(), State::Old);
    assert!(!fs::exists("/run/plimsoll/watch-1").expect("a folder"));
    other.kill().expect("it was ours");
    other.wait().expect("it ends");
}

pub(crate) fn what_another_user_may_have_written_is_not_believed(place: &Place) {
    let refused = |told: &str| {
        for words in [&WAITING[..], &["undo"], &["status"]] {
            let (code, said) = place.ends_plainly(words);
            assert!(
                code == 2 && said.contains(told),
                "{words:?}: {code}: {said}"
            );
        }
        assert_eq!(place.state(), State::Old);
        place.reset();
    };
    let journal = "/run/plimsoll/journal";
    fs::create_dir("/run/plimsoll").expect("a folder");
    chown("/run/plimsoll", Some(65534), None).expect("given away");
    refused("belongs to user 65534");
    fs::create_dir("/run/plimsoll").expect("a folder");
    fs::set_permissions("/run/plimsoll", fs::Permissions::from_mode(0o777)).expect("opened");
    refused("writable by others");
    place.write(journal, "plimsoll-journal 1");
    chown(journal, Some(65534), None).expect("given away");
    refused("belongs to user 65534");
    place.write("/run/theirs", "plimsoll-journal 1");
    fs::create_dir("/run/plimsoll").expect("a folder");
    symlink("/run/theirs", journal).expect("a link");
    refused("symbolic links");
    fs::create_dir("/run/plimsoll").expect("a folder");
    let made = Command::new("mkfifo").arg(journal).status();
    assert!(made.expect("mkfifo").success());
    refused("a pipe");
    assert_eq!(place.read("/run/theirs"), "plimsoll-journal 1");
}

pub(crate) fn a_full_run_is_said_and_nothing_is_written(place: &Place) {
    fs::create_dir("/run/plimsoll").expect("a folder");
    let options = [
        "-t",
        "tmpfs",
        "-o",
        "size=4k,mode=755",
        "none",
        "/run/plimsoll",
    ];
    let mounted = Command::new("mount").args(options).status();
    assert!(mounted.expect("mount").success());
    let (code, said) = place.ends_plainly(&WAITING);
    place.uncover_file("/run/plimsoll");
    assert!(
        code == 2 && said.contains("No space left on device"),
        "{said}"
    );
    assert_eq!(place.state(), State::Old);
}

pub(crate) fn a_vanished_proc_is_an_error_and_no_tunable_is_gone(place: &Place) {
    place.run(&WAITING);
    let script = "umount -l /proc; exec \"$@\"";
    let vanished = ["unshare", "--mount", "sh", "-c", script, "sh"];
    for words in [&["status"][..], &["undo"], &["confirm"], &["history"]] {
        let (code, said) = place.ends(&vanished, words);
        assert!(
            code == 2 && said.contains("not mounted at /proc/sys"),
            "{words:?}: {said}"
        );
    }
    assert_eq!(place.read(SWAPPINESS), "10");
    place.run(&["undo"]);
    assert_eq!(place.state(), State::Old);
}

pub(crate) fn an_output_that_takes_nothing_denies_no_change(place: &Place) {
    let full = ["sh", "-c", "exec \"$@\" >/dev/full", "sh"];
    let told = |words: &[&str], told: &str| {
        let (code, said) = place.ends(&full, words);
        let is_told = said.contains(told) && said.contains("No space left on device");
        assert!(code == 2 && is_told, "{words:?}: {code}: {said}");
    };
    told(&WAITING, "nothing was written");
    assert_eq!(place.state(), State::Old);
    let json: Vec<&str> = [&WAITING[..], &["--json"]].concat();
    told(
        &json,
        "change 1 is written and waits for plimsoll confirm 1",
    );
    told(&["confirm"], "change 1 is confirmed");
    told(&["undo", "1", "--json"], "change 1 is taken back");
    assert_eq!(place.state(), State::Old);
    for value in ["10", "20"] {
        place.run(&["apply", &format!("swappiness={value}"), "--now"]);
    }
    told(&["undo", "3", "2"], "changes 3, 2 are taken back");
    assert_eq!(place.state(), State::Old);
    // Whoever reads only the beginning of a plan must not believe that it was carried out.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(PLIMSOLL);
    let ended = command.args(WAITING).stdout(writer).output();
    let ended = ended.expect("it runs");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let is_told = said.contains("nothing was written");
    assert!(ended.status.code() == Some(2) && is_told, "{said}");
    assert_eq!(place.state(), State::Old);
}
