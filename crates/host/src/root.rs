//! The directory that stands for `/`.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::looking;

/// The longest file that is read: zoneinfo of a machine with a thousand CPUs has about 2 MiB.
const LONGEST: u64 = 16 << 20;

/// The directory that stands for `/`. Paths below it are written as in a capture: `proc/meminfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    /// The machine's own root.
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// Another directory in the place of `/`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where `path` lies.
    #[must_use]
    pub fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The text of a file that may be read without changing the machine, as
    /// [`crate::looking::READABLE`] lists them.
    ///
    /// # Errors
    /// Those of [`Root::read`], and `Unsupported` for a file that is not on the list, unopened.
    pub fn look(&self, path: &str) -> io::Result<String> {
        match looking::may_read(path) {
            true => self.read(path),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The text of a file; bytes that are no UTF-8 are replaced. What looks at a machine uses
    /// [`Root::look`].
    ///
    /// # Errors
    /// What the system says, and `FileTooLarge` beyond 16 MiB.
    pub fn read(&self, path: &str) -> io::Result<String> {
        #[cfg(test)]
        testing::note(path);
        let file = fs::File::open(self.join(path))?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The names in a directory, sorted; none where it cannot be listed.
    #[must_use]
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.join(directory)).into_iter().flatten();
        let name = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let mut names: Vec<String> = entries.filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// The names of the directories in a directory, sorted, links left out; none where it cannot be
    /// listed.
    #[must_use]
    pub fn directories(&self, directory: &str) -> Vec<String> {
        self.directories_counted(directory).0
    }

    /// The same, and how many have names that are not UTF-8: they are passed over.
    #[must_use]
    pub fn directories_counted(&self, directory: &str) -> (Vec<String>, usize) {
        let entries = fs::read_dir(self.join(directory)).into_iter().flatten();
        let below = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let entries = entries.filter_map(Result::ok).filter(below);
        let (mut names, mut others) = (Vec::new(), 0);
        for entry in entries {
            match entry.file_name().into_string() {
                Ok(name) => names.push(name),
                Err(_) => others += 1,
            }
        }
        names.sort_unstable();
        (names, others)
    }

    /// Whether there is a file that is no directory.
    #[must_use]
    pub fn is_file(&self, path: &str) -> bool {
        fs::metadata(self.join(path)).is_ok_and(|metadata| !metadata.is_dir())
    }

    /// Whether there is a directory.
    #[must_use]
    pub fn is_directory(&self, path: &str) -> bool {
        fs::metadata(self.join(path)).is_ok_and(|metadata| metadata.is_dir())
    }
}

/// Roots that tests make.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    thread_local! {
        static OPENED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    }

    /// Notes that this thread opens a file.
    pub(super) fn note(path: &str) {
        OPENED.with_borrow_mut(|opened| opened.insert(path.to_owned()));
    }

    /// The files that this thread opened since it was last asked.
    pub(crate) fn opened() -> BTreeSet<String> {
        OPENED.take()
    }

    /// A root with these files.
    pub(crate) fn root(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        for (path, text) in files {
            put(&root, path, text);
        }
        (directory, root)
    }

    /// Writes one file below it.
    pub(crate) fn put(root: &Root, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }
}

/// The system's reason in its own words, without the number.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_text_whatever_bytes_they_hold() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        fs::write(root.join("odd"), b"a\xffb\n").expect("a file");
        assert_eq!(root.read("odd").expect("text"), "a\u{fffd}b\n");
    }

    #[test]
    fn what_is_no_file_or_has_no_end_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        fs::create_dir(root.join("folder")).expect("a folder");
        std::os::unix::fs::symlink("/dev/zero", root.join("endless")).expect("a link");
        let kind = |path| root.read(path).map_err(|error| error.kind());
        assert_eq!(kind("folder"), Err(io::ErrorKind::IsADirectory));
        assert_eq!(kind("endless"), Err(io::ErrorKind::FileTooLarge));
        assert_eq!(kind("missing"), Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn looking_opens_no_file_that_is_not_on_the_list() {
        let (_directory, root) = testing::root(&[
            ("proc/meminfo", "a"),
            ("proc/sys/vm/lowmem_reserve_ratio", "b"),
        ]);
        testing::opened();
        assert_eq!(root.look("proc/meminfo").expect("on the list"), "a");
        let refused = root.look("proc/sys/vm/lowmem_reserve_ratio");
        let refused = refused.map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::Unsupported));
        assert!(
            testing::opened()
                .into_iter()
                .eq(["proc/meminfo".to_owned()])
        );
    }

    #[test]
    fn names_are_sorted_and_a_missing_directory_has_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        for name in ["b", "a", "c"] {
            fs::write(root.join(name), "").expect("a file");
        }
        assert_eq!(root.names(""), ["a", "b", "c"]);
        assert!(root.names("missing").is_empty());
        assert!(root.is_file("a") && !root.is_file("missing") && root.is_directory(""));
    }
}
