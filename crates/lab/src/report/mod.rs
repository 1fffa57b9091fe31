//! The report of a study: one HTML file that needs nothing else.
//!
//! A pure function of the study and of what its runs came to: the same input gives the same bytes.
//! It knows no study; what is said about one stands in the study's own file, with placeholders for
//! the numbers (see [`template`]).

pub mod arms;
mod chart;
pub mod compare;
mod curves;
mod figures;
pub mod gather;
mod html;
mod kernels;
mod legend;
mod page;
pub mod prose;
mod repeat;
mod series;
mod shown;
mod survivors;
mod table;
pub mod template;
mod verdicts;

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use self::compare::{Reading, Row};
use crate::folder;
use crate::measure::Measure;
use crate::record::Record;
use crate::study::Study;

/// The page's style sheet.
const STYLE: &str = include_str!("style.css");

/// What a report is made of.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The study.
    pub study: &'a Study,
    /// The runs, by kernel; the answer speaks of the first kernel that was really run.
    pub pairs: Vec<Pair>,
    /// What could not be used, one line each.
    pub problems: Vec<String>,
    /// On which machine and kernel the study was asked, and why, one line each.
    pub notes: Vec<String>,
    /// The arguments that asked for another machine or an arm more, as they are typed; each begins
    /// with a blank.
    pub arguments: String,
    /// The program's version.
    pub version: String,
}

/// The runs of one kernel: as the model foretold them, and as they were.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The kernel for people: "Linux 6.1".
    pub kernel: String,
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// The bench of the proofs in its own words; empty without proofs.
    pub bench: String,
    /// Runs of the model.
    pub model: Vec<Record>,
    /// Runs of the kernel itself.
    pub proofs: Vec<Record>,
}

/// Makes the folder of a report and tries to write into it, so that runs are not begun whose report
/// could not be kept.
///
/// # Errors
/// The folder cannot be made or written, or a folder has the report's name.
pub fn prepare(path: &Path) -> Result<(), WriteError> {
    let tried = match path.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => folder::prepare(folder_of(path)),
    };
    tried.map_err(|why| WriteError {
        path: path.display().to_string(),
        why,
    })
}

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}; name another folder with --out")]
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

    /// The pair that the answer speaks of: the first kernel that was really run, else the first.
    #[must_use]
    pub fn spoken_of(&self) -> Option<&Pair> {
        let proved = self.pairs.iter().find(|pair| pair.is_proved());
        proved.or_else(|| self.pairs.first())
    }

    /// Writes the page into a file: beside its place first, so that a full disk leaves no half page
    /// and an older report stays as it was.
    ///
    /// # Errors
    /// The file system refuses; the error names the file and the way out.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        write_whole(path, &self.to_html()).map_err(|why| WriteError {
            path: path.display().to_string(),
            why,
        })
    }
}

impl Pair {
    /// A kernel that was not run.
    fn unproved(version: &str) -> Self {
        Self {
            kernel: format!("Linux {version}"),
            release: version.to_owned(),
            bench: String::new(),
            model: Vec::new(),
            proofs: Vec::new(),
        }
    }

    /// Model against kernel, measure by measure.
    #[must_use]
    pub fn rows(&self, study: &Study) -> Vec<Row> {
        let arms: Vec<String> = study.arms.iter().map(|arm| arm.name.clone()).collect();
        let read = |records| readings(&study.measures, records);
        let (model, kernel) = (read(&self.model), read(&self.proofs));
        compare::compare(&study.measures, &arms, &model, &kernel)
    }

    /// Whether there is neither a prediction nor a proof.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.model.is_empty() && self.proofs.is_empty()
    }

    /// Whether the kernel itself was run.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        !self.proofs.is_empty()
    }
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    // What the umask allows, as any other file; a temporary file is private otherwise.
    let mut file = builder
        .prefix(".report-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(folder::plain)?;
    file.as_file_mut().write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn readings(measures: &[Measure], records: &[Record]) -> Vec<Reading> {
    let read = |record: &Record| Reading::of(measures, &record.provenance.arm, &record.outcome);
    records.iter().map(read).collect()
}

/// The first run of an arm: the one that charts show.
fn first<'a>(records: &'a [Record], arm: &str) -> Option<&'a Record> {
    let of_arm = records.iter().filter(|record| record.provenance.arm == arm);
    of_arm.min_by_key(|record| record.provenance.seed)
}
