//! `plimsoll ksm estimate` from outside: what it says, and what it does with bad input.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::tenants::Tenants;

fn plimsoll(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(["ksm", "estimate"]).args(arguments);
    command.output().expect("the binary runs")
}

fn tenants(count: usize, arguments: &str) -> Tenants {
    Tenants::start(&vec![arguments.to_owned(); count])
}

/// Asserts exit code 2 and one line on stderr.
fn assert_refused(arguments: &[&str], message: &str) {
    let output = plimsoll(arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.contains(message), "{arguments:?}: {stderr}");
}

#[test]
fn what_cannot_be_estimated_is_said_in_one_line() {
    assert_refused(
        &["--pid", "4194305"],
        "--pid 4194305: there is no such process",
    );
    assert_refused(&["--pid", "2"], "it is a kernel thread");
    assert_refused(&["--pid", "x"], "expected the number of a process");
    assert_refused(&["--pid", ""], "expected the number of a process");
    assert_refused(&["--cgroup", ""], "--cgroup");
    assert_refused(&["--cpu-limit", "0"], "expected a time from 1 ns to 60 min");
    assert_refused(&["--pid", "1", "--cgroup", "a"], "--cgroup");
    assert_refused(
        &["--cgroup", "no/such/group"],
        "--cgroup no/such/group: no such control group",
    );
    assert_refused(&["--sample-time=-1"], "expected a time from 0 s to 60 min");
    assert_refused(&["--keep", "3"], "expected pages from 1000");
}

#[test]
fn a_process_that_ended_and_was_not_waited_for_has_no_memory() {
    let mut tenants = tenants(1, "unique=10");
    tenants.end(0, false);
    let pid = tenants.pids[0].to_string();
    let start = Instant::now();
    loop {
        let output = plimsoll(&["--pid", &pid, "--sample-time", "0"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("(a zombie)") {
            break assert_eq!(output.status.code(), Some(2));
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{stderr}");
    }
}

#[test]
fn a_process_that_ends_while_it_is_sampled_is_named() {
    let mut tenants = tenants(2, "identical=500 unique=100");
    let mut command = tenants.command(&["--sample-time", "2"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(Duration::from_millis(1000));
    tenants.end(1, true);
    let output = child.wait_with_output().expect("it ends");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let notes = said["notes"].to_string();
    assert!(notes.contains("Ended while they were read"), "{notes}");
    assert!(notes.contains(&tenants.pids[1].to_string()), "{notes}");
    let sharing = said["estimate"]["pages_sharing"]["middle"]
        .as_u64()
        .expect("a number");
    assert!(
        sharing < 100,
        "its pages are gone, and with them the twins: {sharing}"
    );
}

#[test]
fn known_contents_are_found_and_nothing_is_changed() {
    let tenants = tenants(3, "identical=1000 unique=500 volatile=200");
    let before = tenants.anonymous_pages();
    let said = tenants.estimate(&["--sample-time", "0.2"]);
    if said["estimate"].is_null() {
        return println!(
            "skipped: other processes may not be read here: {}",
            said["unread"]
        );
    }
    assert_eq!(said["schema"], "plimsoll-ksm-estimate");
    let estimate = &said["estimate"];
    let near = |key: &str, expected: u64| {
        let value = estimate[key].as_u64().or(estimate[key]["middle"].as_u64());
        let value = value.expect("a number");
        // The program's own pages are there beside the region.
        assert!(
            (expected..expected + 300).contains(&value),
            "{key}: {value}"
        );
    };
    near("candidate_pages", 3 * 1700);
    near("pages_sharing", 2 * 1000);
    near("pages_shared", 1000);
    near("pages_volatile", 3 * 200);
    let more = tenants.anonymous_pages().abs_diff(before);
    assert!(
        more < 50,
        "{more} pages came or went; only the tenants' own threads may do that"
    );
}

#[test]
fn what_a_fork_left_shared_stays_shared_and_is_no_saving() {
    let tenants = tenants(1, "fork unique=2000");
    let shared = || {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", tenants.pids[1]));
        let text = text.expect("it lives");
        let line = text.lines().find(|line| line.starts_with("Shared_Dirty:"));
        let kib = line
            .and_then(|line| line.split_whitespace().nth(1))
            .expect("a number");
        kib.parse::<u64>().expect("a number") / 4
    };
    let before = shared();
    let said = tenants.estimate(&["--sample-time", "0"]);
    if said["estimate"].is_null() {
        return println!(
            "skipped: other processes may not be read here: {}",
            said["unread"]
        );
    }
    let sharing = said["estimate"]["pages_sharing"]["middle"]
        .as_u64()
        .expect("a number");
    assert!(sharing < 100, "{sharing}");
    let copied = before.saturating_sub(shared());
    assert!(
        before >= 2000 && copied < 50,
        "{copied} of {before} shared pages were copied"
    );
}

#[test]
fn where_the_time_does_not_do_the_interval_holds_the_truth() {
    let tenants = tenants(3, "identical=6000 unique=6000 pairs=3000");
    for limit in ["0.05", "0.1", "0.2", "0.4"] {
        let said = tenants.estimate(&["--sample-time", "0", "--cpu-limit", limit]);
        let estimate = &said["estimate"];
        if estimate.is_null() {
            continue;
        }
        let end = |key: &str| estimate["pages_sharing"][key].as_u64().expect("a number");
        // Two of three identical pages, and one of each pair: nothing that max_page_sharing, which
        // another test may have set, has a say in.
        let truth = 2 * 6000 + 3 * 1500;
        assert!(
            end("low") <= truth + 300 && truth <= end("high"),
            "{limit} s: {estimate}"
        );
    }
}

#[test]
fn without_time_there_is_no_estimate_and_the_reason_is_told() {
    let tenants = tenants(1, "unique=100");
    let pid = tenants.pids[0].to_string();
    let short = ["--cpu-limit", "0.000000001", "--sample-time", "0"];
    let output = plimsoll(&[&["--pid", &pid][..], &short].concat());
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("nothing could be read"), "{text}");
    assert!(text.contains("trust each other"), "{text}");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(stderr.lines().count(), 2, "{stderr}");
    let (first, second) = stderr.split_once('\n').expect("two lines");
    assert!(
        first.contains("each page read is marked accessed"),
        "{first}"
    );
    assert!(second.contains("give a longer --cpu-limit"), "{second}");
}

#[test]
fn who_may_not_read_a_process_gets_an_upper_bound() {
    use std::os::unix::process::CommandExt as _;
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can run the command as someone else");
    }
    let tenants = tenants(1, "unique=1000");
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &binary).expect("a copy");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("permissions");
    let mut command = Command::new(binary);
    command.args([
        "ksm",
        "estimate",
        "--json",
        "--pid",
        &tenants.pids[0].to_string(),
    ]);
    let output = command.uid(65534).gid(65534).output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return println!("skipped: user 65534 cannot run the command: {error}"),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "there is no estimate");
    assert!(stderr.contains("run as root to see"), "{stderr}");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(said["estimate"].is_null());
    let most = said["unread"]["at_most_bytes"].as_u64().expect("a bound");
    assert!((1000 * 4096..1300 * 4096).contains(&most), "{most}");
}
