//! The file of a recording is written beside the taking of events, which do not wait for a disk.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;

/// How often the file is written, and how much more time than writing it took lies between.
const SAVED: Duration = Duration::from_secs(10);
const TIMES: u32 = 50;

/// The file, and who writes it.
#[derive(Debug)]
pub(super) struct Saving {
    path: PathBuf,
    next: Instant,
    under_way: Option<(Instant, JoinHandle<io::Result<()>>)>,
}

impl Saving {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            next: Instant::now(),
            under_way: None,
        }
    }

    /// Whether the file is to be written again.
    ///
    /// # Errors
    /// It could not be written the last time.
    pub(super) fn is_due(&mut self) -> anyhow::Result<bool> {
        let is_finished = |(_, it): &(_, JoinHandle<_>)| it.is_finished();
        if self.under_way.as_ref().is_some_and(is_finished) {
            self.finish()?;
        }
        Ok(self.under_way.is_none() && Instant::now() >= self.next)
    }

    /// Begins to write it; [`Self::finish`] says what came of it.
    pub(super) fn begin(&mut self, bytes: Vec<u8>) {
        let path = self.path.clone();
        let writer = thread::spawn(move || files::output::write(&path, &bytes));
        self.under_way = Some((Instant::now(), writer));
    }

    /// Waits until it is written.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        let Some((began, writer)) = self.under_way.take() else {
            return Ok(());
        };
        let written = writer
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        self.next = Instant::now() + SAVED.max(began.elapsed() * TIMES);
        written.with_context(|| format!("{}: cannot be saved", self.path.display()))
    }
}
