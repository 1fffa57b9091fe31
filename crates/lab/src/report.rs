//! The file of a report.

use std::io;
use std::path::Path;

use answer::report::Report;
use files::output;

/// Makes the folder of a report and tries to write into it, so that runs are not begun whose report
/// could not be kept.
///
/// # Errors
/// The folder cannot be made or written, or a folder has the report's name.
pub fn prepare(path: &Path) -> Result<(), WriteError> {
    let tried = match path.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => output::folder(output::folder_of(path)).map(drop),
    };
    tried.map_err(|why| WriteError {
        path: path.display().to_string(),
        why,
    })
}

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}; name another file, as in --report=FILE")]
pub struct WriteError {
    /// The file.
    pub path: String,
    /// Why.
    pub why: io::Error,
}

/// Writes the page into a file: beside its place first, so that a full disk leaves no half page
/// and an older report stays as it was.
///
/// # Errors
/// The file system refuses; the error names the file and the way out.
pub fn write(report: &Report<'_>, path: &Path) -> Result<(), WriteError> {
    output::write(path, report.to_html().as_bytes()).map_err(|why| WriteError {
        path: path.display().to_string(),
        why,
    })
}
