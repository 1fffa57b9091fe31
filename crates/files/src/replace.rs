//! Files that are replaced: whole or not at all, by descriptor, and never through a link.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, Uid};
use rustix::fs::{fchmod, fchown, flock, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::{Folder, Found};

/// Names that are tried for the draft: others may put files where it is made.
const TRIES: usize = 8;

/// Files of a folder among which drafts that were left are looked for.
const MOST_SWEPT: usize = 10_000;

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
        let mut again = 1..TRIES;
        let put = loop {
            match self.put(name, bytes, attributes, lasts) {
                // Another writer has found the draft before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound && again.next().is_some() => {
                }
                put => break put,
            }
        };
        put.and_then(|()| match lasts {
            Lasts::PowerCut => self.sync(),
            Lasts::Process => Ok(()),
        })
    }

    /// Fills a draft and gives it the name; it is locked until it has that.
    fn put(
        &self,
        name: &OsStr,
        bytes: &[u8],
        attributes: Attributes,
        lasts: Lasts,
    ) -> io::Result<()> {
        let (draft, mut file) = self.draft(name, attributes.mode.map_or(NEW, |_| PRIVATE))?;
        let put = fill(&mut file, bytes, attributes, lasts)
            .and_then(|()| Ok(renameat(self.fd(), &draft, self.fd(), name)?));
        if put.is_err() {
            unlinkat(self.fd(), &draft, AtFlags::empty()).ok();
        }
        put
    }

    /// Removes a file of this folder, and has that on the disk when it returns; whether it was
    /// there.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &OsStr) -> io::Result<bool> {
        self.sweep(name);
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

    /// A new, empty file, locked. No loader and no collector reads its name, which begins with a
    /// dot and does not end as the other's.
    fn draft(&self, name: &OsStr, mode: Mode) -> io::Result<(OsString, File)> {
        self.sweep(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        for _ in 0..TRIES {
            let mut draft = OsString::from(".");
            draft.push(name);
            draft.push(format!(".{:08x}", number()?));
            match openat(self.fd(), &draft, flags | OFlags::CLOEXEC, mode) {
                Ok(file) => {
                    // Somebody else's lock, or none on this file system, only leaves a draft.
                    flock(&file, FlockOperation::NonBlockingLockExclusive).ok();
                    return Ok((draft, file.into()));
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Removes the drafts of this name that writers of the same user left who were killed: who
    /// writes one holds its lock. Whoever replaces or removes the file does so first.
    pub fn sweep(&self, name: &OsStr) {
        let own = rustix::process::geteuid().as_raw();
        for (draft, _) in self.names(MOST_SWEPT).unwrap_or_default() {
            let is_left = |found: &Found| {
                let lock = |file| flock(file, FlockOperation::NonBlockingLockExclusive);
                found.owner() == own && found.open().is_ok_and(|file| lock(file).is_ok())
            };
            if is_draft(&draft, name) && self.entry(&draft).is_ok_and(|found| is_left(&found)) {
                unlinkat(self.fd(), &draft, AtFlags::empty()).ok();
            }
        }
    }
}

/// Whether a file has the name of a draft of this one.
fn is_draft(draft: &OsStr, name: &OsStr) -> bool {
    let rest = draft.as_bytes().strip_prefix(b".");
    let rest = rest.and_then(|rest| rest.strip_prefix(name.as_bytes())?.strip_prefix(b"."));
    rest.is_some_and(|digits| digits.len() == 8 && digits.iter().all(u8::is_ascii_hexdigit))
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
fn fill(file: &mut File, bytes: &[u8], attributes: Attributes, lasts: Lasts) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some((uid, gid)) = attributes.owner {
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (uid, gid) {
            fchown(&*file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
    }
    if let Some(mode) = attributes.mode {
        fchmod(&*file, mode)?;
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

    #[test]
    fn a_draft_of_a_writer_that_was_killed_is_removed_by_the_next() {
        let (directory, folder) = place();
        let at = |name: &str| directory.path().join(name);
        let make = |name: &str| File::create(at(name)).expect("a file");
        let names = || {
            let names = folder.names(99).expect("names").into_iter();
            names.map(|(name, _)| name).collect::<Vec<_>>()
        };
        let name = OsStr::new("a.conf");
        let stay = [
            ".a.conf.0123abc",
            ".a.conf.0123abcg",
            ".b.conf.0123abcd",
            "a.conf.0123abcd",
        ];
        stay.iter().for_each(|name| drop(make(name)));
        fs::create_dir(at(".a.conf.00000000")).expect("a folder");
        symlink("a.conf.0123abcd", at(".a.conf.11111111")).expect("a link");
        let held = make(".a.conf.22222222");
        flock(&held, FlockOperation::LockExclusive).expect("a lock");
        let before = names();
        let attributes = Attributes::new_file();
        drop(make(".a.conf.0123abcd"));
        let replaced = folder.replace(name, b"new", attributes, Lasts::Process);
        replaced.expect("replaced");
        drop(make(".a.conf.fedc9876"));
        assert!(folder.remove(name).expect("removed"));
        assert_eq!(names(), before);
    }

    #[test]
    fn nobody_elses_draft_is_removed() {
        let (directory, folder) = place();
        let draft = directory.path().join(".a.conf.0123abcd");
        fs::write(&draft, "").expect("a file");
        if std::os::unix::fs::chown(&draft, Some(65534), None).is_err() {
            println!("skipped: only root can give a file away");
            return;
        }
        let attributes = Attributes::new_file();
        let replaced = folder.replace(OsStr::new("a.conf"), b"", attributes, Lasts::Process);
        replaced.expect("replaced");
        assert!(draft.exists());
    }

    #[test]
    fn writers_of_one_file_do_not_remove_the_drafts_of_each_other() {
        let (directory, folder) = place();
        let write = |writer: u8| {
            let text = [writer; 4096];
            for _ in 0..300 {
                let attributes = Attributes::new_file();
                let replaced = folder.replace(OsStr::new("a"), &text, attributes, Lasts::Process);
                replaced.expect("replaced");
                let found = fs::read(directory.path().join("a")).expect("there");
                assert!(found.len() == 4096 && found.iter().all(|byte| *byte == found[0]));
            }
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|writer| drop(scope.spawn(move || write(writer))));
        });
        assert_eq!(fs::read_dir(directory.path()).expect("a folder").count(), 1);
    }
}
