//! A folder that is held open, and what lies below it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};

use crate::Refused;
use crate::walk::{Check, End, Followed, walk};

/// A folder that is held open. A path below it is spelt with or without a leading slash, and stays
/// below it: a link to `/etc` leads to the folder's own `etc`.
#[derive(Clone, Debug)]
pub struct Folder {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO.
    Pipe,
    /// A socket.
    Socket,
    /// A device of either kind.
    Device,
}

/// A file or folder that was found below a folder.
#[derive(Debug)]
pub struct Found {
    /// The folder in which it lies; itself for the folder from which the path began.
    folder: Folder,
    /// Its name there.
    name: OsString,
    /// Its path from the folder in which it was looked for, without links.
    below: PathBuf,
    stat: Stat,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular => "regular file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        })
    }
}

impl Kind {
    pub(crate) fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            _ => Self::Device,
        }
    }
}

impl Folder {
    /// Opens the folder that a user names; links on the way are the user's own.
    ///
    /// # Errors
    /// What the system says.
    pub fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self::of(fd, path.to_owned()))
    }

    pub(crate) fn of(fd: OwnedFd, path: PathBuf) -> Self {
        let fd = Arc::new(fd);
        Self { fd, path }
    }

    /// The path by which it was opened, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its descriptor: for what only looks at the folder itself.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// What lies at a path below it. Links are followed, and lead nowhere else.
    ///
    /// # Errors
    /// What the system says; `NotFound` where nothing is.
    pub fn find(&self, path: impl AsRef<Path>) -> io::Result<Found> {
        self.find_checked(path.as_ref(), &|_, _| Ok(()))
    }

    /// The same; `followed` hears of each link on the way, by its path and where it leads, of those
    /// too that lead nowhere.
    ///
    /// # Errors
    /// Those of [`Folder::find`].
    pub fn find_by(
        &self,
        path: impl AsRef<Path>,
        followed: &mut dyn FnMut(&Path, &OsStr),
    ) -> io::Result<Found> {
        self.find_with(path.as_ref(), &|_, _| Ok(()), followed)
    }

    pub(crate) fn find_checked(&self, path: &Path, check: Check<'_>) -> io::Result<Found> {
        self.find_with(path, check, &mut |_, _| ())
    }

    fn find_with(
        &self,
        path: &Path,
        check: Check<'_>,
        followed: Followed<'_>,
    ) -> io::Result<Found> {
        let End { folder, path, stat } = walk(self.fd(), path, check, followed)?;
        let name = path.file_name().unwrap_or(OsStr::new(".")).to_owned();
        let above = path.parent().unwrap_or(Path::new(""));
        let folder = match folder {
            Some(fd) => Self::of(fd, self.path.join(above)),
            None => self.clone(),
        };
        Ok(Found {
            folder,
            name,
            below: path,
            stat,
        })
    }

    /// What has this name in the folder itself; a link is not followed.
    ///
    /// # Errors
    /// What the system says; `NotFound` for what is no name, such as `a/b` or `..`.
    pub fn entry(&self, name: impl AsRef<Path>) -> io::Result<Found> {
        let name = name.as_ref();
        let (Some(last), true) = (name.file_name(), name.components().count() == 1) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        Ok(Found {
            folder: self.clone(),
            name: last.to_owned(),
            below: name.to_owned(),
            stat: statat(self.fd(), last, AtFlags::SYMLINK_NOFOLLOW)?,
        })
    }

    /// The bytes of a regular file below it.
    ///
    /// # Errors
    /// What the system says, [`Refused::Kind`], and `FileTooLarge` beyond `most` bytes.
    pub fn read(&self, path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        self.find(path)?.read(most)
    }

    /// A folder below it.
    ///
    /// # Errors
    /// What the system says; `NotADirectory` for a file.
    pub fn folder(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        self.find(path)?.into_folder()
    }

    /// What is in it, by name; links are not followed. At most `most` names are taken.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self, most: usize) -> io::Result<Vec<(OsString, Kind)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let entries = Dir::new(openat(self.fd(), ".", flags, Mode::empty())?)?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            if names.len() == most {
                break;
            }
            names.push((name.to_owned(), self.kind_of(name, entry.file_type())));
        }
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(names)
    }

    /// Some file systems do not say in the list what a name is.
    fn kind_of(&self, name: &OsStr, listed: FileType) -> Kind {
        let asked = || {
            let stat = statat(self.fd(), name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(FileType::from_raw_mode(stat.st_mode))
        };
        match listed {
            FileType::Unknown => asked().map_or(Kind::Device, Kind::of),
            known => Kind::of(known),
        }
    }
}

impl Found {
    /// What it is; a link only as a [`Folder::entry`].
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind::of(FileType::from_raw_mode(self.stat.st_mode))
    }

    /// Its size in bytes when it was found.
    #[must_use]
    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// The user whose it is.
    #[must_use]
    pub fn owner(&self) -> u32 {
        self.stat.st_uid
    }

    /// Its path from the folder in which it was looked for, without links.
    #[must_use]
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// The folder in which it lies.
    #[must_use]
    pub fn parent(&self) -> &Folder {
        &self.folder
    }

    /// Its name in [`Found::parent`].
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Opens it for reading: a regular file, and nothing that was put in its place since.
    ///
    /// # Errors
    /// What the system says, or [`Refused::Kind`], unopened.
    pub fn open(&self) -> io::Result<File> {
        regular(self.kind())?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = flags | OFlags::CLOEXEC;
        let file = openat(self.folder.fd(), &self.name, flags, Mode::empty())?;
        regular(Kind::of(FileType::from_raw_mode(fstat(&file)?.st_mode)))?;
        Ok(file.into())
    }

    /// Its bytes.
    ///
    /// # Errors
    /// Those of [`Found::open`], and `FileTooLarge` beyond `most` bytes.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        bounded(self.open()?, most)
    }

    /// Its bytes, and what the descriptor by which they were read says of it.
    ///
    /// # Errors
    /// Those of [`Found::read`].
    pub fn read_open(&self, most: u64) -> io::Result<(Vec<u8>, Metadata)> {
        let file = self.open()?;
        let about = file.metadata()?;
        Ok((bounded(file, most)?, about))
    }

    /// As a folder.
    ///
    /// # Errors
    /// What the system says; `NotADirectory` for a file.
    pub fn into_folder(self) -> io::Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(self.folder.fd(), &self.name, flags, Mode::empty())?;
        Ok(Folder::of(fd, self.folder.path.join(&self.name)))
    }
}

/// All bytes of a file that has at most `most`.
pub(crate) fn bounded(file: impl io::Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

pub(crate) fn regular(kind: Kind) -> io::Result<()> {
    match kind {
        Kind::Regular => Ok(()),
        Kind::Folder => Err(io::ErrorKind::IsADirectory.into()),
        other => Err(Refused::Kind(other).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A folder with `file` and a folder `in`, beside a secret that links try to reach.
    fn place() -> (tempfile::TempDir, Folder) {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("root/in/etc")).expect("folders");
        for (name, text) in [
            ("secret", "secret"),
            ("root/file", "text"),
            ("root/in/etc/x", "own"),
        ] {
            std::fs::write(at(name), text).expect("a file");
        }
        let folder = Folder::at(&at("root")).expect("a folder");
        (directory, folder)
    }

    fn text(folder: &Folder, path: &str) -> Result<String, io::ErrorKind> {
        let bytes = folder.read(path, 100).map_err(|error| error.kind())?;
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn a_link_leads_nowhere_out_of_the_folder() {
        let (directory, folder) = place();
        let link = |to: &str, name: &str| {
            symlink(to, directory.path().join("root").join(name)).expect("a link");
        };
        link("../secret", "up");
        link("/secret", "absolute");
        link("in/../../../secret", "deep");
        link(
            directory.path().join("secret").to_str().expect("a path"),
            "whole",
        );
        link("/in/etc", "etc");
        for name in ["up", "absolute", "deep", "whole"] {
            assert_eq!(text(&folder, name), Err(io::ErrorKind::NotFound), "{name}");
        }
        assert_eq!(text(&folder, "etc/x").as_deref(), Ok("own"));
        assert_eq!(text(&folder, "/in/../../file").as_deref(), Ok("text"));
        let mut links = Vec::new();
        let mut followed = |link: &Path, to: &OsStr| links.push((link.to_owned(), to.to_owned()));
        let found = folder.find_by("etc/x", &mut followed).expect("a file");
        assert_eq!(found.below(), Path::new("in/etc/x"));
        folder
            .find_by("up", &mut followed)
            .expect_err("nothing is there");
        let expected = [("etc", "/in/etc"), ("up", "../secret")];
        assert!(
            links
                .iter()
                .zip(expected)
                .all(|((link, to), it)| (link, to) == (&it.0.into(), &it.1.into()))
        );
    }

    #[test]
    fn an_entry_is_a_link_and_no_path() {
        let (directory, folder) = place();
        symlink("file", directory.path().join("root/link")).expect("a link");
        let entry = folder.entry("link").expect("a link");
        assert_eq!(entry.kind(), Kind::Link);
        let error = entry.read(100).expect_err("not followed").to_string();
        assert!(error.contains("a link"), "{error}");
        for path in ["in/etc", "..", ".", "/file", ""] {
            let error = folder.entry(path).expect_err(path);
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{path}");
        }
    }

    #[test]
    fn folders_without_end_hold_no_files_open_without_end() {
        let (_directory, folder) = place();
        let deep = "in/".repeat(200);
        let mut at = folder.clone();
        for _ in 0..200 {
            let in_it = Path::new("in");
            match rustix::fs::mkdirat(at.fd(), in_it, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => at = at.folder(in_it).expect("one"),
                Err(error) => panic!("{error}"),
            }
        }
        let error = folder.find(&deep).expect_err("too deep");
        let expected = rustix::io::Errno::NAMETOOLONG.raw_os_error();
        assert_eq!(error.raw_os_error(), Some(expected));
        assert!(folder.find(&deep[..3 * 100]).is_ok());
    }

    #[test]
    fn links_in_a_circle_end() {
        let (directory, folder) = place();
        symlink("b", directory.path().join("root/a")).expect("a link");
        symlink("a", directory.path().join("root/b")).expect("a link");
        let error = folder.read("a", 100).expect_err("a circle");
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::LOOP.raw_os_error())
        );
    }

    #[test]
    fn only_regular_files_are_opened_and_only_up_to_a_bound() {
        let (directory, folder) = place();
        let fifo = directory.path().join("root/fifo");
        let kind = FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, Mode::RWXU, 0).expect("a FIFO");
        let error = folder.read("fifo", 100).expect_err("a FIFO");
        assert!(error.to_string().contains("a pipe"), "{error}");
        assert_eq!(text(&folder, "in"), Err(io::ErrorKind::IsADirectory));
        assert_eq!(text(&folder, "file/x"), Err(io::ErrorKind::NotADirectory));
        let error = folder.read("file", 3).expect_err("too long");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_folder_that_is_renamed_stays_the_one_that_was_opened() {
        let (directory, folder) = place();
        let at = |name: &str| directory.path().join(name);
        std::fs::rename(at("root"), at("moved")).expect("renamed");
        symlink("/etc", at("root")).expect("a link");
        assert_eq!(text(&folder, "file").as_deref(), Ok("text"));
    }

    #[test]
    fn names_are_sorted_and_bounded() {
        let (_directory, folder) = place();
        let names = |most| folder.names(most).expect("names");
        let expected = [
            (OsString::from("file"), Kind::Regular),
            (OsString::from("in"), Kind::Folder),
        ];
        assert_eq!(names(10), expected);
        assert_eq!(names(1).len(), 1);
        assert_eq!(
            folder
                .folder("in")
                .expect("one")
                .names(9)
                .expect("names")
                .len(),
            1
        );
    }
}
