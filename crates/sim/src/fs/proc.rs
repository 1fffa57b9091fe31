//! The kernel's files as the model fills them in: the text of the boot state, with the numbers that
//! a mechanism of the model moves.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write as _;

use mm::formula::available::{Inputs, available};
use mm::units::Pages;
use mm::zoneinfo::Zone as Layout;

use crate::mm::hugetlb::state::Hugetlb;
use crate::mm::lru::Lru;
use crate::mm::mm_init;
use crate::mm::parts::Memory;

/// Templates of the files.
#[derive(Clone, Debug)]
pub(crate) struct Procfs {
    meminfo: String,
    vmstat: String,
    zoneinfo: String,
    /// Free pages after boot, and those that a machine of another size has more, and of all pages.
    boot_free: i64,
    free_delta: i64,
    managed_delta: i64,
    /// `MemFree` less the zones' free pages, and the same for what `MemAvailable` counts.
    boot_meminfo: BTreeMap<String, i64>,
}

impl Procfs {
    pub(crate) fn new(boot: &mm_init::State) -> Self {
        let text = |path| boot.frame.file(path).unwrap_or_default().to_string();
        let meminfo = text("proc/meminfo");
        let boot_meminfo = meminfo.lines().filter_map(meminfo_line);
        let boot_meminfo = boot_meminfo
            .map(|(key, kib)| (key.to_string(), kib / 4))
            .collect();
        Self {
            boot_meminfo,
            meminfo,
            vmstat: text("proc/vmstat"),
            zoneinfo: text("proc/zoneinfo"),
            boot_free: boot.zones.iter().map(|zone| zone.free as i64).sum(),
            free_delta: boot.free_delta,
            managed_delta: boot.managed_delta,
        }
    }

    /// `/proc/meminfo`.
    pub(crate) fn meminfo(&self, memory: &Memory) -> String {
        let changes = self.meminfo_changes(memory);
        let mut text = String::with_capacity(self.meminfo.len());
        for line in self.meminfo.lines() {
            if let Some(line) = hugetlb_line(line, &memory.zones.hugetlb) {
                let _ = writeln!(text, "{line}");
                continue;
            }
            let changed = meminfo_line(line).and_then(|(key, kib)| {
                let pages = changes.get(key)?;
                Some((key, (kib + pages * 4).max(0)))
            });
            let _ = match changed {
                Some((key, kib)) => writeln!(text, "{:<16}{kib:>8} kB", format!("{key}:")),
                None => writeln!(text, "{line}"),
            };
        }
        text
    }

    /// `/proc/vmstat`.
    pub(crate) fn vmstat(&self, memory: &Memory) -> String {
        let mut changes = self.node_changes(memory);
        changes.extend(
            memory
                .cpu
                .real_events()
                .map(|(name, count)| (name, count as i64)),
        );
        changes.insert("nr_free_pages", self.free_change(memory));
        let thresholds = memory
            .writeback
            .dirty_thresholds(&memory.cpu, &memory.zones);
        let absolute = BTreeMap::from([
            ("nr_dirty_threshold", thresholds.dirty.0),
            ("nr_dirty_background_threshold", thresholds.background.0),
        ]);
        let mut text = String::with_capacity(self.vmstat.len() + 64);
        for line in self.vmstat.lines() {
            let Some((name, value)) = line.split_once(' ') else {
                continue;
            };
            let value: i64 = value.trim().parse().unwrap_or(0);
            let now = match absolute.get(name) {
                Some(value) => *value as i64,
                None => value + changes.get(name).copied().unwrap_or(0),
            };
            let _ = writeln!(text, "{name} {}", now.max(0));
        }
        text
    }

    /// `/proc/zoneinfo`.
    pub(crate) fn zoneinfo(&self, memory: &Memory) -> String {
        let node = self.node_changes(memory);
        let mut text = String::with_capacity(self.zoneinfo.len());
        let mut zone = None;
        let mut of_node = false;
        let mut next = 0;
        for line in self.zoneinfo.lines() {
            if line.starts_with("Node ") {
                zone = Some(next);
                next += 1;
                of_node = false;
            }
            match line.trim() {
                "per-node stats" => of_node = true,
                other if other.starts_with("pages free") => of_node = false,
                _ => {}
            }
            let changed = match zone {
                _ if of_node => changed_count(line, &node),
                Some(index) => zone_line(line, &memory.zones.layout[index], memory, index),
                None => None,
            };
            let _ = writeln!(text, "{}", changed.as_deref().unwrap_or(line));
        }
        text
    }

    /// On a machine of another size the zones' free pages after boot are already the new ones,
    /// while the template still has the old figure.
    fn free_change(&self, memory: &Memory) -> i64 {
        memory.cpu.real(memory.zones.free_pages()).0 as i64 - self.boot_free + self.free_delta
    }

    /// Pages by which the model moved each item of /proc/meminfo.
    fn meminfo_changes(&self, memory: &Memory) -> BTreeMap<&'static str, i64> {
        let real = |pages| memory.cpu.real(pages).0 as i64;
        let list = |lru| listed(memory, lru);
        let (inactive_anon, active_anon) = (list(Lru::InactiveAnon), list(Lru::ActiveAnon));
        let (inactive_file, active_file) = (list(Lru::InactiveFile), list(Lru::ActiveFile));
        let slab = real(memory.objects.slab_pages());
        let unreclaimable = real(memory.ksm.slabs() + memory.objects.unreclaimable_slab_pages());
        let buffers = real(memory.journal_blocks());
        BTreeMap::from([
            ("SUnreclaim", unreclaimable),
            ("MemTotal", self.managed_delta),
            ("MemFree", self.free_change(memory)),
            (
                "MemAvailable",
                self.available(memory) - self.boot("MemAvailable"),
            ),
            ("Buffers", buffers),
            ("Cached", real(memory.zones.file_pages()) - buffers),
            ("Active", active_anon + active_file),
            ("Inactive", inactive_anon + inactive_file),
            ("Active(anon)", active_anon),
            ("Inactive(anon)", inactive_anon),
            ("Active(file)", active_file),
            ("Inactive(file)", inactive_file),
            ("SwapTotal", real(memory.swap.total())),
            ("SwapFree", real(memory.swap.free())),
            ("SwapCached", real(memory.folios.swap_cached)),
            ("Mapped", real(memory.folios.file_mapped)),
            ("Dirty", real(memory.writeback.dirty)),
            (
                "Writeback",
                real(memory.writeback.under_writeback(&memory.swap)),
            ),
            ("Unevictable", real(memory.zones.unevictable())),
            ("Mlocked", real(memory.zones.unevictable())),
            ("Hugetlb", memory.zones.hugetlb_pages() as i64),
            ("AnonPages", real(memory.folios.anon_pages)),
            ("AnonHugePages", real(memory.folios.anon_huge_pages)),
            ("KReclaimable", slab),
            ("Slab", slab + unreclaimable),
            ("SReclaimable", slab),
            ("PageTables", real(memory.objects.page_table_pages)),
        ])
    }

    /// `MemAvailable` in pages.
    pub(crate) fn available(&self, memory: &Memory) -> i64 {
        let real = |pages| memory.cpu.real(pages).0 as i64;
        let count = |item: &str, more: i64| Pages((self.boot(item) + more).max(0) as u64);
        let file = count("Active(file)", real(memory.zones.file_pages())).0
            + self.boot("Inactive(file)") as u64;
        let total = available(Inputs {
            free: count("MemFree", self.free_change(memory)),
            totalreserve: memory.zones.totalreserve(),
            file: Pages(file),
            reclaimable: count("KReclaimable", real(memory.objects.slab_pages())),
            low_watermarks: low_watermarks(memory),
        });
        total.total.0 as i64
    }

    fn boot(&self, item: &str) -> i64 {
        self.boot_meminfo.get(item).copied().unwrap_or(0)
    }

    /// Pages by which the model moved the node's counts.
    fn node_changes(&self, memory: &Memory) -> BTreeMap<&'static str, i64> {
        let mut changes = BTreeMap::new();
        let real = |pages| memory.cpu.real(pages).0 as i64;
        for (lru, node, zone) in LISTS {
            let pages = listed(memory, lru);
            changes.extend([(node, pages), (zone, pages)]);
        }
        let anon_huge = real(memory.folios.anon_huge_pages / 512);
        changes.extend([
            ("nr_anon_pages", real(memory.folios.anon_pages)),
            ("nr_mapped", real(memory.folios.file_mapped)),
            ("nr_unevictable", real(memory.zones.unevictable())),
            ("nr_mlock", real(memory.zones.unevictable())),
            ("nr_zone_unevictable", real(memory.zones.unevictable())),
            ("nr_swapcached", real(memory.folios.swap_cached)),
            ("nr_dirty", real(memory.writeback.dirty)),
            (
                "nr_writeback",
                real(memory.writeback.under_writeback(&memory.swap)),
            ),
            (
                "nr_file_pages",
                real(memory.zones.file_pages() + memory.folios.swap_cached),
            ),
            ("nr_slab_reclaimable", real(memory.objects.slab_pages())),
            ("nr_page_table_pages", real(memory.objects.page_table_pages)),
            ("nr_anon_transparent_hugepages", anon_huge),
        ]);
        let workingset = memory.cpu.real_events();
        let workingset = workingset.filter(|(name, _)| NODE_EVENTS.contains(name));
        changes.extend(workingset.map(|(name, count)| (name, count as i64)));
        changes
    }
}

/// Pages that a list has more than after boot.
fn listed(memory: &Memory, lru: Lru) -> i64 {
    let of_boot = memory.zones.iter().map(|zone| zone.of_boot[lru as usize]);
    memory.cpu.real(memory.zones.list(lru)).0 as i64 - memory.cpu.real(of_boot.sum()).0 as i64
}

/// Events that are counted for each node too.
const NODE_EVENTS: [&str; 11] = [
    "nr_dirtied",
    "nr_throttled_written",
    "nr_vmscan_immediate_reclaim",
    "nr_vmscan_write",
    "nr_written",
    "workingset_activate_anon",
    "workingset_activate_file",
    "workingset_refault_anon",
    "workingset_refault_file",
    "workingset_restore_anon",
    "workingset_restore_file",
];

/// The lists and their names in the node's and in a zone's counts.
const LISTS: [(Lru, &str, &str); 4] = [
    (
        Lru::InactiveAnon,
        "nr_inactive_anon",
        "nr_zone_inactive_anon",
    ),
    (Lru::ActiveAnon, "nr_active_anon", "nr_zone_active_anon"),
    (
        Lru::InactiveFile,
        "nr_inactive_file",
        "nr_zone_inactive_file",
    ),
    (Lru::ActiveFile, "nr_active_file", "nr_zone_active_file"),
];

/// A line of /proc/meminfo that counts the pool's huge pages.
fn hugetlb_line(line: &str, pool: &Hugetlb) -> Option<String> {
    let (key, _) = line.split_once(':')?;
    let pages = match key {
        "HugePages_Total" => pool.total(),
        "HugePages_Free" => pool.free(),
        "HugePages_Rsvd" => pool.reserved(),
        _ => return None,
    };
    Some(format!("{:<16}{pages:>8}", format!("{key}:")))
}

/// Key and KiB of a line of /proc/meminfo.
fn meminfo_line(line: &str) -> Option<(&str, i64)> {
    let (key, value) = line.split_once(':')?;
    Some((key, value.trim().strip_suffix(" kB")?.parse().ok()?))
}

/// A line "   name number" with the number changed, if the name is among the changes.
fn changed_count(line: &str, changes: &BTreeMap<&'static str, i64>) -> Option<String> {
    let (name, value) = line.trim().split_once(' ')?;
    let value = value.trim().parse::<i64>().ok()? + changes.get(name)?;
    Some(format!("      {name:<12} {}", value.max(0)))
}

/// The low watermarks of all zones, their boosts included.
fn low_watermarks(memory: &Memory) -> Pages {
    let marks: Pages = memory
        .zones
        .layout
        .iter()
        .map(|zone| zone.watermarks.low)
        .sum();
    let boosts = memory.zones.iter().map(|zone| zone.boost).sum();
    marks + memory.cpu.real(boosts)
}

/// A line of a zone with the model's number, where it has one.
fn zone_line(line: &str, layout: &Layout, memory: &Memory, index: usize) -> Option<String> {
    let zone = memory.zones.iter().find(|zone| zone.layout == index);
    let real = |pages| memory.cpu.real(pages).0;
    let free = zone.map_or(0, |zone| real(zone.free));
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let marks = layout.watermarks;
    let boost = zone.map_or(0, |zone| real(zone.boost));
    let number = match name {
        "boost" => boost,
        "pages" => return Some(format!("  pages free     {free}")),
        "min" => marks.min.0 + boost,
        "low" => marks.low.0 + boost,
        "high" => marks.high.0 + boost,
        "promo" => marks.promo?.0 + boost,
        "spanned" => layout.spanned.0,
        "present" => layout.present.0,
        "managed" => layout.managed.0,
        "count:" => {
            return Some(format!(
                "              count:    {}",
                real(zone?.pcp.count())
            ));
        }
        "high:" => {
            return Some(format!(
                "              high:     {}",
                real(zone?.pcp.high())
            ));
        }
        "protection:" => return Some(protection_line(layout)),
        "nr_free_pages" => return Some(format!("      nr_free_pages {free}")),
        _ => {
            let (lru, _, _) = LISTS.iter().find(|(_, _, of_zone)| *of_zone == name)?;
            let boot: u64 = words.next()?.parse().ok()?;
            let (zone, lru) = (zone?, *lru as usize);
            let pages = (boot + real(zone.lru[lru])).saturating_sub(real(zone.of_boot[lru]));
            return Some(format!("      {name} {pages}"));
        }
    };
    Some(format!("        {name:<8} {number}"))
}

fn protection_line(layout: &Layout) -> String {
    let mut text = String::from("        protection: (");
    for (index, pages) in layout.protection.iter().enumerate() {
        let _ = write!(text, "{}{}", if index == 0 { "" } else { ", " }, pages.0);
    }
    text + ")"
}
