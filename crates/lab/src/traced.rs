//! The file of a traced run: as a record, but of no study's records.

use std::io;
use std::path::{Path, PathBuf};

use files::{named, output};
use study::record::{MOST_BYTES, Provenance, Record, RecordError};

/// How a file is named that nobody names otherwise.
const ENDING: &str = ".trace.gz";

/// Why the file of a traced run cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TracedError {
    /// The file system refused.
    #[error("{path}: {why}; name another file{way_out}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        why: io::Error,
        /// By which option, where it is one.
        way_out: &'static str,
    },
    /// It is something else, or damaged.
    #[error("{path}: {why}; `plimsoll prove STUDY --arm ARM --trace` writes a trace")]
    Broken {
        /// The file.
        path: String,
        /// Why.
        why: RecordError,
    },
    /// It is the record of a run that was not traced.
    #[error(
        "{path}: the record of a run that was not traced; `plimsoll prove {study} --arm \"{arm}\" \
             --trace` traces one"
    )]
    NotTraced {
        /// The file.
        path: String,
        /// What was run.
        study: String,
        /// Its arm.
        arm: String,
    },
}

/// Where a traced run goes that nobody names a file for: the current folder.
#[must_use]
pub fn usual_path(provenance: &Provenance) -> PathBuf {
    let name = provenance.file_name();
    let stem = name.split('.').next().unwrap_or_default();
    format!("{}-{stem}{ENDING}", provenance.study).into()
}

/// Tries to write beside a file, so that a run is not begun whose trace could not be kept.
///
/// # Errors
/// The folder cannot be written.
pub fn prepare(path: &Path) -> Result<(), TracedError> {
    let tried = match path.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => output::folder(output::folder_of(path)).map(drop),
    };
    tried.map_err(|why| unwritten(path, why))
}

/// Writes a traced run into a file, whole or not at all.
///
/// # Errors
/// The file system refuses.
pub fn write(record: &Record, path: &Path) -> Result<(), TracedError> {
    let written = record
        .to_bytes()
        .and_then(|bytes| output::write(path, &bytes));
    written.map_err(|why| unwritten(path, why))
}

/// Reads a traced run.
///
/// # Errors
/// It cannot be read, or is no traced run: the message says what it is.
pub fn read(path: &Path) -> Result<Record, TracedError> {
    let shown = || path.display().to_string();
    let bytes = named::read(path, MOST_BYTES).map_err(|why| TracedError::Io {
        path: shown(),
        why,
        way_out: "",
    })?;
    let record =
        Record::from_bytes(&bytes).map_err(|why| TracedError::Broken { path: shown(), why })?;
    match record.traced() {
        Some(_) => Ok(record),
        None => Err(TracedError::NotTraced {
            path: shown(),
            study: record.provenance.study,
            arm: record.provenance.arm,
        }),
    }
}

fn unwritten(path: &Path, why: io::Error) -> TracedError {
    TracedError::Io {
        path: path.display().to_string(),
        why,
        way_out: " with --trace-to",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use study::testing::record;

    #[test]
    fn a_traced_run_comes_back_and_whatever_else_is_said_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace.gz");
        let mut traced = record("a", 1);
        write(&traced, &path).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("was not traced; `plimsoll prove min-free-kbytes --arm \"a\""));
        let detail = ("traced".to_owned(), "oom:mark_victim".to_owned());
        traced.provenance.details.push(detail);
        write(&traced, &path).unwrap();
        assert_eq!(read(&path).unwrap(), traced);
        let whole = fs::read(&path).unwrap();
        for (bytes, what) in [
            (&whole[..whole.len() / 2], "damaged or cut off"),
            (b"# tracer: nop\n".as_slice(), "no record: not gzip"),
        ] {
            fs::write(&path, bytes).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(what) && !error.contains('\n'), "{error}");
        }
        let error = read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.ends_with("name another file"), "{error}");
        let name = usual_path(&traced.provenance).display().to_string();
        assert!(
            name.starts_with("min-free-kbytes-a-1-") && name.ends_with(".trace.gz"),
            "{name}"
        );
        prepare(folder.path()).unwrap_err();
    }
}
