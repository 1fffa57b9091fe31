//! Where the page of a study goes: nowhere, unless it is asked for.

use std::io::Write as _;
use std::path::PathBuf;

use answer::report::Report;
use lab::report;
use study::Study;

use crate::results::Detail;
use crate::term::{self, dim};

/// Whether a page is wanted, and where; the same for `predict`, `prove` and `report`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Page {
    /// Write a page with charts too, into this file, or as STUDY.html into this folder [default:
    /// the current one]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = ".")]
    report: Option<PathBuf>,
    /// Write that page into this folder, as STUDY.html
    #[arg(long, value_name = "DIR", conflicts_with = "report")]
    out: Option<PathBuf>,
}

impl Page {
    /// Refuses a place that the page could not be written to, before anything is run.
    pub(crate) fn prepare(&self, study: &Study) -> anyhow::Result<()> {
        match self.path(study) {
            Some(path) => Ok(report::prepare(&path)?),
            None => Ok(()),
        }
    }

    /// Writes the page where one is wanted and says where, else how to get one; on stderr where
    /// data stand on stdout.
    pub(crate) fn write(&self, report: &Report<'_>, detail: Detail) -> anyhow::Result<()> {
        let line = match self.path(report.study) {
            Some(path) => {
                report::write(report, &path)?;
                format!("report: {}", path.display())
            }
            None if detail.is_data() => return Ok(()),
            None => "with --report: a page with charts".to_owned(),
        };
        match detail.is_data() {
            true => term::talk(&line),
            false => writeln!(term::out(), "{}", dim(line))?,
        }
        Ok(())
    }

    fn path(&self, study: &Study) -> Option<PathBuf> {
        let usual = format!("{}.html", study.name);
        match (&self.report, &self.out) {
            (Some(folder), _) if folder.is_dir() => Some(folder.join(usual)),
            (Some(file), _) => Some(file.clone()),
            (None, Some(folder)) => Some(folder.join(usual)),
            (None, None) => None,
        }
    }
}
