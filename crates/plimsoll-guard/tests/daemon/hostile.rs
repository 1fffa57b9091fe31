//! What user 65534 does beside it, and what a machine does to it that is not well.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::harness::{Guard, MIB, Place, Running, SWAPPINESS, daemon, daemon_after, nobody, read};

const STATE: &str = "/run/plimsoll/guard.state";

fn swappiness() -> String {
    fs::read_to_string(SWAPPINESS).expect("a tunable")
}

/// What user 65534 says to be told, beside a guard.
fn said_by_nobody(guard: &Guard<'_>, script: &str) -> String {
    let mut inside = guard.inside(&["setpriv", "--reuid", "65534", "--regid", "65534"]);
    inside.args(["--clear-groups", "sh", "-c", script]);
    let output = inside.output().expect("nsenter runs");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

/// Lets it end; the answer is whether it did in time.
fn ends(guard: &Guard<'_>) -> bool {
    guard.signal(Signal::TERM);
    guard.wait_for("it ends", || guard.has_ended());
    guard.wait().success()
}

#[test]
fn nobody_holds_its_lock_reads_its_events_or_writes_its_state_whatever_the_mask() {
    let Some(place) = Place::new("floor.anon_min = \"90 %\"\n") else {
        return;
    };
    fs::write(SWAPPINESS, "61").expect("root writes it");
    let script = "umask 0 && mount -t tmpfs -o mode=755 run /run && exec \"$@\"";
    let mut command = daemon_after(script);
    command.arg("--config").arg(place.path("guard.toml"));
    let guard = place.spawn(&mut command);
    guard.wait_for("it is set", || swappiness() == "0\n");
    let modes = said_by_nobody(&guard, "cd /run/plimsoll && stat -c '%n %a %u' . guard.*");
    for expected in [
        ". 755 0",
        "guard.lock 600 0",
        "guard.state 644 0",
        "guard.events 600 0",
        "guard.sock 600 0",
        "guard.prom 644 0",
    ] {
        assert!(
            modes.lines().any(|line| line == expected),
            "{expected}: {modes}"
        );
    }
    for script in [
        "flock --nonblock /run/plimsoll/guard.lock echo held",
        "cat /run/plimsoll/guard.events && echo held",
        "echo forged > /run/plimsoll/guard.state && echo held",
        "ln -s /etc/passwd /run/plimsoll/guard.prom.new && echo held",
        "mkdir /run/plimsoll/held && echo held",
    ] {
        let said = said_by_nobody(&guard, script);
        assert!(
            said.contains("denied") && !said.ends_with("held\n"),
            "{said}"
        );
    }
    assert!(ends(&guard));
    assert_eq!(swappiness(), "61\n");
}

#[test]
fn a_state_of_somebody_elses_is_not_restored() {
    let Some(place) = Place::new("") else { return };
    let folder = place.of_nobody("state");
    let restore = |what: &str| {
        let mut command = daemon();
        command
            .arg("--restore")
            .arg("--state")
            .arg(folder.join("guard.state"));
        let output = command.output().expect("the daemon");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), said.lines().count()),
            (Some(1), 1),
            "{said}"
        );
        assert!(said.contains(what), "{said}");
    };
    let written = nobody(&["sh", "-c", "echo forged > \"$0\""])
        .arg(folder.join("guard.state"))
        .status();
    assert!(written.expect("sh").success());
    restore("belongs to user 65534");
    std::os::unix::fs::chown(&folder, Some(0), Some(0)).expect("an owner");
    restore("guard.state belongs to user 65534");
    fs::remove_file(folder.join("guard.state")).expect("a file");
    symlink("/proc/sys/vm/swappiness", folder.join("guard.state")).expect("a link");
    restore("guard.state: ");
}

#[test]
fn what_others_put_where_its_metrics_are_is_not_followed_and_does_not_stop_it() {
    let Some(place) = Place::new("") else { return };
    let folder = place.of_nobody("metrics");
    let victim = place.file("victim", 5);
    let metrics = folder.join("p.prom");
    symlink(&victim, &metrics).expect("a link");
    symlink(&victim, folder.join("p.prom.new")).expect("a link");
    let made = Command::new("mkfifo")
        .arg(folder.join(".p.prom.new"))
        .status();
    assert!(made.expect("mkfifo").success());
    let config = format!("metrics = {metrics:?}\nfloor.anon_min = \"1 MiB\"\n");
    let guard = place.start_by(&config, &mut daemon());
    // The name goes to somebody's link again and again, while the figures change.
    let swap = "cd \"$0\" && while :; do ln -sf \"$1\" l && mv l p.prom; done";
    let mut swap = nobody(&["sh", "-c", swap]);
    let swap = swap.arg(&folder).arg(&victim).stderr(Stdio::null()).spawn();
    let swapper = Running(swap.expect("sh"));
    for _ in 0..3 {
        let before = guard.text("guard.prom");
        guard.ask("release 1\n");
        guard.wait_for("they change", || guard.text("guard.prom") != before);
        let before = guard.text("guard.prom");
        guard.ask("keep 1\n");
        guard.wait_for("they change back", || guard.text("guard.prom") != before);
    }
    drop(swapper);
    assert_eq!(fs::read(&victim).expect("a file"), [7; 5]);
    let log = guard.log();
    assert_eq!(log.matches("belongs to user 65534").count(), 1, "{log}");
    // In one step: where there is nothing, the daemon may write first.
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    fs::rename(&pipe, &metrics).expect("a pipe in its place");
    guard.ask("release 1\n");
    guard.wait_for("a pipe is replaced", || {
        fs::metadata(&metrics)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o777 == 0o644)
    });
    assert!(ends(&guard));
}

#[test]
fn nobody_reads_what_it_says_and_it_goes_on_and_ends() {
    let Some(place) = Place::new("[floor]\nclean_min = \"5 %\"\n") else {
        return;
    };
    let (mut said, full) = std::io::pipe().expect("a pipe");
    let filled = vec![b'x'; 1 << 16];
    (&full).write_all(&filled).expect("a pipe has 64 KiB");
    let mut command = place.command(&[]);
    let guard = place.adopt(command.stderr(full).spawn().expect("the daemon"));
    // It has the other end, too.
    drop(command);
    guard.wait_for("it is on", || guard.text("guard.prom").contains("pid=\""));
    let file = place.file("file", MIB);
    read(&file, 3);
    guard.wait_for("it locks", || guard.locked(&file).is_some());
    assert!(ends(&guard));
    let mut rest = Vec::new();
    said.read_to_end(&mut rest).expect("it has ended");
    assert!(rest.starts_with(&filled), "what was there is whole");
}

#[test]
fn mount_points_that_are_no_text_neither_stop_it_nor_keep_it_from_beginning() {
    let Some(place) = Place::new("floor.clean_min = \"5 %\"\n") else {
        return;
    };
    let points = [&b"\xff\xfe"[..], b"a\nb \\012c", b" - ext4 x"];
    let points = points.map(|name| place.folder().join(OsStr::from_bytes(name)));
    for point in &points {
        fs::create_dir(point).expect("a folder");
    }
    let guard = place.start(&[]);
    for point in &points {
        let mut mount = guard.inside(&["mount", "-t", "tmpfs", "none"]);
        assert!(mount.arg(point).status().expect("mount").success());
    }
    let file = place.file("file", MIB);
    read(&file, 3);
    guard.wait_for("it still locks", || guard.locked(&file).is_some());
    assert!(ends(&guard));

    let script =
        "mount -t tmpfs -o mode=755 run /run && mount -t tmpfs none \"$POINT\" && exec \"$@\"";
    let mut command = daemon_after(script);
    command.env("POINT", &points[0]);
    let guard = place.start_by("floor.clean_min = \"5 %\"\n", &mut command);
    assert!(ends(&guard));
}

/// A file system in user space that never answers, over a folder on the way to a mounted disk and
/// to what the configuration names.
#[test]
fn a_server_that_does_not_answer_holds_it_up_nowhere() {
    let Some(place) = Place::new("") else { return };
    let Ok(fuse) = fs::File::options().read(true).write(true).open("/dev/fuse") else {
        println!("skipped: there is no /dev/fuse");
        return;
    };
    let above = place.path("above");
    let disk = above.join("disk");
    fs::create_dir_all(&disk).expect("folders");
    let file = place.file("file", MIB);
    let config = format!(
        "[floor]\nclean_min = \"5 %\"\nkeep = [{:?}, {above:?}, {file:?}, {:?}]\nexcept = [{:?}]\n",
        disk.join("file"),
        place.folder(),
        above.join("except"),
    );
    // The server is this process: it holds the device, and answers nothing.
    let script = "mount -t tmpfs -o mode=755 run /run && mount --bind \"$ABOVE/..\" \"$DISK\" \
                  && mount -i -t fuse -o fd=0,rootmode=40000,user_id=65534,group_id=65534,allow_other \
                  x \"$ABOVE\" && exec \"$@\" </dev/null";
    let mut command = daemon_after(script);
    command.env("ABOVE", &above).env("DISK", &disk);
    place.configure(&config);
    place
        .complete(&mut command)
        .stdin(fuse.try_clone().expect("a descriptor"));
    let guard = place.spawn(&mut command);
    guard.wait_for("it is on", || guard.text("guard.prom").contains("pid=\""));
    guard.wait_for("what else is named is locked", || {
        guard.locked(&file) == Some(1024)
    });
    guard.signal(Signal::HUP);
    guard.wait_for("it reads its configuration", || {
        guard.log().contains("the configuration is the same")
    });
    assert!(ends(&guard));
    drop(fuse);
}

#[test]
fn a_full_disk_leaves_nothing_set_and_is_said() {
    let Some(place) = Place::new("floor.anon_min = \"90 %\"\n") else {
        return;
    };
    fs::write(SWAPPINESS, "61").expect("root writes it");
    let script = "mount -t tmpfs -o mode=755,size=64k run /run && mkdir /run/plimsoll && \
                  head -c 1M /dev/zero > /run/full 2>/dev/null; exec \"$@\"";
    let mut command = daemon_after(script);
    command
        .arg("--config")
        .arg(place.path("guard.toml"))
        .args(["--state", STATE]);
    let guard = place.spawn(&mut command);
    let why =
        "set vm.swappiness = 0: it failed: /run/plimsoll/guard.state: No space left on device";
    guard.wait_for("it is said", || guard.log().contains(why));
    assert_eq!(swappiness(), "61\n");
    let log = guard.log();
    assert!(
        log.matches(why).count() == 1 && !log.contains("somebody else"),
        "{log}"
    );
    assert!(ends(&guard));
    assert_eq!(swappiness(), "61\n");
}

#[test]
fn a_configuration_that_others_may_write_is_not_followed() {
    let Some(place) = Place::new("floor.anon_min = \"1 MiB\"\n") else {
        return;
    };
    let config = place.path("guard.toml");
    let set_mode = |mode| {
        fs::set_permissions(&config, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    let guard = place.start(&[]);
    set_mode(0o646);
    guard.signal(Signal::HUP);
    guard.wait_for("it is refused", || {
        let log = guard.log();
        log.contains("is writable by others (mode 646)")
            && log.contains("the old configuration stays")
    });
    assert!(ends(&guard));
    let output = place.output(&[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), said.lines().count()),
        (Some(1), 1),
        "{said}"
    );
    assert!(said.contains("is writable by others"), "{said}");
}

/// Programs that open and close the files of a folder without end; the shell of each is run by
/// `run`.
fn opens(folder: &Path, count: usize, run: impl Fn(&[&str]) -> Command) -> Vec<Running> {
    let script = "cd \"$0\" && while :; do for f in *; do : < $f; done; done";
    let open = |_| run(&["sh", "-c", script]).arg(folder).spawn();
    let running: std::io::Result<Vec<Child>> = (0..count).map(open).collect();
    running.expect("sh").into_iter().map(Running).collect()
}

fn root(program: &[&str]) -> Command {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).stdin(Stdio::null());
    command
}

#[test]
fn what_root_reads_stays_locked_beside_twenty_programs_of_somebody_elses() {
    let Some(place) = Place::new("floor.clean_min = \"48 MiB\"\n") else {
        return;
    };
    let theirs = place.of_nobody("theirs");
    for number in 0..5 {
        let path = place.file(&format!("theirs/{number}"), 9 * MIB);
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("permissions");
    }
    fs::create_dir(place.path("own")).expect("a folder");
    let ours = place.file("own/file", 40 * MIB);
    let guard = place.start(&[]);
    // What else root does on this machine is used less than that.
    let _own = opens(&place.path("own"), 5, root);
    guard.wait_for("it is locked", || guard.locked(&ours).is_some());
    let programs = opens(&theirs, 20, nobody);
    for _ in 0..6 {
        read(&ours, 1);
        assert!(guard.locked(&ours).is_some(), "{}", guard.log());
    }
    drop(programs);
    assert!(ends(&guard));
}

#[test]
fn what_root_reads_is_locked_beside_a_flood_of_somebody_elses_files() {
    // Room for what else is read here meanwhile: a build reads files of 43 MiB four times.
    let Some(place) = Place::new("floor.clean_min = \"256 MiB\"\n") else {
        return;
    };
    let theirs = place.of_nobody("theirs");
    for number in 0..10_000 {
        fs::write(theirs.join(number.to_string()), "x").expect("a file");
    }
    let ours = place.file("ours", 2 * MIB);
    let guard = place.start(&[]);
    let programs = opens(&theirs, 2, nobody);
    let ignored = || guard.figure("ignored_events_total").unwrap_or(0);
    guard.wait_for("it is flooded", || ignored() > 5000);
    guard.wait_for("it is locked", || {
        read(&ours, 1);
        guard.locked(&ours).is_some()
    });
    drop(programs);
    assert!(ends(&guard));
}
