//! The swap of a study on another machine.

use mm::quantity;
use mm::units::Bytes;
use toml::de::DeTable;

use super::{Edits, text, times};
use crate::edits::{amount, quoted, tables};

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
const ZRAM_RATIO: &str = "3.0";

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

impl Edits<'_> {
    pub(super) fn swaps(&mut self, machine: &DeTable<'_>) {
        match self.at_hand.swap {
            Some(new) if self.is_recorded => self.other_swap(machine, new),
            _ => tables(machine, "swap")
                .into_iter()
                .for_each(|it| self.swap(it)),
        }
    }

    /// A recorded machine may have had none, and may get another kind: its tables give way to one
    /// at the end, and the disk with its files grows by what lies on it.
    fn other_swap(&mut self, machine: &DeTable<'_>, new: SwapAtHand) {
        for swap in tables(machine, "swap") {
            self.no_swap(swap);
        }
        let disks = tables(machine, "disk");
        let Some(disk) = disks.first() else { return };
        let (Some(name), Some(size)) = (text(disk, "name"), disk.get("size")) else {
            return;
        };
        if let Some(old) = size
            .get_ref()
            .as_str()
            .and_then(|it| quantity::size(it).ok())
        {
            let new = old.0.saturating_add(new.on_disk().0);
            self.replace(size.span(), amount(Bytes(new)));
        }
        self.replace(self.end..self.end, new.table(name));
    }

    /// No arm has it.
    fn no_swap(&mut self, swap: &DeTable<'_>) {
        match (swap.get("arms"), swap.get("size")) {
            (Some(arms), _) => self.replace(arms.span(), "[]"),
            (None, Some(size)) => self.add_behind(&size.span(), "arms = []"),
            (None, None) => {}
        }
    }

    fn swap(&mut self, swap: &DeTable<'_>) {
        let Some(size) = swap.get("size") else { return };
        let at_hand = match self.at_hand.swap {
            None => return self.size(Some(size)),
            Some(at_hand) => at_hand,
        };
        let old = size
            .get_ref()
            .as_str()
            .and_then(|text| quantity::size(text).ok());
        let whole = self.swap.max(1);
        let part = |all: Bytes| Bytes(old.map_or(all.0, |old| times(old.0, (all.0, whole))));
        match at_hand {
            SwapAtHand::None => self.no_swap(swap),
            SwapAtHand::Disk(all) => self.replace(size.span(), amount(part(all))),
            SwapAtHand::Zram(all) => {
                self.replace(size.span(), amount(part(all)));
                if let Some((key, disk)) = swap.get_key_value("disk") {
                    let place = key.span().start..disk.span().end;
                    self.replace(place, format!("zram-ratio = {ZRAM_RATIO}"));
                }
            }
        }
    }
}
