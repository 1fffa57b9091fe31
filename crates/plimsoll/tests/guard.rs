//! The guard's verbs from outside: what they say where no guard runs, what they ask of one that
//! does, and that nothing stays behind however guard try ends.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

fn guard(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("guard").args(arguments).current_dir(folder);
    command.stdin(Stdio::null());
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    guard(folder, arguments).output().expect("the binary runs")
}

/// What it prints, its lines as one, and its exit code.
fn said(folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = output(folder, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = text + &String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = text.split_whitespace().collect();
    (words.join(" "), output.status.code())
}

#[test]
fn where_no_guard_runs_it_says_so_and_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for verb in ["status", "explain"] {
        let (text, code) = said(folder, &[verb, "--state", "guard.state"]);
        assert!(
            text.contains("no guard runs") && text.contains("guard try"),
            "{text}"
        );
        assert_eq!(code, Some(1));
    }
    for verb in ["release", "keep"] {
        let told = said(folder, &[verb, "/", "--state", "guard.state"]);
        assert_eq!(
            told,
            ("no guard runs: nothing is locked".to_owned(), Some(0))
        );
    }
    fs::write(folder.join("guard.state"), "").expect("a file");
    let (text, _) = said(folder, &["status", "--state", "guard.state"]);
    assert!(
        text.contains("plimsoll-guard --restore writes them back"),
        "{text}"
    );
}

#[test]
fn a_wrong_configuration_or_policy_is_one_line_and_exit_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("guard.toml"), "[floor]\nclean_mn = \"5 %\"\n").expect("a file");
    fs::write(folder.join("ceiling.toml"), "ceiling.total = \"90 %\"\n").expect("a file");
    for (arguments, expected) in [
        (
            &["check", "--config", "guard.toml"][..],
            "guard.toml: `floor.clean_mn`: there is no such key; did you mean `floor.clean_min`?",
        ),
        (
            &["check", "--config", "missing"],
            "missing: No such file or directory; name another with --config FILE",
        ),
        (
            &["try", "flor", "--for", "10s"],
            "a similar value exists: 'floor'",
        ),
        (
            &["try", "floor", "--for", "10s", "--config", "ceiling.toml"],
            "ceiling.toml: it has no [floor]",
        ),
        (
            &["release", "missing"],
            "missing: No such file or directory",
        ),
        (&["events", "--since", "ten"], "as in 90s, 10m, 2h"),
    ] {
        let output = output(folder, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains(expected) && error.lines().count() == 1,
            "{error}"
        );
    }
}

#[test]
fn a_check_of_evidence_takes_its_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = "[floor]\nclean_min = \"50 %\"\nkeep = [\"/usr\"]\n";
    fs::write(folder.path().join("guard.toml"), config).expect("a file");
    let fixtures = testkit::checkout("fixtures");
    let capture = fixtures.join("hosts/vm-24gib-6.18/capture.txt");
    let capture = capture.to_str().expect("a name");
    let (text, code) = said(folder.path(), &["check", capture, "--config", "guard.toml"]);
    assert!(
        text.contains("25 % of the memory, less than is configured"),
        "{text}"
    );
    assert!(text.contains("keeps /usr: evidence has no files"), "{text}");
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_release_names_the_file_system_or_file_by_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("file"), "text").expect("a file");
    let inode = fs::metadata(folder.join("file")).expect("a file").ino();
    let listener = UnixListener::bind(folder.join("guard.sock")).expect("a socket");
    let answers = spawn(move || {
        let answers = ["released 2 1048576\n", "refused: no\n", "kept\n"];
        answers.map(|answer| {
            let (mut stream, _) = listener.accept().expect("it asks");
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            reader.read_line(&mut line).expect("a line");
            stream.write_all(answer.as_bytes()).expect("it listens");
            line
        })
    });
    let ask = |verb, path| said(folder, &[verb, path, "--state", "guard.state"]);
    let (text, code) = ask("release", ".");
    assert!(text.starts_with("let go of 1 MiB of 2 files"), "{text}");
    assert_eq!(code, Some(0));
    let refused = ask("release", "file");
    assert_eq!(
        refused,
        ("plimsoll: file: the guard: refused: no".to_owned(), Some(2))
    );
    assert_eq!(ask("keep", ".").1, Some(0));
    let [system, file, keep] = answers.join().expect("three questions");
    let number = system.strip_prefix("release ").expect("a request").trim();
    assert!(
        number.len() == 16 && u64::from_str_radix(number, 16).is_ok(),
        "{number}"
    );
    assert_eq!(file, format!("release {number}/{inode}\n"));
    assert_eq!(keep, format!("keep {number}\n"));
}

/// Whether a guard can run here; the reason is said where not.
fn can_run() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: only root runs the guard");
    }
    let daemon = Path::new(env!("CARGO_BIN_EXE_plimsoll")).with_file_name("plimsoll-guard");
    assert!(
        daemon.exists() || !is_root,
        "build it: cargo build --package plimsoll-guard"
    );
    is_root
}

fn swappiness() -> String {
    fs::read_to_string(SWAPPINESS)
        .expect("a tunable")
        .trim()
        .to_owned()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(20), "{what}");
        sleep(Duration::from_millis(20));
    }
}

fn run_begun(folder: &Path) -> Child {
    let words = ["try", "floor", "--for", "60s", "--config", "guard.toml"];
    // A machine has one guard: this one has a `/run` of its own.
    let alone = "mount -t tmpfs -o mode=755 run /run && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", alone, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_plimsoll")).arg("guard");
    command.args(words).args(["--state", "guard.state"]);
    command.current_dir(folder).stdin(Stdio::null());
    let child = command.stderr(Stdio::piped()).spawn();
    let child = child.expect("the binary runs");
    wait_for("it is set", || swappiness() == "0");
    wait_for("the status is there", || folder.join("guard.prom").exists());
    child
}

fn run_ended(folder: &Path, before: &str, mut child: Child, signal: Signal) {
    kill_process(Pid::from_child(&child), signal).expect("it runs");
    child.wait().expect("it ends");
    wait_for("it is as before", || swappiness() == before);
    wait_for("its files are gone", || !folder.join("guard.sock").exists());
    assert!(!folder.join("guard.prom").exists() && !folder.join("guard.state").exists());
}

#[test]
fn a_run_of_one_policy_is_told_and_taken_back_however_it_ends() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("guard.toml"), "floor.anon_min = \"90 %\"\n").expect("a file");
    let before = swappiness();
    let start = || run_begun(folder);
    let end = |child, signal| run_ended(folder, &before, child, signal);
    let child = start();
    let (status, code) = said(folder, &["status", "--state", "guard.state"]);
    assert!(status.contains("floor: on; 1 action"), "{status}");
    assert!(
        status.contains(&format!("vm.swappiness is set; it was {before}")),
        "{status}"
    );
    assert_eq!(code, Some(0));
    let (explained, _) = said(folder, &["explain", "--state", "guard.state"]);
    assert!(
        explained.contains("vm.swappiness is 0: set by the guard"),
        "{explained}"
    );
    assert!(
        explained.contains("set vm.swappiness = 0, because: anonymous memory"),
        "{explained}"
    );
    let (events, _) = said(
        folder,
        &["events", "--since", "1h", "--state", "guard.state"],
    );
    assert!(
        events.contains("floor: set vm.swappiness = 0: anonymous"),
        "{events}"
    );
    end(child, Signal::KILL);
    end(start(), Signal::TERM);

    let child = start();
    let figures = fs::read_to_string(folder.join("guard.prom")).expect("figures");
    let (_, pid) = figures.split_once("pid=\"").expect("a process");
    let pid = pid.split('"').next().and_then(|pid| pid.parse().ok());
    let daemon = pid.and_then(Pid::from_raw).expect("a number");
    kill_process(daemon, Signal::KILL).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(swappiness(), before, "the command wrote it back");
    assert!(!folder.join("guard.state").exists());

    let mut child = start();
    // The terminal sends it to both; the command alone goes on until the daemon ended.
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    assert!(child.try_wait().expect("a child").is_none());
    end(child, Signal::KILL);
}
