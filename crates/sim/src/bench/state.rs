//! The bench, and what a process of it has beside the regions of its workload.

use crate::mm::memory::state::Region;
use alloc::vec::Vec;
use core::ops::Range;
use mm::units::{Bytes, PageSize};
use scenario::calibration::{Calibration, Costs};
use scenario::machine::{Machine, SwapBacking};

/// How several CPUs of a machine go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// At the same time, as a user's.
    Whole,
    /// By turns on one stream of instructions, as those of a VM in virtual time: what is compared
    /// with such a VM.
    ByTurns,
}

/// The bench of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bench {
    /// It is there: the machine is measured.
    pub(crate) measures: bool,
    /// Its CPUs take turns.
    pub(crate) takes_turns: bool,
    /// Length of the study's text of which the supervisor keeps a part.
    pub(crate) text_kept: Bytes,
    /// What filling a page takes when it is first written, so that zram reaches the study's ratio.
    pub(crate) fill_ps: u64,
}

impl Bench {
    /// That of a VM, or none.
    pub(crate) fn new(
        measured: Option<Cpus>,
        calibration: &Calibration,
        machine: &Machine,
        costs: &Costs,
    ) -> Self {
        let mut ratios = machine.swaps.iter().filter_map(|swap| match swap.backing {
            SwapBacking::Zram { ratio_milli } => Some(u64::from(ratio_milli.max(1000))),
            SwapBacking::Disk(_) => None,
        });
        let measures = measured.is_some();
        // The first zram's ratio holds for all.
        let ratio = ratios.next().filter(|_| measures);
        let bytes = ratio.map_or(0, |ratio| PageSize::FOUR_KIB.bytes() * 1000 / ratio);
        Self {
            measures,
            takes_turns: measured == Some(Cpus::ByTurns),
            text_kept: calibration.text_kept,
            fill_ps: bytes / 8 * costs.noise_ps,
        }
    }
}

/// Its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What it is started with.
    Image,
    Tables,
    Buffer,
}

impl Part {
    pub(crate) const ALL: [Self; 3] = [Self::Image, Self::Tables, Self::Buffer];
}

/// What a process has beside the regions of its workload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// By [`Part`].
    pub(crate) parts: [Option<Region>; 3],
    /// What is to be touched before it goes on, last first.
    pub(crate) touches: Vec<Touch>,
    /// Pages that the kernel has for it.
    pub(crate) kernel_pages: u64,
}

/// Pages of a part that are to be touched.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    pub(crate) part: Part,
    pub(crate) pages: Range<u64>,
    pub(crate) write: bool,
    /// The fault on the first of them has been counted.
    pub(crate) faulting: bool,
}

impl Own {
    pub(crate) fn has(&self, part: Part, pages: u64) -> bool {
        self.region(part)
            .is_some_and(|region| region.pages() >= pages)
    }

    pub(crate) fn region(&self, part: Part) -> Option<&Region> {
        self.parts[part as usize].as_ref()
    }

    pub(crate) fn touch(&mut self, part: Part, pages: Range<u64>, write: bool) {
        self.touches.push(Touch {
            part,
            pages,
            write,
            faulting: false,
        });
    }
}
