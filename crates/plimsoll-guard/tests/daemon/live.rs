//! What it locks and sets, until the end.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{DAEMON, Guard, MIB, Place, SWAPPINESS, read};

fn swappiness() -> String {
    fs::read_to_string(SWAPPINESS)
        .expect("a tunable")
        .trim()
        .to_owned()
}

#[test]
fn a_file_that_is_read_again_and_again_is_locked_until_the_end() {
    let Some(place) = Place::new("[floor]\nclean_min = \"5 %\"\n") else {
        return;
    };
    let file = place.file("file", 12 * MIB + 5);
    let guard = place.start(&[]);
    read(&file, 3);
    let pages = 12 * 1024 + 4;
    guard.wait_for("it is locked", || guard.locked(&file) == Some(pages));
    let anonymous = guard.status("RssAnon:");
    assert!(anonymous <= 3 * 1024, "{anonymous} kB of its own");
    let log = guard.log();
    assert!(log.contains("floor: lock 12 MiB of file "), "{log}");
    let folder = place.folder().to_str().expect("a name");
    assert!(!log.contains(folder), "no paths: {log}");
    assert!(guard.end(Signal::TERM).success());
    assert!(!place.path("guard.state").exists());
}

#[test]
fn a_deleted_file_is_let_go_and_another_configuration_lets_go_of_all() {
    let Some(place) = Place::new("[floor]\nclean_min = \"5 %\"\n") else {
        return;
    };
    let [deleted, kept] = ["deleted", "kept"].map(|name| place.file(name, 2 * MIB));
    // Little room for others: the more files are locked the longer it takes until each has its turn.
    place.configure(&format!(
        "floor.clean_min = \"4608 KiB\"\nfloor.keep = [{deleted:?}, {kept:?}]\n"
    ));
    // One of them has to be read in first.
    let evicted = fs::File::open(&kept).expect("a file");
    let advice = rustix::fs::Advice::DontNeed;
    rustix::fs::fadvise(&evicted, 0, None, advice).expect("evicted");
    let guard = place.start(&[]);
    for file in [&deleted, &kept] {
        guard.wait_for("it is named and locked", || {
            guard.locked(file) == Some(2048)
        });
    }
    fs::remove_file(&deleted).expect("a file");
    guard.wait_for("it is let go", || guard.locked(&deleted).is_none());
    assert_eq!(guard.locked(&kept), Some(2048));

    place.configure("floor.clean_min = 5\n");
    guard.signal(Signal::HUP);
    guard.wait_for("a wrong one", || {
        guard.log().contains("the old configuration stays")
    });
    assert_eq!(guard.locked(&kept), Some(2048));
    place.configure("floor.anon_min = \"1 MiB\"\n");
    guard.signal(Signal::HUP);
    guard.wait_for("another one", || guard.locked(&kept).is_none());
    assert!(guard.end(Signal::INT).success());
}

#[test]
fn what_it_set_is_written_back_however_it_ends() {
    let Some(place) = Place::new("floor.anon_min = \"90 %\"\n") else {
        return;
    };
    fs::write(SWAPPINESS, "61").expect("root writes it");
    let below_the_floor = |guard: &Guard<'_>| {
        guard.wait_for("it is set", || {
            guard.log().contains("floor: set vm.swappiness = 0")
        });
        assert_eq!(swappiness(), "0");
        let state = fs::read_to_string(place.path("guard.state")).expect("a state");
        assert!(
            state.contains("wrote vm.swappiness,proc/sys/vm/swappiness,61,"),
            "{state}"
        );
    };

    let guard = place.start(&[]);
    below_the_floor(&guard);
    // Wherever its state lies.
    for (verb, state) in [
        (Some("--restore"), "guard.state"),
        (None, "guard.state"),
        (None, "other/guard.state"),
    ] {
        let mut another = guard.inside(&[DAEMON]);
        another.args(verb).arg("--state").arg(place.path(state));
        another.arg("--config").arg(place.path("guard.toml"));
        let another = another.output().expect("nsenter runs");
        let said = String::from_utf8_lossy(&another.stderr);
        assert_eq!(another.status.code(), Some(1), "{said}");
        assert!(
            said.contains("a guard runs, and a machine has one"),
            "{said}"
        );
        assert_eq!((swappiness().as_str(), said.lines().count()), ("0", 1));
    }
    assert!(guard.end(Signal::TERM).success());
    assert_eq!(swappiness(), "61");

    let guard = place.start(&[]);
    below_the_floor(&guard);
    assert_eq!(guard.end(Signal::KILL).signal(), Some(9));
    assert_eq!(swappiness(), "0", "nobody was there to do it");
    assert!(place.output(&["--restore"]).status.success());
    assert_eq!(swappiness(), "61");
    assert!(!place.path("guard.state").exists());

    let guard = place.start(&[]);
    below_the_floor(&guard);
    guard.end(Signal::KILL);
    fs::write(SWAPPINESS, "62").expect("root writes it");
    assert!(place.output(&["--restore"]).status.success());
    assert_eq!(swappiness(), "62", "somebody else's value stays");
    assert!(!place.path("guard.state").exists());
}

#[test]
fn the_next_guard_writes_back_what_a_killed_one_left() {
    let Some(place) = Place::new("floor.anon_min = \"90 %\"\n") else {
        return;
    };
    fs::write(SWAPPINESS, "61").expect("root writes it");
    let guard = place.start(&[]);
    guard.wait_for("it is set", || swappiness() == "0");
    guard.end(Signal::KILL);
    place.configure("floor.anon_min = \"1 MiB\"\n");
    let guard = place.start(&[]);
    assert_eq!(swappiness(), "61");
    assert!(guard.end(Signal::TERM).success());
}

#[test]
fn systemd_is_told_when_it_is_on_lives_and_ends() {
    let Some(place) = Place::new("[floor]\nanon_min = \"1 MiB\"\n") else {
        return;
    };
    let path = place.path("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).expect("a socket");
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a time");
    let mut command = place.command(&[]);
    command
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "400000");
    let guard = place.spawn(&mut command);
    let told = || {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).expect("a message");
        String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
    };
    assert_eq!(told(), "READY=1");
    assert_eq!([told(), told()], ["WATCHDOG=1", "WATCHDOG=1"]);
    assert!(guard.end(Signal::TERM).success());
    while told() != "STOPPING=1" {}
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let Some(place) = Place::new("[floor]\nclean_min = \"5 %\"\nanon_min = \"90 %\"\n") else {
        return;
    };
    fs::write(SWAPPINESS, "61").expect("root writes it");
    let file = place.file("file", 3 * MIB);
    let guard = place.start(&["--dry-run"]);
    read(&file, 3);
    let would = [
        "floor: would lock 3 MiB of file",
        "floor: would set vm.swappiness = 0",
    ];
    guard.wait_for("it says so", || {
        would.iter().all(|line| guard.log().contains(line))
    });
    assert_eq!(guard.locked(&file), None);
    assert_eq!(swappiness(), "61");
    assert!(guard.end(Signal::TERM).success());
    assert!(!place.path("guard.state").exists());
}

#[test]
fn what_it_cannot_do_is_one_line_and_a_status() {
    let Some(place) = Place::new("[floor]\nclean_mn = \"5 %\"\n") else {
        return;
    };
    for (arguments, status, said) in [
        (
            &["--dry"][..],
            2,
            "plimsoll-guard: --dry: no such argument; --help lists them\n",
        ),
        (
            &[],
            1,
            "floor.clean_mn`: there is no such key; did you mean `floor.clean_min`?\n",
        ),
    ] {
        let output = place.output(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{error}");
        assert!(
            error.ends_with(said) && error.lines().count() == 1,
            "{error}"
        );
    }
}

/// What each device may have dirty, and the machine.
fn limits() -> Vec<(PathBuf, String)> {
    let blocks = fs::read_dir("/sys/block").expect("devices");
    let folders = blocks.map(|entry| entry.expect("a device").path().join("bdi"));
    let files = folders.flat_map(|folder| {
        ["max_ratio", "max_ratio_fine", "strict_limit"].map(|file| folder.join(file))
    });
    let machine = ["dirty_bytes", "dirty_ratio", "dirty_background_bytes"];
    let machine = machine.map(|file| Path::new("/proc/sys/vm").join(file));
    let read = |path: PathBuf| Some((path.clone(), fs::read_to_string(path).ok()?));
    files.chain(machine).filter_map(read).collect()
}

#[test]
fn what_devices_may_have_dirty_is_bounded_and_given_back_however_it_ends() {
    let Some(place) = Place::new("[writeback]\nflush_within = \"2 s\"\n") else {
        return;
    };
    let before = limits();
    let guard = place.start(&["--dry-run"]);
    guard.wait_for("it says what it would do", || {
        guard.log().contains("writeback: would set bdi.")
    });
    assert!(guard.end(Signal::TERM).success());
    assert_eq!(limits(), before);
    for signal in [Signal::TERM, Signal::KILL] {
        let guard = place.start(&[]);
        guard.wait_for("a device is bounded", || {
            guard.log().contains("writeback: set bdi.")
        });
        assert!(limits() != before);
        guard.end(signal);
        assert!(place.output(&["--restore"]).status.success());
        assert_eq!(limits(), before, "after {signal:?}");
    }
}

#[test]
fn a_thousand_programs_that_come_run_and_go_leave_nothing_behind() {
    let Some(place) = Place::new("[floor]\nclean_min = \"2 %\"\n") else {
        return;
    };
    let guard = place.start(&[]);
    let open = || fs::read_dir(guard.proc("fd")).expect("it runs").count();
    let at_rest = open();
    let folder = place.path("programs");
    fs::create_dir(&folder).expect("a folder");
    let (mut most, program) = (0, folder.join("program"));
    for number in 0..1000 {
        let new = folder.join(format!("new-{}", number % 7));
        fs::copy("/bin/true", &new).expect("a program");
        fs::rename(&new, &program).expect("another in its place");
        let status = Command::new(&program).status().expect("it runs");
        assert!(status.success());
        if number % 3 == 0 {
            fs::remove_file(&program).expect("it is there");
        }
        most = most.max(open());
    }
    fs::remove_file(&program).ok();
    assert!(most > at_rest, "none of them was ever locked");
    // The machine's own programs may be locked still, and the log that is read here.
    let of_ours = || {
        let maps = fs::read_to_string(guard.proc("maps")).expect("it runs");
        let links = fs::read_dir(guard.proc("fd")).expect("it runs");
        let links = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
        let name = folder.to_str().expect("a name");
        maps.matches(name).count() + links.filter(|to| to.starts_with(&folder)).count()
    };
    guard.wait_for("all of ours are let go", || of_ours() == 0);
    assert!(guard.status("RssAnon:") <= 3 * 1024);
}
