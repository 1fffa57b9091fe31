//! The files that the configuration names, by their keys: they come before all others.

use host::kept;

use crate::sys::{self, Key};

/// What the names stand for.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The files, in order of the configuration and then of name.
    pub(crate) keys: Vec<Key>,
    /// There were more.
    pub(crate) is_cut: bool,
}

/// Finds the files behind the names.
pub(crate) fn find(paths: &[String]) -> Named {
    let kept = kept::find(paths.iter().map(String::as_str));
    let files = kept.files.iter();
    Named {
        keys: files
            .filter_map(|file| sys::key_of(file.fd()).ok())
            .collect(),
        is_cut: kept.is_cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_name_becomes_the_keys_of_its_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let paths = ["a", "b"].map(|name| directory.path().join(name));
        for path in &paths {
            std::fs::write(path, "text").expect("a file");
        }
        let named = find(&[directory.path().to_str().expect("a name").to_owned()]);
        let key = |path| sys::key_of(std::fs::File::open(path).expect("a file").as_fd());
        let expected = paths.map(|path| key(path).expect("a key"));
        assert_eq!(named.keys, expected);
        // As the command names the file system when it asks for its release.
        let number = kept::file_system(directory.path()).expect("a file system");
        assert_eq!(named.keys[0].fsid, number);
    }
}
