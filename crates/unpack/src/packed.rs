//! What a stream is by its first bytes, and the stream behind its compression.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

/// Bytes to which one piece of evidence may expand, whether they are kept or not.
pub const EXPANDED: u64 = 2 << 30;

/// What is behind the compression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
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

/// Bytes to which what follows may still expand: an archive may hold many that are compressed.
#[derive(Clone, Debug)]
pub(crate) struct Left(Rc<Cell<u64>>);

impl Default for Left {
    fn default() -> Self {
        Self(Rc::new(Cell::new(EXPANDED)))
    }
}

/// Looks at the first bytes, and undoes the compression.
///
/// # Errors
/// The first bytes cannot be read, or the compression's own head is damaged.
pub(crate) fn open<'a>(
    mut reader: Box<dyn Read + 'a>,
    left: &Left,
) -> io::Result<(Box<dyn Read + 'a>, Form)> {
    for _ in 0..=LAYERS {
        let mut head = Vec::with_capacity(HEAD);
        reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let form = form(&head);
        let whole: Box<dyn Read + 'a> = Box::new(Cursor::new(head.clone()).chain(reader));
        match form {
            Some(form) => return Ok((whole, form)),
            None => {
                let (inner, left) = (expanded(&head, whole)?, left.clone());
                reader = Box::new(Bounded { inner, left });
            }
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

/// Memory that unpacking may take, in KiB: twice what `xz -9` asks for. The head of a stream may
/// ask for 4 GiB, however short it is.
const DICTIONARY: u32 = 128 << 10;

const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

fn expanded<'a>(head: &[u8], whole: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    if head.starts_with(XZ) {
        return Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(
            whole, true, DICTIONARY,
        )));
    }
    if head.starts_with(ZSTD) {
        let stream = ruzstd::decoding::StreamingDecoder::new(whole).map_err(io::Error::other)?;
        return Ok(Box::new(stream));
    }
    Ok(Box::new(flate2::read::MultiGzDecoder::new(whole)))
}

/// A stream that fails when nothing is left to which it may expand.
struct Bounded<R> {
    inner: R,
    left: Left,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let Left(left) = &self.left;
        match left.get().checked_sub(read as u64) {
            Some(rest) => left.set(rest),
            None => return Err(io::Error::other("it expands to more than 2 GiB")),
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn all_that_is_compressed_in_one_piece_has_one_bound() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&[b'x'; 6000]).unwrap();
        let bytes = gzip.finish().unwrap();
        let left = Left(Rc::new(Cell::new(10_000)));
        let expand = || {
            let (mut whole, _) = open(Box::new(&bytes[..]), &left)?;
            io::copy(&mut whole, &mut io::sink())
        };
        assert_eq!(expand().unwrap(), 6000);
        let error = expand().unwrap_err().to_string();
        assert!(error.contains("expands to more"), "{error}");
    }
}
