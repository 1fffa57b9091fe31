//! This machine as a change sees it: its tunables, its journals, its native files.
//!
//! The journal of this boot is `/run/plimsoll/journal`, the lasting one
//! `/var/lib/plimsoll/journal`; whoever writes holds the lock `/run/plimsoll/lock`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use change::Value;
use change::machine::{Failure, Kind, Machine, Place};
use mm::units::Nanos;
use rustix::fs::{FlockOperation, StatVfsMountFlags, flock, statvfs};

use crate::facts::{self, since_boot};
use crate::{Root, root, write};

/// The lock of the journals, without the leading slash.
const LOCK: &str = "run/plimsoll/lock";

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
    #[error("/{LOCK}: {}: {}", root::reason(.0), match .0.kind() {
        io::ErrorKind::PermissionDenied => "run as root",
        _ => "the journal of changes must lie there",
    })]
    Refused(#[from] io::Error),
    /// Another command has it.
    #[error("/{LOCK}: another plimsoll is changing something; try again")]
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
    if facts::place(root) == facts::Place::Container {
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
            if error != rustix::io::Errno::WOULDBLOCK {
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
        flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from)?;
        Ok(Self::with(root, Box::new(NoTimer), file))
    }

    /// For a program that has a lock of its own, and writes no journal.
    #[must_use]
    pub fn locked_by(root: &Root, lock: File) -> Self {
        Self::with(root, Box::new(NoTimer), lock)
    }

    fn with(root: &Root, timer: Box<dyn Timer>, lock: File) -> Self {
        Self {
            root: root.clone(),
            timer,
            lock: Some(lock),
        }
    }

    fn journal_path(&self, place: Place) -> PathBuf {
        self.root.join(place.path().trim_start_matches('/'))
    }

    fn may_write(&self, path: &str) -> Result<(), Failure> {
        let reason = "only looked at: this is a defect of plimsoll".to_owned();
        match self.lock {
            Some(_) => Ok(()),
            None => Err(failure(path, reason)),
        }
    }
}

fn lock_file(root: &Root) -> io::Result<File> {
    let path = root.join(LOCK);
    make_directory(&path)?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).open(path)
}

impl Machine for Changes {
    fn boot(&mut self) -> String {
        let id = self.root.read("proc/sys/kernel/random/boot_id");
        id.map_or_else(|_| "unknown".to_owned(), |id| id.trim().to_owned())
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
            .map_err(|error| of_tunable(path, &error))
    }

    fn write(&mut self, value: &Value) -> Result<(), Failure> {
        self.may_write(&value.path)?;
        let written = write::raw(&self.root, &value.path, &value.text);
        written.map_err(|error| of_tunable(&value.path, &error))
    }

    fn journal(&mut self, place: Place) -> Result<String, Failure> {
        text_of(&self.journal_path(place))
            .map(Option::unwrap_or_default)
            .map_err(|error| of_file(place.path(), &error))
    }

    fn append(&mut self, place: Place, keep: usize, line: &str) -> Result<(), Failure> {
        self.may_write(place.path())?;
        let path = self.journal_path(place);
        append(&path, keep, line).map_err(|error| of_file(place.path(), &error))
    }

    fn arm(&mut self, id: u32, deadline: Nanos) -> Result<(), Failure> {
        let armed = self.timer.arm(id, deadline);
        armed.map_err(|reason| failure("run/plimsoll", reason))
    }

    /// The timer reads the journal whenever that changes, and ends by itself.
    fn disarm(&mut self, _: u32) {}

    fn native(&mut self, path: &str) -> Result<Option<String>, Failure> {
        text_of(&self.root.join(path)).map_err(|error| of_file(path, &error))
    }

    fn install(&mut self, path: &str, text: Option<&str>) -> Result<(), Failure> {
        self.may_write(path)?;
        install(&self.root.join(path), text).map_err(|error| of_file(path, &error))
    }
}

/// The text of a file; `None` where there is none.
fn text_of(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn append(path: &Path, keep: usize, line: &str) -> io::Result<()> {
    make_directory(path)?;
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    let mut file = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    file.set_len(keep as u64)?;
    file.seek(SeekFrom::End(0))?;
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    match is_new {
        true => sync_directory(path),
        false => Ok(()),
    }
}

/// The whole file under another name first, then under its own: whoever reads sees the old or the
/// new one. The other name ends in nothing that a loader reads.
fn install(path: &Path, text: Option<&str>) -> io::Result<()> {
    let Some(text) = text else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => sync_directory(path),
        };
    };
    make_directory(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.new"));
    let mut file = File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_directory(path)
}

fn make_directory(of: &Path) -> io::Result<()> {
    let Some(directory) = of.parent().filter(|directory| !directory.exists()) else {
        return Ok(());
    };
    fs::create_dir_all(directory)?;
    sync_directory(directory)
}

/// A name that is new, or gone, is on the disk once its directory is.
fn sync_directory(of: &Path) -> io::Result<()> {
    let directory = of.parent().unwrap_or(Path::new("/"));
    match File::open(directory) {
        Ok(directory) => directory.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
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

fn of_tunable(path: &str, error: &io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => Kind::Missing,
        io::ErrorKind::InvalidInput => Kind::Refused,
        _ => Kind::Other,
    };
    let reason = format!("{}: {}", root::reason(error), write::way_out(error));
    Failure {
        kind,
        ..failure(path, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::root;
    use change::apply::{Request, apply};
    use change::confirm::{Files, confirm};
    use change::{status, undo};
    use mm::settings::Setting;

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

    #[test]
    fn a_change_goes_through_the_files_of_a_machine_and_leaves_them_as_they_were() {
        let (_directory, root) = root(&[
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/kernel/random/boot_id", "b-1\n"),
        ]);
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
        let (_directory, root) = root(&[("proc/sys/vm/swappiness", "60\n")]);
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
        let (_directory, root) = root(&[("proc/sys/vm/swappiness", "60\n")]);
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
