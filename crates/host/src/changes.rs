//! This machine as a change sees it: its tunables, its journals, its native files.
//!
//! The journal of this boot is `/run/plimsoll/journal`, the lasting one
//! `/var/lib/plimsoll/journal`; whoever writes holds the lock `/run/plimsoll/lock`.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use change::Value;
use change::machine::{Failure, Kind, Machine, Place};
use files::{Attributes, Folder, Lasts};
use mm::units::Nanos;
use rustix::fs::{FlockOperation, StatVfsMountFlags, flock, statfs, statvfs};
use rustix::io::Errno;

use crate::facts::{self, since_boot};
use crate::{Root, root, watcher, write};

/// The folder of this boot's journal and of the lock, without the leading slash.
pub(crate) const RUN: &str = "run/plimsoll";

/// The lock of the journals, in that folder.
const LOCK: &str = "lock";

/// The longest journal or configuration file that is read: more than 100,000 changes in a boot.
const LONGEST: u64 = 64 << 20;

/// Where the kernel's files lie, and the file system that must be there (`statfs`).
const KERNELS: [(&str, &str, i64); 2] =
    [("proc/", "proc/sys", 0x9fa0), ("sys/", "sys", 0x6265_6572)];

/// How long another command may hold the lock.
const PATIENCE: Duration = Duration::from_secs(10);

/// What takes a change back when nobody confirms it: it depends on neither the command that arms
/// it, nor its terminal, nor the network.
pub trait Timer: std::fmt::Debug {
    /// Starts it, and returns when it is known to run.
    ///
    /// # Errors
    /// Why it does not run, in one line.
    fn arm(&mut self, id: u32, deadline: Nanos) -> Result<(), String>;
}

/// No timer: for those who only look, or undo.
#[derive(Clone, Copy, Debug)]
pub struct NoTimer;

impl Timer for NoTimer {
    fn arm(&mut self, _: u32, _: Nanos) -> Result<(), String> {
        Err("there is none here".to_owned())
    }
}

/// This machine.
#[derive(Debug)]
pub struct Changes {
    root: Root,
    timer: Box<dyn Timer>,
    /// Held as long as this lives; none for those who only look.
    lock: Option<File>,
}

/// Why the lock cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The system refuses.
    #[error("/{RUN}/{LOCK}: {}: {}", root::reason(.0), match .0.kind() {
        io::ErrorKind::PermissionDenied => "run as root",
        _ => "the journal of changes must lie there",
    })]
    Refused(#[from] io::Error),
    /// Another command has it.
    #[error("/{RUN}/{LOCK}: another plimsoll is changing something; try again")]
    Busy,
}

/// Why a machine must not be changed from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// The process or user namespace is not the first one.
    #[error(
        "this is a container: vm.* and /sys are the whole machine's, and nothing is written from \
         inside; run plimsoll on the host"
    )]
    Container,
    /// `/proc/sys` is mounted read-only.
    #[error(
        "/proc/sys is mounted read-only, as in a container: nothing is written; run plimsoll on \
         the host"
    )]
    ReadOnly,
}

/// Whether a machine may be changed from here. Names and files such as `/.dockerenv` prove nothing.
///
/// # Errors
/// Why not.
pub fn may_change(root: &Root) -> Result<(), Forbidden> {
    if facts::place(root) == mm::notes::Place::Container {
        return Err(Forbidden::Container);
    }
    let mounted = statvfs(root.join("proc/sys"));
    let is_read_only = |it: rustix::fs::StatVfs| it.f_flag.contains(StatVfsMountFlags::RDONLY);
    match mounted.is_ok_and(is_read_only) {
        true => Err(Forbidden::ReadOnly),
        false => Ok(()),
    }
}

impl Changes {
    /// For those who only look: no lock is taken and nothing can be written.
    #[must_use]
    pub fn look(root: &Root) -> Self {
        Self {
            root: root.clone(),
            timer: Box::new(NoTimer),
            lock: None,
        }
    }

    /// Takes the lock, and waits ten seconds for it at most.
    ///
    /// # Errors
    /// A [`LockError`].
    pub fn lock(root: &Root, timer: Box<dyn Timer>) -> Result<Self, LockError> {
        let file = lock_file(root)?;
        let start = Instant::now();
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if !matches!(error, Errno::WOULDBLOCK | Errno::INTR) {
                return Err(io::Error::from(error).into());
            }
            if start.elapsed() > PATIENCE {
                return Err(LockError::Busy);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self::with(root, timer, file))
    }

    /// Takes the lock, however long that takes: for the timer.
    ///
    /// # Errors
    /// A [`LockError`].
    pub fn lock_patiently(root: &Root) -> Result<Self, LockError> {
        let file = lock_file(root)?;
        while let Err(error) = flock(&file, FlockOperation::LockExclusive) {
            if error != Errno::INTR {
                return Err(io::Error::from(error).into());
            }
        }
        Ok(Self::with(root, Box::new(NoTimer), file))
    }

    /// For a program that has a lock of its own, and writes no journal.
    #[must_use]
    pub fn locked_by(root: &Root, lock: File) -> Self {
        Self::with(root, Box::new(NoTimer), lock)
    }

    /// Removes what commands that were killed left of a native file.
    pub fn sweep(&self, path: &str) {
        let folder = |above| Folder::at(self.root.path())?.trusted(above);
        if let Ok((above, name)) = parts(path)
            && let Ok(folder) = folder(above)
        {
            folder.sweep(name);
        }
    }

    fn with(root: &Root, timer: Box<dyn Timer>, lock: File) -> Self {
        Self {
            root: root.clone(),
            timer,
            lock: Some(lock),
        }
    }

    /// What is missing is missing in the kernel only where the kernel's files are at all.
    fn of_tunable(&self, path: &str, error: &io::Error) -> Failure {
        let vanished = KERNELS.iter().find(|(prefix, place, kind)| {
            let found = || statfs(self.root.join(place)).is_ok_and(|it| it.f_type == *kind);
            path.starts_with(prefix) && self.root.is_machines() && !found()
        });
        let (kind, way_out) = match (error.kind(), vanished) {
            (io::ErrorKind::NotFound, Some((_, place, _))) => {
                let reason = format!("the kernel's files are not mounted at /{place}: mount them");
                return failure(path, reason);
            }
            (io::ErrorKind::NotFound, None) => (Kind::Missing, write::way_out(error)),
            (io::ErrorKind::InvalidInput, _) => (Kind::Refused, write::way_out(error)),
            _ => (Kind::Other, write::way_out(error)),
        };
        let reason = format!("{}: {way_out}", root::reason(error));
        Failure {
            kind,
            ..failure(path, reason)
        }
    }

    fn may_write(&self, path: &str) -> Result<(), Failure> {
        let reason = "only looked at: this is a defect of plimsoll".to_owned();
        match self.lock {
            Some(_) => Ok(()),
            None => Err(failure(path, reason)),
        }
    }
}

/// Only root can open it, and so only root can hold it.
fn lock_file(root: &Root) -> io::Result<File> {
    let folder = Folder::at(root.path())?.make_trusted(RUN)?;
    folder.lock_file(OsStr::new(LOCK))
}

impl Machine for Changes {
    fn boot(&mut self) -> Result<String, Failure> {
        let id = self.read("proc/sys/kernel/random/boot_id")?;
        Ok(id.trim().to_owned())
    }

    fn since_boot(&mut self) -> Nanos {
        since_boot()
    }

    fn unix_time(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    }

    fn read(&mut self, path: &str) -> Result<String, Failure> {
        self.root
            .read(path)
            .map_err(|error| self.of_tunable(path, &error))
    }

    fn write(&mut self, value: &Value) -> Result<(), Failure> {
        self.may_write(&value.path)?;
        let written = write::raw(&self.root, &value.path, &value.text);
        written.map_err(|error| self.of_tunable(&value.path, &error))
    }

    fn journal(&mut self, place: Place) -> Result<String, Failure> {
        let text = believed(&self.root, place.path());
        text.map(Option::unwrap_or_default)
            .map_err(|error| of_file(place.path(), &error))
    }

    fn append(&mut self, place: Place, keep: usize, line: &str) -> Result<(), Failure> {
        self.may_write(place.path())?;
        let appended = append(&self.root, place.path(), keep, line);
        appended.map_err(|error| of_file(place.path(), &error))
    }

    fn arm(&mut self, id: u32, deadline: Nanos) -> Result<(), Failure> {
        let armed = self.timer.arm(id, deadline);
        armed.map_err(|reason| failure("run/plimsoll", reason))
    }

    /// The timer reads the journal whenever that changes, and ends by itself.
    fn disarm(&mut self, id: u32) {
        watcher::leave(&self.root, id);
    }

    fn native(&mut self, path: &str) -> Result<Option<String>, Failure> {
        let text = match is_configuration(path) {
            true => read(&self.root, path),
            false => believed(&self.root, path),
        };
        text.map_err(|error| of_file(path, &error))
    }

    fn install(&mut self, path: &str, text: Option<&str>) -> Result<(), Failure> {
        self.may_write(path)?;
        install(&self.root, path, text).map_err(|error| of_file(path, &error))
    }
}

/// What a path is in, without the leading slash, and its name there.
fn parts(path: &str) -> io::Result<(&Path, &OsStr)> {
    let path = Path::new(path.trim_start_matches('/'));
    let parts = path.parent().zip(path.file_name());
    parts.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// An administrator's file, which may belong to whomever; all else is state that is believed.
fn is_configuration(path: &str) -> bool {
    path.trim_start_matches('/').starts_with("etc/")
}

/// The text of a configuration file; `None` where there is none.
fn read(root: &Root, path: &str) -> io::Result<Option<String>> {
    text_of(Folder::at(root.path())?.read(path.trim_start_matches('/'), LONGEST))
}

/// The text of a file that only root can have written; `None` where there is none.
fn believed(root: &Root, path: &str) -> io::Result<Option<String>> {
    let (above, name) = parts(path)?;
    let folder = Folder::at(root.path())?.trusted(above);
    text_of(folder.and_then(|folder| folder.read_trusted(name, LONGEST)))
}

fn text_of(bytes: io::Result<Vec<u8>>) -> io::Result<Option<String>> {
    match bytes {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn append(root: &Root, path: &str, keep: usize, line: &str) -> io::Result<()> {
    let (above, name) = parts(path)?;
    let folder = Folder::at(root.path())?.make_trusted(above)?;
    folder.append(name, keep as u64, line.as_bytes())
}

/// A configuration file keeps its owner and permissions; state is for root alone.
fn install(root: &Root, path: &str, text: Option<&str>) -> io::Result<()> {
    let (above, name) = parts(path)?;
    let top = Folder::at(root.path())?;
    let Some(text) = text else {
        return match top.trusted(above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            folder => folder?.remove(name).map(drop),
        };
    };
    let folder = top.make_trusted(above)?;
    let attributes = match is_configuration(path) {
        true => attributes(&folder, name)?,
        false => Attributes::mode(0o600),
    };
    folder.replace(name, text.as_bytes(), attributes, Lasts::PowerCut)
}

fn attributes(folder: &Folder, name: &OsStr) -> io::Result<Attributes> {
    match folder.find(name).and_then(|found| found.open()) {
        Ok(file) => Ok(Attributes::of(&file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Attributes::mode(0o644)),
        Err(error) => Err(error),
    }
}

fn failure(path: &str, reason: String) -> Failure {
    Failure {
        path: path.trim_start_matches('/').to_owned(),
        reason,
        kind: Kind::Other,
    }
}

fn of_file(path: &str, error: &io::Error) -> Failure {
    let way_out = match error.kind() {
        io::ErrorKind::PermissionDenied => ": run as root",
        io::ErrorKind::StorageFull => ": make room and try again",
        _ => "",
    };
    failure(path, format!("{}{way_out}", root::reason(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::root;
    use change::apply::{Request, apply};
    use change::confirm::{Files, confirm};
    use change::{status, undo};
    use mm::settings::Setting;
    use std::fs;

    /// A timer that is always there.
    #[derive(Debug)]
    struct Always;

    impl Timer for Always {
        fn arm(&mut self, _: u32, _: Nanos) -> Result<(), String> {
            Ok(())
        }
    }

    fn request() -> Request {
        Request {
            settings: vec![Setting {
                tunable: "vm.swappiness".to_owned(),
                value: "10".to_owned(),
            }],
            confirm: Nanos(Nanos::SECOND.0 * 600),
            why: "a test".to_owned(),
            lasts: true,
            watch: None,
        }
    }

    fn files() -> Files {
        Files {
            sysctl: "etc/sysctl.d/99-plimsoll.conf".to_owned(),
            tmpfiles: "etc/tmpfiles.d/00-plimsoll.conf".to_owned(),
        }
    }

    fn machine() -> (tempfile::TempDir, Root) {
        root(&[
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/kernel/random/boot_id", "b-1\n"),
        ])
    }

    #[test]
    fn a_change_goes_through_the_files_of_a_machine_and_leaves_them_as_they_were() {
        let (_directory, root) = machine();
        let swappiness = || root.read("proc/sys/vm/swappiness").expect("a file");
        let mut machine = Changes::lock(&root, Box::new(Always)).expect("a lock");
        apply(&mut machine, &request()).expect("applied");
        assert_eq!(swappiness(), "10\n");
        assert!(!root.join("var/lib/plimsoll").exists(), "nothing lasts yet");
        confirm(&mut machine, 1, Some(&files())).expect("confirmed");
        let native = root.read("etc/sysctl.d/99-plimsoll.conf").expect("a file");
        assert!(native.contains("\nvm.swappiness = 10\n"), "{native}");
        let seen = status::status(&mut Changes::look(&root)).expect("readable without the lock");
        assert!(seen.len() == 1 && !seen[0].has_drifted());
        // As of a command that was killed before it gave its draft the name.
        let draft = root.join("etc/sysctl.d/.99-plimsoll.conf.0123abcd");
        fs::write(draft, "").expect("a file");
        undo::undo(&mut machine, 1, "asked").expect("undone");
        assert_eq!(swappiness(), "60\n");
        assert!(root.names("etc/sysctl.d").is_empty());
    }

    #[test]
    fn what_has_no_lock_writes_nothing() {
        let (_directory, root) = root(&[("proc/sys/vm/swappiness", "60\n")]);
        apply(&mut Changes::look(&root), &request()).expect_err("no lock");
        assert_eq!(root.read("proc/sys/vm/swappiness").expect("a file"), "60\n");
    }

    #[test]
    fn without_a_timer_nothing_is_written() {
        let (_directory, root) = machine();
        let mut machine = Changes::lock(&root, Box::new(NoTimer)).expect("a lock");
        let error = apply(&mut machine, &request()).expect_err("no timer");
        assert!(
            error.to_string().starts_with("nothing was written"),
            "{error}"
        );
        assert_eq!(root.read("proc/sys/vm/swappiness").expect("a file"), "60\n");
        assert!(status::status(&mut machine).expect("a ledger").is_empty());
    }

    #[test]
    fn a_torn_line_of_the_journal_is_cut_off_by_the_next() {
        let (_directory, root) = machine();
        let mut machine = Changes::lock(&root, Box::new(Always)).expect("a lock");
        apply(&mut machine, &request()).expect("applied");
        let path = root.join("run/plimsoll/journal");
        let text = fs::read_to_string(&path).expect("a journal");
        fs::write(&path, format!("{text}0123")).expect("a torn line");
        undo::undo(&mut machine, 1, "asked").expect("undone");
        let text = fs::read_to_string(&path).expect("a journal");
        assert!(
            !text.contains("0123") && text.ends_with("why=asked\n"),
            "{text}"
        );
    }

    #[test]
    fn nothing_is_written_from_inside_a_container() {
        let (_directory, root) = root(&[("proc/sys/vm/swappiness", "60\n")]);
        assert_eq!(may_change(&root), Ok(()));
        fs::create_dir_all(root.join("proc/self/ns")).expect("a directory");
        let link = root.join("proc/self/ns/user");
        std::os::unix::fs::symlink("user:[4026532517]", link).expect("a link");
        assert_eq!(may_change(&root), Err(Forbidden::Container));
    }
}
