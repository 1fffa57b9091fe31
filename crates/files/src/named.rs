//! Files that a user names on the command line. Links are the user's own; a device is not opened,
//! and a pipe is read as long as somebody has it open for writing.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::fd::AsRawFd as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;

use crate::folder::{bounded, regular};
use crate::{Kind, Refused};

/// The bytes of a regular file.
///
/// # Errors
/// What the system says, [`Refused::Kind`], and `FileTooLarge` beyond `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, kind) = opened(path)?;
    regular(kind)?;
    bounded(file, most)
}

/// The text of a regular file.
///
/// # Errors
/// Those of [`read`], and `InvalidData` for bytes that are not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read(path, most)?;
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Opens a regular file, or a pipe such as a shell's `<(command)`, to be read to its end.
///
/// # Errors
/// What the system says, [`Refused::Kind`] for another file, [`Refused::Silent`] for a pipe that
/// nobody has open for writing.
pub fn open(path: &Path) -> io::Result<Open> {
    let (file, kind) = opened(path)?;
    let first = match kind {
        Kind::Pipe => first(&file)?,
        kind => regular(kind).map(|()| Vec::new())?,
    };
    let bytes = Cursor::new(first).chain(file);
    Ok(Open { kind, bytes })
}

/// An open file or pipe.
#[derive(Debug)]
pub struct Open {
    /// [`Kind::Regular`] or [`Kind::Pipe`].
    pub kind: Kind,
    bytes: io::Chain<Cursor<Vec<u8>>, File>,
}

impl Read for Open {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

/// Some devices act when they are opened, and somebody may put a link to one in the place of a
/// file meanwhile: it is looked at first, and what was looked at is opened.
fn opened(path: &Path) -> io::Result<(File, Kind)> {
    let place = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let kind = Kind::of(FileType::from_raw_mode(fstat(&place)?.st_mode));
    if kind == Kind::Device {
        return Err(Refused::Kind(kind).into());
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let again = format!("/proc/self/fd/{}", place.as_raw_fd());
    let file = match rustix::fs::open(again, flags, Mode::empty()) {
        // Where /proc is not mounted nothing else can be done.
        Err(Errno::NOENT) => rustix::fs::open(path, flags, Mode::empty())?,
        file => file?,
    };
    Ok((file.into(), kind))
}

/// The first bytes of a pipe that is read without waiting, if there are any; from then on reading
/// waits for whoever has it open for writing.
fn first(mut file: &File) -> io::Result<Vec<u8>> {
    let mut first = vec![0; 1];
    let length = match file.read(&mut first) {
        Ok(0) => return Err(Refused::Silent.into()),
        Ok(length) => length,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    first.truncate(length);
    fcntl_setfl(file, fcntl_getfl(file)? - OFlags::NONBLOCK)?;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_pipe_is_read_to_its_end_and_one_without_a_writer_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pipe");
        let made = rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RWXU, 0);
        made.expect("a FIFO");
        let error = open(&path).map(drop).expect_err("nobody writes");
        assert!(error.to_string().contains("nobody writes"), "{error}");
        read(&path, 9).expect_err("a pipe where only a file will do");
        // Opened for both, so that neither side waits for the other.
        let mut writer = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .expect("a pipe");
        let mut reader = open(&path).expect("a writer");
        io::Write::write_all(&mut writer, b"text").expect("written");
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("read");
        assert_eq!(text, "text");
    }

    #[test]
    fn a_device_is_not_opened_and_a_link_is_the_users_own() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        symlink("/dev/zero", at("zero")).expect("a link");
        let error = open(&at("zero")).map(drop).expect_err("a device");
        assert!(error.to_string().contains("a device"), "{error}");
        std::fs::write(at("file"), "text").expect("a file");
        symlink("file", at("link")).expect("a link");
        assert_eq!(text(&at("link"), 4).expect("text"), "text");
        let error = text(&at("link"), 3).expect_err("too long");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
