//! Where records lie: `DIR/STUDY/ARM-SEED-KEY.record.gz`.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use files::{Attributes, Folder, Lasts, named, output};

use study::record::{MOST_BYTES, Provenance, Record, RecordError};

/// How a record's name ends; all else in the folder is passed over.
const ENDING: &str = ".record.gz";

/// Names that are taken of a study's folder.
const MOST_NAMES: usize = 1 << 20;

/// A file and the record in it.
pub type Loaded = (PathBuf, Result<Record, StoreError>);

/// A folder of records.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// Why records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("{path}: {source}; {way_out}")]
    Io {
        /// The file or folder.
        path: String,
        /// Why.
        source: io::Error,
        /// What to do about it.
        way_out: &'static str,
    },
    /// A file is no record.
    #[error("{path}: {source}; {}", source.way_out())]
    Broken {
        /// The file.
        path: String,
        /// Why.
        source: RecordError,
    },
    /// A file is of a traced run.
    #[error(
        "{path}: of a traced run, whose figures are no record; read it with `plimsoll report \
         --trace`, and move it out of the records' folder"
    )]
    Traced {
        /// The file.
        path: String,
    },
}

impl Store {
    /// The records below `root`; the folder is made when the first one is written.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Further starts of the same runs, in a folder of their own; often there are none.
    #[must_use]
    pub fn starts(&self) -> Self {
        Self::new(self.root.join("starts"))
    }

    /// Where the record of this run lies, or would.
    #[must_use]
    pub fn path_of(&self, provenance: &Provenance) -> PathBuf {
        self.root
            .join(&provenance.study)
            .join(provenance.file_name())
    }

    /// The record of this run, if it was run before.
    ///
    /// # Errors
    /// There is a file, but it cannot be read or is no record.
    pub fn find(&self, provenance: &Provenance) -> Result<Option<Record>, StoreError> {
        match read(&self.path_of(provenance)) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Writes a record: beside its place first, then to the disk, then under its name. A failure
    /// leaves what was recorded before as it is.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not be written: a full disk, no permission.
    pub fn write(&self, record: &Record) -> Result<PathBuf, StoreError> {
        let path = self.path_of(&record.provenance);
        self.put(record).map_err(|source| StoreError::Io {
            path: path.display().to_string(),
            source,
            way_out: "earlier records are whole; free space or name another folder with \
                      --records, and run it again: it resumes",
        })?;
        Ok(path)
    }

    /// Makes the study's folder and tries to write into it, so that a run whose record could not be
    /// kept is not begun.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn prepare(&self, study: &str) -> Result<(), StoreError> {
        let folder = self.root.join(study);
        output::folder(&folder)
            .map(drop)
            .map_err(|source| StoreError::Io {
                path: folder.display().to_string(),
                source,
                way_out: "make it writable, or name another folder with --records",
            })
    }

    fn put(&self, record: &Record) -> io::Result<()> {
        let (study, name) = (&record.provenance.study, record.provenance.file_name());
        let folder = output::folder(&self.root.join(study))?;
        let (name, attributes) = (OsStr::new(&name), Attributes::new_file());
        folder.replace(name, &record.to_bytes()?, attributes, Lasts::PowerCut)
    }

    /// All records of a study, in the order of their file names; none where there is no folder.
    ///
    /// # Errors
    /// The folder or a record cannot be read.
    pub fn load(&self, study: &str) -> Result<Vec<Record>, StoreError> {
        self.load_each(study)?.map(|(_, record)| record).collect()
    }

    /// As [`Store::load`], one after the other and with the files: a broken record does not hide
    /// the others, and they need not all be in memory.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn load_each(
        &self,
        study: &str,
    ) -> Result<impl Iterator<Item = Loaded> + use<>, StoreError> {
        let load = |path: PathBuf| {
            let record = read(&path);
            (path, record)
        };
        Ok(self.paths(study)?.into_iter().map(load))
    }

    /// The files of a study's records, in order.
    fn paths(&self, study: &str) -> Result<Vec<PathBuf>, StoreError> {
        let folder = self.root.join(study);
        let names = match Folder::at(&folder).and_then(|folder| folder.names(MOST_NAMES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names.map_err(|source| unreadable(&folder, source))?,
        };
        let is_record = |name: &str| name.ends_with(ENDING) && !name.starts_with('.');
        let names = names.into_iter().map(|(name, _)| name);
        let names = names.filter(|name| is_record(&name.to_string_lossy()));
        Ok(names.map(|name| folder.join(name)).collect())
    }
}

fn read(path: &Path) -> Result<Record, StoreError> {
    let bytes = named::read(path, MOST_BYTES).map_err(|source| unreadable(path, source))?;
    let record = Record::from_bytes(&bytes).map_err(|source| StoreError::Broken {
        path: path.display().to_string(),
        source,
    })?;
    let path = path.display().to_string();
    match record.traced() {
        Some(_) => Err(StoreError::Traced { path }),
        None => Ok(record),
    }
}

fn unreadable(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        path: path.display().to_string(),
        source,
        way_out: "make it readable, or name another folder with --records",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use study::testing::record;

    #[test]
    fn what_was_written_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let record = record("raised", 1);
        assert!(store.find(&record.provenance).unwrap().is_none());
        store.write(&record).unwrap();
        assert_eq!(
            store.find(&record.provenance).unwrap(),
            Some(record.clone())
        );
        assert_eq!(store.load("min-free-kbytes").unwrap(), [record]);
        assert_eq!(store.load("other").unwrap(), []);
    }

    #[test]
    fn leftovers_of_a_killed_process_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let path = store.write(&record("a", 1)).unwrap();
        fs::write(path.with_file_name(".unfinished-x.record.gz"), b"half").unwrap();
        assert_eq!(store.load("min-free-kbytes").unwrap().len(), 1);
    }

    #[test]
    fn a_broken_record_names_its_file_and_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let path = store.write(&record("a", 1)).unwrap();
        fs::write(&path, b"half").unwrap();
        let error = store.load("min-free-kbytes").unwrap_err().to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        assert!(
            error.ends_with("delete the file to have its run repeated"),
            "{error}"
        );
    }

    #[test]
    fn a_traced_run_is_no_record_wherever_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let mut traced = record("a", 1);
        let detail = ("traced".to_owned(), "vmscan:mm_vmscan_throttled".to_owned());
        traced.provenance.details.push(detail);
        assert_ne!(
            traced.provenance.file_name(),
            record("a", 1).provenance.file_name()
        );
        store.write(&traced).unwrap();
        let error = store.load("min-free-kbytes").unwrap_err().to_string();
        assert!(error.contains("of a traced run"), "{error}");
    }

    /// Names the folder to the second run of the test below.
    const FULL: &str = "PLIMSOLL_TEST_FULL_DISK";

    /// A disk is full for a process that may not write files: the test runs itself again as one.
    #[test]
    fn a_full_disk_is_one_line_and_loses_nothing() {
        if let Some(folder) = std::env::var_os(FULL) {
            let error = Store::new(folder).write(&record("a", 2)).unwrap_err();
            return println!("\n{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let path = store.write(&record("a", 1)).unwrap();
        let name = "store::tests::a_full_disk_is_one_line_and_loses_nothing";
        let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact \"$1\" --nocapture";
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .arg(name)
            .env(FULL, folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.contains("File too large"));
        let line = line.unwrap_or_else(|| panic!("no error in {text}"));
        assert!(line.ends_with("and run it again: it resumes"), "{line}");
        let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(
            (files, store.load("min-free-kbytes").unwrap().len()),
            (1, 1)
        );
    }

    #[test]
    fn a_folder_is_made_and_tried_before_the_first_run() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("records"));
        store.prepare("study").unwrap();
        let study = store.root().join("study");
        assert_eq!(fs::read_dir(&study).unwrap().count(), 0, "nothing is left");
        fs::write(study.join("file"), b"").unwrap();
        let error = Store::new(study.join("file")).prepare("study").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("file/study: Not a directory"), "{error}");
        assert!(error.ends_with("with --records"), "{error}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        store.write(&record("a", 1)).unwrap();
        let blocked = Store::new(folder.path().join("min-free-kbytes").join("file"));
        fs::write(blocked.root(), b"").unwrap();
        let error = blocked.write(&record("a", 2)).unwrap_err().to_string();
        assert!(error.contains("earlier records are whole"), "{error}");
        assert_eq!(store.load("min-free-kbytes").unwrap().len(), 1);
    }
}
