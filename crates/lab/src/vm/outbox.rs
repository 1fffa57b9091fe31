//! The outbox: the raw disk on which the guest leaves its capture.
//!
//! `PLIMSOLL`, the length as a little-endian 64-bit number, then the capture's text.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use mm::capture::Capture;

use super::failed::failed;
use answer::bench::BenchError;

/// Bytes of the disk; a power of two, as the size of every PCI memory is.
pub(super) const SIZE: u64 = 64 << 20;

const MAGIC: &[u8; 8] = b"PLIMSOLL";

/// Makes an empty outbox.
pub(super) fn make(path: &Path) -> Result<(), BenchError> {
    File::create_new(path)
        .and_then(|file| file.set_len(SIZE))
        .map_err(|error| failed(path, &error))
}

/// What the guest left; `None` where it never came to that.
///
/// # Errors
/// That it is not a capture, with the line.
pub(super) fn read(path: &Path) -> Result<Option<Capture>, BenchError> {
    let Some(bytes) = letter(path).map_err(|error| failed(path, &error))? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| BenchError::Failed("the VM's capture is not text".into()))?;
    let capture = Capture::parse(&text)
        .map_err(|error| BenchError::Failed(format!("the VM's capture: {error}")))?;
    Ok(Some(capture))
}

fn letter(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut header = [0; 16];
    file.read_exact(&mut header)?;
    let (magic, length) = header.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("half of sixteen bytes"));
    if magic != MAGIC || length > SIZE - 16 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    fn outbox(length: u64, text: &[u8]) -> Result<Option<Capture>, BenchError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("outbox");
        make(&path).unwrap();
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all(MAGIC).unwrap();
        file.write_all(&length.to_le_bytes()).unwrap();
        file.write_all(text).unwrap();
        read(&path)
    }

    #[test]
    fn a_letter_is_read_and_an_empty_box_is_none() {
        let text = b"plimsoll-capture 1\n@ 7 end\n";
        let capture = outbox(text.len() as u64, text).unwrap().unwrap();
        assert_eq!(capture.frames[0].at.0, 7);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("outbox");
        make(&path).unwrap();
        assert_eq!(read(&path).unwrap(), None);
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        assert!(outbox(9, b"nonsense\n").is_err());
        assert!(outbox(4, b"\xff\xfe\xfd\xfc").is_err());
        assert_eq!(outbox(u64::MAX, b"").unwrap(), None);
    }
}
