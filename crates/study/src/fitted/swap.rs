//! A machine's swap, as a study writes it.

use mm::units::Bytes;

use crate::edits::{amount, quoted};

/// A machine's swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapAtHand {
    /// There is none.
    None,
    /// On disks.
    Disk(Bytes),
    /// Compressed RAM.
    Zram(Bytes),
}

/// What compressed RAM is taken to hold for each byte that it takes, where nobody says.
pub(super) const ZRAM_RATIO: &str = "3.0";

impl SwapAtHand {
    /// What it takes of a disk.
    pub(crate) fn on_disk(self) -> Bytes {
        match self {
            Self::Disk(size) => size,
            Self::None | Self::Zram(_) => Bytes::ZERO,
        }
    }

    /// The table of a study's machine; nothing where there is none.
    pub(crate) fn table(self, disk: &str) -> String {
        let (size, key) = match self {
            Self::None => return String::new(),
            Self::Disk(size) => (size, format!("disk = {}", quoted(disk))),
            Self::Zram(size) => (size, format!("zram-ratio = {ZRAM_RATIO}")),
        };
        format!("\n[[machine.swap]]\nsize = {}\n{key}\n", amount(size))
    }
}
