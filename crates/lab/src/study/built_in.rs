//! The studies that the binary carries, and finding one by name or path.

use std::io;
use std::path::Path;

use super::{Study, StudyError};
use files::named;
use mm::suggest;

/// The built-in studies: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "min-free-kbytes",
        include_str!("../../../../studies/min-free-kbytes.toml"),
    ),
    (
        "memory-hogs",
        include_str!("../../../../studies/memory-hogs.toml"),
    ),
    (
        "memory-hogs-full-size",
        include_str!("../../../../studies/memory-hogs-full-size.toml"),
    ),
    (
        "usb-copy",
        include_str!("../../../../studies/usb-copy.toml"),
    ),
    (
        "cache-ceiling",
        include_str!("../../../../studies/cache-ceiling.toml"),
    ),
    (
        "working-set",
        include_str!("../../../../studies/working-set.toml"),
    ),
    (
        "writeback",
        include_str!("../../../../studies/writeback.toml"),
    ),
    ("ksm", include_str!("../../../../studies/ksm.toml")),
    (
        "ksm-full-size",
        include_str!("../../../../studies/ksm-full-size.toml"),
    ),
    ("bursts", include_str!("../../../../studies/bursts.toml")),
    (
        "file-copy",
        include_str!("../../../../studies/file-copy.toml"),
    ),
];

/// A study's text is small; a larger file is something else.
const MOST_BYTES: u64 = 1 << 20;
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
    /// The text is no study.
    #[error(transparent)]
    Study(#[from] StudyError),
}

pub(super) fn find(name: &str, path: &Path) -> Result<Study, FindError> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
        return Ok(Study::parse(text, name)?);
    }
    let is_path = name.contains('/') || name.ends_with(".toml");
    if !is_path {
        let way_out = suggest::way_out(name, BUILT_IN.iter().map(|(name, _)| *name));
        return Err(FindError::Unknown {
            name: name.to_owned(),
            way_out,
        });
    }
    let text = read(path).map_err(|source| FindError::Unreadable {
        path: name.to_owned(),
        source,
    })?;
    Ok(Study::parse(&text, name)?)
}

fn read(path: &Path) -> io::Result<String> {
    named::text(path, MOST_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => error,
        _ => io::Error::other(NO_STUDY),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_no_study() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.toml");
        std::fs::write(&path, [0xff, 0xfe, 0]).unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), NO_STUDY);
        assert_eq!(read(folder.path()).unwrap_err().to_string(), NO_STUDY);
    }
}
