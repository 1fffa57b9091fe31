//! What one run of a trouble handed back, and where runs are kept.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mm::capture::{Capture, Frame};

/// The guest's kernel log, in the last frame.
const LOG: &str = "lab/dmesg";

/// The label of a frame of each second.
const SAMPLE: &str = "sample";

/// The evidence of a trouble.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was read, and the log at the end.
    capture: Capture,
}

impl Run {
    /// Reads what the guest handed back.
    ///
    /// # Errors
    /// That it is not a capture, or has no frame.
    pub fn parse(text: &str) -> Result<Self> {
        let run = Self {
            capture: Capture::parse(text)?,
        };
        run.shots().next_back().context("nothing was collected")?;
        Ok(run)
    }

    /// The moments of which everything was collected.
    pub fn shots(&self) -> impl DoubleEndedIterator<Item = &Frame> {
        let frames = self.capture.frames.iter();
        frames.filter(|frame| !frame.files.contains_key(LOG) && !is_sample(frame))
    }

    /// Samples of each second.
    pub fn samples(&self) -> impl Iterator<Item = &Frame> {
        self.capture.frames.iter().filter(|frame| is_sample(frame))
    }

    /// The kernel log, as `dmesg` prints it.
    #[must_use]
    pub fn log(&self) -> &str {
        let mut logs = self.capture.frames.iter().rev();
        logs.find_map(|frame| frame.file(LOG)).unwrap_or_default()
    }

    /// Reads a run that was kept.
    ///
    /// # Errors
    /// Those of the file.
    pub fn load(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        let file = fs::File::open(path).with_context(shown)?;
        let text = std::io::read_to_string(GzDecoder::new(file)).with_context(shown)?;
        Self::parse(&text).with_context(shown)
    }

    /// The run as it is committed: of the moment before the trouble only the time.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        if let Some(first) = self.capture.frames.first_mut() {
            first.files.clear();
        }
        self
    }

    /// Keeps a run, whole or not at all.
    ///
    /// # Errors
    /// Those of the file.
    pub fn store(&self, path: &Path) -> Result<()> {
        let folder = path.parent().context("a run lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(self.capture.to_text().as_bytes())?;
        let part = path.with_extension("part");
        fs::write(&part, encoder.finish()?).with_context(|| part.display().to_string())?;
        fs::rename(&part, path).with_context(|| path.display().to_string())
    }
}

fn is_sample(frame: &Frame) -> bool {
    frame.label.as_deref() == Some(SAMPLE)
}

/// Which run: of what, on which kernel line, by which seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The cause, or two.
    pub cause: String,
    /// The kernel's line: `6.1`.
    pub kernel: String,
    /// The seed.
    pub seed: u64,
}

impl Key {
    /// Its file in a folder; the fingerprint tells runs of another recipe apart.
    #[must_use]
    pub fn path(&self, folder: &Path, fingerprint: Option<u64>) -> PathBuf {
        let Self {
            cause,
            kernel,
            seed,
        } = self;
        let print = fingerprint.map_or_else(String::new, |print| format!("-{print:016x}"));
        folder
            .join(kernel)
            .join(format!("{cause}.{seed}{print}.run.gz"))
    }
}
