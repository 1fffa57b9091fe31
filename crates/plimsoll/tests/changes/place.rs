//! A mount namespace in which the command finds files of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::stories::until;

pub(crate) const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");

/// Set in the process that is in the namespace.
const INSIDE: &str = "PLIMSOLL_NAMESPACE";

/// The files that are set, and what they hold before and after.
const VALUES: &[(&str, &str, &str)] = &[
    ("/proc/sys/vm/swappiness", "60", "10"),
    ("/proc/sys/vm/watermark_scale_factor", "10", "200"),
    ("/proc/sys/vm/vfs_cache_pressure", "100", "50"),
    ("/proc/sys/vm/page-cluster", "3", "0"),
    ("/proc/sys/vm/stat_interval", "1", "10"),
    ("/proc/sys/vm/watermark_boost_factor", "15000", "0"),
    ("/proc/sys/vm/compaction_proactiveness", "20", "0"),
    ("/proc/sys/vm/dirty_expire_centisecs", "3000", "500"),
    ("/proc/sys/vm/dirty_writeback_centisecs", "500", "100"),
    ("/sys/kernel/mm/ksm/pages_to_scan", "100", "400"),
];

/// Others that the command reads.
const FILES: &[(&str, &str)] = &[("/proc/sys/kernel/random/boot_id", "b-1")];

/// Where files lie in the place of the machine's own.
const COVERED: &[&str] = &["/proc/sys", "/sys/kernel/mm", "/run", "/etc", "/var/lib"];

/// Every n-th kill is tried, unless all are wanted.
const SHARE: usize = 10;

/// The namespace.
pub(crate) struct Place(());

/// Why this process is not in it.
pub(crate) enum Cannot {
    /// Another process was, and ended so.
    Here(u8),
    Skip(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    Old,
    New,
    Mixed(BTreeMap<String, String>),
}

/// What `plimsoll status` says.
pub(crate) struct Status {
    pub(crate) standing: usize,
    pub(crate) is_pending: bool,
    pub(crate) is_confirmed: bool,
    pub(crate) is_watched: bool,
    /// Whether it says that something is not as it was left.
    pub(crate) has_drifted: bool,
}

impl Place {
    /// Goes there: runs this program again in a namespace of its own.
    pub(crate) fn enter() -> Result<Self, Cannot> {
        if std::env::var_os(INSIDE).is_some() {
            let place = Self(());
            place.cover();
            return Ok(place);
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Cannot::Skip(
                "killing apply needs root for a mount namespace".to_owned(),
            ));
        }
        if Command::new("strace").arg("-V").output().is_err() {
            return Err(Cannot::Skip(
                "killing apply at a system call needs strace".to_owned(),
            ));
        }
        let program = std::env::current_exe().expect("a program");
        let status = Command::new("unshare")
            .args(["--mount", "--propagation", "private"])
            .arg(program)
            .args(std::env::args_os().skip(1))
            .env(INSIDE, "1")
            .status()
            .expect("unshare is part of util-linux");
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Err(Cannot::Here(code.unwrap_or(1)))
    }

    fn cover(&self) {
        for directory in COVERED {
            let mounted = Command::new("mount")
                .args(["-t", "tmpfs", "-o", "mode=755", "none", directory])
                .status();
            assert!(mounted.expect("mount").success(), "{directory}");
        }
    }

    /// Puts a file in the place of one of the machine's.
    pub(crate) fn cover_file(&self, path: &str, by: &str) {
        let mounted = Command::new("mount").args(["--bind", by, path]).status();
        assert!(mounted.expect("mount").success(), "{path}");
    }

    pub(crate) fn uncover_file(&self, path: &str) {
        let unmounted = Command::new("umount").arg(path).status();
        assert!(unmounted.expect("umount").success(), "{path}");
    }

    /// Everything as before the first command.
    pub(crate) fn reset(&self) {
        stop_watchers();
        for directory in [
            "/run/plimsoll",
            "/var/lib/plimsoll",
            "/etc/sysctl.d",
            "/etc/tmpfiles.d",
        ] {
            let _ = fs::remove_dir_all(directory);
        }
        let olds = VALUES.iter().map(|(path, old, _)| (*path, *old));
        for (path, text) in olds.chain(FILES.iter().copied()) {
            fs::create_dir_all(Path::new(path).parent().expect("a parent")).expect("a directory");
            fs::write(path, format!("{text}\n")).expect("a file");
        }
    }

    /// Runs a command to its end, which is a good one; what it prints.
    pub(crate) fn run(&self, words: &[&str]) -> String {
        let (code, said) = self.ends(&[PLIMSOLL], words);
        assert_eq!(code, 0, "{words:?}: {said}");
        said
    }

    /// Runs a command, perhaps by another that changes its surroundings: its exit code, and what it
    /// prints on both streams.
    pub(crate) fn ends(&self, by: &[&str], words: &[&str]) -> (i32, String) {
        let [program, arguments @ ..] = by else {
            panic!("a program");
        };
        let own = (*program != PLIMSOLL).then_some(PLIMSOLL);
        let mut command = Command::new(program);
        let output = command.args(arguments).args(own).args(words).output();
        let output = output.expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        let code = output.status.code().expect("it ends by itself");
        (code, String::from_utf8_lossy(&said).into_owned())
    }

    /// The same, by itself.
    pub(crate) fn ends_plainly(&self, words: &[&str]) -> (i32, String) {
        self.ends(&[PLIMSOLL], words)
    }

    /// What a file holds.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// Somebody else writes a file.
    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(Path::new(path).parent().expect("a parent")).expect("a directory");
        fs::write(path, format!("{text}\n")).expect("a file");
    }

    /// A share of the calls of a command.
    pub(crate) fn calls<'a>(
        &self,
        before: &[&[&str]],
        command: &[&str],
        calls: &[&'a str],
    ) -> Vec<(&'a str, usize)> {
        let all = self.every_call(before, command, calls);
        let share = match std::env::var("PLIMSOLL_KILLS").as_deref() {
            Ok("all") => 1,
            _ => SHARE,
        };
        all.into_iter().step_by(share).collect()
    }

    /// The number behind an option of this test.
    pub(crate) fn option(&self, name: &str) -> Option<usize> {
        let mut words = std::env::args().skip_while(|word| word != name).skip(1);
        words.next().map(|word| word.parse().expect("a number"))
    }

    /// How often a command makes each call that changes something.
    pub(crate) fn every_call<'a>(
        &self,
        before: &[&[&str]],
        command: &[&str],
        calls: &[&'a str],
    ) -> Vec<(&'a str, usize)> {
        self.reset();
        before.iter().for_each(|done| drop(self.run(done)));
        // Only the command itself: what it leaves behind waits for an hour.
        let log = PathBuf::from("/var/lib/strace");
        let mut strace = Command::new("strace");
        strace
            .args(["-qq", "-e", &format!("trace={}", calls.join(",")), "-o"])
            .arg(&log);
        let traced = strace
            .arg(PLIMSOLL)
            .args(command)
            .stdout(Stdio::null())
            .status();
        assert!(traced.expect("strace").success(), "{command:?}");
        let text = fs::read_to_string(&log).expect("a log");
        let count = |call: &&'a str| {
            let named = |line: &&str| line.starts_with(&format!("{call}("));
            let numbered = text.lines().filter(named).zip(1..);
            let changing = numbered.filter(|(line, _)| changes_something(line));
            changing
                .map(|(_, number)| (*call, number))
                .collect::<Vec<_>>()
        };
        calls.iter().flat_map(count).collect()
    }

    /// Runs a command that is killed when it makes a call for the n-th time. A file of the kernel's
    /// is not emptied when it is opened for writing, as these are: it holds what was written last.
    pub(crate) fn killed(&self, words: &[&str], call: &str, number: usize) {
        let held = VALUES
            .iter()
            .map(|(path, ..)| fs::read_to_string(path).expect("a file"));
        let held: Vec<String> = held.collect();
        let log = "/var/lib/strace";
        let mut strace = Command::new("strace");
        strace.args(["-qq", "-y", "-o", log, "-e"]);
        strace.args([&format!("trace=write,{call}"), "-e"]);
        strace.arg(format!("inject={call}:signal=KILL:when={number}"));
        strace
            .arg(PLIMSOLL)
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        strace.status().expect("strace");
        let log = fs::read_to_string(log).expect("a log");
        for ((path, ..), held) in VALUES.iter().zip(held) {
            if fs::read_to_string(path).is_ok_and(|text| text.is_empty()) {
                let last = written(&log, path).unwrap_or(held);
                fs::write(path, last).expect("a file");
            }
        }
    }

    pub(crate) fn state(&self) -> State {
        let held: BTreeMap<String, String> = VALUES
            .iter()
            .map(|(path, ..)| {
                let text = fs::read_to_string(path).expect("a file");
                ((*path).to_owned(), text.trim().to_owned())
            })
            .collect();
        let all = |pick: fn(&(&str, &str, &str)) -> String| {
            VALUES.iter().all(|value| held[value.0] == pick(value))
        };
        match (all(|it| it.1.to_owned()), all(|it| it.2.to_owned())) {
            (true, _) => State::Old,
            (_, true) => State::New,
            _ => State::Mixed(held),
        }
    }

    /// The native files.
    pub(crate) fn natives(&self) -> Vec<String> {
        let of = |directory: &str| {
            let files = fs::read_dir(directory).into_iter().flatten().flatten();
            let files = files.map(|file| file.path().display().to_string());
            files
                .filter(|file| file.ends_with(".conf"))
                .collect::<Vec<_>>()
        };
        [of("/etc/sysctl.d"), of("/etc/tmpfiles.d")].concat()
    }

    /// What a command that was killed has left beside the native files.
    pub(crate) fn drafts(&self) -> Vec<String> {
        let folders = ["/etc/sysctl.d", "/etc/tmpfiles.d"].map(fs::read_dir);
        let entries = folders.into_iter().flatten().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with('.')).collect()
    }

    pub(crate) fn has_native(&self) -> bool {
        !self.natives().is_empty()
    }

    /// The process that watches a change, as its note says.
    pub(crate) fn watcher(&self, id: u32) -> Option<i32> {
        let note = self.read(&format!("/run/plimsoll/watch-{id}"));
        let pid = note.split(' ').next().and_then(|pid| pid.parse().ok());
        pid.filter(|pid| is_a_watcher(*pid))
    }

    pub(crate) fn is_watched(&self, id: u32) -> bool {
        self.watcher(id).is_some()
    }

    pub(crate) fn status(&self) -> Result<Status, String> {
        let output = Command::new(PLIMSOLL).args(["status", "--json"]).output();
        let output = output.expect("plimsoll runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let value: serde_json::Value = serde_json::from_str(&text)
            .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let changes = value["changes"].as_array().ok_or("no changes")?;
        let has = |phase: &str| changes.iter().any(|change| change["phase"] == phase);
        Ok(Status {
            standing: changes.len(),
            is_pending: has("pending"),
            is_confirmed: has("confirmed"),
            has_drifted: output.status.code() == Some(1),
            is_watched: !text.contains("nothing waits to take it back"),
        })
    }
}

/// What was written last into a file: `write(5</proc/sys/vm/swappiness>, "10\n", 3) = 3`.
fn written(log: &str, path: &str) -> Option<String> {
    let place = format!("<{path}>, ");
    let mut writes = log.lines().rev().filter(|line| line.contains(&place));
    let done = writes.find(|line| !line.ends_with('?'))?;
    let text = done.split('"').nth(1)?;
    Some(text.replace("\\n", "\n"))
}

/// Opening a file to read it changes nothing, however many there are.
fn changes_something(line: &str) -> bool {
    let flags = ["O_WRONLY", "O_RDWR", "O_CREAT"];
    !line.starts_with("openat(") || flags.iter().any(|flag| line.contains(flag))
}

/// Whether a process is one that this test's commands started.
fn is_a_watcher(pid: i32) -> bool {
    let own = fs::read_link("/proc/self/ns/mnt").expect("a namespace");
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_here = fs::read_link(format!("/proc/{pid}/ns/mnt")).is_ok_and(|ns| ns == own);
    line.starts_with("plimsoll\0watch\0") && is_here
}

/// Ends what earlier commands started: the watchers in this namespace, and no others.
pub(crate) fn stop_watchers() {
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<i32>().ok());
        if let Some(pid) = pid.filter(|pid| is_a_watcher(*pid)) {
            signal(pid, rustix::process::Signal::KILL);
            until("its end", || has_ended(pid));
        }
    }
}

/// Whether a process is gone, or waits to be reaped.
fn has_ended(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
}

pub(crate) fn signal(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    let _ = rustix::process::kill_process(pid, signal);
}
