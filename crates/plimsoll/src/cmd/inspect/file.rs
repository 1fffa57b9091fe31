//! A capture's file, written whole or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use mm::capture::Capture;

/// Writes a capture: a reader finds the old file or the whole new one.
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

/// Writes beside the target and renames: a reader finds the old file or the whole new one.
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
