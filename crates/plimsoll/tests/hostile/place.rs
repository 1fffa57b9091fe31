//! The mount namespace, and what lies in it.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{Ended, NOBODY, as_nobody, ends};

/// Set in the process that is in the namespace, to the folder on a disk.
const INSIDE: &str = "PLIMSOLL_HOSTILE";

/// Where files lie in the place of the machine's own.
const COVERED: &[&str] = &[
    "/proc/sys",
    "/sys/kernel/mm",
    "/run",
    "/etc",
    "/var/lib",
    "/var/spool",
    "/tmp",
];

/// What is there before each attack.
const FILES: &[(&str, &str)] = &[
    ("/proc/sys/kernel/random/boot_id", "b-1"),
    ("/proc/sys/vm/swappiness", "60"),
    ("/proc/sys/vm/page-cluster", "3"),
    ("/sys/kernel/mm/ksm/run", "0"),
    ("/sys/kernel/mm/ksm/pages_to_scan", "100"),
    ("/sys/kernel/mm/ksm/sleep_millisecs", "20"),
    (
        "/etc/passwd",
        "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh",
    ),
    ("/tmp/victim", SECRET),
];

/// What no attacker may see or change.
pub(crate) const SECRET: &str = "root:$6$secret$ of the host";
pub(crate) const VICTIM: &str = "/tmp/victim";
pub(crate) const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

/// How long a command may take that is to answer at once.
pub(crate) const PROMPT: Duration = Duration::from_secs(8);

/// The namespace.
pub(crate) struct Place {
    /// What is mounted in it before the attacks.
    mounted: Vec<Vec<u8>>,
    /// What this kernel has of samepage merging.
    ksm: Vec<(PathBuf, String)>,
}

/// Why this process is not in it.
pub(crate) enum Cannot {
    /// Another process was, and ended so.
    Here(u8),
    Skip(String),
}

impl Place {
    /// Goes there: runs this program again in a namespace of its own.
    pub(crate) fn enter() -> Result<Self, Cannot> {
        if let Some(disk) = std::env::var_os(INSIDE) {
            let ksm = texts("/sys/kernel/mm/ksm");
            cover(Path::new(&disk));
            let mounted = mounts().into_iter().map(|(id, _)| id).collect();
            return Ok(Self { mounted, ksm });
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Cannot::Skip("only root can be attacked as root".to_owned()));
        }
        if Command::new("fusermount3").arg("-V").output().is_err() {
            return Err(Cannot::Skip(
                "fusermount3 is missing: apt-get install fuse3".to_owned(),
            ));
        }
        let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let status = Command::new("unshare")
            .args(["--mount", "--propagation", "private"])
            .arg(std::env::current_exe().expect("a program"))
            .args(std::env::args_os().skip(1))
            .env(INSIDE, disk.path())
            .status()
            .expect("unshare is part of util-linux");
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Err(Cannot::Here(code.unwrap_or(1)))
    }

    /// Everything as before the first attack.
    pub(crate) fn reset(&self) {
        stop_commands();
        for (id, point) in mounts().into_iter().rev() {
            if !self.mounted.contains(&id) {
                Command::new("umount").arg("-l").arg(point).output().ok();
            }
        }
        for folder in [
            "/run",
            "/var/lib",
            "/var/spool",
            "/etc",
            "/tmp",
            "/tmp/disk",
        ] {
            empty(Path::new(folder));
        }
        for (path, text) in &self.ksm {
            self.file(path, text);
        }
        for (path, text) in FILES {
            self.file(path, text);
        }
        mode(VICTIM.as_ref(), 0o600);
    }

    /// A file of root's, with a line of text.
    pub(crate) fn file(&self, path: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = path.as_ref();
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, format!("{text}\n")).expect("a file");
        path.to_owned()
    }

    /// A folder of the attacker's.
    pub(crate) fn theirs(&self, path: &str) -> PathBuf {
        fs::create_dir_all(path).expect("a folder");
        give_away(path.as_ref());
        PathBuf::from(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let text = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// The command, in an empty folder.
    pub(crate) fn plimsoll(&self, words: &[&str]) -> Command {
        let mut command = Command::new("/tmp/bin/plimsoll");
        command.args(words).current_dir("/tmp/own");
        command.env("RUST_BACKTRACE", "0");
        command
    }

    /// Runs it as root to its end, which comes in time.
    pub(crate) fn run(&self, words: &[&str]) -> Result<Ended, String> {
        let ended = ends(&mut self.plimsoll(words), PROMPT);
        ended.ok_or_else(|| format!("plimsoll {} did not end", words.join(" ")))
    }

    /// Runs it, and it must do what it is to do.
    pub(crate) fn does(&self, words: &[&str]) -> Result<String, String> {
        let ended = self.run(words)?;
        match ended.code {
            Some(0) => Ok(ended.said()),
            code => Err(format!("{words:?}: {code:?}: {}", ended.said())),
        }
    }

    /// Runs it as the attacker.
    pub(crate) fn run_as_nobody(&self, words: &[&str]) -> Result<Ended, String> {
        let mut command = self.plimsoll(words);
        let ended = ends(as_nobody(command.current_dir("/")), PROMPT);
        ended.ok_or_else(|| format!("plimsoll {} did not end", words.join(" ")))
    }

    /// What was seen if the victim is not as it was.
    pub(crate) fn victim_is_whole(&self) -> Result<(), String> {
        use std::os::unix::fs::MetadataExt as _;
        let about = fs::symlink_metadata(VICTIM).map_err(|error| format!("{VICTIM}: {error}"))?;
        let (uid, mode) = (about.uid(), about.mode() & 0o7777);
        if (uid, mode) != (0, 0o600) {
            return Err(format!(
                "a file of root's has the owner {uid} and the mode {mode:o}"
            ));
        }
        match self.read(VICTIM) {
            text if text == SECRET => Ok(()),
            text => Err(format!("a file of root's holds: {text}")),
        }
    }
}

fn cover(disk: &Path) {
    let own = std::env::current_exe().expect("a program");
    let programs = programs();
    // Opened before `/tmp` is another: they may lie there.
    let files = [
        (programs.join("plimsoll"), "plimsoll"),
        (programs.join("plimsoll-guard"), "plimsoll-guard"),
        (own, "hostile"),
    ];
    let files = files.map(|(path, name)| {
        let file = fs::File::open(&path);
        (
            file.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
            name,
        )
    });
    let disk = fs::File::open(disk).expect("a folder");
    for directory in COVERED {
        system(
            "mount",
            &["-t", "tmpfs", "-o", "mode=755", "none", directory],
        );
    }
    for folder in ["/tmp/bin", "/tmp/own", "/tmp/disk"] {
        fs::create_dir(folder).expect("a folder");
    }
    for (mut file, name) in files {
        let path = Path::new("/tmp/bin").join(name);
        let mut copy = fs::File::create(&path).expect("a file");
        std::io::copy(&mut file, &mut copy).expect("a copy");
        drop(copy);
        mode(&path, 0o755);
    }
    let disk = format!("/proc/{}/fd/{}", std::process::id(), disk.as_raw_fd());
    system("mount", &["--bind", &disk, "/tmp/disk"]);
    mode("/tmp/disk".as_ref(), 0o755);
    // Where everybody may mount, as a desktop's udev has it.
    system("mknod", &["-m", "666", "/tmp/own/fuse", "c", "10", "229"]);
    system("mount", &["--bind", "/tmp/own/fuse", "/dev/fuse"]);
    symlink("/proc/self/mounts", "/etc/mtab").expect("a link");
    mode("/tmp/own".as_ref(), 0o700);
    mode("/tmp".as_ref(), 0o1777);
}

/// Where the programs lie that are attacked.
fn programs() -> PathBuf {
    let given = std::env::var_os("PLIMSOLL_BINARY").map(PathBuf::from);
    let command = given.expect("PLIMSOLL_BINARY is set: run cargo xtask hostile");
    command.parent().expect("a folder").to_owned()
}

pub(crate) fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
}

pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

/// Runs one of the system's programs, which succeeds.
pub(crate) fn system(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().expect(program);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {words:?}: {said}");
}

/// Removes what is in a folder, but for what stays there for all attacks.
fn empty(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let stays = ["/tmp/bin", "/tmp/own", "/tmp/disk", "/etc/mtab"];
        if stays.iter().any(|it| path == Path::new(it)) {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = match is_folder {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        removed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The files of a folder of the kernel's, and what each holds.
fn texts(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let text = |path: PathBuf| Some((path.clone(), fs::read_to_string(path).ok()?));
    let texts = entries.filter_map(|entry| text(entry.path()));
    texts
        .map(|(path, text)| (path, text.trim().to_owned()))
        .collect()
}

/// The number and the place of each mount, the latest last.
fn mounts() -> Vec<(Vec<u8>, OsString)> {
    let text = fs::read("/proc/self/mountinfo").expect("mounts");
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let mount = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        (words[0].to_vec(), OsString::from_vec(words[4].to_vec()))
    };
    lines.map(mount).collect()
}

/// Ends the watchers and daemons of this namespace, and no others.
pub(crate) fn stop_commands() {
    let own = fs::read_link("/proc/self/ns/mnt").expect("a namespace");
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<i32>().ok());
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_here = fs::read_link(entry.path().join("ns/mnt")).is_ok_and(|ns| ns == own);
        let is_ours = line.starts_with(b"plimsoll\0") || line.starts_with(b"/tmp/bin/plimsoll");
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw)
            && is_ours
            && is_here
        {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }
}
