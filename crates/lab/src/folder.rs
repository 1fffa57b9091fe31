//! A folder that something will be written into: made and tried before the work, not after it.

use std::path::Path;
use std::{fs, io};

/// Makes the folder and tries to write into it.
///
/// # Errors
/// The folder cannot be made or written; without the name of what was tried.
pub(crate) fn prepare(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let tried = tempfile::tempfile_in(folder);
    tried.map(drop).map_err(plain)
}

/// The error without the name of a temporary file, which nobody gave and which is gone.
pub(crate) fn plain(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => error.kind().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_leaves_neither_a_file_nor_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        prepare(&below).unwrap();
        assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
        let gone = tempfile::Builder::new().tempfile_in(folder.path().join("none"));
        let gone = plain(gone.unwrap_err());
        assert_eq!(gone.to_string(), "entity not found");
    }
}
