//! Files that are believed: only root can have written them.
//!
//! Each folder on the way, and the file itself, belongs to root (or to whoever runs this) and
//! nobody else may write it. A folder for everybody whose files only their owner may rename or
//! remove (`/tmp`) may be on the way.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat};
use rustix::io::Errno;

use crate::folder::{bounded, regular};
use crate::{Folder, Kind, Refused};

/// The permissions of a folder that is made.
const FOLDER: Mode = Mode::from_raw_mode(0o755);

/// The permissions of a lock, which whoever may open a file may take, and of what root alone reads.
const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// Set on a folder whose files only their owners may rename or remove.
const STICKY: u32 = 0o1000;

impl Folder {
    /// A folder below this one, in which nobody but root can have put anything.
    ///
    /// # Errors
    /// What the system says, or a [`Refused`] that names who may write.
    pub fn trusted(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        let whole = |below: &Path, stat: &Stat| check(&self.path().join(below), stat);
        let folder = self.find_checked(path.as_ref(), &whole)?.into_folder()?;
        // Everybody may put files into a folder like `/tmp`.
        check_mode(folder.path(), &fstat(folder.fd())?)?;
        Ok(folder)
    }

    /// The same; what of it is missing is made, mode 755 whatever the umask.
    ///
    /// # Errors
    /// Those of [`Folder::trusted`].
    pub fn make_trusted(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        match self.trusted(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let above = self.make_trusted(above)?;
        match mkdirat(above.fd(), name, FOLDER) {
            Ok(()) => above.sync()?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fchmod(openat(above.fd(), name, flags, Mode::empty())?, FOLDER)?;
        above.trusted(name)
    }

    /// A folder below this one, on the way to which only root can have put a link. Others may write
    /// it, and the folders on the way.
    ///
    /// # Errors
    /// What the system says, or a [`Refused`] that names who may put a link there.
    pub fn led_by_root(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        let foreign = RefCell::new(None);
        let links = |below: &Path, stat: &Stat| {
            if let Err(error) = check(&self.path().join(below), stat) {
                foreign.borrow_mut().get_or_insert(error);
            }
            let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
            let refused = foreign.borrow_mut().take_if(|_| is_link);
            refused.map_or(Ok(()), Err)
        };
        self.find_checked(path.as_ref(), &links)?.into_folder()
    }

    /// The bytes of a file in this trusted folder.
    ///
    /// # Errors
    /// What the system says, a [`Refused`], and `FileTooLarge` beyond `most` bytes.
    pub fn read_trusted(&self, name: &OsStr, most: u64) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_trusted(name, flags, None)?;
        bounded(File::from(file), most)
    }

    /// The bytes of a file below this folder that only root can have written, as a configuration
    /// is. Links on the way are root's own.
    ///
    /// # Errors
    /// What the system says, a [`Refused`], and `FileTooLarge` beyond `most` bytes.
    pub fn read_trusted_below(&self, path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        let whole = |below: &Path, stat: &Stat| check(&self.path().join(below), stat);
        self.find_checked(path.as_ref(), &whole)?.read(most)
    }

    /// Cuts a file in this trusted folder to `keep` bytes, appends to it, and has it on the disk
    /// when it returns. A new file may be read by everybody.
    ///
    /// # Errors
    /// What the system says, a [`Refused`]; a part of the bytes may be there.
    pub fn append(&self, name: &OsStr, keep: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.open_trusted(name, OFlags::WRONLY, Some(Mode::from_raw_mode(0o644)))?;
        rustix::fs::ftruncate(&file, keep)?;
        rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))?;
        let mut file = File::from(file);
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()
    }

    /// A file in this trusted folder to be locked: nobody else can open it, and so nobody else can
    /// hold its lock.
    ///
    /// # Errors
    /// What the system says, or a [`Refused`].
    pub fn lock_file(&self, name: &OsStr) -> io::Result<File> {
        self.private_file(name, OFlags::RDWR)
    }

    /// A file in this trusted folder that is appended to and nobody else can open.
    ///
    /// # Errors
    /// What the system says, or a [`Refused`].
    pub fn private_log(&self, name: &OsStr) -> io::Result<File> {
        self.private_file(name, OFlags::WRONLY | OFlags::APPEND)
    }

    fn private_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let file = self.open_trusted(name, flags, Some(PRIVATE))?;
        fchmod(&file, PRIVATE)?;
        Ok(file.into())
    }

    /// Opens a file that only root can have written; `create` makes it with that mode.
    fn open_trusted(
        &self,
        name: &OsStr,
        flags: OFlags,
        create: Option<Mode>,
    ) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Some(mode) = create {
            match openat(self.fd(), name, flags | OFlags::CREATE | OFlags::EXCL, mode) {
                Ok(file) => {
                    fchmod(&file, mode)?;
                    self.sync()?;
                    return Ok(file);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let file = openat(self.fd(), name, flags | OFlags::NONBLOCK, Mode::empty())?;
        let (stat, path) = (fstat(&file)?, self.path().join(name));
        regular(Kind::of(FileType::from_raw_mode(stat.st_mode)))?;
        check(&path, &stat)?;
        match stat.st_nlink > 1 {
            true => Err(Refused::Links { path }.into()),
            false => Ok(file),
        }
    }
}

/// Whether a user is root or the one who runs this.
pub(crate) fn is_believed(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Whether only root can have made this.
fn check(path: &Path, stat: &Stat) -> io::Result<()> {
    if !is_believed(stat.st_uid) {
        let (path, uid) = (path.to_owned(), stat.st_uid);
        return Err(Refused::Owner { path, uid }.into());
    }
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_shared = kind == FileType::Directory && stat.st_mode & STICKY != 0;
    // A link's own mode says nothing.
    match is_shared || kind == FileType::Symlink {
        true => Ok(()),
        false => check_mode(path, stat),
    }
}

fn check_mode(path: &Path, stat: &Stat) -> io::Result<()> {
    let group = if stat.st_gid == 0 { 0 } else { 0o020 };
    match stat.st_mode & (group | 0o002) {
        0 => Ok(()),
        _ => {
            let (path, mode) = (path.to_owned(), stat.st_mode & 0o777);
            Err(Refused::Mode { path, mode }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    fn place() -> (tempfile::TempDir, Folder) {
        let directory = tempfile::tempdir().expect("a directory");
        let folder = Folder::at(directory.path()).expect("a folder");
        (directory, folder)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    }

    #[test]
    fn what_others_may_write_is_refused_and_named() {
        let (directory, root) = place();
        let at = |name: &str| directory.path().join(name);
        let folder = root.make_trusted("run/plimsoll").expect("made");
        folder.append(OsStr::new("state"), 0, b"x").expect("a file");
        let read = || {
            let folder = root.trusted("run/plimsoll")?;
            folder.read_trusted(OsStr::new("state"), 10)
        };
        assert_eq!(read().expect("trusted"), b"x");
        for path in ["run", "run/plimsoll", "run/plimsoll/state"] {
            let before = mode(&at(path));
            set_mode(&at(path), 0o777);
            let error = read().expect_err("writable").to_string();
            assert!(error.contains("writable by others"), "{path}: {error}");
            set_mode(&at(path), before);
        }
        fs::hard_link(at("run/plimsoll/state"), at("second")).expect("a second name");
        let error = read().expect_err("two names").to_string();
        assert!(error.contains("has another name"), "{error}");
    }

    #[test]
    fn a_configuration_may_be_a_link_of_roots_and_nobody_elses() {
        let (directory, root) = place();
        let at = |name: &str| directory.path().join(name);
        let folder = root.make_trusted("etc/own").expect("made");
        folder.append(OsStr::new("a"), 0, b"text").expect("a file");
        symlink("own/a", at("etc/link")).expect("a link");
        let read = |path: &str| root.read_trusted_below(path, 4);
        assert_eq!(read("etc/link").expect("root's"), b"text");
        fs::write(at("etc/open"), "text").expect("a file");
        set_mode(&at("etc/open"), 0o666);
        let error = read("etc/open").expect_err("open to all").to_string();
        assert!(error.contains("writable by others"), "{error}");
        symlink("own", at("folder")).expect("a link");
        if std::os::unix::fs::lchown(at("folder"), Some(65534), None).is_err() {
            println!("skipped: only root can give a link away");
            return;
        }
        let error = read("folder/a").expect_err("not root's").to_string();
        assert!(error.contains("belongs to user 65534"), "{error}");
    }

    #[test]
    fn a_file_of_somebody_else_is_refused() {
        let (directory, root) = place();
        let folder = root.make_trusted("run").expect("made");
        folder.append(OsStr::new("state"), 0, b"x").expect("a file");
        let file = directory.path().join("run/state");
        if chown(&file, Some(65534), None).is_err() {
            println!("skipped: only root can give a file away");
            return;
        }
        let error = folder.read_trusted(OsStr::new("state"), 9);
        let error = error.expect_err("not root's").to_string();
        assert!(error.contains("belongs to user 65534"), "{error}");
    }

    #[test]
    fn a_folder_for_everybody_may_be_on_the_way_and_no_more() {
        let (directory, root) = place();
        root.make_trusted("tmp/own").expect("made");
        set_mode(&directory.path().join("tmp"), 0o1777);
        root.trusted("tmp/own")
            .expect("a folder of root's below /tmp");
        root.trusted("tmp").expect_err("everybody writes there");
    }

    #[test]
    fn no_link_stands_for_a_lock_or_a_journal() {
        let (directory, root) = place();
        let folder = root.make_trusted("run").expect("made");
        fs::write(directory.path().join("victim"), "victim").expect("a file");
        symlink("../victim", directory.path().join("run/lock")).expect("a link");
        folder.lock_file(OsStr::new("lock")).expect_err("a link");
        folder
            .append(OsStr::new("lock"), 0, b"x")
            .expect_err("a link");
        let victim = fs::read_to_string(directory.path().join("victim"));
        assert_eq!(victim.expect("there"), "victim");
    }

    #[test]
    fn a_torn_end_is_cut_off() {
        let (directory, root) = place();
        let folder = root.make_trusted("run").expect("made");
        let append = |keep, text: &str| folder.append(OsStr::new("j"), keep, text.as_bytes());
        append(0, "one\ntor").expect("appended");
        append(4, "two\n").expect("appended");
        let text = fs::read_to_string(directory.path().join("run/j"));
        assert_eq!(text.expect("a journal"), "one\ntwo\n");
    }
}
