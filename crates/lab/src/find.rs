//! Finding a study by its name or path.

use std::io::{self, Read as _};
use std::path::Path;

use files::{Kind, named};
use mm::suggest;
use scenario::recording::{LARGEST, LONGEST_TEXT, RecordingError, is_recording};
use study::recording::{self, Recording};
use study::{BUILT_IN, Study, StudyError};

/// What is said of a file that cannot be a study.
const NO_STUDY: &str = "not a study: a text file of at most 1 MiB is expected";

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Neither a built-in study nor a file.
    #[error("no study `{name}`: {way_out}; a file is named by its path, as in ./my-study.toml")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest study, or all of them.
        way_out: String,
    },
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It begins as a recording and is none.
    #[error("{path}: {why}")]
    Recording {
        /// The file.
        path: String,
        /// What is wrong.
        why: RecordingError,
    },
    /// The text is no study.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// Reads a built-in study by its name, or a file by its path.
///
/// # Errors
/// No such study or file, or the study's first error.
pub fn find(name: &str) -> Result<Study, FindError> {
    if let Some(study) = Study::built_in(name) {
        return Ok(study);
    }
    let path = Path::new(name);
    let is_path = name.contains('/') || name.ends_with(".toml") || name.ends_with(".rec");
    if !is_path {
        let way_out = suggest::way_out(name, BUILT_IN.iter().map(|(name, _)| *name));
        return Err(FindError::Unknown {
            name: name.to_owned(),
            way_out,
        });
    }
    match read(path).map_err(|source| unreadable(path, source))? {
        Found::Study(text) => of_text(&text, name, path),
        Found::Recording(bytes) => of_recording(&bytes, name),
    }
}

/// Reads a recording; `None` where the path names none.
///
/// # Errors
/// It begins as a recording and cannot be used.
pub fn recording(path: &Path) -> Result<Option<Study>, FindError> {
    // A pipe cannot be read twice.
    if !path.is_file() {
        return Ok(None);
    }
    match read(path) {
        Ok(Found::Recording(bytes)) => of_recording(&bytes, &path.display().to_string()).map(Some),
        Ok(Found::Study(_)) | Err(_) => Ok(None),
    }
}

/// What a file holds.
enum Found {
    Study(String),
    Recording(Vec<u8>),
}

/// A study's text, which may name the file of its recording.
fn of_text(text: &str, name: &str, path: &Path) -> Result<Study, FindError> {
    let Some(file) = recording::named_by(text) else {
        return Ok(Study::parse(text, name)?);
    };
    let beside = path.with_file_name(file);
    match read(&beside).map_err(|source| unreadable(&beside, source))? {
        Found::Study(_) => Err(unreadable(&beside, io::Error::other(RecordingError::Magic))),
        Found::Recording(bytes) => {
            let (_, recording) = recorded(&bytes, &beside.display().to_string())?;
            Ok(Study::parse_with(text, name, recording)?)
        }
    }
}

fn of_recording(bytes: &[u8], name: &str) -> Result<Study, FindError> {
    let (text, recording) = recorded(bytes, name)?;
    Ok(Study::parse_with(&text, name, recording)?)
}

fn recorded(bytes: &[u8], path: &str) -> Result<(String, Recording), FindError> {
    recording::read(bytes).map_err(|why| FindError::Recording {
        path: path.to_owned(),
        why,
    })
}

fn unreadable(path: &Path, source: io::Error) -> FindError {
    FindError::Unreadable {
        path: path.display().to_string(),
        source,
    }
}

/// Of a file that does not begin as a recording no more is read than a study may have.
fn read(path: &Path) -> io::Result<Found> {
    let no_study = || io::Error::other(NO_STUDY);
    let mut file = named::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => error,
        _ => no_study(),
    })?;
    if file.kind != Kind::Regular {
        return Err(no_study());
    }
    let mut bytes = Vec::new();
    let most = LONGEST_TEXT as u64 + 1;
    file.by_ref().take(most).read_to_end(&mut bytes)?;
    if is_recording(&bytes) {
        file.take(LARGEST.0).read_to_end(&mut bytes)?;
        return Ok(Found::Recording(bytes));
    }
    let is_small = bytes.len() <= LONGEST_TEXT;
    let text = is_small.then(|| String::from_utf8(bytes).ok()).flatten();
    text.map(Found::Study).ok_or_else(no_study)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_no_study() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.toml");
        std::fs::write(&path, [0xff, 0xfe, 0]).unwrap();
        let why = |path: &Path| read(path).err().unwrap().to_string();
        assert_eq!([why(&path), why(folder.path())], [NO_STUDY; 2]);
    }

    #[test]
    fn an_unknown_study_names_the_nearest_and_a_missing_file_its_path() {
        let why = |name: &str| find(name).unwrap_err().to_string();
        assert!(why("min-free-kbyte").contains("did you mean `min-free-kbytes`?"));
        assert!(why("/no/such/study.toml").contains("/no/such/study.toml: No such file"));
    }
}
