//! The kernel's own figures, computed again from a snapshot: what `inspect` explains with and what
//! tests hold the formulas against.
//!
//! Every function gives `None` where the snapshot lacks a file that it needs.

use alloc::vec::Vec;

use crate::formula::available::{self, Available};
use crate::formula::dirty::{self, Amount, Thresholds};
use crate::formula::inactive::inactive_is_low;
use crate::formula::min_free;
use crate::formula::protection::Unclaimed;
use crate::formula::reserve;
use crate::formula::scan_balance::{self, Both, Costs};
use crate::formula::watermarks::{self, MovableRule, Rule, ZoneSize};
use crate::hierarchy::Hierarchy;
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Kib, Pages};
use crate::zoneinfo::{Watermarks, Zone, ZoneKind};

impl Snapshot {
    /// What the watermarks depend on.
    #[must_use]
    pub fn watermark_rule(&self) -> Option<Rule> {
        let min_free = Kib(self.number("vm.min_free_kbytes")?);
        Some(Rule {
            min_free: min_free.pages_floor(self.page),
            scale_factor: self.number("vm.watermark_scale_factor")?,
            movable: MovableRule::observed(self.zones()?),
        })
    }

    /// The marks of each zone of zoneinfo as the tunables give them now, boost included, in its
    /// order.
    ///
    /// They differ from those in zoneinfo where pages came to a zone after the marks were made.
    #[must_use]
    pub fn watermarks(&self) -> Option<Vec<Watermarks>> {
        let zones = self.zones()?;
        let sizes: Vec<ZoneSize> = zones.iter().map(ZoneSize::from).collect();
        let marks = watermarks::watermarks(&sizes, self.watermark_rule()?);
        let boosted = marks
            .iter()
            .zip(zones)
            .map(|(marks, zone)| marks.raised(zone));
        Some(boosted.collect())
    }

    /// The value of `vm.min_free_kbytes` that the kernel chooses on this machine.
    ///
    /// Where huge pages decide it is exact. Where the square root decides, the kernel drew it
    /// before the initial RAM disk was freed, and its value is a little lower.
    #[must_use]
    pub fn default_min_free(&self) -> Option<Kib> {
        let up_to_normal = |zone: &&Zone| zone.kind <= ZoneKind::Normal && zone.is_populated();
        let zones: Vec<&Zone> = self.zones()?.iter().filter(up_to_normal).collect();
        let managed: Pages = zones.iter().map(|zone| zone.managed).sum();
        let by_root = min_free::by_square_root(managed, self.page);
        let Some(thp) = self.thp.as_ref().filter(|thp| thp.is_on()) else {
            return Some(by_root);
        };
        let pageblock = thp
            .size
            .map_or(Pages(512), |size| size.pages_floor(self.page));
        let high: Pages = zones.iter().map(|zone| zone.unboosted().high).sum();
        let free = managed.saturating_sub(high);
        let wanted = min_free::for_huge_pages(zones.len() as u64, pageblock, free, self.page);
        Some(by_root.max(wanted))
    }

    /// The protection of each zone of zoneinfo as `vm.lowmem_reserve_ratio` gives it now.
    #[must_use]
    pub fn protection(&self) -> Option<Vec<Vec<Pages>>> {
        let ratios = self.tunable("vm.lowmem_reserve_ratio")?;
        let ratios = ratios
            .split_ascii_whitespace()
            .map(|word| word.parse().ok());
        let ratios: Vec<u64> = ratios.collect::<Option<_>>()?;
        let zones = self.zones()?;
        let nodes = zones.chunk_by(|a, b| a.node == b.node);
        let of_node = |node: &[Zone]| {
            let managed: Vec<Pages> = node.iter().map(|zone| zone.managed).collect();
            reserve::protection(&managed, &ratios)
        };
        Some(nodes.flat_map(of_node).collect())
    }

    /// The pages that no user can have.
    #[must_use]
    pub fn totalreserve(&self) -> Option<Pages> {
        self.zones().map(reserve::totalreserve)
    }

    /// MemAvailable, term by term.
    #[must_use]
    pub fn available(&self) -> Option<Available> {
        let meminfo = self.meminfo.as_ref()?;
        let pages = |amount: Kib| amount.pages_floor(self.page);
        let lows = self.zones()?.iter().map(|zone| zone.watermarks.low);
        Some(available::available(available::Inputs {
            free: pages(meminfo.mem_free?),
            totalreserve: self.totalreserve()?,
            file: pages(meminfo.active_file?.saturating_add(meminfo.inactive_file?)),
            reclaimable: pages(meminfo.kreclaimable.or(meminfo.sreclaimable)?),
            low_watermarks: lows.sum(),
        }))
    }

    /// The memory that dirty ratios are taken of.
    ///
    /// Free pages are counted twice, in vmstat and in meminfo. On a stock kernel it is one counter,
    /// read at two moments, and vmstat's is of the moment in which the thresholds were computed. A
    /// kernel that brings memory in as it is needed computes with meminfo's. So the count that
    /// gives the kernel's own threshold is taken, else the one that is near.
    #[must_use]
    pub fn dirtyable(&self) -> Option<Pages> {
        let printed = self.vmstat("nr_dirty_threshold").map(Pages);
        let counts = [self.vmstat("nr_free_pages").map(Pages), self.mem_free()];
        let bases = counts
            .into_iter()
            .flatten()
            .filter_map(|free| self.dirtyable_with(free));
        let gives_printed = |base: &Pages| self.thresholds_of(*base).map(|t| t.dirty) == printed;
        let mut giving = bases.filter(gives_printed);
        giving.next().or_else(|| self.dirtyable_with(self.free()?))
    }

    /// The dirty thresholds as the tunables give them now.
    #[must_use]
    pub fn thresholds(&self) -> Option<Thresholds> {
        self.thresholds_of(self.dirtyable()?)
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

    fn thresholds_of(&self, dirtyable: Pages) -> Option<Thresholds> {
        let amount = |ratio, bytes| {
            let bytes = Bytes(self.number(bytes).unwrap_or(0));
            Some(Amount::from_pair(self.number(ratio)?, bytes))
        };
        Some(dirty::thresholds(
            amount("vm.dirty_background_ratio", "vm.dirty_background_bytes")?,
            amount("vm.dirty_ratio", "vm.dirty_bytes")?,
            dirtyable,
            self.page,
        ))
    }

    fn dirtyable_with(&self, free: Pages) -> Option<Pages> {
        Some(dirty::dirtyable(free, self.totalreserve()?, self.file()?))
    }

    /// The zones of zoneinfo.
    fn zones(&self) -> Option<&[Zone]> {
        Some(&self.zoneinfo.as_ref()?.zones)
    }

    fn mem_free(&self) -> Option<Pages> {
        let free = self.meminfo.as_ref()?.mem_free?;
        Some(free.pages_floor(self.page))
    }

    /// Free pages by vmstat, or by meminfo where vmstat leaves memory out that was not brought in
    /// yet.
    fn free(&self) -> Option<Pages> {
        let (counted, whole) = (self.vmstat("nr_free_pages").map(Pages), self.mem_free());
        let near =
            |counted: &Pages| whole.is_none_or(|whole| counted.0.abs_diff(whole.0) <= whole.0 / 64);
        counted.filter(near).or(whole)
    }

    /// Page cache on both file lists, of the moment in which the thresholds in vmstat were
    /// computed.
    fn file(&self) -> Option<Pages> {
        let item = |item| self.vmstat(item).map(Pages);
        let lists = item("nr_inactive_file").zip(item("nr_active_file"));
        lists.map(|(inactive, active)| inactive.saturating_add(active))
    }
}

impl Watermarks {
    /// These marks with the boost that a zone has at the moment.
    fn raised(&self, zone: &Zone) -> Self {
        let boost = zone.boost.unwrap_or_default();
        Self {
            min: self.min.saturating_add(boost),
            low: self.low.saturating_add(boost),
            high: self.high.saturating_add(boost),
            promo: self.promo.map(|promo| promo.saturating_add(boost)),
        }
    }
}
