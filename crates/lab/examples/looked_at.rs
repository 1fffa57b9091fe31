//! The first process of the VM in which a test looks at what `plimsoll inspect` changes.
//!
//! It reads the machine's files, runs `/plimsoll inspect` beside them, reads the same files with
//! nothing else done, and at last reads `vm.lowmem_reserve_ratio`, which does change the machine.
//! What it saw goes to the console as a capture, between two lines of [`EDGE`].

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use mm::capture::{Capture, Frame};
use mm::units::Nanos;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

/// The line before and after the capture on the console.
const EDGE: &str = "-- looked at --";

/// What reading it changes.
const RATIO: &str = "/proc/sys/vm/lowmem_reserve_ratio";

/// The kernel's file systems that `inspect` reads, and what programs expect.
const KERNEL: [(&str, &str); 5] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("debugfs", "/sys/kernel/debug"),
];

/// How often `inspect` runs, and the files are read beside it.
const RUNS: usize = 2;

fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("looked_at: this is the first process of a VM that a test boots");
        return ExitCode::from(2);
    }
    for (kind, place) in KERNEL {
        if let Err(error) = mount(kind, place, kind, MountFlags::empty(), None) {
            println!("looked_at: {place}: {error}");
        }
    }
    look();
    let off = reboot(RebootCommand::PowerOff);
    println!("looked_at: power off: {off:?}");
    ExitCode::FAILURE
}

/// Everything, step by step; what a step saw is told in the end, for the console is slow.
fn look() {
    let booted = frame("as booted");
    // The first runs load what is loaded once: pages of the program, tables of the kernel.
    let saved = inspect("/warm-up.txt").and_then(|()| paths("/warm-up.txt"));
    let paths = saved.unwrap_or_else(|error| {
        println!("looked_at: {error}");
        Vec::new()
    });
    let _ = frame("warm-up");
    thread::sleep(Duration::from_secs(2));
    let mut frames = vec![booted, frame("before")];
    for _ in 0..RUNS {
        if let Err(error) = inspect("/saved.txt") {
            println!("looked_at: {error}");
        }
    }
    frames.push(frame("after inspect"));
    for _ in 0..RUNS {
        paths.iter().for_each(|path| drop(fs::read(path)));
    }
    frames.push(frame("after cat"));
    let _ = fs::read(RATIO);
    frames.push(frame("after the ratio"));
    let text = Capture { frames }.to_text();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{EDGE}\n{text}\n{EDGE}");
}

/// Runs `inspect` as a user does, and keeps what it read.
fn inspect(save: &str) -> Result<(), String> {
    let mut command = Command::new("/plimsoll");
    command.args(["inspect", "--interval", "0", "--save", save]);
    let output = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The kernel files of a capture.
fn paths(capture: &str) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(capture).map_err(|error| error.to_string())?;
    let capture = Capture::parse(&text).map_err(|error| error.to_string())?;
    let files = capture.frames.into_iter().flat_map(|frame| frame.files);
    let paths = files.map(|(path, _)| format!("/{path}"));
    Ok(paths
        .filter(|path| !path.starts_with("/plimsoll/"))
        .collect())
}

/// What must not change: every setting and the state of the zones, without what acts when read.
fn frame(label: &str) -> Frame {
    let mut files = BTreeMap::new();
    for path in ["/proc/vmstat", "/proc/zoneinfo", "/proc/meminfo"] {
        add(Path::new(path), &mut files);
    }
    for folder in [
        "/proc/sys/vm",
        "/sys/kernel/mm/ksm",
        "/sys/kernel/mm/lru_gen",
        "/sys/kernel/mm/transparent_hugepage",
        "/sys/kernel/mm/transparent_hugepage/khugepaged",
    ] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| !acts(path)) {
            add(&path, &mut files);
        }
    }
    Frame {
        at: Nanos::ZERO,
        label: Some(label.to_owned()),
        files,
    }
}

fn add(path: &Path, files: &mut BTreeMap<String, String>) {
    if path.is_file()
        && let Ok(text) = fs::read_to_string(path)
    {
        let path = path.display().to_string();
        files.insert(path.trim_start_matches('/').to_owned(), text);
    }
}

/// Whether reading a file acts, or folds the counters that are looked at.
fn acts(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let acting = [
        "lowmem_reserve_ratio",
        "min_slab_ratio",
        "min_unmapped_ratio",
        "stat_refresh",
    ];
    acting.iter().any(|acting| name == *acting)
}
