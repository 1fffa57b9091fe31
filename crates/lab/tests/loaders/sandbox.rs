//! A root of its own for a real program, in a mount namespace of its own.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use answer::bench::Progress;
use conf::{Entry, Tree};
use plimsoll_lab::vm::{Programs, Release};

/// Tells the process inside the namespace where the programs and its root are.
const PROGRAMS: &str = "PLIMSOLL_LOADERS_PROGRAMS";
const PLACE: &str = "PLIMSOLL_LOADERS_PLACE";

/// Directories of Debian 12's packages that are links into `usr` on every installed system.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// The root of a real program.
pub(crate) struct Sandbox {
    root: PathBuf,
}

/// A write of a real program: the path as a capture writes it, and the text.
pub(crate) type Written = (String, String);

/// Runs a test in a sandbox: this program calls itself in a new namespace for that. Prints
/// `skipped: WHY` where that cannot be.
pub(crate) fn inside(release: Release, test: &str, body: impl FnOnce(&Sandbox)) {
    if let (Some(programs), Some(place)) = (env::var_os(PROGRAMS), env::var_os(PLACE)) {
        match Sandbox::new(Path::new(&programs), Path::new(&place)) {
            Ok(sandbox) => body(&sandbox),
            Err(why) => println!("skipped: no sandbox for real loaders: {why}"),
        }
        return;
    }
    match outside(release, test) {
        Ok(output) => {
            show(&String::from_utf8_lossy(&output.stdout));
            let why = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{why}");
        }
        Err(why) => println!("skipped: {why}"),
    }
}

/// What the test inside said, without the lines of its harness, which would be counted twice.
fn show(output: &str) {
    let of_harness = |line: &&str| {
        let words = ["running ", "test ", "failures:"];
        line.is_empty() || words.iter().any(|word| line.starts_with(word))
    };
    for line in output.lines().filter(|line| !of_harness(line)) {
        println!("{line}");
    }
}

fn outside(release: Release, test: &str) -> Result<Output, String> {
    let progress = &mut |progress| match progress {
        Progress::Stage(text) | Progress::Console(text) => println!("{text}"),
    };
    let programs = Programs::fetch(release, progress).map_err(|error| error.to_string())?;
    succeed(Command::new("strace").arg("--version"), "strace")?;
    succeed(unshare().arg("true"), "a mount namespace")?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let this = env::current_exe().map_err(|error| error.to_string())?;
    unshare()
        .arg(this)
        .args(["--exact", test, "--nocapture"])
        .env(PROGRAMS, programs.root)
        .env(PLACE, place.path())
        .output()
        .map_err(|error| error.to_string())
}

/// A program that starts another one in a new namespace, as root or as what looks like root there.
fn unshare() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        unshare.arg("--map-root-user");
    }
    unshare
}

fn succeed(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{what}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{what}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

impl Sandbox {
    fn new(programs: &Path, place: &Path) -> Result<Self, String> {
        let root = place.join("root");
        fs::create_dir(&root).map_err(|error| error.to_string())?;
        mount(&["-t", "tmpfs", "root"], &root)?;
        for directory in MERGED {
            let target = Path::new("usr").join(directory);
            fs::create_dir_all(root.join(&target)).map_err(|error| error.to_string())?;
            symlink(&target, root.join(directory)).map_err(|error| error.to_string())?;
            copy(&programs.join(directory), &root.join(&target))?;
        }
        copy(&programs.join("usr"), &root.join("usr"))?;
        for directory in ["proc", "etc", "run", "dev"] {
            fs::create_dir(root.join(directory)).map_err(|error| error.to_string())?;
        }
        mount(&["--rbind", "/dev"], &root.join("dev"))?;
        mount(&["--rbind", "/proc"], &root.join("proc"))?;
        mount(&["-t", "tmpfs", "sys"], &root.join("proc/sys"))?;
        Ok(Self { root })
    }

    /// Where a path of the sandbox lies.
    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Makes these directories what the tree says, and nothing else of it.
    pub(crate) fn put(&self, tree: &Tree, directories: &[&str]) {
        for directory in directories {
            let path = self.join(directory);
            remove(&path);
            fs::create_dir_all(&path).expect("a directory");
        }
        for (path, entry) in tree.entries() {
            let path = self.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            remove(&path);
            match entry {
                Entry::File(text) => fs::write(&path, text).expect("a file"),
                Entry::Link(to) => symlink(to, &path).expect("a link"),
                Entry::Directory => fs::create_dir(&path).expect("a directory"),
                Entry::Unreadable(_) => unreachable!("no test makes one"),
            }
        }
    }

    /// Empties a directory that is there.
    pub(crate) fn clear(&self, directory: &str) {
        for entry in fs::read_dir(self.join(directory)).expect("a directory") {
            remove(&entry.expect("an entry").path());
        }
    }

    /// Runs a program of the sandbox and hands back what it wrote into files below `below`.
    pub(crate) fn writes(&self, program: &[&str], below: &str) -> Vec<Written> {
        let trace = self.root.with_file_name("trace");
        let output = Command::new("strace")
            .args([
                "-f",
                "--seccomp-bpf",
                "-q",
                "-y",
                "-s",
                "65536",
                "-e",
                "trace=write",
            ])
            .arg("-o")
            .arg(&trace)
            .arg("chroot")
            .arg(&self.root)
            .args(program)
            .output()
            .expect("strace runs");
        let trace = fs::read_to_string(&trace).expect("a trace");
        let complaint = String::from_utf8_lossy(&output.stderr);
        let broken = ["error while loading", "chroot:", "strace:"];
        let is_broken = broken.iter().any(|it| complaint.contains(it));
        assert!(!is_broken, "{program:?}: {complaint}");
        let root = format!("{}/", self.root.display());
        let lines = trace.lines();
        let writes = lines.filter_map(|line| write_in(line, &root));
        writes.filter(|(path, _)| path.starts_with(below)).collect()
    }
}

fn mount(arguments: &[&str], target: &Path) -> Result<(), String> {
    succeed(Command::new("mount").args(arguments).arg(target), "mount")
}

/// Copies what is in a directory, where there is one.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if fs::symlink_metadata(from).is_ok_and(|it| it.is_dir()) {
        succeed(
            Command::new("cp").arg("-a").arg(from.join(".")).arg(to),
            "cp",
        )?;
    }
    Ok(())
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).expect("removed"),
        Ok(_) => fs::remove_file(path).expect("removed"),
        Err(_) => {}
    }
}

/// The file below the root that a line of strace says was written, and the text.
fn write_in(line: &str, root: &str) -> Option<Written> {
    let (_, call) = line.split_once("write(")?;
    let (_, rest) = call.split_once('<')?;
    let (path, rest) = rest.split_once(">, \"")?;
    let (text, _) = rest.rsplit_once("\", ")?;
    Some((path.strip_prefix(root)?.to_owned(), unescaped(text)))
}

/// What a text in strace's quotes stands for.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        let escape = match byte {
            b'\\' => rest.next().expect("an escape"),
            other => {
                bytes.push(other);
                continue;
            }
        };
        bytes.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 11,
            b'f' => 12,
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next) = rest.next_if(|it| (b'0'..=b'7').contains(it)) else {
                        break;
                    };
                    value = value * 8 + u32::from(next - b'0');
                }
                u8::try_from(value).expect("a byte")
            }
            other => other,
        });
    }
    String::from_utf8(bytes).expect("the trees are UTF-8")
}
