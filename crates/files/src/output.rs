//! Files that a user names to be written: a report, a capture.
//!
//! The folder may be one like `/tmp`, in which others have put a link or a pipe under the name, or
//! a link on the way to it. What belongs neither to the user nor to root is replaced or refused,
//! and neither written into nor followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat};
use rustix::fs::{fstatfs, mkdirat, openat, readlinkat};
use rustix::io::Errno;

use crate::trust::is_believed;
use crate::walk::MOST_LINKS;
use crate::{Attributes, Folder, Kind, Lasts, Refused};

/// Puts these bytes into a file, whole or not at all, and into a device or a pipe as they are. A
/// link of the user's or of root's is followed, that of somebody else replaced.
///
/// # Errors
/// What the system says; [`Refused::Owner`] for a pipe of somebody else, or a link of theirs on the
/// way.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let (folder, name) = place(&path)?;
        match next(&folder, name)? {
            Next::Replace => {
                return folder.replace(name, bytes, Attributes::new_file(), Lasts::PowerCut);
            }
            Next::Append(follow) => return append(&folder, name, follow, bytes),
            Next::Follow(to) => path = folder.path().join(to),
        }
    }
    Err(Errno::LOOP.into())
}

/// The folder that files will be written into: it is made where it is missing, and tried out.
///
/// # Errors
/// What the system says; [`Refused::Owner`] for a link of somebody else on the way.
pub fn folder(path: &Path) -> io::Result<Folder> {
    let folder = made(path)?;
    folder.try_out()?;
    Ok(folder)
}

fn made(path: &Path) -> io::Result<Folder> {
    match opened(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
    let above = made(folder_of(path))?;
    match mkdirat(above.fd(), name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => above.entry(name)?.into_folder(),
        Err(error) => Err(error.into()),
    }
}

/// A folder by its path, on which each link belongs to the user or to root.
fn opened(path: &Path) -> io::Result<Folder> {
    let is_up = |part| part == Component::ParentDir;
    let (top, path) = match path.is_absolute() || path.components().any(is_up) {
        true => ("/", std::path::absolute(path)?),
        // Whoever works in a folder may not be allowed to enter those above it.
        false => (".", path.to_owned()),
    };
    let own_links = |below: &Path, stat: &Stat| {
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        match is_link && !is_believed(stat.st_uid) {
            true => Err(of_others(Path::new(top).join(below), stat.st_uid)),
            false => Ok(()),
        }
    };
    let top = Folder::at(Path::new(top))?;
    top.find_checked(&path, &own_links)?.into_folder()
}

/// The folder in which a file lies by its path.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

/// What to do about a name.
enum Next {
    /// Put a new file there.
    Replace,
    /// Write into what is there; a link only if it is the kernel's.
    Append(OFlags),
    /// Look where a link leads.
    Follow(PathBuf),
}

fn next(folder: &Folder, name: &OsStr) -> io::Result<Next> {
    let found = match folder.entry(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Next::Replace),
        found => found?,
    };
    let is_believed = is_believed(found.owner());
    Ok(match found.kind() {
        Kind::Folder => return Err(io::ErrorKind::IsADirectory.into()),
        // The kernel's, as `/proc/self/fd/1`: it leads to what no path may have.
        Kind::Link if is_believed && is_of_processes(folder)? => Next::Append(OFlags::empty()),
        Kind::Link if is_believed => {
            let to = readlinkat(folder.fd(), name, Vec::new())?;
            Next::Follow(OsString::from_vec(to.into_bytes()).into())
        }
        Kind::Regular | Kind::Link => Next::Replace,
        Kind::Pipe | Kind::Socket if !is_believed => {
            return Err(of_others(folder.path().join(name), found.owner()));
        }
        Kind::Pipe | Kind::Socket | Kind::Device => Next::Append(OFlags::NOFOLLOW),
    })
}

fn of_others(path: PathBuf, uid: u32) -> io::Error {
    Refused::Owner { path, uid }.into()
}

fn is_of_processes(folder: &Folder) -> io::Result<bool> {
    Ok(fstatfs(folder.fd())?.f_type == PROC_SUPER_MAGIC)
}

fn place(path: &Path) -> io::Result<(Folder, &OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    Ok((opened(folder_of(path))?, name))
}

fn append(folder: &Folder, name: &OsStr, follow: OFlags, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(folder.fd(), name, flags | follow, Mode::empty())?;
    File::from(file).write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    /// Somebody else.
    const NOBODY: u32 = 65534;

    fn place() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().to_owned();
        (directory, move |name: &str| path.join(name))
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn a_users_own_link_is_followed_and_a_second_name_is_not_written_into() {
        let (_directory, at) = place();
        fs::create_dir(at("in")).expect("a folder");
        fs::write(at("in/file"), "old").expect("a file");
        fs::hard_link(at("in/file"), at("second")).expect("a second name");
        symlink("in/file", at("link")).expect("a link");
        symlink("link", at("other")).expect("a link");
        write(&at("other"), b"new").expect("written");
        assert_eq!(text(&at("in/file")), "new");
        assert_eq!(text(&at("second")), "old");
        symlink("itself", at("itself")).expect("a link");
        write(&at("itself"), b"new").expect_err("no end");
        let error = write(&at("in"), b"new").expect_err("a folder");
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn a_link_or_pipe_of_somebody_else_leads_nowhere() {
        let (_directory, at) = place();
        fs::write(at("victim"), "victim").expect("a file");
        symlink("victim", at("link")).expect("a link");
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::RWXU,
            0,
        );
        made.expect("a FIFO");
        for name in ["link", "pipe"] {
            if lchown(at(name), Some(NOBODY), None).is_err() {
                println!("skipped: only root can give a file away");
                return;
            }
        }
        write(&at("link"), b"new").expect("written");
        assert_eq!(
            (text(&at("victim")), text(&at("link"))),
            ("victim".into(), "new".into())
        );
        let error = write(&at("pipe"), b"new")
            .expect_err("not ours")
            .to_string();
        assert!(error.contains("belongs to user 65534"), "{error}");
    }

    #[test]
    fn devices_and_descriptors_are_written_into() {
        let (_directory, at) = place();
        write(Path::new("/dev/null"), b"text").expect("written");
        symlink("/dev/null", at("null")).expect("a link");
        write(&at("null"), b"text").expect("written");
        assert!(
            fs::symlink_metadata(at("null"))
                .expect("there")
                .is_symlink()
        );
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&writer);
        write(&PathBuf::from(format!("/dev/fd/{descriptor}")), b"text").expect("written");
        drop(writer);
        assert_eq!(io::read_to_string(&mut reader).expect("text"), "text");
    }

    #[test]
    fn a_folder_is_made_and_tried_and_nothing_is_left() {
        let (_directory, at) = place();
        folder(&at("a/b")).expect("made");
        assert_eq!(fs::read_dir(at("a/b")).expect("a folder").count(), 0);
        fs::write(at("file"), "").expect("a file");
        folder(&at("file")).expect_err("a file");
        assert_eq!(folder_of(Path::new("a")), Path::new("."));
    }

    #[test]
    fn a_link_of_somebody_else_on_the_way_leads_nowhere() {
        let (_directory, at) = place();
        fs::create_dir(at("in")).expect("a folder");
        symlink("in", at("own")).expect("a link");
        folder(&at("own/../own/a/b")).expect("made");
        write(&at("own/a/b/file"), b"text").expect("written");
        assert_eq!(text(&at("in/a/b/file")), "text");
        symlink("in", at("link")).expect("a link");
        if lchown(at("link"), Some(NOBODY), None).is_err() {
            println!("skipped: only root can give a link away");
            return;
        }
        let errors = [
            folder(&at("link")).map(drop),
            folder(&at("link/made")).map(drop),
            write(&at("link/file"), b"text"),
            write(&at("in/../link/a/b/other"), b"text"),
        ];
        for error in errors {
            let error = error.expect_err("not ours").to_string();
            assert!(error.contains("belongs to user 65534"), "{error}");
        }
        assert_eq!(fs::read_dir(at("in")).expect("a folder").count(), 1);
        assert_eq!(fs::read_dir(at("in/a/b")).expect("a folder").count(), 1);
    }
}
