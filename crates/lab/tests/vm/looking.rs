//! `inspect` in a VM changes nothing: settings, marks, boosts and reserves are what they were, and
//! counters move as by reading the same files. That the test would see a change is shown by reading
//! `vm.lowmem_reserve_ratio`, which makes the reserves of boot over again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use mm::units::Pages;
use plimsoll_lab::vm::{Clock, VmOptions};

use super::machine::plimsoll;
use super::{bench, stock};

/// The line before and after the capture on the console.
const EDGE: &str = "-- looked at --";

/// What counts the looking process's own memory, and time as it passes; both processes have some.
const OWN: [&str; 12] = [
    "nr_",
    "numa_",
    "pgalloc_",
    "pgfree",
    "pgfault",
    "pgactivate",
    "pgreuse",
    "pglazyfree",
    "unevictable_pgs_",
    "thp_",
    "direct_map_",
    "vma_lock_",
];

/// Pages that these may move by: `inspect` starts as a process and keeps what it read.
const OWN_PAGES: u64 = 16_384;

#[test]
fn on_linux_6_1_inspect_changes_nothing() {
    inspect_changes_nothing("6.1");
}

#[test]
fn on_linux_6_12_inspect_changes_nothing() {
    inspect_changes_nothing("6.12");
}

fn inspect_changes_nothing(name: &str) {
    // The bench fetches the kernel; wall-clock time needs no module.
    let options = VmOptions {
        clock: Clock::Wall,
        ..stock(name)
    };
    if bench(options).is_none() {
        return;
    }
    let capture = boot(&image(name));
    let frame = |label: &str| capture.labelled(label).expect("the VM took it");
    let [before, after, cat, ratio] =
        ["before", "after inspect", "after cat", "after the ratio"].map(frame);
    assert!(
        before.files.len() > 60,
        "{name}: {} files",
        before.files.len()
    );
    let booted = frame("as booted");
    assert_eq!(settings(booted), settings(after), "{name}: settings");
    assert_eq!(
        zones(booted),
        zones(after),
        "{name}: marks, boosts and reserves"
    );
    let (by_inspect, by_cat) = (moved(before, after), moved(after, cat));
    for (counter, by) in by_inspect {
        let own = OWN.iter().any(|prefix| counter.starts_with(prefix));
        let allowed = by_cat.get(&counter).copied().unwrap_or(0) + u64::from(own) * OWN_PAGES;
        assert!(
            by <= allowed,
            "{name}: {counter} moved by {by}, cat moves it by {allowed}"
        );
    }
    // The memory of the initial RAM disk came back after the reserves were made.
    assert_eq!(zones(after), zones(cat), "{name}: reading the same files");
    let reserve = |frame| {
        zones(frame)
            .into_iter()
            .map(|zone| zone.2)
            .collect::<Vec<_>>()
    };
    assert_ne!(
        reserve(cat),
        reserve(ratio),
        "{name}: the ratio was read, nothing was seen"
    );
}

/// Every setting, by path; what khugepaged and ksmd count beside theirs is none.
fn settings(frame: &Frame) -> BTreeMap<&str, &str> {
    let counts = ["full_scans", "pages_collapsed", "pages_scanned"];
    let files = frame.files.iter();
    let files = files.map(|(path, text)| (path.as_str(), text.as_str()));
    let kept = |path: &str| !path.starts_with("proc/") || path.starts_with("proc/sys/");
    let files = files.filter(|(path, _)| kept(path) && !counts.iter().any(|c| path.ends_with(c)));
    files.collect()
}

/// Of each zone its marks, boost and reserves.
fn zones(frame: &Frame) -> Vec<([Pages; 3], Option<Pages>, Vec<Pages>)> {
    let zones = Snapshot::parse(frame).zoneinfo.expect("zoneinfo").zones;
    let marks = |zone: &mm::zoneinfo::Zone| {
        let marks = zone.watermarks;
        [marks.min, marks.low, marks.high]
    };
    let of = |zone: mm::zoneinfo::Zone| (marks(&zone), zone.boost, zone.protection);
    zones.into_iter().map(of).collect()
}

/// By how much each counter of vmstat moved, in either direction.
fn moved(before: &Frame, after: &Frame) -> BTreeMap<String, u64> {
    let counters = |frame: &Frame| {
        let text = frame.file("proc/vmstat").expect("vmstat");
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let numbers =
            lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        numbers.collect::<BTreeMap<String, u64>>()
    };
    let before = counters(before);
    let by = |(name, now): (String, u64)| {
        let then = before.get(&name).copied().unwrap_or(0);
        (name, now.abs_diff(then))
    };
    counters(after).into_iter().map(by).collect()
}

/// Boots it with two programs, and reads the capture from the console.
fn boot(image: &Path) -> Capture {
    let place = tempfile::tempdir().expect("a directory");
    let initramfs = place.path().join("initramfs");
    fs::write(&initramfs, archive()).expect("room for the programs");
    let console = place.path().join("console");
    let mut qemu = Command::new("qemu-system-x86_64");
    let bare = "-nodefaults -no-user-config -display none -no-reboot -machine pc -accel tcg";
    qemu.args(bare.split(' ')).args(["-m", "1024", "-smp", "1"]);
    qemu.arg("-kernel").arg(image).arg("-initrd").arg(initramfs);
    qemu.args([
        "-append",
        "console=ttyS0 quiet panic=-1 mitigations=off nokaslr",
    ]);
    qemu.arg("-serial")
        .arg(format!("file:{}", console.display()));
    let status = qemu.status().expect("qemu runs");
    let text = fs::read_to_string(console)
        .expect("a console")
        .replace('\r', "");
    assert!(status.success(), "{status}: {text}");
    let edge = format!("{EDGE}\n");
    let mut parts = text.split(&edge);
    let said = parts.next().unwrap_or_default();
    let capture = parts.next().unwrap_or_else(|| panic!("no capture: {said}"));
    assert!(!said.contains("looked_at: "), "{said}");
    let capture = capture
        .strip_suffix('\n')
        .expect("the line before the edge");
    Capture::parse(capture).expect("a capture")
}

/// The kernel's image, where the bench has put it.
fn image(name: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache"),
        PathBuf::from,
    );
    let boot = cache.join("plimsoll/kernels").join(name).join("boot");
    let entries = fs::read_dir(&boot).expect("the bench has fetched it");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    let is_image = |path: &PathBuf| path.to_string_lossy().contains("vmlinuz");
    paths.find(is_image).expect("an image")
}

/// An initramfs (cpio, "newc") with both programs and the folders that they mount on.
fn archive() -> Vec<u8> {
    let mut archive = Vec::new();
    for folder in ["proc", "sys", "dev"] {
        entry(&mut archive, folder, 0o040_755, &[]);
    }
    let program = |path: &Path| fs::read(path).expect("a program that was built");
    entry(&mut archive, "plimsoll", 0o100_755, &program(plimsoll()));
    entry(&mut archive, "init", 0o100_755, &program(&looked_at()));
    entry(&mut archive, "TRAILER!!!", 0, &[]);
    archive
}

/// A header of thirteen numbers of eight hexadecimal digits, the name, the content.
fn entry(archive: &mut Vec<u8>, name: &str, mode: usize, content: &[u8]) {
    let mut numbers = [0; 13];
    (numbers[0], numbers[1], numbers[4]) = (archive.len() + 1, mode, 1);
    (numbers[6], numbers[11]) = (content.len(), name.len() + 1);
    archive.extend_from_slice(b"070701");
    for number in numbers {
        archive.extend_from_slice(format!("{number:08X}").as_bytes());
    }
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

/// The VM's first process, built like this test.
fn looked_at() -> PathBuf {
    let workspace = testkit::checkout("");
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    let example = [
        "build",
        "--quiet",
        "--package",
        "plimsoll-lab",
        "--example",
        "looked_at",
    ];
    let built = cargo.args(example).current_dir(workspace).status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "looked_at does not build"
    );
    let test = std::env::current_exe().expect("a running program has a path");
    let triple = test.ancestors().nth(3).expect("four levels under target");
    triple.join("debug/examples/looked_at")
}
