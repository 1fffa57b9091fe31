//! Evidence that cannot be of one machine, or of one view of it, or that is impossible.

use alloc::vec::Vec;

use crate::snapshot::{PageSource, Snapshot};
use crate::units::{Bytes, Kib, PageSize, Pages};
use crate::zoneinfo::{Zone, ZoneKind};

/// Something that the files say and that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// An item of meminfo is more than the one that it is a part of.
    MoreThanAll {
        /// The part.
        part: &'static str,
        /// Its amount.
        amount: Kib,
        /// What it is a part of.
        whole: &'static str,
        /// That one's amount.
        of: Kib,
    },
    /// The zones have another amount of memory than meminfo: a container's meminfo (lxcfs) beside
    /// the host's zoneinfo, or two machines.
    TwoViews {
        /// `MemTotal`.
        total: Bytes,
        /// What the zones manage.
        zones: Bytes,
    },
    /// A zone has more free pages than pages.
    ZoneFree {
        /// Its node.
        node: u32,
        /// Which zone.
        kind: ZoneKind,
        /// Free pages.
        free: Pages,
        /// All of them.
        managed: Pages,
    },
    /// The marks of a zone do not ascend.
    Marks {
        /// Its node.
        node: u32,
        /// Which zone.
        kind: ZoneKind,
    },
    /// Amounts in pages and in kibibytes do not fit the page size that was told.
    PageSize {
        /// The size that was told.
        told: PageSize,
        /// The size that the numbers force.
        forced: PageSize,
    },
    /// More huge pages of a pool are free than it has.
    Pool {
        /// Free huge pages.
        free: u64,
        /// All of them.
        all: u64,
    },
}

/// Parts and what they are parts of, in meminfo.
const PARTS: [(&str, &str); 10] = [
    ("MemAvailable", "MemTotal"),
    ("MemFree", "MemTotal"),
    ("Cached", "MemTotal"),
    ("AnonPages", "MemTotal"),
    ("Slab", "MemTotal"),
    ("Active", "MemTotal"),
    ("Inactive", "MemTotal"),
    ("SwapFree", "SwapTotal"),
    ("CmaFree", "CmaTotal"),
    ("Hugetlb", "MemTotal"),
];

impl Snapshot {
    /// What contradicts itself in these files, the plainest first. Empty where nothing does.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = self.more_than_all();
        found.extend(self.two_views());
        if let Some(info) = &self.zoneinfo {
            let most = |zone: &Zone| match info.shape.managed {
                true => zone.managed,
                // Before 3.8 `present` leaves some of the pages out that are free.
                false => zone.spanned.max(zone.present),
            };
            found.extend(info.zones.iter().flat_map(|zone| of_zone(zone, most(zone))));
        }
        found.extend(self.other_page_size());
        found.extend(self.pool());
        found
    }

    fn more_than_all(&self) -> Vec<Contradiction> {
        let Some(meminfo) = &self.meminfo else {
            return Vec::new();
        };
        let check = |(part, whole)| {
            let (amount, of) = (meminfo.get(part)?, meminfo.get(whole)?);
            let more = amount > of;
            more.then_some(Contradiction::MoreThanAll {
                part,
                amount,
                whole,
                of,
            })
        };
        PARTS.into_iter().filter_map(check).collect()
    }

    /// A kernel that brings memory in later manages less than `MemTotal` for a while, and `present`
    /// before 3.8 is more than it by what the kernel keeps for itself. So zones have too much from
    /// a third more on; too little only where no live machine was read.
    fn two_views(&self) -> Option<Contradiction> {
        let total = self.meminfo.as_ref()?.mem_total?.bytes();
        if !self.zones_are_whole() && self.managed().bytes(self.page) <= total {
            return None;
        }
        let zones = self.managed().bytes(self.page);
        let tolerance = match self.zoneinfo.as_ref()?.shape.managed {
            true => total.0 / 16,
            false => total.0 / 3,
        };
        let too_much = zones.0 > total.0.saturating_add(tolerance);
        // A kernel that brings memory in as it is needed has it in `present` before in `managed`.
        let zoneinfo = self.zoneinfo.as_ref()?;
        let present: Pages = zoneinfo.zones.iter().map(|zone| zone.present).sum();
        let all = present.bytes(self.page);
        let too_little = all.0.saturating_add(tolerance) < total.0 && !self.is_live;
        (too_much || too_little).then_some(Contradiction::TwoViews { total, zones })
    }

    fn other_page_size(&self) -> Option<Contradiction> {
        let (told, forced) = (self.page, self.forced_page_size()?);
        let differs = self.page_source == PageSource::Told && told != forced;
        differs.then_some(Contradiction::PageSize { told, forced })
    }

    fn pool(&self) -> Option<Contradiction> {
        let meminfo = self.meminfo.as_ref()?;
        let all = meminfo.other.get("HugePages_Total")?;
        let free = meminfo.other.get("HugePages_Free")?;
        (free > all).then_some(Contradiction::Pool { free, all })
    }
}

fn of_zone(zone: &Zone, managed: Pages) -> Vec<Contradiction> {
    let Zone {
        node,
        kind,
        free,
        watermarks,
        ..
    } = *zone;
    let mut found = Vec::new();
    if free > managed && managed > Pages::ZERO {
        found.push(Contradiction::ZoneFree {
            node,
            kind,
            free,
            managed,
        });
    }
    if watermarks.min > watermarks.low || watermarks.low > watermarks.high {
        found.push(Contradiction::Marks { node, kind });
    }
    found
}
