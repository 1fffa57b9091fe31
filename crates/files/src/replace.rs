//! Files that are replaced: whole or not at all, by descriptor, and never through a link.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::Folder;

/// Names that are tried for the draft: others may put files where it is made.
const TRIES: usize = 8;

/// Who owns a file that is put in the place of another, and who may do what with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// `None` for what the umask leaves of [`NEW`].
    mode: Option<Mode>,
    owner: Option<(u32, u32)>,
}

/// The permissions of a new file of which nothing is asked.
const NEW: Mode = Mode::from_raw_mode(0o644);

/// Those of a draft until it has its own.
const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// What a file has to outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// A power cut: the file, and then its folder, are on the disk before the writer goes on.
    PowerCut,
    /// The process.
    Process,
}

impl Attributes {
    /// A file of whoever runs this, which nobody else can write and the umask decides who reads.
    #[must_use]
    pub fn new_file() -> Self {
        Self {
            mode: None,
            owner: None,
        }
    }

    /// A file of whoever runs this, with these permissions, whatever the umask.
    #[must_use]
    pub fn mode(mode: u32) -> Self {
        Self {
            mode: Some(Mode::from_raw_mode(mode & 0o777)),
            owner: None,
        }
    }

    /// Those of another file, as its open descriptor tells; neither setuid nor setgid is kept.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            owner: Some((metadata.uid(), metadata.gid())),
            ..Self::mode(metadata.mode())
        }
    }
}

impl Folder {
    /// Puts a file with these bytes under a name of this folder: a reader sees the old or the new
    /// one. A link of that name is replaced and not followed.
    ///
    /// # Errors
    /// What the system says; the file is as it was then.
    pub fn replace(
        &self,
        name: &OsStr,
        bytes: &[u8],
        attributes: Attributes,
        lasts: Lasts,
    ) -> io::Result<()> {
        let (draft, file) = self.draft(name, attributes.mode.map_or(NEW, |_| PRIVATE))?;
        let put = fill(file, bytes, attributes, lasts)
            .and_then(|()| Ok(renameat(self.fd(), &draft, self.fd(), name)?));
        if put.is_err() {
            unlinkat(self.fd(), &draft, AtFlags::empty()).ok();
        }
        put.and_then(|()| match lasts {
            Lasts::PowerCut => self.sync(),
            Lasts::Process => Ok(()),
        })
    }

    /// Removes a file of this folder, and has that on the disk when it returns; whether it was
    /// there.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &OsStr) -> io::Result<bool> {
        match unlinkat(self.fd(), name, AtFlags::empty()) {
            Ok(()) => self.sync().map(|()| true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a file of this folder another name there, which one that has it loses. Either is on
    /// the disk only later.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(self.fd(), from, self.fd(), to)?)
    }

    /// A name that is new, or gone, is on the disk once its folder is.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(self.fd(), ".", flags, Mode::empty())?;
        Ok(rustix::fs::fsync(folder)?)
    }

    /// Tries whether files can be made here; nothing is left of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn try_out(&self) -> io::Result<()> {
        let (draft, _) = self.draft(OsStr::new("tried"), PRIVATE)?;
        Ok(unlinkat(self.fd(), draft, AtFlags::empty())?)
    }

    /// A new, empty file. No loader and no collector reads its name, which begins with a dot and
    /// does not end as the other's.
    fn draft(&self, name: &OsStr, mode: Mode) -> io::Result<(OsString, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..TRIES {
            let mut draft = OsString::from(".");
            draft.push(name);
            draft.push(format!(".{:08x}", number()?));
            match openat(self.fd(), &draft, flags | OFlags::CLOEXEC, mode) {
                Ok(file) => return Ok((draft, file.into())),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// A number that differs each time, and need not be a secret: a name that is taken is passed over.
/// Early after a boot the kernel makes whoever wants secrets wait for a second and more.
fn number() -> io::Result<u32> {
    let mut bytes = [0; 4];
    match getrandom(&mut bytes, GetRandomFlags::INSECURE) {
        // Before 5.6.
        Err(Errno::INVAL) => getrandom(&mut bytes, GetRandomFlags::empty())?,
        read => read?,
    };
    Ok(u32::from_ne_bytes(bytes))
}

/// The owner first: a change of it takes permissions away.
fn fill(mut file: File, bytes: &[u8], attributes: Attributes, lasts: Lasts) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some((uid, gid)) = attributes.owner {
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (uid, gid) {
            fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
    }
    if let Some(mode) = attributes.mode {
        fchmod(&file, mode)?;
    }
    match lasts {
        Lasts::PowerCut => file.sync_all(),
        Lasts::Process => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn place() -> (tempfile::TempDir, Folder) {
        let directory = tempfile::tempdir().expect("a directory");
        let folder = Folder::at(directory.path()).expect("a folder");
        (directory, folder)
    }

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_nothing_is_left() {
        let (directory, folder) = place();
        let path = directory.path().join("a.conf");
        for (text, mode) in [("first", 0o600), ("second", 0o644)] {
            let name = OsStr::new("a.conf");
            let replaced = folder.replace(
                name,
                text.as_bytes(),
                Attributes::mode(mode),
                Lasts::PowerCut,
            );
            replaced.expect("replaced");
            assert_eq!(fs::read_to_string(&path).expect("there"), text);
            let found = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(found & 0o7777, mode);
        }
        assert_eq!(fs::read_dir(directory.path()).expect("a folder").count(), 1);
        let [name, older] = ["a.conf", "b.conf"].map(OsStr::new);
        folder.rename(name, older).expect("renamed");
        assert!(folder.remove(older).expect("removed"));
        assert!(!folder.remove(OsStr::new("a.conf")).expect("gone already"));
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let (directory, folder) = place();
        let victim = directory.path().join("victim");
        fs::write(&victim, "victim").expect("a file");
        symlink("victim", directory.path().join("link")).expect("a link");
        let attributes = Attributes::of(&fs::metadata(&victim).expect("there"));
        let replaced = folder.replace(OsStr::new("link"), b"new", attributes, Lasts::Process);
        replaced.expect("replaced");
        assert_eq!(fs::read_to_string(&victim).expect("there"), "victim");
        let text = fs::read_to_string(directory.path().join("link"));
        assert_eq!(text.expect("there"), "new");
    }

    #[test]
    fn what_cannot_be_put_leaves_no_draft() {
        let (directory, folder) = place();
        fs::create_dir(directory.path().join("taken")).expect("a folder");
        let attributes = Attributes::mode(0o644);
        let replaced = folder.replace(OsStr::new("taken"), b"new", attributes, Lasts::Process);
        replaced.expect_err("a folder has that name");
        assert_eq!(fs::read_dir(directory.path()).expect("a folder").count(), 1);
    }
}
