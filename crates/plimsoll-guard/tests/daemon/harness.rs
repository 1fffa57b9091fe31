//! A place to run the daemon in, and the daemon that runs there. The machine is left as it was
//! found.

use std::cell::RefCell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
pub(crate) const MIB: usize = 1 << 20;
pub(crate) const DAEMON: &str = env!("CARGO_BIN_EXE_plimsoll-guard");
/// A machine has one guard: that of a test has a `/run` of its own, which goes with it.
const ALONE: &str = "mount -t tmpfs -o mode=755 run /run && exec \"$@\"";
/// One at a time: they share the machine's tunables.
static MACHINE: Mutex<()> = Mutex::new(());

/// The daemon, without arguments.
pub(crate) fn daemon() -> Command {
    daemon_after(ALONE)
}

/// The same, where a script has prepared the place; it ends in `exec "$@"`.
pub(crate) fn daemon_after(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", DAEMON]);
    command
}

/// A program as user 65534, who is in no group.
pub(crate) fn nobody(program: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.args(program).stdin(Stdio::null());
    command
}

/// A program that runs; it ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

/// A folder on a local disk, with a configuration; `vm.swappiness` is put back at the end.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    swappiness: String,
    _machine: MutexGuard<'static, ()>,
}

impl Place {
    /// `None`, and the reason is said, where this machine cannot be tested on.
    pub(crate) fn new(config: &str) -> Option<Self> {
        let machine = MACHINE.lock().unwrap_or_else(|broken| broken.into_inner());
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root locks other people's files");
            return None;
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let kind = rustix::fs::statfs(folder.path())
            .expect("a file system")
            .f_type;
        let on_disk = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x4d44];
        assert!(
            on_disk.contains(&kind),
            "{} lies on no local disk: set CARGO_TARGET_DIR to a folder on ext4 or XFS",
            folder.path().display()
        );
        let place = Self {
            folder,
            swappiness: fs::read_to_string(SWAPPINESS).expect("a tunable"),
            _machine: machine,
        };
        place.configure(config);
        Some(place)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A folder in it that user 65534 owns.
    pub(crate) fn of_nobody(&self, name: &str) -> PathBuf {
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.folder(), open).expect("permissions");
        let path = self.path(name);
        fs::create_dir(&path).expect("a folder");
        chown(&path, Some(65534), Some(65534)).expect("an owner");
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn configure(&self, config: &str) {
        fs::write(self.path("guard.toml"), config).expect("a configuration");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = daemon();
        self.complete(&mut command).args(arguments);
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the daemon")
    }

    /// Starts it, and waits until it says that it is on.
    pub(crate) fn start(&self, arguments: &[&str]) -> Guard<'_> {
        let guard = self.spawn(&mut self.command(arguments));
        guard.wait_for("it is on", || guard.log().contains("on: "));
        guard
    }

    /// Starts it with a configuration by a command of one's own, and waits for its figures.
    pub(crate) fn start_by(&self, config: &str, command: &mut Command) -> Guard<'_> {
        self.configure(config);
        let guard = self.spawn(self.complete(command));
        guard.wait_for("it is on", || guard.text("guard.prom").contains("pid=\""));
        guard
    }

    pub(crate) fn complete<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.arg("--config").arg(self.path("guard.toml"));
        command.arg("--state").arg(self.path("guard.state"));
        command.stdin(Stdio::null())
    }

    pub(crate) fn spawn(&self, command: &mut Command) -> Guard<'_> {
        let log = fs::File::create(self.path("log")).expect("a log");
        self.adopt(command.stderr(log).spawn().expect("the daemon"))
    }

    /// One that was started elsewhere.
    pub(crate) fn adopt(&self, child: Child) -> Guard<'_> {
        Guard {
            place: self,
            child: RefCell::new(child),
        }
    }

    /// A file of this many bytes, on a disk.
    pub(crate) fn file(&self, name: &str, length: usize) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, vec![7; length]).expect("a file");
        fs::File::open(&path)
            .and_then(|file| file.sync_all())
            .expect("on disk");
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::write(SWAPPINESS, &self.swappiness).expect("what it was");
    }
}

/// A daemon that runs; killed where a test fails.
pub(crate) struct Guard<'a> {
    place: &'a Place,
    child: RefCell<Child>,
}

impl Guard<'_> {
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.place.path(name)).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> String {
        self.text("log")
    }

    /// The value of a figure, with its labels as they are written.
    pub(crate) fn figure(&self, name: &str) -> Option<u64> {
        let text = self.text("guard.prom");
        let name = format!("plimsoll_guard_{name} ");
        let mut values = text.lines().filter_map(|line| line.strip_prefix(&name));
        values.next().map(|value| value.parse().expect("a number"))
    }

    /// Says a line to its socket; the answer.
    pub(crate) fn ask(&self, line: &str) -> String {
        let mut stream = UnixStream::connect(self.place.path("guard.sock")).expect("it listens");
        stream.write_all(line.as_bytes()).expect("it is written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Runs a program where it runs.
    pub(crate) fn inside(&self, program: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.id().to_string();
        command.args(["--mount", "--target", &pid]).args(program);
        command
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.borrow().id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child.borrow());
        kill_process(pid, signal).expect("it runs");
    }

    pub(crate) fn wait(&self) -> ExitStatus {
        self.child.borrow_mut().wait().expect("it ends")
    }

    pub(crate) fn has_ended(&self) -> bool {
        let mut child = self.child.borrow_mut();
        child.try_wait().expect("a child").is_some()
    }

    pub(crate) fn end(&self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.wait()
    }

    pub(crate) fn wait_for(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let since = Instant::now();
        while !is_so() {
            let waited = since.elapsed();
            assert!(waited < Duration::from_secs(20), "{what}: {}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    /// KiB of a file that it has locked; `None` where it has no mapping of it.
    pub(crate) fn locked(&self, path: &Path) -> Option<u64> {
        let smaps = fs::read_to_string(self.proc("smaps")).expect("it runs");
        let name = path.to_str().expect("a name");
        let mut lines = smaps.lines().skip_while(|line| !line.contains(name));
        // What is locked is divided among all who have mapped it, as another guard may have.
        let resident = lines.find_map(|line| kib(line, "Rss:"))?;
        let locked = lines.find_map(|line| kib(line, "Locked:"))?;
        Some(if locked > 0 { resident } else { 0 })
    }

    pub(crate) fn status(&self, key: &str) -> u64 {
        let status = fs::read_to_string(self.proc("status")).expect("it runs");
        status
            .lines()
            .find_map(|line| kib(line, key))
            .expect("a line")
    }

    pub(crate) fn proc(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.id())
    }
}

impl Drop for Guard<'_> {
    /// Also where a test failed the machine is left as it was found.
    fn drop(&mut self) {
        let child = self.child.get_mut();
        child.kill().ok();
        child.wait().ok();
        if std::thread::panicking() {
            self.place.command(&["--restore"]).output().ok();
        }
    }
}

fn kib(line: &str, key: &str) -> Option<u64> {
    let number = line.strip_prefix(key)?.trim().strip_suffix(" kB")?;
    Some(number.parse().expect("a number"))
}

/// Reads a file as often, each time in a tick of its own.
pub(crate) fn read(path: &Path, times: usize) {
    for _ in 0..times {
        assert!(!fs::read(path).expect("a file").is_empty());
        sleep(Duration::from_millis(1300));
    }
}
