//! What is known of the machine that settings are for. A fact that is not there is named, so that
//! a rule that needs it says so.

use mm::formula::available::{self, Inputs};
use mm::formula::dirty::{self, Amount, Thresholds};
use mm::formula::reserve;
use mm::formula::watermarks::{self, MovableRule, Rule, ZoneSize};
use mm::release::Span;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Pages};
use mm::zoneinfo::Zone;

use crate::fact::Missing;

/// The machine, as far as it is known.
#[derive(Debug, Default)]
pub struct Machine(Option<Box<Snapshot>>);

/// What a value of `vm.min_free_kbytes` comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// What is held back: the high marks and what zones keep from higher requests.
    pub held: Bytes,
    /// All that the allocator has.
    pub memory: Bytes,
    /// MemAvailable with it, as things stand; `None` without meminfo.
    pub available: Option<Bytes>,
}

/// Where swapped pages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// There is none.
    None,
    /// To zram alone: compressed memory.
    Zram,
    /// To a device or a file.
    Device,
}

impl Machine {
    /// A machine of which this was read.
    pub fn of(snapshot: Snapshot) -> Self {
        Self(Some(Box::new(snapshot)))
    }

    /// What was read of it.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.0.as_deref()
    }

    fn known(&self, what: &'static str) -> Result<&Snapshot, Missing> {
        self.snapshot().ok_or(Missing(what))
    }

    /// Its name for messages: "here", or "there" where it is not this machine.
    pub fn memory(&self) -> Result<Bytes, Missing> {
        let snapshot = self.known("MemTotal")?;
        let total = snapshot.meminfo.as_ref().and_then(|info| info.mem_total);
        let managed = snapshot.managed().bytes(snapshot.page);
        let by_zones = (snapshot.zones_are_whole() && managed > Bytes::ZERO).then_some(managed);
        total
            .map(Kib::bytes)
            .or(by_zones)
            .ok_or(Missing("MemTotal"))
    }

    /// The releases that its kernel may be of, where the release is told.
    pub fn release(&self) -> Result<Span, Missing> {
        let snapshot = self.known("the kernel's release")?;
        match snapshot.knows_release() {
            true => Ok(snapshot.span()),
            false => Err(Missing("the kernel's release")),
        }
    }

    /// Where swapped pages go.
    pub fn swap(&self) -> Result<Swap, Missing> {
        let snapshot = self.known("/proc/swaps")?;
        if let Some(swaps) = &snapshot.swaps {
            let zram = |path: &str| path.trim_start_matches("/dev/").starts_with("zram");
            return Ok(match swaps.areas.as_slice() {
                [] => Swap::None,
                areas if areas.iter().all(|area| zram(&area.path)) => Swap::Zram,
                _ => Swap::Device,
            });
        }
        let total = snapshot.meminfo.as_ref().and_then(|info| info.swap_total);
        match total {
            Some(Kib(0)) => Ok(Swap::None),
            _ => Err(Missing("/proc/swaps")),
        }
    }

    /// The size of the swap space.
    pub fn swap_size(&self) -> Result<Bytes, Missing> {
        let meminfo = self.known("SwapTotal")?.meminfo.as_ref();
        let total = meminfo.and_then(|info| info.swap_total);
        total.map(Kib::bytes).ok_or(Missing("SwapTotal"))
    }

    /// What merging saves: pages that share another's.
    pub fn merged(&self) -> Result<Bytes, Missing> {
        let needs = Missing("pages_sharing of KSM");
        let snapshot = self.known(needs.0)?;
        let sharing = snapshot
            .ksm
            .as_ref()
            .and_then(|ksm| ksm.numbers.pages_sharing);
        Ok(Pages(sharing.ok_or(needs)?).bytes(snapshot.page))
    }

    /// MemAvailable.
    pub fn mem_available(&self) -> Result<Bytes, Missing> {
        let meminfo = self.known("MemAvailable")?.meminfo.as_ref();
        let available = meminfo.and_then(|info| info.mem_available);
        available.map(Kib::bytes).ok_or(Missing("MemAvailable"))
    }

    /// NUMA nodes with memory.
    pub fn nodes(&self) -> Result<usize, Missing> {
        let zoneinfo = self.known("/proc/zoneinfo")?.zoneinfo.as_ref();
        let zoneinfo = zoneinfo.ok_or(Missing("/proc/zoneinfo"))?;
        let mut nodes: Vec<u32> = zoneinfo.populated().map(|zone| zone.node).collect();
        nodes.dedup();
        Ok(nodes.len())
    }

    /// The size of a huge page of the default size.
    pub fn huge_page(&self) -> Result<Bytes, Missing> {
        let meminfo = self.known("Hugepagesize")?.meminfo.as_ref();
        let size = meminfo.and_then(|info| info.hugepagesize);
        size.map(Kib::bytes).ok_or(Missing("Hugepagesize"))
    }

    /// Its zones with the marks that these two values give them.
    fn zones_with(&self, min_free: Kib, scale_factor: u64) -> Result<Vec<Zone>, Missing> {
        let needs = Missing("/proc/zoneinfo");
        let snapshot = self.known(needs.0)?;
        let zones = snapshot.zoneinfo.as_ref().map(|info| &info.zones);
        let zones = zones.filter(|_| snapshot.zones_are_whole()).ok_or(needs)?;
        let sizes: Vec<ZoneSize> = zones.iter().map(ZoneSize::from).collect();
        let rule = Rule {
            min_free: min_free.pages_floor(snapshot.page),
            scale_factor,
            movable: MovableRule::observed(zones),
        };
        let marks = watermarks::watermarks(&sizes, rule);
        let zones = zones.iter().zip(marks).map(|(zone, watermarks)| Zone {
            watermarks,
            boost: None,
            ..zone.clone()
        });
        Ok(zones.collect())
    }

    /// The largest zone with the marks that these values give it.
    pub fn largest_zone(&self, min_free: Kib, factor: u64) -> Result<Zone, Missing> {
        let zones = self.zones_with(min_free, factor)?;
        let largest = zones.into_iter().max_by_key(|zone| zone.managed);
        largest.ok_or(Missing("/proc/zoneinfo"))
    }

    /// What these values hold back.
    pub fn reserve(&self, min_free: Kib, scale_factor: u64) -> Result<Reserve, Missing> {
        let zones = self.zones_with(min_free, scale_factor)?;
        let snapshot = self.known("/proc/zoneinfo")?;
        let totalreserve = reserve::totalreserve(&zones);
        let available = self.available(totalreserve, &zones);
        Ok(Reserve {
            held: totalreserve.bytes(snapshot.page),
            memory: snapshot.managed().bytes(snapshot.page),
            available: available.map(|pages| pages.bytes(snapshot.page)),
        })
    }

    fn available(&self, totalreserve: Pages, zones: &[Zone]) -> Option<Pages> {
        let snapshot = self.snapshot()?;
        let meminfo = snapshot.meminfo.as_ref()?;
        let pages = |amount: Kib| amount.pages_floor(snapshot.page);
        let available = available::available(Inputs {
            free: pages(meminfo.mem_free?),
            totalreserve,
            file: pages(meminfo.active_file?.saturating_add(meminfo.inactive_file?)),
            reclaimable: pages(meminfo.kreclaimable.or(meminfo.sreclaimable)?),
            low_watermarks: zones.iter().map(|zone| zone.watermarks.low).sum(),
        });
        Some(available.total)
    }

    /// The dirty thresholds that these amounts give, with what is dirtyable now.
    pub fn thresholds(&self, background: Amount, dirty: Amount) -> Result<[Bytes; 2], Missing> {
        let needs = Missing("the dirtyable memory: /proc/vmstat and /proc/zoneinfo");
        let snapshot = self.known(needs.0)?;
        let dirtyable = snapshot.dirtyable().ok_or(needs)?;
        let Thresholds { background, dirty } =
            dirty::thresholds(background, dirty, dirtyable, snapshot.page);
        Ok([background, dirty].map(|pages| pages.bytes(snapshot.page)))
    }

    /// The slowest device whose bandwidth the kernel has measured: its name, and bytes in a second.
    pub fn slowest_device(&self) -> Result<(&str, Bytes), Missing> {
        let needs = Missing("a device's measured bandwidth: /sys/kernel/debug/bdi");
        let devices = self.known(needs.0)?.writeback.iter();
        let measured = devices.filter(|(_, stats)| stats.is_measured());
        let speeds =
            measured.filter_map(|(name, stats)| Some((name.as_str(), stats.bandwidth?.bytes())));
        speeds.min_by_key(|&(_, speed)| speed).ok_or(needs)
    }
}
