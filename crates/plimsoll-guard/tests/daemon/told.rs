//! What it tells of itself, and what it is told.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use testkit::programs::promtool;

use crate::harness::{DAEMON, MIB, Place, Running, daemon};

/// A kept file of a number of MiB, and the configuration that keeps it.
fn kept(folder: &Path, mib: usize) -> String {
    let file = folder.join("file");
    fs::write(&file, vec![7; mib * MIB]).expect("a file");
    let opened = fs::File::open(&file).expect("a file");
    opened.sync_all().expect("on disk");
    format!("floor.clean_min = \"5 %\"\nfloor.keep = [{file:?}]\n")
}

#[test]
fn figures_and_events_say_what_was_done_and_go_when_it_ends() {
    let Some(place) = Place::new("") else { return };
    let folder = place.folder();
    let metrics = folder.join("metrics.prom");
    let config = format!("metrics = {metrics:?}\n{}", kept(folder, 3));
    let guard = place.start_by(&config, &mut daemon());
    // Others use files too.
    let locked = || guard.figure("locked_bytes") >= Some(3 << 20);
    guard.wait_for("it is locked", locked);
    assert!(guard.figure("locked_files") >= Some(1));
    assert_eq!(guard.figure("policy_enabled{policy=\"ceiling\"}"), Some(0));
    guard.wait_for("the collector has it", || {
        guard.text("metrics.prom") == guard.text("guard.prom")
    });
    if let Some(complaint) = promtool(&["check", "metrics"], &guard.text("guard.prom")) {
        assert_eq!(complaint, "", "promtool check metrics");
    }
    let inode = fs::metadata(folder.join("file")).expect("a file").ino();
    let events = guard.text("guard.events");
    let mut lines = events.lines();
    let line = lines.find(|line| line.contains(&format!("/{inode} bytes=")));
    let line = line.expect("a lock");
    assert!(line.contains("policy=floor action=lock file="), "{line}");
    assert!(
        line.contains(" bytes=3145728 ") && line.contains("why=\"named in"),
        "{line}"
    );
    guard.end(Signal::TERM);
    for gone in ["guard.prom", "metrics.prom", "guard.sock", "guard.state"] {
        assert!(!folder.join(gone).exists(), "{gone}");
    }
    assert!(guard.text("guard.events").ends_with("why=\"the end\"\n"));
}

#[test]
fn figures_are_not_written_again_while_nothing_changes() {
    let Some(place) = Place::new("") else { return };
    let config = "floor.anon_min = \"1 MiB\"\n";
    let _guard = place.start_by(config, &mut daemon());
    let file = || fs::metadata(place.path("guard.prom")).expect("a file");
    let before = file().ino();
    // Each write makes a file; this is longer than the time between two.
    sleep(Duration::from_millis(2500));
    assert_eq!(file().ino(), before);
}

#[test]
fn a_killed_guard_leaves_nothing_that_stops_the_next() {
    let Some(place) = Place::new("") else { return };
    let config = kept(place.folder(), 1);
    let guard = place.start_by(&config, &mut daemon());
    let killed = guard.text("guard.prom");
    guard.end(Signal::KILL);
    assert!(
        place.path("guard.sock").exists(),
        "nobody was there to do it"
    );
    let next = place.start_by(&config, &mut daemon());
    next.wait_for("its own figures", || next.text("guard.prom") != killed);
    assert!(next.ask("keep 1\n").starts_with("kept"));
    next.end(Signal::TERM);
    assert!(!place.path("guard.sock").exists());
}

#[test]
fn what_is_released_is_not_locked_until_it_is_kept_again() {
    let Some(place) = Place::new("") else { return };
    let config = kept(place.folder(), 2);
    let file = place.path("file");
    let guard = place.start_by(&config, &mut daemon());
    let number = host::kept::file_system(place.folder()).expect("a file system");
    let inode = fs::metadata(&file).expect("a file").ino();
    let name = format!("{number:016x}/{inode}");
    let lock = format!("action=lock file={name} ");
    let locks = || guard.text("guard.events").matches(&lock).count();
    guard.wait_for("it is locked", || locks() == 1);
    let released = guard.ask(&format!("release {name}\n"));
    assert_eq!(released, "released 1 2097152\n");
    let figure = format!("released{{place=\"{number:016x}/*\"}}");
    guard.wait_for("it is told", || guard.figure(&figure) == Some(1));
    let read = || {
        fs::read(&file).expect("a file");
        sleep(Duration::from_millis(1100));
    };
    (0..5).for_each(|_| read());
    assert_eq!(locks(), 1, "{}", guard.text("log"));
    assert!(guard.ask("release \n").starts_with("refused: "));
    assert_eq!(guard.ask(&format!("keep {name}\n")), "kept\n");
    guard.wait_for("it is locked again", || {
        read();
        locks() == 2
    });
}

#[test]
fn a_released_file_system_can_be_unmounted() {
    let Some(place) = Place::new("") else { return };
    let folder = place.folder();
    let image = folder.join("image");
    let made = fs::File::create(&image).and_then(|file| file.set_len(64 << 20));
    made.expect("an image");
    let mkfs = Command::new("mkfs.ext4").arg("-q").arg(&image).status();
    let mkfs = mkfs.expect("mkfs.ext4 is there: apt-get install e2fsprogs");
    assert!(mkfs.success());
    let point = folder.join("mount");
    fs::create_dir(&point).expect("a folder");
    // The mount is in a namespace of the daemon's, and goes with it.
    let script = "mount -t tmpfs -o mode=755 run /run && mount -o loop \"$0\" \"$1\" \
                  && head -c 4194304 /dev/zero > \"$1/file\" && sync && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]);
    command.arg(&image).arg(&point);
    command.arg(DAEMON);
    let file = point.join("file");
    let config = format!("floor.clean_min = \"5 %\"\nfloor.keep = [{file:?}]\n");
    let guard = place.start_by(&config, &mut command);
    let inside = |program: &[&str]| {
        let mut command = guard.inside(program);
        command.arg(&point).output().expect("nsenter runs")
    };
    let number = inside(&["stat", "--file-system", "--format", "%i"]).stdout;
    let number = u64::from_str_radix(String::from_utf8_lossy(&number).trim(), 16);
    // coreutils prints the two words the other way around.
    let number = format!("{:016x}", number.expect("a number").rotate_left(32));
    let lock = format!("action=lock file={number}/");
    guard.wait_for("it is locked", || {
        guard.text("guard.events").contains(&lock)
    });
    let busy = inside(&["umount"]);
    assert!(!busy.status.success(), "a locked file keeps it mounted");
    let released = guard.ask(&format!("release {number}\n"));
    assert_eq!(released, "released 1 4194304\n");
    // Too quick for the daemon to see the place without it.
    let again = "umount \"$1\" && mount -o loop \"$0\" \"$1\"";
    let image = image.to_str().expect("text");
    for _ in 0..2 {
        let done = inside(&["sh", "-c", again, image]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
    }
    let figure = format!("released{{place=\"{number}\"}}");
    guard.wait_for("it is forgotten", || guard.figure(&figure).is_none());
    guard.wait_for("it is locked again", || {
        guard.text("guard.events").matches(&lock).count() >= 2
    });
    let released = guard.ask(&format!("release {number}\n"));
    assert!(released.starts_with("released 1 "), "{released}");
    let done = inside(&["umount"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    guard.wait_for("it is forgotten", || guard.figure(&figure).is_none());
}

#[test]
fn a_run_of_one_policy_ends_by_itself_and_says_what_it_did() {
    let Some(place) = Place::new("") else { return };
    let config = kept(place.folder(), 1) + "ceiling.total = \"99 %\"\n";
    let mut command = daemon();
    command.args(["--only", "floor", "--for", "3 s"]);
    let guard = place.start_by(&config, &mut command);
    guard.wait_for("one policy is on", || {
        guard.figure("policy_enabled{policy=\"floor\"}") == Some(1)
            && guard.figure("policy_enabled{policy=\"ceiling\"}") == Some(0)
    });
    assert!(guard.wait().success());
    let log = guard.text("log");
    let last = log.lines().last().expect("a line");
    let is_told = last.starts_with("the run is over; ") && last.contains("lock: ");
    assert!(is_told, "{log}");
    assert!(last.ends_with("all of it is taken back"), "{log}");
}

#[test]
fn ksmd_is_left_to_ksmtuned_where_that_runs() {
    let config = "[ksm]\nmost_cpu = \"20 %\"\n";
    let Some(place) = Place::new(config) else {
        return;
    };
    let program = place.path("ksmtuned");
    std::os::unix::fs::symlink("/bin/sleep", &program).expect("a link");
    let mut ksmtuned = Command::new(&program);
    let ksmtuned = ksmtuned
        .arg("60")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ksmtuned = Running(ksmtuned.spawn().expect("it runs"));
    let run = || fs::read_to_string("/sys/kernel/mm/ksm/run").expect("a tunable");
    let before = run();
    let guard = place.start_by(config, &mut daemon());
    guard.wait_for("it stands down", || {
        guard.figure("policy_standing_down{policy=\"ksm\"}") == Some(1)
    });
    assert_eq!(run(), before);
    guard.end(Signal::TERM);
}
