//! The machine after boot (`mm/mm_init.c`): its zones and how much of them the kernel has taken,
//! from a calibration.
//!
//! A size of RAM that was calibrated is taken over to the page. Another one is laid out as the
//! firmware of QEMU's `pc` machine lays it out, and the kernel's own use lies between those of the
//! two calibrated sizes around it, each with the page structures and hash tables of this size; what
//! else a kernel has is that of the nearest. What a kernel decides by a threshold, such as huge
//! pages from 512 MiB on, is decided at the new size.

mod late_pages;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mm::capture::Frame;
use mm::catalogue::path_of;
use mm::formula::batch::zone_batchsize;
use mm::formula::reserve::protection;
use mm::formula::watermarks::{MovableRule, Rule, SCALE_FACTOR, watermarks};
use mm::inode_nr;
use mm::pagetypeinfo::{self, Pagetypeinfo};
use mm::units::{Bytes, Nanos, PageSize, Pages};
use mm::zoneinfo::{Zone as Layout, ZoneKind, Zoneinfo};
use scenario::calibration::{Boot, USERS_LISTS_USED_UP};
use scenario::machine::Machine;

use crate::error::Error;
use crate::mm::lru::Lru;
use crate::mm::mm_init::late_pages::{chosen_min_free, early_size, early_sizes, late_pages};
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

/// Pages of a machine on which a kernel has huge pages: 512 MiB.
const LEAST_FOR_HUGE_PAGES: u64 = (512 << 20) / 4096;

/// Memory comes in sections, and a section has the structures of all its pages, 64 bytes each,
/// where only a part of it is there (`section_activate`, `vmemmap_populate`).
const SECTION: u64 = 128 << 20;
const STRUCTS_PER_SECTION: u64 = SECTION / 4096 * 64 / 4096;

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
    /// Pages on the highest zone's per-CPU lists that are not for users, where they are known.
    pub(crate) not_for_users: u64,
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
    /// Pages that the allocator owns beyond those in the frame's files, and free ones.
    pub(crate) managed_delta: i64,
    pub(crate) free_delta: i64,
}

impl State {
    /// The kernel's release.
    pub(crate) fn release(&self) -> String {
        let release = self.frame.file("proc/sys/kernel/osrelease");
        release.unwrap_or_default().trim().to_string()
    }

    /// When the groups of a run were made, since its ticks began: before it rested.
    pub(crate) fn groups_made(&self) -> Nanos {
        self.ready.saturating_sub(self.ticks)
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
        _ => of_two_nodes(state, machine.memory, late_pages(boots)),
    }
}

fn of_two_nodes(mut state: State, memory: Bytes, late: Pages) -> Result<State, Error> {
    zonelist::split(&mut state, memory)?;
    state.not_for_users = 0;
    set_reserves(&mut state.layout);
    set_min_free(&mut state, late);
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
    let mut state = as_captured(boot)?;
    if boot.memory == memory {
        return Ok(state);
    }
    resize_to(&mut state, boot.memory, memory)?;
    let other_side_of_it = |other: &&Boot| {
        let between = boot.memory.min(other.memory)..boot.memory.max(other.memory);
        beyond(other.memory) == beyond(boot.memory) && between.contains(&memory)
    };
    let farther = boots.iter().filter(other_side_of_it).min_by_key(distance);
    if let Some(other) = farther {
        let mut towards = as_captured(other)?;
        resize_to(&mut towards, other.memory, memory)?;
        let [near, far] = [boot, other].map(|boot| boot.memory.0.abs_diff(memory.0));
        mix(&mut state, &towards, near, near + far);
    }
    let late = late_pages(boots);
    decide_on_huge_pages(&mut state, boots, late);
    set_batches(&mut state.layout, late);
    let mut nearest_first: Vec<&Boot> = boots.iter().collect();
    nearest_first.sort_by_key(distance);
    fill_lists(&mut state, memory, &nearest_first)?;
    set_reserves(&mut state.layout);
    set_min_free(&mut state, late);
    Ok(state)
}

/// What boot leaves on the per-CPU lists follows from their batches and from whether there are huge
/// pages, more than from the size: it lies between those of the nearest machines with the same.
fn fill_lists(state: &mut State, memory: Bytes, nearest_first: &[&Boot]) -> Result<(), Error> {
    let mut alike = Vec::new();
    for boot in nearest_first {
        let other = as_captured(boot)?;
        if has_lists_of(&other, state) {
            alike.push((boot.memory, other));
        }
    }
    let Some((size, near)) = alike.first() else {
        return Ok(());
    };
    let farther = alike
        .iter()
        .find(|(other, _)| (*other < memory) != (*size < memory));
    let (other_size, far) = farther.unwrap_or(&alike[0]);
    let [to, from] = [size, other_size].map(|size| size.0.abs_diff(memory.0));
    let between = |pages: u64, other: u64| share(pages, other, to, to + from);
    state.not_for_users = between(near.not_for_users, far.not_for_users);
    let zones = near.layout.iter().zip(&far.layout);
    for (zone, (near, far)) in state.layout.iter_mut().zip(zones) {
        let sets = near.pagesets.iter().zip(&far.pagesets);
        for (set, (near, far)) in zone.pagesets.iter_mut().zip(sets) {
            let free = zone.free.0 + set.count;
            set.count = between(near.count, far.count).min(free);
            state.free_delta += (free - set.count) as i64 - zone.free.0 as i64;
            zone.free = Pages(free - set.count);
        }
    }
    Ok(())
}

/// Whether boot leaves as much on the per-CPU lists of both.
fn has_lists_of(one: &State, other: &State) -> bool {
    let batches = |of: &State| -> Vec<_> {
        let first = |zone: &Layout| zone.pagesets.first().map(|set| set.batch);
        of.layout.iter().map(first).collect()
    };
    let huge = |of: &State| of.frame.file(HUGE_PAGES_ENABLED).map(String::from);
    huge(one) == huge(other) && batches(one) == batches(other)
}

/// `pages`, and `near` of `whole` steps from them towards `other`.
fn share(pages: u64, other: u64, near: u64, whole: u64) -> u64 {
    let apart = i128::from(other) - i128::from(pages);
    (i128::from(pages) + apart * i128::from(near) / i128::from(whole.max(1))) as u64
}

/// Goes `near` of `whole` steps towards another state of a machine of this size, as far as pages
/// that the allocator owns and free ones are concerned.
fn mix(state: &mut State, towards: &State, near: u64, whole: u64) {
    let share = |pages: u64, other: u64| share(pages, other, near, whole);
    for (zone, other) in state.layout.iter_mut().zip(&towards.layout) {
        let managed = share(zone.managed.0, other.managed.0);
        let free = share(zone.free.0, other.free.0);
        state.managed_delta += managed as i64 - zone.managed.0 as i64;
        state.free_delta += free as i64 - zone.free.0 as i64;
        (zone.managed, zone.free) = (Pages(managed), Pages(free));
        for (set, other) in zone.pagesets.iter_mut().zip(&other.pagesets) {
            set.count = share(set.count, other.count);
        }
    }
}

/// A kernel has huge pages off where it boots with less than 512 MiB, before the late pages come
/// (`hugepage_init`), as a calibrated one of its side has or has not.
fn decide_on_huge_pages(state: &mut State, boots: &[Boot], late: Pages) {
    let early = early_sizes(&state.layout, late);
    let managed: u64 = early.iter().map(|zone| zone.managed.0).sum();
    let has_them = managed >= LEAST_FOR_HUGE_PAGES;
    let mut choices = boots.iter().filter_map(|boot| {
        let text = boot.capture.frames.first()?.file(HUGE_PAGES_ENABLED)?;
        (text.contains("[never]") != has_them).then_some(text)
    });
    if let Some(text) = choices.next_back() {
        let path = HUGE_PAGES_ENABLED.to_string();
        state.frame.files.insert(path, text.to_string());
    }
}

/// Each zone's batch of its per-CPU lists (`zone_batchsize`).
fn set_batches(layout: &mut [Layout], late: Pages) {
    for zone in layout {
        let batch = zone_batchsize(early_size(zone, late).0);
        zone.pagesets.iter_mut().for_each(|set| set.batch = batch);
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
        not_for_users: not_for_users(boot).map_err(|error| unusable(&error))?,
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
        free_delta: 0,
    })
}

/// What is on the highest zone's per-CPU lists when users have taken all that is for them.
fn not_for_users(boot: &Boot) -> Result<u64, mm::text::ParseError> {
    let frame = boot.capture.labelled(USERS_LISTS_USED_UP);
    let Some(text) = frame.and_then(|frame| frame.file("proc/zoneinfo")) else {
        return Ok(0);
    };
    let zones = Zoneinfo::parse(text)?.zones;
    let highest = zones.iter().rfind(|zone| zone.is_populated());
    let sets = highest.into_iter().flat_map(|zone| &zone.pagesets);
    Ok(sets.map(|set| set.count).sum())
}

/// How the kernel that booted sizes its per-CPU lists.
fn tuning(frame: &Frame) -> Tuning {
    Tuning::of(frame.file("proc/sys/kernel/osrelease").unwrap_or_default())
}

fn populated(layout: &[Layout], tuning: Tuning) -> Vec<Zone> {
    // The place within its node; zones of a second node stand behind those of the first.
    let place = |zone: &Layout| {
        let mut of_first = layout.iter().filter(|other| other.node == 0);
        of_first.position(|other| other.kind == zone.kind)
    };
    let highest = |node| {
        let of_node = layout.iter().filter(|zone| zone.node == node);
        let of_node = of_node.filter(|zone| zone.is_populated());
        of_node.filter_map(place).max().unwrap_or(0)
    };
    let zones = layout
        .iter()
        .enumerate()
        .filter(|(_, zone)| zone.is_populated());
    zones
        .map(|(index, zone)| hot(zone, index, highest(zone.node), tuning))
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
        kept_blocks: kept_blocks(zone),
        of_boot: [0; 4],
        pcp,
        on_lists: count,
    }
}

/// What the file systems of the booted machine keep on each list.
fn kept_blocks(zone: &Layout) -> [u64; 4] {
    let mut kept = [0; 4];
    for (lru, item) in [
        (Lru::InactiveFile, "nr_zone_inactive_file"),
        (Lru::ActiveFile, "nr_zone_active_file"),
    ] {
        kept[lru as usize] = zone.items.get(item).unwrap_or(0);
    }
    kept
}

/// Gives the zones the pages of a machine of another size.
fn resize_to(state: &mut State, from: Bytes, to: Bytes) -> Result<(), Error> {
    // What the kernel needs more; the highest zone that changes and has the room pays.
    let more = own_use(to) as i64 - own_use(from) as i64;
    let mut owed = Owed {
        managed: more,
        free: more,
    };
    let too_small = Error::TooSmall { memory: to };
    for zone in state.layout.iter_mut().rev() {
        let before = [zone.managed, zone.free];
        resize(zone, to, &mut owed).ok_or_else(|| too_small.clone())?;
        state.managed_delta += zone.managed.0 as i64 - before[0].0 as i64;
        state.free_delta += zone.free.0 as i64 - before[1].0 as i64;
    }
    match owed == Owed::default() {
        true => Ok(()),
        false => Err(too_small),
    }
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
    let [below, above] = around_the_hole(memory);
    match kind {
        // The first 16 MiB are the DMA zone's; the firmware keeps 32 pages at the end.
        ZoneKind::Dma32 => Some((below / 4096).saturating_sub(4096 + 32)),
        ZoneKind::Normal => Some(above / 4096),
        _ => None,
    }
}

/// Pages that the kernel takes for itself by the size of the RAM: page structures, and the hash
/// tables of dentries and inodes, with an entry of 8 bytes for two pages and for four
/// (`alloc_large_system_hash`).
fn own_use(memory: Bytes) -> u64 {
    let sections = around_the_hole(memory).map(|bytes| bytes.div_ceil(SECTION));
    let structs = sections.iter().sum::<u64>() * STRUCTS_PER_SECTION;
    let pages = (memory.pages_floor(PAGE).0 - structs).next_multiple_of(256);
    let tables = [2, 4].map(|per_entry| (pages / per_entry).next_power_of_two() * 8 / 4096);
    structs + tables.iter().sum::<u64>()
}

/// Bytes of RAM below the PCI hole and above it.
fn around_the_hole(memory: Bytes) -> [u64; 2] {
    let below = match memory.0 <= HOLE {
        true => memory.0,
        false => BELOW_HOLE,
    };
    [below, memory.0 - below]
}

/// What each zone keeps back from requests that could use a higher one of its node.
fn set_reserves(layout: &mut [Layout]) {
    let kinds = layout.iter().filter(|zone| zone.node == 0);
    let kinds: Vec<ZoneKind> = kinds.map(|zone| zone.kind).collect();
    for node in [0, 1] {
        let of_kind = |kind: &ZoneKind| {
            let mut of_node = layout.iter().filter(|zone| zone.node == node);
            let zone = of_node.find(|zone| zone.kind == *kind);
            zone.map_or(Pages(0), |zone| zone.managed)
        };
        let managed: Vec<Pages> = kinds.iter().map(of_kind).collect();
        let protection = protection(&managed, &RESERVE_RATIOS);
        for zone in layout.iter_mut().filter(|zone| zone.node == node) {
            let place = kinds.iter().position(|kind| *kind == zone.kind);
            zone.protection = place.map_or(Vec::new(), |place| protection[place].clone());
        }
    }
}

/// `min_free_kbytes` of the new size, and the watermarks that follow.
fn set_min_free(state: &mut State, late: Pages) {
    let min_free = chosen_min_free(&state.layout, &state.frame, late);
    let text: String = format!("{}\n", min_free.0);
    state.frame.files.insert(MIN_FREE.to_string(), text);
    let rule = Rule {
        min_free: min_free.pages_floor(PAGE),
        scale_factor: SCALE_FACTOR,
        movable: MovableRule::observed(&state.layout),
    };
    let marks = watermarks(&early_sizes(&state.layout, late), rule);
    for (zone, marks) in state.layout.iter_mut().zip(marks) {
        zone.watermarks = marks;
    }
    state.zones = populated(&state.layout, tuning(&state.frame));
}

fn unusable(memory: Bytes, why: String) -> Error {
    Error::Boot { memory, why }
}
