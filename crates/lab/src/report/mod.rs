//! The report of a study: one HTML file that needs nothing else.
//!
//! A pure function of the study and of what its runs came to: the same input gives the same bytes.
//! It knows no study; what is said about one stands in the study's own file, with placeholders for
//! the numbers (see [`study::template`]).

pub mod arms;
mod chart;
mod curves;
pub mod data;
mod figures;
pub mod gather;
mod html;
mod kernels;
mod legend;
mod page;
mod pair;
pub mod prose;
mod repeat;
mod series;
mod shown;
mod survivors;
mod table;
mod verdicts;

use std::io;
use std::path::Path;

use files::output;

pub use pair::{Pair, Report};

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

impl Report<'_> {
    /// Writes the page.
    #[must_use]
    pub fn to_html(&self) -> String {
        page::page(self)
    }

    /// Writes the page into a file: beside its place first, so that a full disk leaves no half page
    /// and an older report stays as it was.
    ///
    /// # Errors
    /// The file system refuses; the error names the file and the way out.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        output::write(path, self.to_html().as_bytes()).map_err(|why| WriteError {
            path: path.display().to_string(),
            why,
        })
    }
}
