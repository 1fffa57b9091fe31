//! A recording that would pass its size keeps every second block of what it has; a thread does it
//! beside the taking of events.

use std::thread::{self, JoinHandle};

use answer::calibration;
use mm::units::{Bytes, Nanos};
use scenario::calibration::Costs;
use scenario::recording::Run;

/// CPU time that a run takes beside what it waits for, as the model has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTime(Costs);

/// Thins what was recorded before.
#[derive(Debug)]
pub(super) struct Thinning {
    /// One page of `1 << most` is kept at last: with fewer this memory is not modelled.
    most: u32,
    under_way: Option<JoinHandle<Option<Vec<u8>>>>,
}

impl OwnTime {
    /// Of the kernel that is calibrated and nearest to this one.
    pub(super) fn of(kernel: &str) -> anyhow::Result<Self> {
        let nearest = calibration::nearest(kernel);
        Ok(Self(calibration::built_in(nearest)?.costs))
    }

    pub(super) fn take(&self, run: &Run) -> Nanos {
        sim::sampling::own_time(run, &self.0)
    }

    /// What a page that a write makes takes besides.
    pub(super) fn new_page(&self) -> Nanos {
        sim::sampling::new_page_time(&self.0)
    }
}

impl Thinning {
    pub(super) fn new(memory: Bytes) -> Self {
        Self {
            most: sim::sampling::coarsest(memory).ilog2(),
            under_way: None,
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether half as much may be kept of a recording that has one page of `1 << level`.
    pub(super) fn may_go_on(&self, level: u32) -> bool {
        level < self.most
    }

    /// Begins to thin blocks in which one page of `1 << level` is kept.
    pub(super) fn begin(&mut self, blocks: Vec<u8>, level: u32, own_time: OwnTime) {
        let work = move || study::recording::thinned(&blocks, level, &|run| own_time.take(run));
        self.under_way = Some(thread::spawn(work));
    }

    /// What is left, once it is.
    pub(super) fn ready(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        match &self.under_way {
            Some(work) if work.is_finished() => self.finish(),
            _ => Ok(None),
        }
    }

    /// Waits for what is left.
    pub(super) fn finish(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(work) = self.under_way.take() else {
            return Ok(None);
        };
        let thinned = work.join().ok().flatten();
        let wrong = "what was recorded is damaged and cannot be thinned";
        thinned.map(Some).ok_or_else(|| anyhow::anyhow!(wrong))
    }
}
