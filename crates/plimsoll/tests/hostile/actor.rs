//! What the attacker does, each in a process of its own: this program again, with `--actor NAME`.
//!
//! An actor prints a line when it is at work, and ends when its standard input does.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, inotify, renameat_with};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::place::PROMPT;
use crate::process::{as_nobody, wait};

/// The word before an actor's name.
const ACTOR: &str = "--actor";

/// What it does with the paths that follow its name.
type Act = fn(&[PathBuf]);

const ACTORS: &[(&str, Act)] = &[
    ("lock-all", lock_all),
    ("use-files", use_files),
    ("flood", flood),
    ("swap", swap),
    ("swap-when-read", swap_when_read),
    ("catch-draft", catch_draft),
    ("map-much", map_much),
    ("mount", mount),
];

/// An actor at work; it ends with this.
#[derive(Debug)]
pub(crate) struct Actor {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Actor {
    /// Starts it as the attacker, and waits until it is at work; what it says then.
    pub(crate) fn start(name: &str, paths: &[&Path]) -> (Self, String) {
        Self::start_by(Path::new("/tmp/bin/hostile"), name, paths)
    }

    /// The same, by a copy of this program that has another name.
    pub(crate) fn start_by(program: &Path, name: &str, paths: &[&Path]) -> (Self, String) {
        let mut command = Command::new(program);
        command.args([ACTOR, name]).args(paths);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = as_nobody(&mut command).spawn().expect("an actor");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert!(!line.is_empty(), "{name} is at work");
        (Self { child, said }, line.trim().to_owned())
    }

    /// Ends it; what it says at the end.
    pub(crate) fn end(mut self) -> String {
        drop(self.child.stdin.take());
        wait(&mut self.child, PROMPT);
        let mut text = String::new();
        self.said.read_to_string(&mut text).expect("a text");
        text.trim().to_owned()
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs the actor that the words name, if they name one.
pub(crate) fn run(words: &[OsString]) -> Option<ExitCode> {
    let [first, name, paths @ ..] = words else {
        return None;
    };
    if first != ACTOR {
        return None;
    }
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let found = ACTORS.iter().find(|(known, _)| name == known);
    let (_, act) = found.expect("an actor of this name");
    act(&paths);
    Some(ExitCode::SUCCESS)
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok();
}

fn wait_for_the_end() {
    std::io::stdin().read_to_end(&mut Vec::new()).ok();
}

/// Calls a function again and again until the end.
fn until_the_end(mut act: impl FnMut()) {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        wait_for_the_end();
        IS_OVER.store(true, Ordering::Relaxed);
    });
    while !IS_OVER.load(Ordering::Relaxed) {
        act();
    }
}

/// Locks every file and folder below the paths that it may open.
fn lock_all(paths: &[PathBuf]) {
    let (mut waiting, mut held) = (paths.to_vec(), Vec::new());
    while let Some(path) = waiting.pop() {
        let inside = fs::read_dir(&path).into_iter().flatten().flatten();
        waiting.extend(inside.map(|entry| entry.path()));
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            held.push((path.display().to_string(), file));
        }
    }
    let names: Vec<&str> = held.iter().map(|(name, _)| name.as_str()).collect();
    say(&format!("locked {}", names.join(" ")));
    wait_for_the_end();
}

/// Opens, reads and closes all files of a folder, some five times a second.
fn use_files(paths: &[PathBuf]) {
    let mut files: Vec<PathBuf> = names(&paths[0]);
    files.sort_unstable();
    say("uses them");
    until_the_end(|| {
        let start = Instant::now();
        for file in &files {
            File::open(file)
                .and_then(|mut file| file.read(&mut [0; 1]))
                .ok();
        }
        let rest = Duration::from_millis(180).saturating_sub(start.elapsed());
        std::thread::sleep(rest);
    });
}

/// Opens and closes files of a folder as fast as it can.
fn flood(paths: &[PathBuf]) {
    let files = names(&paths[0]);
    say("floods");
    let mut opens = 0_u64;
    let start = Instant::now();
    until_the_end(|| {
        for file in &files {
            drop(File::open(file));
            opens += 1;
        }
    });
    say(&format!(
        "{:.0} opens/s",
        opens as f64 / start.elapsed().as_secs_f64()
    ));
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Swaps two names again and again; says how often.
fn swap(paths: &[PathBuf]) {
    let mut swaps = 0_u64;
    say("swaps");
    until_the_end(|| {
        if renameat_with(CWD, &paths[0], CWD, &paths[1], RenameFlags::EXCHANGE).is_ok() {
            swaps += 1;
        }
        if swaps.is_multiple_of(16) {
            std::thread::yield_now();
        }
    });
    say(&swaps.to_string());
}

/// Swaps two names once somebody has read the first.
fn swap_when_read(paths: &[PathBuf]) {
    let queue = inotify::init(inotify::CreateFlags::CLOEXEC).expect("inotify");
    inotify::add_watch(&queue, &paths[0], inotify::WatchFlags::CLOSE_NOWRITE).expect("a watch");
    say("waits");
    rustix::io::read(&queue, &mut [0; 512]).expect("an event");
    renameat_with(CWD, &paths[0], CWD, &paths[1], RenameFlags::EXCHANGE).expect("both are there");
    say("swapped");
}

/// Puts a link to the second path in the place of every draft in a folder; says how often.
fn catch_draft(paths: &[PathBuf]) {
    let [folder, victim] = paths else {
        panic!("a folder and a victim");
    };
    let known = names(folder);
    let (aside, mut caught) = (folder.join("aside"), 0_u64);
    say("waits");
    until_the_end(|| {
        for draft in names(folder) {
            let is_draft = !known.contains(&draft) && draft != aside;
            let is_new = || fs::symlink_metadata(&draft).is_ok_and(|it| it.is_file());
            if is_draft && is_new() && fs::rename(&draft, &aside).is_ok() {
                std::os::unix::fs::symlink(victim, &draft).ok();
                caught += 1;
            }
        }
    });
    say(&caught.to_string());
}

/// Maps 120 TiB of addresses, and touches none; says which process it is.
#[expect(unsafe_code, reason = "a mapping")]
fn map_much(_: &[PathBuf]) {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    for _ in 0..120 {
        let none = std::ptr::null_mut();
        // SAFETY: the kernel chooses the address, and nobody uses it.
        let mapped = unsafe { mmap_anonymous(none, 1 << 40, ProtFlags::READ, flags) };
        mapped.expect("addresses");
    }
    say(&std::process::id().to_string());
    wait_for_the_end();
}

/// Mounts a file system of its own, by the setuid program that lets everybody do so. Nobody serves
/// it: the descriptor waits in the socket.
fn mount(paths: &[PathBuf]) {
    let (own, other) = UnixStream::pair().expect("a pair");
    fcntl_setfd(&other, FdFlags::empty()).expect("a descriptor");
    let mounted = Command::new("fusermount3")
        .args(["-o", "rw,fsname=hostile", "--"])
        .arg(&paths[0])
        .env("_FUSE_COMMFD", other.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    let mounted = mounted.expect("fusermount3");
    let said = String::from_utf8_lossy(&mounted.stderr).into_owned();
    let is_there = fs::read("/proc/self/mountinfo").is_ok_and(|text| {
        let name = paths[0].file_name().expect("a name").as_bytes();
        text.windows(name.len()).any(|part| part == name)
    });
    assert!(mounted.status.success() && is_there, "{said}");
    say("mounted");
    wait_for_the_end();
    drop(own);
}
