//! The kernel's own figures, computed again from a snapshot: what `inspect` explains with and what
//! tests hold the formulas against.
//!
//! Every function gives `None` where the snapshot lacks a file that it needs.

mod after;
mod amounts;
mod contradictions;
mod defaults;
mod era;
mod group_dirty;
mod marks;
mod min_free;
mod pools;
mod protection;
mod standing;
mod worth;

use crate::formula::inactive::inactive_is_low;
use crate::formula::protection::Unclaimed;
use crate::formula::reserve;
use crate::formula::scan_balance::{self, Both, Costs};
use crate::hierarchy::Hierarchy;
use crate::snapshot::Snapshot;
use crate::units::{Kib, Pages};
use crate::zoneinfo::Zone;

pub use self::amounts::{AvailableBy, Fit, ReserveAs, ThresholdsBy};
pub use self::contradictions::Contradiction;
pub use self::defaults::Chosen;
pub use self::group_dirty::GroupDirty;
pub use self::marks::Marks;
pub use self::min_free::{Chooser, MinFree};
pub use self::protection::{Ratios, Reserves};
pub use self::standing::{Above, Kswapd, Node, Place, Standing};

impl Snapshot {
    /// The pages that no user can have.
    #[must_use]
    pub fn totalreserve(&self) -> Option<Pages> {
        self.zones().map(reserve::totalreserve)
    }

    /// What a pass of the classic LRU over a node would know now, as far as files say. Costs and
    /// the refaults since the last pass they do not: there are no costs here, and active pages may
    /// be deactivated only where the inactive list is low.
    #[must_use]
    pub fn scan_inputs(&self, node: u32, priority: u32) -> Option<scan_balance::Inputs> {
        let mut nodes = self.zoneinfo.as_ref()?.nodes.iter();
        let items = &nodes.find(|stats| stats.node == node)?.items;
        let list = |item| items.get(item).map(Pages);
        let (inactive, active) = (
            Both {
                anon: list("nr_inactive_anon")?,
                file: list("nr_inactive_file")?,
            },
            Both {
                anon: list("nr_active_anon")?,
                file: list("nr_active_file")?,
            },
        );
        let zones = || {
            self.zones()
                .into_iter()
                .flatten()
                .filter(move |zone| zone.node == node)
        };
        let managed = zones().filter(|zone| zone.managed > Pages::ZERO);
        Some(scan_balance::Inputs {
            priority,
            swappiness: self.number("vm.swappiness")?,
            can_swap: self.meminfo.as_ref()?.swap_free? > Kib::ZERO,
            global: true,
            inactive,
            node_file: inactive.file.saturating_add(active.file),
            free: zones().map(|zone| zone.free).sum(),
            high_watermarks: managed.map(|zone| zone.watermarks.high).sum(),
            may_deactivate: Both {
                anon: inactive_is_low(inactive.anon, active.anon, self.page),
                file: inactive_is_low(inactive.file, active.file, self.page),
            },
            no_cache_trim: false,
            costs: Costs::default(),
        })
    }

    /// The control groups as a tree, with what each is really protected by.
    #[must_use]
    pub fn hierarchy(&self) -> Hierarchy<'_> {
        let unclaimed = match self.recursive_protection {
            Some(true) => Unclaimed::Shared,
            Some(false) | None => Unclaimed::Lost,
        };
        Hierarchy::new(&self.memcgs, self.page, unclaimed)
    }

    /// The zones of zoneinfo.
    pub(crate) fn zones(&self) -> Option<&[Zone]> {
        Some(&self.zoneinfo.as_ref()?.zones)
    }
}
