//! The machine after boot: its zones and how much of them the kernel has taken, from a calibration.
//!
//! A size of RAM that was calibrated is taken over to the page. Another one is laid out as the
//! firmware of QEMU's `pc` machine lays it out, and the kernel's own use follows the nearest
//! calibrated size: a page structure of 64 bytes for each page more.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mm::calibration::Boot;
use mm::capture::Frame;
use mm::catalogue::path_of;
use mm::formula::min_free;
use mm::formula::reserve::protection;
use mm::inode_nr;
use mm::machine::Machine;
use mm::pagetypeinfo::{self, Pagetypeinfo};
use mm::units::{Bytes, Kib, Nanos, PageSize, Pages};
use mm::zoneinfo::{Zone as Layout, ZoneKind, Zoneinfo};

use crate::error::Error;
use crate::mm::page_alloc::buddy::Buddy;
use crate::mm::page_alloc::pcp::{Pcp, Tuning};
use crate::mm::page_alloc::pieces::Pieces;
use crate::mm::page_alloc::zone::{HUGE_ORDER, Zone};
use crate::mm::page_alloc::zonelist;
use crate::sched::timer::Clock;

const PAGE: PageSize = PageSize::FOUR_KIB;

/// `vm.lowmem_reserve_ratio` as the kernel starts: DMA, DMA32, Normal, Movable.
const RESERVE_RATIOS: [u64; 4] = [256, 256, 32, 0];

/// Where the PCI hole begins: RAM beyond goes above 4 GiB, and then only 3 GiB stay below.
const HOLE: u64 = 3584 << 20;
const BELOW_HOLE: u64 = 3072 << 20;

const HUGE_PAGES_ENABLED: &str = path_of("thp.enabled");
const MIN_FREE: &str = path_of("vm.min_free_kbytes");

/// Pages whose structures one page holds: 64 bytes each.
const STRUCTS_PER_PAGE: u64 = 64;

/// A machine after boot.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The zones that have memory, lowest first.
    pub(crate) zones: Vec<Zone>,
    /// All zones.
    pub(crate) layout: Vec<Layout>,
    /// The kernel's files at that moment.
    pub(crate) frame: Frame,
    /// The free pieces of each zone; none where the calibration does not say.
    pub(crate) free: Pagetypeinfo,
    /// When it was ready for a run, and how long it has been up.
    pub(crate) ready: Nanos,
    pub(crate) uptime: Nanos,
    /// When its ticks began.
    pub(crate) ticks: Nanos,
    /// When its disks came.
    pub(crate) disks: Nanos,
    /// The dirty threshold at an early moment of it, where that is known.
    pub(crate) dirty_limit: Option<Pages>,
    /// Inodes that something uses; none where the calibration does not say.
    pub(crate) inodes_in_use: u64,
    /// Pages that the allocator owns beyond those in the frame's files.
    pub(crate) managed_delta: i64,
}

impl State {
    /// The kernel's release.
    pub(crate) fn release(&self) -> String {
        let release = self.frame.file("proc/sys/kernel/osrelease");
        release.unwrap_or_default().trim().to_string()
    }

    /// Seconds of its clock that ended while it rested.
    pub(crate) fn seconds_of_rest(&self) -> u64 {
        let seconds = |uptime: Nanos| uptime.saturating_sub(self.ticks).0 / Nanos::SECOND.0;
        seconds(self.uptime) - seconds(self.ready)
    }

    /// `jiffies` when its disks came.
    pub(crate) fn disks_came(&self) -> u64 {
        Clock::after(self.disks, self.ticks).jiffies(Nanos::ZERO)
    }

    /// Its ticks.
    pub(crate) fn clock(&self) -> Clock {
        Clock::after(self.uptime, self.ticks)
    }
}

/// The state after boot of a machine, by the size of its RAM and its nodes.
pub(crate) fn state(boots: &[Boot], machine: &Machine) -> Result<State, Error> {
    let state = of_one_node(boots, machine.memory)?;
    match machine.nodes {
        0 | 1 => Ok(state),
        _ => of_two_nodes(state, machine.memory),
    }
}

fn of_two_nodes(mut state: State, memory: Bytes) -> Result<State, Error> {
    zonelist::split(&mut state, memory)?;
    state.zones = populated(&state.layout, tuning(&state.frame));
    set_min_free(&mut state);
    Ok(state)
}

fn of_one_node(boots: &[Boot], memory: Bytes) -> Result<State, Error> {
    // Of the sizes on this side of the PCI hole, where they are: the same zones have memory.
    let beyond = |size: Bytes| size.0 > HOLE;
    let distance = |boot: &&Boot| {
        let other_side = beyond(boot.memory) != beyond(memory);
        (other_side, boot.memory.0.abs_diff(memory.0))
    };
    let nearest = boots.iter().min_by_key(distance);
    let boot = nearest.ok_or_else(|| unusable(memory, "there is none".to_string()))?;
    let state = as_captured(boot)?;
    if boot.memory == memory {
        Ok(state)
    } else {
        resized(state, boot.memory, memory)
    }
}

fn as_captured(boot: &Boot) -> Result<State, Error> {
    let unusable = |why: &dyn ToString| unusable(boot.memory, why.to_string());
    let frame = boot.capture.frames.first().cloned();
    let frame = frame.ok_or_else(|| unusable(&"it has no frame"))?;
    let text = frame.file("proc/zoneinfo").unwrap_or_default();
    let zoneinfo = Zoneinfo::parse(text).map_err(|error| unusable(&error))?;
    if zoneinfo.nodes.len() > 1 {
        return Err(unusable(&format!("it has {} nodes", zoneinfo.nodes.len())));
    }
    let inodes = frame.file(inode_nr::PATH).map(inode_nr::parse_in_use);
    let inodes = inodes.transpose().map_err(|error| unusable(&error))?;
    let mut frames = boot.capture.frames.iter();
    let free = frames.find_map(|frame| frame.file(pagetypeinfo::PATH));
    let free = free.map(Pagetypeinfo::parse).transpose();
    let layout = zoneinfo.zones;
    Ok(State {
        free: free.map_err(|error| unusable(&error))?.unwrap_or_default(),
        inodes_in_use: inodes.unwrap_or(0),
        zones: populated(&layout, tuning(&frame)),
        layout,
        frame,
        ready: boot.ready,
        uptime: boot.ready,
        ticks: boot.ticks,
        disks: boot.disks,
        dirty_limit: boot.dirty_limit,
        managed_delta: 0,
    })
}

/// How the kernel that booted sizes its per-CPU lists.
fn tuning(frame: &Frame) -> Tuning {
    Tuning::of(frame.file("proc/sys/kernel/osrelease").unwrap_or_default())
}

fn populated(layout: &[Layout], tuning: Tuning) -> Vec<Zone> {
    // The place within its node; zones of a second node stand behind those of the first.
    let of_first = |zone: &Layout| zone.is_populated() && zone.node == 0;
    let highest = layout.iter().rposition(of_first).unwrap_or(0);
    let zones = layout
        .iter()
        .enumerate()
        .filter(|(_, zone)| zone.is_populated());
    zones
        .map(|(index, zone)| hot(zone, index, highest, tuning))
        .collect()
}

fn hot(zone: &Layout, index: usize, highest: usize, tuning: Tuning) -> Zone {
    let marks = zone.watermarks;
    let count = zone.pagesets.iter().map(|set| set.count).sum();
    let (batch, high) = zone
        .pagesets
        .first()
        .map_or((63, 252), |set| (set.batch, set.high));
    let mut pcp = Pcp::new(batch, high, tuning);
    pcp.set_limits(marks.low.0, zone.managed.0);
    Zone {
        kind: zone.kind,
        layout: index,
        managed: zone.managed.0,
        free: zone.free.0,
        untold: 0,
        tells_above: 0,
        min: marks.min.0,
        low: marks.low.0,
        high: marks.high.0,
        boost: 0,
        buddy: Buddy::new(0, HUGE_ORDER, 0, &Pieces::default()),
        boot_end: 0,
        held: Vec::new(),
        held_for_users: Vec::new(),
        pool: Vec::new(),
        reserve: zone.protection.get(highest).map_or(0, |pages| pages.0),
        lru: [0; 4],
        unevictable: 0,
        kernel: 0,
        fixed: zone.managed.0.saturating_sub(zone.free.0 + count),
        of_boot: [0; 4],
        pcp,
        on_lists: count,
    }
}

/// The same kernel on a machine of another size.
fn resized(mut state: State, from: Bytes, to: Bytes) -> Result<State, Error> {
    let more = to.pages_floor(PAGE).0 as i64 - from.pages_floor(PAGE).0 as i64;
    // What the kernel needs more; the highest zone that changes and has the room pays.
    let structs = more / STRUCTS_PER_PAGE as i64;
    let mut owed = Owed {
        managed: structs,
        free: structs,
    };
    let too_small = Error::TooSmall { memory: to };
    for zone in state.layout.iter_mut().rev() {
        let managed = zone.managed.0 as i64;
        resize(zone, to, &mut owed).ok_or_else(|| too_small.clone())?;
        state.managed_delta += zone.managed.0 as i64 - managed;
    }
    if owed != Owed::default() {
        return Err(too_small);
    }
    set_reserves(&mut state.layout);
    state.zones = populated(&state.layout, tuning(&state.frame));
    set_min_free(&mut state);
    Ok(state)
}

/// Pages that zones have still to give up: of those that the allocator owns, and of the free ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owed {
    managed: i64,
    free: i64,
}

/// Gives a zone the pages that RAM of this size has there, less what is owed to the kernel. A zone
/// that vanishes leaves what the kernel held in it to the zones below. `None` where a zone has not
/// enough.
fn resize(zone: &mut Layout, memory: Bytes, owed: &mut Owed) -> Option<()> {
    let old = zone.present.0;
    let new = present(zone.kind, memory).unwrap_or(old);
    if new == old {
        return Some(());
    }
    if new == 0 {
        owed.managed += old as i64 - zone.managed.0 as i64;
        owed.free += old as i64 - zone.free.0 as i64;
        (zone.present, zone.managed, zone.free) = (Pages(0), Pages(0), Pages(0));
        zone.spanned = Pages(0);
        zone.pagesets.clear();
        return Some(());
    }
    let grown = new as i64 - old as i64;
    let paid = core::mem::take(owed);
    let sum = |pages: Pages, more: i64| u64::try_from(pages.0 as i64 + more).ok().map(Pages);
    zone.managed = sum(zone.managed, grown - paid.managed)?;
    zone.free = sum(zone.free, grown - paid.free)?;
    zone.spanned = Pages(zone.spanned.0 - old + new);
    zone.present = Pages(new);
    Some(())
}

/// Pages of a zone that RAM of this size has; `None` where it does not depend on it.
fn present(kind: ZoneKind, memory: Bytes) -> Option<u64> {
    let below = if memory.0 <= HOLE {
        memory.0
    } else {
        BELOW_HOLE
    };
    match kind {
        // The first 16 MiB are the DMA zone's; the firmware keeps 32 pages at the end.
        ZoneKind::Dma32 => Some((below / 4096).saturating_sub(4096 + 32)),
        ZoneKind::Normal => Some((memory.0 - below) / 4096),
        _ => None,
    }
}

fn set_reserves(layout: &mut [Layout]) {
    let managed: Vec<Pages> = layout.iter().map(|zone| zone.managed).collect();
    for (zone, protection) in layout.iter_mut().zip(protection(&managed, &RESERVE_RATIOS)) {
        zone.protection = protection;
    }
}

/// `min_free_kbytes` of the new size, and the watermarks that follow.
fn set_min_free(state: &mut State) {
    let populated = || state.layout.iter().filter(|zone| zone.is_populated());
    let lowmem = populated().map(|zone| zone.managed).sum();
    let thp = state.frame.file(HUGE_PAGES_ENABLED).unwrap_or_default();
    let huge = match thp.contains("[never]") || !thp.contains('[') {
        true => Kib(0),
        false => min_free::for_huge_pages(populated().count() as u64, Pages(512), lowmem, PAGE),
    };
    let min_free = min_free::by_square_root(lowmem, PAGE).max(huge);
    let text: String = format!("{}\n", min_free.0);
    state.frame.files.insert(MIN_FREE.to_string(), text);
    let costs = mm::calibration::Costs::default();
    let mut memory =
        crate::mm::parts::Memory::new(state.zones.clone(), state.layout.clone(), costs);
    memory.zones.set_watermarks(&memory.cpu, min_free, 10);
    (state.zones, state.layout) = memory.zones.into_boot();
}

fn unusable(memory: Bytes, why: String) -> Error {
    Error::Boot { memory, why }
}
