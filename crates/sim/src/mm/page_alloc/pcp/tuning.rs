//! How a kernel sizes the limit of a CPU's lists and their batches.

use mm::rules::{Mechanism, Mechanisms};

/// Lists that the kernel fills for itself while it boots, by a trace of 6.1 and 6.12: single pages,
/// unmovable and reclaimable; two and four contiguous ones of both kinds; eight unmovable ones.
const KERNEL_LISTS: u64 = 7;
/// Before larger blocks had lists: single pages of both kinds.
const KERNEL_LISTS_OF_SINGLES: u64 = 2;

/// How a kernel sizes limit and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// Up to 5.13: six batches, of which one goes back.
    Batches,
    /// Up to 6.6, by the low watermark: each batch given back in a row is twice the one before.
    /// Debian's 6.1 stops at 32 batches, as 6.7 does: of unmapped regions of 48 to 200 MiB the same
    /// 11900 to 12500 pages stay on the lists, at a limit of 13856.
    Fixed { free_factor: u32 },
    /// Since 6.7.
    Auto(Auto),
}

/// The state of a limit that tunes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Auto {
    /// Bounds of the limit.
    pub(super) min: u64,
    pub(super) max: u64,
    /// Doublings of the next batch drawn.
    pub(super) alloc_factor: u32,
    /// Pages freed of late: what goes back at once.
    pub(super) free_count: u64,
    /// The last block that was freed was of two pages.
    pub(super) freed_pair: bool,
}

impl Tuning {
    /// The rule of a kernel release, as in `6.12.117+deb12-cloud-amd64`.
    pub(crate) fn of(release: &str) -> Self {
        let rules = Mechanisms::of(release);
        match rules.has(Mechanism::LargePcp) {
            false => Self::Batches,
            true if rules.has(Mechanism::TunedPcp) => Self::Auto(Auto::default()),
            true => Self::Fixed { free_factor: 0 },
        }
    }

    /// Lists that the kernel fills for itself while it boots.
    pub(super) fn kernel_lists(&self) -> u64 {
        match self {
            Self::Batches => KERNEL_LISTS_OF_SINGLES,
            Self::Fixed { .. } | Self::Auto(_) => KERNEL_LISTS,
        }
    }
}
