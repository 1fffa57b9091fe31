//! `plimsoll fleet` on drawn hosts: the same answer each time and in every form of evidence.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use testkit::hosts::Hosts;

const SEED: u64 = 7;

/// Hosts of which some differ, and one that is damaged.
fn hosts(number: usize) -> Vec<(String, Vec<u8>)> {
    let mut hosts = Hosts::new(SEED);
    let name = |host| format!("host-{host:02}.capture");
    let mut all: Vec<_> = (0..number).map(|host| (name(host), hosts.draw())).collect();
    all[3].1.truncate(20);
    all
}

fn written(folder: &Path, hosts: &[(String, Vec<u8>)]) {
    for (name, bytes) in hosts {
        fs::write(folder.join(name), bytes).expect("it is written");
    }
}

fn fleet(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.arg("fleet").args(arguments).current_dir(folder);
    command.env("COLUMNS", "80").output().expect("it runs")
}

/// The documents: those of hosts, and that of all.
fn documents(folder: &Path, what: &str) -> (Vec<Value>, Value) {
    let output = fleet(folder, &["--json", what]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let mut lines: Vec<Value> = lines.collect();
    let all = lines.pop().expect("a line of all");
    (lines, all)
}

#[test]
fn a_damaged_host_is_named_and_the_others_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), &hosts(40));
    let output = fleet(folder.path(), &["."]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.starts_with("39 hosts, 1 not read: "), "{text}");
    assert!(text.contains("host-03.capture: "), "{text}");
    assert!(text.contains("vm.swappiness 60"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let again = fleet(folder.path(), &["."]);
    assert_eq!(String::from_utf8_lossy(&again.stdout), text);
}

#[test]
fn a_folder_and_an_archive_of_it_say_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("all");
    fs::create_dir(&below).expect("a folder");
    written(&below, &hosts(20));
    let mut tar = Command::new("tar");
    let tar = tar.args([
        "--create",
        "--sort=name",
        "--gzip",
        "--file",
        "all.tgz",
        "all",
    ]);
    let status = tar.current_dir(folder.path()).status().expect("tar runs");
    assert!(status.success());
    let (of_folder, mut all) = documents(folder.path(), "all");
    let (of_archive, mut same) = documents(folder.path(), "all.tgz");
    let without_paths = |hosts: Vec<Value>| {
        let hosts = hosts.into_iter().map(|mut host| {
            host["path"] = Value::Null;
            host
        });
        hosts.collect::<Vec<_>>()
    };
    assert_eq!(without_paths(of_folder), without_paths(of_archive));
    for document in [&mut all, &mut same] {
        let faults = document["not_read"].as_array_mut().expect("a list");
        assert_eq!(faults.len(), 1);
        faults.clear();
    }
    assert_eq!(all, same);
}

#[test]
fn nothing_to_read_is_an_error_and_a_page_needs_nothing_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), "nothing").expect("it is written");
    fs::write(folder.path().join("b"), "nothing").expect("it is written");
    let output = fleet(folder.path(), &["."]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    written(folder.path(), &hosts(5));
    let output = fleet(folder.path(), &[".", "--quiet", "--html", "page.html"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("the page");
    assert!(page.contains("default-src 'none'") && page.ends_with("</html>\n"));
    for asks in ["src=", "href=", "<script", "@import", "url("] {
        assert!(!page.contains(asks), "{asks}");
    }
}
