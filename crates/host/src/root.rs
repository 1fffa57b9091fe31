//! The directory that stands for `/`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use files::{Folder, Kind, named};

use crate::looking;

/// The longest file that is read: zoneinfo of a machine with a thousand CPUs has about 2 MiB.
const LONGEST: u64 = 16 << 20;

/// Names that are taken of one directory: `/proc` of a large machine has a million at most.
const MOST_NAMES: usize = 1 << 20;

/// The directory that stands for `/`. Paths below it are written as in a capture: `proc/meminfo`.
///
/// The machine's own is opened by path, for kernel files lie behind no links of others. Another
/// directory is opened once: what is read lies below it, whatever its links say and whoever puts
/// another directory in its place.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    held: Held,
}

#[derive(Clone, Debug)]
enum Held {
    Machine,
    Folder(Folder),
    Nothing(io::ErrorKind),
}

impl Default for Root {
    /// The machine's own root.
    fn default() -> Self {
        Self::new("/")
    }
}

impl From<Folder> for Root {
    fn from(folder: Folder) -> Self {
        Self {
            path: folder.path().to_owned(),
            held: Held::Folder(folder),
        }
    }
}

impl Root {
    /// Another directory in the place of `/`; one that cannot be opened has nothing below it.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let held = match Folder::at(&path) {
            _ if path == Path::new("/") => Held::Machine,
            Ok(folder) => Held::Folder(folder),
            Err(error) => Held::Nothing(error.kind()),
        };
        Self { path, held }
    }

    /// Where `path` lies.
    #[must_use]
    pub fn join(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is the machine's own.
    #[must_use]
    pub fn is_machines(&self) -> bool {
        matches!(self.held, Held::Machine)
    }

    /// The directory, held open: below it a link to `/etc` leads to its own.
    ///
    /// # Errors
    /// What the system says.
    pub fn folder(&self) -> io::Result<Folder> {
        match &self.held {
            Held::Machine => Folder::at(&self.path),
            Held::Folder(folder) => Ok(folder.clone()),
            Held::Nothing(kind) => Err((*kind).into()),
        }
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
        let bytes = match &self.held {
            Held::Machine => named::read(&self.join(path), LONGEST),
            _ => self.folder()?.read(path, LONGEST),
        };
        bytes.map(text)
    }

    /// The names in a directory, sorted; none where it cannot be listed.
    #[must_use]
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = self.listed(directory).into_iter();
        let names = entries.filter_map(|(name, _)| name.into_string().ok());
        names.collect()
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
        let entries = self.listed(directory).into_iter();
        let below = entries.filter(|(_, kind)| *kind == Kind::Folder);
        let (mut names, mut others) = (Vec::new(), 0);
        for (name, _) in below {
            match name.into_string() {
                Ok(name) => names.push(name),
                Err(_) => others += 1,
            }
        }
        names.sort_unstable();
        (names, others)
    }

    fn listed(&self, directory: &str) -> Vec<(OsString, Kind)> {
        let folder = match &self.held {
            Held::Machine => Folder::at(&self.join(directory)),
            _ => self.folder().and_then(|folder| folder.folder(directory)),
        };
        let names = folder.and_then(|folder| folder.names(MOST_NAMES));
        names.unwrap_or_default()
    }

    /// Whether there is a file that is no directory.
    #[must_use]
    pub fn is_file(&self, path: &str) -> bool {
        self.is_directory_there(path) == Some(false)
    }

    /// Whether there is a directory.
    #[must_use]
    pub fn is_directory(&self, path: &str) -> bool {
        self.is_directory_there(path) == Some(true)
    }

    /// Whether what is there is a directory; `None` where nothing is.
    fn is_directory_there(&self, path: &str) -> Option<bool> {
        match &self.held {
            Held::Machine => Some(self.join(path).metadata().ok()?.is_dir()),
            _ => Some(self.folder().ok()?.find(path).ok()?.kind() == Kind::Folder),
        }
    }
}

/// Bytes as text, those replaced that are no UTF-8.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    String::from_utf8(bytes).unwrap_or_else(|error| lossy(error.as_bytes()))
}

/// Roots that tests make.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::fs;

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
    use std::fs;
    use std::os::unix::fs::symlink;

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
        let long = fs::File::create(root.join("long")).expect("a file");
        long.set_len(LONGEST + 1).expect("its length");
        let kind = |path| root.read(path).map_err(|error| error.kind());
        assert_eq!(kind("folder"), Err(io::ErrorKind::IsADirectory));
        assert_eq!(kind("long"), Err(io::ErrorKind::FileTooLarge));
        assert_eq!(kind("missing"), Err(io::ErrorKind::NotFound));
        let error = Root::default().read("dev/zero").expect_err("no end");
        assert!(error.to_string().contains("a device"), "{error}");
        let nothing = Root::new(root.join("missing"));
        let error = nothing.read("etc/passwd").expect_err("no root");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(nothing.names("").is_empty() && !nothing.is_file("etc/passwd"));
    }

    #[test]
    fn another_root_stays_the_one_that_was_opened_and_its_links_stay_in_it() {
        let (directory, _) = testing::root(&[("image/etc/own", "own"), ("etc/own", "host")]);
        let at = |name: &str| directory.path().join(name);
        symlink(at("etc"), at("image/out")).expect("a link");
        symlink("/etc", at("image/in")).expect("a link");
        let root = Root::new(at("image"));
        fs::rename(at("image"), at("moved")).expect("renamed");
        symlink(directory.path(), at("image")).expect("a link");
        assert_eq!(root.read("etc/own").expect("its own"), "own");
        assert_eq!(root.read("in/own").expect("its own"), "own");
        assert_eq!(root.names("in"), ["own"]);
        assert!(root.read("out/own").is_err() && root.names("out").is_empty());
        assert!(!root.is_file("out/own") && root.is_directory("in"));
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
