//! Evidence as it lies on a disk: files, folders, archives and pipes, made into frames.
//!
//! Nothing is written, nothing below a live `/proc` or `/sys` is walked, and every amount is
//! bounded: [`KEPT`] and [`EXPANDED`] say by how much.

mod folder;

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use files::{Folder, Kind, named};
use unpack::{Intake, UnpackError};

pub use unpack::{EXPANDED, Found, KEPT};

/// Why a piece of evidence could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The system refused it.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A file that acts when it is read.
    #[error("not read: reading it acts on this machine; give a copy of it, or inspect without it")]
    Acts,
    /// A folder that the kernel makes.
    #[error("this machine's own {0}: inspect without an argument reads it")]
    Live(&'static str),
    /// What it holds cannot be used.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
}

/// Reads a piece of evidence; `-` is standard input.
///
/// # Errors
/// It cannot be read, or nothing in it is known.
pub fn read(path: &Path) -> Result<Found, EvidenceError> {
    if path == Path::new("-") {
        return read_stream(io::stdin().lock(), "standard input");
    }
    let mut intake = Intake::default();
    named_path(&mut intake, path)?;
    Ok(intake.found(path.display().to_string())?)
}

/// Reads a folder that is held open; its path is only a name.
///
/// # Errors
/// As for [`read`].
pub fn read_folder(folder: &Folder) -> Result<Found, EvidenceError> {
    let mut intake = Intake::default();
    folder::read(&mut intake, folder, folder.path())?;
    Ok(intake.found(folder.path().display().to_string())?)
}

/// Reads a piece of evidence from a stream; its name says what its lines do not.
///
/// # Errors
/// As for [`read`].
pub fn read_stream(stream: impl Read, name: &str) -> Result<Found, EvidenceError> {
    Ok(unpack::read(stream, name)?)
}

fn named_path(intake: &mut Intake, path: &Path) -> Result<(), EvidenceError> {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path)?.is_dir() {
        return folder::read(intake, &Folder::at(path)?, &full);
    }
    let is_live = rustix::fs::statfs(&full).is_ok_and(|it| folder::live(it.f_type).is_some());
    if is_live && acts(&full) {
        return Err(EvidenceError::Acts);
    }
    let file = named::open(path)?;
    // The folders that the file lies in may say what it is; a pipe has none.
    let name = match file.kind {
        Kind::Regular => full,
        _ => path.to_owned(),
    };
    Ok(intake.stream(file, &name.to_string_lossy())?)
}

/// Files of `/proc/sys/vm` that do something when they are read.
fn acts(path: &Path) -> bool {
    let acting = [
        "lowmem_reserve_ratio",
        "compact_memory",
        "drop_caches",
        "stat_refresh",
    ];
    path.file_name()
        .is_some_and(|name| acting.iter().any(|acting| name == *acting))
}
