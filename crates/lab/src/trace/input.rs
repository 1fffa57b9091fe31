//! A trace's file as it is opened: looked at, refused where it is no file, bounded where a pipe.

use std::io::{self, Cursor, Read};
use std::path::Path;

use files::{Kind, Refused, named};

use super::problem::Problem;
use super::records;

/// Bytes at which a file is looked to recognise it.
const HEAD: usize = 1024;

/// Most bytes that are taken from a pipe: it may have no end, and cannot be read a second time.
const PIPE_MAX: u64 = 32 << 20;

/// How compressed files begin, and the command that unpacks them.
const COMPRESSED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gunzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "unxz"),
    (b"BZh", "bunzip2"),
    (&[0x04, 0x22, 0x4d, 0x18], "unlz4"),
];

/// The same by the name, for what has no such beginning.
const NAMES: [(&str, &str); 5] = [
    ("gz", "gunzip"),
    ("zst", "unzstd"),
    ("xz", "unxz"),
    ("bz2", "bunzip2"),
    ("lz4", "unlz4"),
];

/// An open trace.
pub(super) struct Input {
    /// How it begins; `bytes` begin with it too.
    pub(super) head: Vec<u8>,
    /// All of it.
    pub(super) bytes: Box<dyn Read>,
}

/// Opens the trace at `path`.
///
/// # Errors
/// The system refuses, it is no file and no pipe, or it is compressed.
pub(super) fn open(path: &Path) -> Result<Input, Problem> {
    let mut file = named::open(path).map_err(of_no_file)?;
    let mut head = vec![0; HEAD];
    let filled = records::fill(&mut file, &mut head)?;
    head.truncate(filled);
    refuse_compressed(path, &head)?;
    let rest: Box<dyn Read> = match file.kind {
        Kind::Regular => Box::new(file),
        _ => Box::new(Bounded(file, PIPE_MAX)),
    };
    let bytes = Box::new(Cursor::new(head.clone()).chain(rest));
    Ok(Input { head, bytes })
}

fn of_no_file(error: io::Error) -> Problem {
    let refused = error
        .get_ref()
        .and_then(|why| why.downcast_ref::<Refused>());
    match refused {
        Some(Refused::Kind(_)) => Problem::NoFile,
        None if error.kind() == io::ErrorKind::IsADirectory => Problem::NoFile,
        _ => error.into(),
    }
}

fn refuse_compressed(path: &Path, head: &[u8]) -> Result<(), Problem> {
    let by_content = COMPRESSED.iter().find(|(begin, _)| head.starts_with(begin));
    let extension = path.extension().and_then(|extension| extension.to_str());
    let by_name = NAMES.iter().find(|(name, _)| Some(*name) == extension);
    let tool = by_content.map(|(_, tool)| tool);
    match tool.or(by_name.map(|(_, tool)| tool)) {
        Some(tool) => Err(Problem::Compressed { tool }),
        None => Ok(()),
    }
}

/// An input of which no more than this many bytes are taken.
struct Bounded<R>(R, u64);

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.1).unwrap_or(usize::MAX);
        if most == 0 {
            return Err(io::Error::other(format!(
                "more than {} MiB come from a pipe; write them to a file first",
                PIPE_MAX >> 20
            )));
        }
        let most = most.min(bytes.len());
        let count = self.0.read(&mut bytes[..most])?;
        self.1 -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused_before_it_is_read() {
        for path in ["/dev/zero", "/dev/null", "/"] {
            let error = open(Path::new(path)).err().expect(path);
            assert!(matches!(error, Problem::NoFile), "{path}: {error}");
        }
    }

    #[test]
    fn a_compressed_trace_is_known_by_its_first_bytes_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for (begin, tool) in COMPRESSED {
            let path = folder.path().join("trace.csv");
            std::fs::write(&path, [begin, b"rest"].concat()).unwrap();
            let error = open(&path).err().unwrap().to_string();
            assert!(error.contains(&format!("`{tool} FILE`")), "{error}");
        }
    }

    #[test]
    fn what_has_no_end_is_read_to_a_bound() {
        let error = io::copy(&mut Bounded(io::repeat(7), 1 << 20), &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("write them to a file first"));
    }
}
