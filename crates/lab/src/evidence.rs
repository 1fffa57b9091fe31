//! Evidence as it lies on a disk: files, folders, archives and pipes, made into frames.
//!
//! Nothing is written, nothing below a live `/proc` or `/sys` is walked, and every amount is
//! bounded: [`KEPT`] and [`EXPANDED`] say by how much.

mod archive;
mod folder;
pub mod hosts;
mod intake;
mod packed;

use std::io::{self, Read};
use std::path::Path;

use files::Folder;
use intake::Intake;

pub use intake::{EvidenceError, Found, KEPT};
pub use packed::EXPANDED;

/// Reads a piece of evidence; `-` is standard input.
///
/// # Errors
/// It cannot be read, or nothing in it is known.
pub fn read(path: &Path) -> Result<Found, EvidenceError> {
    if path == Path::new("-") {
        return read_stream(io::stdin().lock(), "standard input");
    }
    let mut intake = Intake::default();
    intake.path(path)?;
    intake.found(path.display().to_string())
}

/// Reads a folder that is held open; its path is only a name.
///
/// # Errors
/// As for [`read`].
pub fn read_folder(folder: &Folder) -> Result<Found, EvidenceError> {
    let mut intake = Intake::default();
    folder::read(&mut intake, folder, folder.path())?;
    intake.found(folder.path().display().to_string())
}

/// Reads a piece of evidence from a stream; its name says what its lines do not.
///
/// # Errors
/// As for [`read`].
pub fn read_stream(stream: impl Read, name: &str) -> Result<Found, EvidenceError> {
    let mut intake = Intake::default();
    intake.stream(stream, name)?;
    intake.found(name.to_owned())
}
