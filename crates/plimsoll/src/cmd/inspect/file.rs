//! Files that hold a capture: read with one line of what is wrong, written whole or not at all.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use lab::record::Record;
use mm::capture::Capture;
use mm::units::Bytes;

/// How a record of a run begins: it is compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The longest capture: seven hours of samples every half second.
const LONGEST: u64 = 256 << 20;

/// Reads a capture, or the capture in the record of a run.
///
/// # Errors
/// Which file it is, and where it stops being one.
pub(in crate::cmd) fn load(path: &Path) -> anyhow::Result<Capture> {
    parse(path).with_context(|| path.display().to_string())
}

fn parse(path: &Path) -> anyhow::Result<Capture> {
    let bytes = read(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => anyhow::anyhow!("a directory, not a capture"),
        _ => anyhow::Error::new(error).context("cannot be read"),
    })?;
    if bytes.len() as u64 > LONGEST {
        bail!("longer than any capture: over {}", Bytes(LONGEST));
    }
    if bytes.starts_with(&GZIP) {
        return Ok(Record::from_bytes(&bytes)?.outcome.capture);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Capture::parse(&text)?),
        Err(_) => bail!("not a capture: it is no UTF-8 text"),
    }
}

/// At most one byte more than [`LONGEST`]: a device may have no end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a capture: whoever looks finds the old file or the whole new one.
///
/// # Errors
/// Which file it is, and what the system says.
pub(super) fn save(capture: &Capture, path: &Path) -> anyhow::Result<()> {
    let text = capture.to_text();
    // A link is followed, so that the file it names is replaced and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let saved = match fs::metadata(&target) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => fs::write(&target, text), // a pipe or device
        _ => replace(&target, &text),
    };
    saved.with_context(|| format!("{}: cannot be saved", path.display()))
}

/// Writes beside the target and renames: whoever looks finds the old file or the whole new one.
fn replace(target: &Path, text: &str) -> io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".plimsoll-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}
