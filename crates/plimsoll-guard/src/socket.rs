//! The socket at which the daemon is told to let go of a file system or file before an `umount`,
//! and to keep it again: one line is asked, one line is answered.
//!
//! No caller can keep the daemon waiting: nothing here blocks, a line has a bound, and whoever
//! connects without asking is forgotten.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};

use guard::request::{LONGEST, Request};
use rustix::fs::Mode;

use crate::place::{self, failed};

/// How its name ends.
const END: &str = "sock";
/// Callers that are waited for at most; a further one takes the place of the first.
const CALLERS_MAX: usize = 4;

/// The socket; its file goes with it.
#[derive(Debug)]
pub(crate) struct Socket {
    place: place::Place,
    listener: UnixListener,
    callers: Vec<Caller>,
}

#[derive(Debug)]
struct Caller {
    stream: UnixStream,
    asked: Vec<u8>,
}

impl Socket {
    /// Begins to listen, for root alone. What a guard that was killed left there goes.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn new(place: &place::Place) -> Result<Self, String> {
        let path = place.path(&place.beside(END));
        let listener = listen(place).map_err(|error| failed(&path, &error))?;
        Ok(Self {
            place: place.clone(),
            listener,
            callers: Vec::new(),
        })
    }

    /// What becomes readable when somebody asks.
    pub(crate) fn files(&self) -> impl Iterator<Item = std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd as _;
        let callers = self.callers.iter().map(|caller| caller.stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(callers)
    }

    /// Answers whoever asked.
    pub(crate) fn serve(&mut self, mut answer: impl FnMut(Request) -> String) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.callers.len() == CALLERS_MAX {
                self.callers.remove(0);
            }
            let asked = Vec::new();
            self.callers.push(Caller { stream, asked });
        }
        self.callers.retain_mut(|caller| {
            let Some(line) = caller.line() else {
                return true;
            };
            let line = match line.as_deref().map(Request::parse) {
                Some(Some(request)) => answer(request),
                Some(None) => "refused: ask release PLACE or keep PLACE".to_owned(),
                None => "refused: no line of at most 128 bytes".to_owned(),
            };
            // That the caller went away is the caller's affair.
            writeln!(caller.stream, "{line}").ok();
            false
        });
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.place.folder.remove(&self.place.beside(END)).ok();
    }
}

impl Caller {
    /// The line that was asked: `None` while it is not whole, `Some(None)` where it never will be.
    fn line(&mut self) -> Option<Option<Vec<u8>>> {
        let mut buffer = [0; LONGEST + 1];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Some(None),
            Ok(length) => self.asked.extend_from_slice(&buffer[..length]),
            Err(error) if waits(&error) => return None,
            Err(_) => return Some(None),
        }
        let end = self.asked.iter().position(|byte| *byte == b'\n');
        match end {
            Some(end) if end <= LONGEST => Some(Some(self.asked[..end].to_vec())),
            None if self.asked.len() <= LONGEST => None,
            _ => Some(None),
        }
    }
}

fn waits(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted)
}

/// The folder is root's alone, so its path leads to nobody else's.
fn listen(place: &place::Place) -> io::Result<UnixListener> {
    let name = place.beside(END);
    place.folder.remove(&name)?;
    // The file is made with the mask's rights: there is no moment at which others may connect.
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(place.path(&name));
    rustix::process::umask(before);
    let listener = listener?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    fn socket() -> (tempfile::TempDir, Socket) {
        let directory = tempfile::tempdir().expect("a directory");
        let place = place::Place::make(&directory.path().join("guard.state"));
        let socket = Socket::new(&place.expect("a folder")).expect("a socket");
        (directory, socket)
    }

    fn path(socket: &Socket) -> PathBuf {
        socket.place.path(&socket.place.beside(END))
    }

    fn ask(socket: &mut Socket, asked: &[u8]) -> UnixStream {
        let mut stream = UnixStream::connect(path(socket)).expect("it listens");
        stream.set_nonblocking(true).expect("a setting");
        stream.write_all(asked).expect("it is written");
        socket.serve(|request| format!("{request:?}"));
        stream
    }

    fn answered(mut stream: UnixStream) -> Option<String> {
        let mut text = String::new();
        stream.read_to_string(&mut text).ok().map(|_| text)
    }

    #[test]
    fn only_root_asks_and_gets_a_line() {
        let (_directory, mut socket) = socket();
        let mode = fs::metadata(path(&socket))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let stream = ask(&mut socket, b"release ab/12\n");
        assert_eq!(
            answered(stream).as_deref(),
            Some("Release(Place { fsid: 171, inode: Some(12) })\n")
        );
        let path = path(&socket);
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_request_is_refused_and_nobody_is_waited_for() {
        let (_directory, mut socket) = socket();
        for asked in [&b"releas ab\n"[..], b"release \xff\n", b"\n", &[b'a'; 4096]] {
            let stream = ask(&mut socket, asked);
            let answer = answered(stream).unwrap_or_default();
            // What is left unread makes the kernel cut the connection instead.
            assert!(
                answer.is_empty() || answer.starts_with("refused: "),
                "{answer}"
            );
        }
        let slow: Vec<UnixStream> = (0..9).map(|_| ask(&mut socket, b"release ")).collect();
        assert_eq!(socket.callers.len(), CALLERS_MAX);
        let mut last = slow.into_iter().next_back().expect("one of them");
        last.write_all(b"ab\n").expect("it is waited for");
        socket.serve(|request| format!("{request:?}"));
        assert!(answered(last).is_some_and(|answer| answer.starts_with("Release")));
        socket.serve(|_| unreachable!("nobody asked"));
        assert!(
            socket.callers.is_empty(),
            "those that went away are forgotten"
        );
    }
}
