//! Which kernel wrote these files, and how much of a machine they are: what the numbers force where
//! nobody tells it.

use crate::release::{Release, Span, Version};
use crate::snapshot::{PageSource, Snapshot};
use crate::units::{Kib, PageSize, Pages};
use crate::zoneinfo::{Zone, ZoneKind};

/// A bound that an item gives: the release in which it came.
const SINCE: [(&str, Version); 8] = [
    ("nr_free_cma", Version::first(3, 7)),
    ("workingset_refault", Version::first(3, 15)),
    ("nr_zone_inactive_anon", Version::first(4, 8)),
    ("nr_kernel_misc_reclaimable", Version::first(4, 20)),
    ("nr_file_hugepages", Version::first(5, 4)),
    ("workingset_refault_anon", Version::first(5, 9)),
    ("nr_swapcached", Version::first(5, 12)),
    ("nr_free_highatomic", Version::first(6, 12)),
];

/// As [`SINCE`], for lines of meminfo.
const SINCE_IN_MEMINFO: [(&str, Version); 5] = [
    ("MemAvailable", Version::first(3, 14)),
    ("Hugetlb", Version::first(4, 16)),
    ("KReclaimable", Version::first(4, 20)),
    ("Zswap", Version::first(5, 19)),
    ("SecPageTables", Version::first(6, 1)),
];

impl Snapshot {
    /// The releases that its kernel may be of: as it is told, else by the items of its files.
    #[must_use]
    pub fn span(&self) -> Span {
        match self.release.as_deref().and_then(Release::parse) {
            Some(release) => release.span(),
            None => self.span_by_items(),
        }
    }

    /// Whether the release is told.
    #[must_use]
    pub fn knows_release(&self) -> bool {
        self.release.as_deref().and_then(Release::parse).is_some()
    }

    fn span_by_items(&self) -> Span {
        let mut span = Span::ALL;
        for (item, since) in SINCE {
            let has = self.vmstat(item).is_some() || self.zone_item(item);
            span = narrowed_from(span, has, since);
        }
        for (item, since) in SINCE_IN_MEMINFO {
            let has = self.meminfo.as_ref().is_some_and(|m| m.get(item).is_some());
            span = narrowed_from(span, has, since);
        }
        let chunk = self.meminfo.as_ref().and_then(|m| m.get("VmallocChunk"));
        span = narrowed_to(span, chunk > Some(Kib::ZERO), Version::last(4, 3));
        let Some(zoneinfo) = &self.zoneinfo else {
            return span;
        };
        let zones = &zoneinfo.zones;
        let printed_boost = zones.iter().any(|zone| zone.boost.is_some());
        let empty = zones.iter().any(|zone| !zone.is_populated());
        span = narrowed_from(
            span,
            printed_boost && !self.hidden_boost,
            Version::first(5, 16),
        );
        span = narrowed_from(span, empty, Version::first(4, 13));
        span = narrowed_from(span, zoneinfo.shape.node_stats, Version::first(4, 8));
        if zoneinfo.shape.nameless.is_some() {
            span = span.narrowed(Span {
                from: Version::first(4, 17),
                to: Version::last(4, 19),
            });
        }
        let lists_of_zones = !zoneinfo.shape.node_stats && !zoneinfo.nodes.is_empty();
        span = narrowed_to(span, lists_of_zones, Version::last(4, 7));
        narrowed_to(span, !zoneinfo.shape.managed, Version::last(3, 7))
    }

    fn zone_item(&self, item: &str) -> bool {
        let info = self.zoneinfo.iter();
        let mut items = info.flat_map(|info| {
            let zones = info.zones.iter().map(|zone| &zone.items);
            zones.chain(info.nodes.iter().map(|node| &node.items))
        });
        items.any(|items| items.get(item).is_some())
    }

    /// Whether no zone of this node is missing, as far as the text shows it: a paste may hold one.
    #[must_use]
    pub fn is_whole(&self, node: u32) -> bool {
        let Some(info) = &self.zoneinfo else {
            return false;
        };
        if self.is_live {
            return true;
        }
        let zones: alloc::vec::Vec<&Zone> = info.zones.iter().filter(|z| z.node == node).collect();
        let since_4_8 = zones
            .iter()
            .any(|zone| zone.items.get("nr_zone_inactive_file").is_some());
        let told = info.nodes.iter().any(|stats| stats.node == node);
        match (since_4_8, told) {
            (true, false) => false,
            _ => !self.lacks_zones(&zones),
        }
    }

    /// Whether the zones of the machine are all there.
    #[must_use]
    pub fn zones_are_whole(&self) -> bool {
        let zones = self.zoneinfo.iter().flat_map(|info| &info.zones);
        let mut nodes = zones.map(|zone| zone.node).peekable();
        nodes.peek().is_some() && nodes.all(|node| self.is_whole(node))
    }

    /// Whether zones that this kernel lists are not there: empty ones are listed since 4.13, and
    /// the zones that are there hold far less than `MemTotal` where they are no part of several
    /// nodes.
    fn lacks_zones(&self, zones: &[&Zone]) -> bool {
        let listed = zones.len();
        let columns = zones.iter().map(|zone| zone.protection.len()).max();
        let lists_empty = zones.iter().any(|zone| !zone.is_populated());
        // A Device zone is a column that some kernels do not list.
        let few = lists_empty && columns.is_some_and(|columns| listed + 1 < columns);
        few || self.zones_hold_less_than_half()
    }

    fn zones_hold_less_than_half(&self) -> bool {
        let total = self.meminfo.as_ref().and_then(|meminfo| meminfo.mem_total);
        let managed = self.managed().kib(self.page);
        total.is_some_and(|total| managed.0 < total.0 / 2)
    }

    /// The pages of all zones.
    #[must_use]
    pub fn managed(&self) -> Pages {
        let zones = self.zoneinfo.iter().flat_map(|info| &info.zones);
        zones.map(|zone| zone.managed).sum()
    }

    /// Takes the page size that the numbers force, where it is not told.
    pub(crate) fn infer_page_size(&mut self) {
        if self.page_source == PageSource::Told {
            return;
        }
        let forced = self.forced_page_size();
        if let Some(page) = forced.or_else(|| self.meminfo.as_ref()?.page_size()) {
            self.page = page;
            self.page_source = PageSource::Inferred;
        }
    }

    /// The page size by amounts that one file gives in pages and another in kibibytes.
    #[must_use]
    pub fn forced_page_size(&self) -> Option<PageSize> {
        let meminfo = self.meminfo.as_ref()?;
        let pairs = [
            ("nr_anon_pages", meminfo.anon_pages),
            ("nr_mapped", meminfo.mapped),
            ("nr_free_pages", meminfo.mem_free),
        ];
        let of_pair =
            |(item, amount): (&str, Option<Kib>)| fitting(self.vmstat(item)?, amount?, 10);
        let by_items = pairs.into_iter().find_map(of_pair);
        by_items.or_else(|| fitting(self.managed().0, meminfo.mem_total?, 2))
    }
}

/// The page size with which that many pages are this amount, to a tolerance in percent.
fn fitting(pages: u64, amount: Kib, percent: u64) -> Option<PageSize> {
    if pages < 1024 {
        return None;
    }
    let fits = |page: &PageSize| {
        let pages = u128::from(pages) * u128::from(page.kib());
        let off = pages.abs_diff(u128::from(amount.0));
        off * 100 <= u128::from(amount.0) * u128::from(percent)
    };
    [4096, 8192, 16_384, 32_768, 65_536]
        .into_iter()
        .filter_map(PageSize::new)
        .find(fits)
}

fn narrowed_from(span: Span, holds: bool, from: Version) -> Span {
    match holds {
        true => span.narrowed(Span {
            from,
            to: Version::LAST,
        }),
        false => span,
    }
}

fn narrowed_to(span: Span, holds: bool, to: Version) -> Span {
    match holds {
        true => span.narrowed(Span {
            from: Version::FIRST,
            to,
        }),
        false => span,
    }
}

/// The zones that the columns of `protection` stand for, lowest first: kernels before 4.13 do not
/// list those without pages, and some have a Device zone. `None` where they cannot be told.
pub(super) fn columns(zones: &[Zone]) -> Option<alloc::vec::Vec<ZoneKind>> {
    let count = zones.iter().map(|zone| zone.protection.len()).max()?;
    let mut kinds: alloc::vec::Vec<ZoneKind> = zones.iter().map(|zone| zone.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let hidden = [
        ZoneKind::Normal,
        ZoneKind::Movable,
        ZoneKind::Device,
        ZoneKind::Dma32,
        ZoneKind::Dma,
    ];
    for kind in hidden {
        if kinds.len() < count && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.sort_unstable();
    (kinds.len() == count && count > 0).then_some(kinds)
}
