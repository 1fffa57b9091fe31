//! What a stream is by its first bytes, and the stream behind its compression.

use std::io::{self, Cursor, Read};

/// Bytes to which one piece of evidence may expand, whether they are kept or not.
pub const EXPANDED: u64 = 2 << 30;

/// What is behind the compression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A tar archive.
    Tar,
    /// A format that is not unpacked.
    Foreign(&'static str),
    /// One file.
    Plain,
}

/// How a stream begins whose format is known.
const FOREIGN: [(&[u8], &str); 5] = [
    (b"BZh", "a bzip2 file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"KDUMP", "a crash dump"),
    (b"\x7fELF", "a program or a crash dump"),
];

/// Compressions within each other that are undone.
const LAYERS: usize = 3;

/// Bytes that decide: a tar archive says what it is at byte 257.
const HEAD: usize = 512;

/// Looks at the first bytes, and undoes the compression.
///
/// # Errors
/// The first bytes cannot be read, or the compression's own head is damaged.
pub(super) fn open<'a>(mut reader: Box<dyn Read + 'a>) -> io::Result<(Box<dyn Read + 'a>, Form)> {
    for _ in 0..=LAYERS {
        let mut head = Vec::with_capacity(HEAD);
        reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let form = form(&head);
        let whole: Box<dyn Read + 'a> = Box::new(Cursor::new(head.clone()).chain(reader));
        match form {
            Some(form) => return Ok((whole, form)),
            None => reader = Box::new(Bounded::new(expanded(&head, whole)?)),
        }
    }
    Err(io::Error::other("compressed more than three times"))
}

/// What the first bytes say; `None` where they are of a compression that can be undone.
fn form(head: &[u8]) -> Option<Form> {
    if head.starts_with(&[0x1f, 0x8b]) || head.starts_with(XZ) || head.starts_with(ZSTD) {
        return None;
    }
    let foreign = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic));
    Some(match foreign {
        Some((_, what)) => Form::Foreign(what),
        None if head.get(257..262) == Some(b"ustar") => Form::Tar,
        None => Form::Plain,
    })
}

const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

fn expanded<'a>(head: &[u8], whole: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    if head.starts_with(XZ) {
        return Ok(Box::new(lzma_rust2::XzReader::new(whole, true)));
    }
    if head.starts_with(ZSTD) {
        let stream = ruzstd::decoding::StreamingDecoder::new(whole).map_err(io::Error::other)?;
        return Ok(Box::new(stream));
    }
    Ok(Box::new(flate2::read::MultiGzDecoder::new(whole)))
}

/// A stream that fails beyond [`EXPANDED`] bytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn new(inner: R) -> Self {
        let left = EXPANDED;
        Self { inner, left }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::other("it expands to more than 2 GiB"))?;
        Ok(read)
    }
}
