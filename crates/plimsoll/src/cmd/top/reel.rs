//! Looks, one after the other: the last ones at this machine, or the moments of evidence.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::bail;
use look::moment::{Diagnosis, Moment};
use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use mm::text::lasting;

use super::here::Here;

/// Looks at this machine that are kept.
const KEPT: usize = 300;

/// What one look saw.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// Memory.
    pub(super) moment: Moment,
    /// The guard; `None` in evidence, which does not tell.
    pub(super) guard: Option<Arc<Vec<String>>>,
}

/// What is shown.
#[derive(Debug)]
pub(super) struct Shown {
    /// The look; `None` before the first.
    pub(super) look: Option<Look>,
    /// Which one it is.
    pub(super) place: String,
    /// Which keys do what.
    pub(super) keys: &'static str,
}

/// All looks, and which is shown.
#[derive(Debug)]
pub(super) struct Reel {
    source: Source,
    /// The one that is shown.
    at: usize,
    /// Whether it stays when there is a further one.
    stays: bool,
}

#[derive(Debug)]
enum Source {
    Here(Box<Here>, VecDeque<Look>),
    Evidence(String, Vec<Frame>),
}

impl Reel {
    /// One of this machine.
    pub(super) fn live() -> Self {
        Self {
            source: Source::Here(Box::default(), VecDeque::new()),
            at: 0,
            stays: false,
        }
    }

    /// One of the moments of evidence that say anything of memory; the last is shown first.
    ///
    /// # Errors
    /// No moment does.
    pub(super) fn of(name: String, capture: Capture) -> anyhow::Result<Self> {
        let mut frames = capture.frames;
        let files = ["proc/meminfo", "proc/vmstat", "proc/zoneinfo"];
        frames.retain(|frame| files.iter().any(|path| frame.file(path).is_some()));
        let Some(last) = frames.len().checked_sub(1) else {
            bail!("no moment of it tells of memory; plimsoll inspect says what it is");
        };
        Ok(Self {
            source: Source::Evidence(name, frames),
            at: last,
            stays: true,
        })
    }

    /// Whether it is of this machine.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.source, Source::Here(..))
    }

    /// Looks again, where there is a machine to look at.
    pub(super) fn look(&mut self) {
        let Source::Here(here, looks) = &mut self.source else {
            return;
        };
        looks.push_back(here.look());
        if looks.len() > KEPT {
            looks.pop_front();
            self.at = self.at.saturating_sub(1);
        }
        if !self.stays {
            self.at = looks.len() - 1;
        }
    }

    /// Goes back or on.
    pub(super) fn step(&mut self, looks: isize) {
        let last = self.count().saturating_sub(1);
        self.at = self.at.saturating_add_signed(looks).min(last);
        self.stays = !self.is_live() || self.at < last || (looks < 0 && last > 0);
    }

    /// Stops, or goes on with the newest.
    pub(super) fn stop_or_go(&mut self) {
        if self.is_live() {
            self.stays = !self.stays;
            if !self.stays {
                self.at = self.count().saturating_sub(1);
            }
        }
    }

    fn count(&self) -> usize {
        match &self.source {
            Source::Here(_, looks) => looks.len(),
            Source::Evidence(_, frames) => frames.len(),
        }
    }

    /// The look that is shown.
    pub(super) fn shown(&self) -> Shown {
        let (look, place) = match &self.source {
            Source::Here(_, looks) => (looks.get(self.at).cloned(), self.place(looks)),
            Source::Evidence(name, frames) => {
                let place = format!("{name}: {} of {}", self.at + 1, frames.len());
                (of_frames(frames, self.at), place)
            }
        };
        let keys = match self.is_live() {
            true => "q quit  space stop/go  [ ] back/on  PgUp PgDn ten  Home End",
            false => "q quit  [ ] back/on  PgUp PgDn ten  Home End",
        };
        Shown { look, place, keys }
    }

    /// "live", or how long ago the shown look was.
    fn place(&self, looks: &VecDeque<Look>) -> String {
        let shown = looks.get(self.at).zip(looks.back());
        let ago = shown.map(|(shown, last)| last.moment.at.saturating_sub(shown.moment.at));
        match ago {
            Some(ago) if self.stays => {
                let (at, count) = (self.at + 1, looks.len());
                format!("stopped, {} ago ({at} of {count})", lasting(ago))
            }
            _ => "live".to_owned(),
        }
    }
}

/// A frame, and what became of the one before it.
fn of_frames(frames: &[Frame], at: usize) -> Option<Look> {
    let frame = frames.get(at)?;
    let now = Snapshot::parse(frame);
    let before = at.checked_sub(1).and_then(|before| frames.get(before));
    let before = before.map(Snapshot::parse);
    let diagnosis = Diagnosis::of(before.as_ref(), (frame, &now));
    Some(Look {
        moment: Moment::of(before.as_ref(), (frame, &now), Arc::new(diagnosis)),
        guard: None,
    })
}

#[cfg(test)]
mod tests;
