//! Swap: its areas, what compresses it, what went in and out, and what swappiness does here.

use crate::fact::or_unsaid;
use crate::share::percent;
use mm::formula::scan_balance::anon_permille;
use mm::snapshot::Snapshot;
use mm::text::counted;
use mm::units::{Bytes, Kib, Pages};
use mm::zram::Zram;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// Amounts in bytes.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Swap {
    areas: Vec<Area>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_cached_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swapped_in_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swapped_out_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swappiness: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swappiness_effect: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_cluster: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zswap: Option<Zswap>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    zram: Vec<Compressed>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Area {
    path: String,
    kind: String,
    size_bytes: u64,
    used_bytes: u64,
    priority: i32,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Zswap {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compressed_bytes: Option<u64>,
}

/// A zram device, used for swap or not.
#[derive(Debug, JsonSchema, Serialize)]
struct Compressed {
    device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    original_bytes: u64,
    compressed_bytes: u64,
    memory_bytes: u64,
    memory_peak_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_limit_bytes: Option<u64>,
    same_filled_pages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    incompressible_pages: Option<u64>,
}

impl Swap {
    /// What swaps, meminfo and the tunables say.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (swaps, meminfo) = (snapshot.swaps.as_ref()?, snapshot.meminfo.as_ref()?);
        let areas = swaps.areas.iter().map(|area| Area {
            path: area.path.clone(),
            kind: area.kind.clone(),
            size_bytes: area.size.bytes().0,
            used_bytes: area.used.bytes().0,
            priority: area.priority,
        });
        let bytes = |amount: Option<Kib>| amount.map(|amount| amount.bytes().0);
        let zswap = |state: &str| Zswap {
            enabled: state == "Y",
            stored_bytes: bytes(meminfo.zswapped),
            compressed_bytes: bytes(meminfo.zswap),
        };
        let pages = |item| {
            snapshot
                .vmstat(item)
                .map(|count| Pages(count).bytes(snapshot.page).0)
        };
        let zram = snapshot.zram.iter();
        let swappiness = snapshot.number("vm.swappiness");
        Some(Self {
            areas: areas.collect(),
            total_bytes: bytes(meminfo.swap_total),
            free_bytes: bytes(meminfo.swap_free),
            swap_cached_bytes: bytes(meminfo.swap_cached),
            swapped_in_bytes: pages("pswpin"),
            swapped_out_bytes: pages("pswpout"),
            swappiness,
            swappiness_effect: swappiness.map(|swappiness| effect(snapshot, swappiness)),
            page_cluster: snapshot.number("vm.page-cluster"),
            zswap: snapshot.tunable("zswap.enabled").map(zswap),
            zram: zram
                .filter_map(|(name, zram)| Compressed::of(name, zram))
                .collect(),
        })
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Swap");
        match self.total_bytes {
            Some(total) if self.areas.is_empty() && total > 0 => {
                let text = format!("SwapTotal is {}, and no area of it is listed", Bytes(total));
                page.paragraph(2, &text);
            }
            _ if self.areas.is_empty() => page.paragraph(
                2,
                "none: anonymous memory cannot be reclaimed, whatever vm.swappiness says",
            ),
            _ => {}
        }
        self.write_areas(page);
        self.write_traffic(page);
        if let Some((swappiness, effect)) = self.swappiness.zip(self.swappiness_effect.as_ref()) {
            page.row("vm.swappiness", swappiness, effect);
        }
        if let Some(cluster) = self.page_cluster.filter(|_| !self.areas.is_empty()) {
            let about = format!("reads up to {} pages at a time", 1_u64 << cluster.min(10));
            page.row("vm.page-cluster", cluster, &about);
        }
        if let Some(zswap) = self.zswap.as_ref().filter(|zswap| zswap.enabled) {
            let stored = zswap
                .stored_bytes
                .map(|bytes| format!("holds {}", Bytes(bytes)));
            if let Some(bytes) = zswap.compressed_bytes {
                page.amount("zswap", bytes, &or_unsaid(stored));
            }
        }
    }

    fn write_areas(&self, page: &mut Page) {
        for area in &self.areas {
            let used = Bytes(area.used_bytes);
            let share = percent(area.used_bytes, area.size_bytes);
            let about = format!(
                "{used} used ({share}), {}, priority {}",
                area.kind, area.priority
            );
            page.amount(&area.path, area.size_bytes, &about);
            let device = area.path.strip_prefix("/dev/");
            let zram = self
                .zram
                .iter()
                .find(|zram| Some(zram.device.as_str()) == device);
            zram.iter().for_each(|zram| page.paragraph(6, &zram.text()));
        }
        let is_area = |device: &str| self.areas.iter().any(|area| area.path.ends_with(device));
        for zram in self.zram.iter().filter(|zram| !is_area(&zram.device)) {
            let name = format!("/dev/{}", zram.device);
            match zram.size_bytes {
                Some(size) => page.amount(&name, size, "not used for swap"),
                None => page.row(&name, "", "not used for swap"),
            }
            page.paragraph(6, &zram.text());
        }
    }

    fn write_traffic(&self, page: &mut Page) {
        if let Some(cached) = self.swap_cached_bytes.filter(|&bytes| bytes > 0) {
            let about = "also in memory: freed without writing";
            page.amount("swap cache", cached, about);
        }
        let traffic = self.swapped_in_bytes.zip(self.swapped_out_bytes);
        if let Some((read, written)) = traffic.filter(|&traffic| traffic != (0, 0)) {
            page.amount("swapped in", read, "since boot");
            page.amount("swapped out", written, "since boot");
        }
    }
}

impl Compressed {
    fn of(name: &str, zram: &Zram) -> Option<Self> {
        let memory = zram.memory?;
        Some(Self {
            device: name.to_owned(),
            algorithm: zram.algorithm.clone(),
            size_bytes: zram.size.map(|size| size.0),
            original_bytes: memory.original.0,
            compressed_bytes: memory.compressed.0,
            memory_bytes: memory.used.0,
            memory_peak_bytes: memory.peak.0,
            memory_limit_bytes: Some(memory.limit.0).filter(|&limit| limit > 0),
            same_filled_pages: memory.same_pages,
            incompressible_pages: memory.huge_pages,
        })
    }

    fn text(&self) -> String {
        let by = self.algorithm.as_deref().unwrap_or("compressed");
        let mut text = format!(
            "{by}: {} stored as {}{}, in {} of memory (at most {})",
            Bytes(self.original_bytes),
            Bytes(self.compressed_bytes),
            self.ratio(),
            Bytes(self.memory_bytes),
            Bytes(self.memory_peak_bytes),
        );
        if let Some(limit) = self.memory_limit_bytes {
            text.push_str(&format!(", limit {}", Bytes(limit)));
        }
        for (pages, what) in [
            (Some(self.same_filled_pages), "filled with one value"),
            (self.incompressible_pages, "stored as they are"),
        ] {
            if let Some(pages) = pages.filter(|&pages| pages > 0) {
                text.push_str(&format!(", {} {what}", counted(pages, "page")));
            }
        }
        text
    }

    /// Stored over compressed, in tenths; nothing where nothing is stored.
    fn ratio(&self) -> String {
        let tenths = u128::from(self.original_bytes) * 10;
        match tenths.checked_div(u128::from(self.compressed_bytes)) {
            Some(tenths) if tenths > 0 => format!(" ({}.{} : 1)", tenths / 10, tenths % 10),
            _ => String::new(),
        }
    }
}

/// What this value of `vm.swappiness` does on this machine as it is.
pub(super) fn effect(snapshot: &Snapshot, swappiness: u64) -> String {
    let meminfo = snapshot.meminfo.as_ref();
    let free = meminfo.and_then(|meminfo| meminfo.swap_free);
    let enabled = snapshot.lru_gen.enabled;
    let what = match enabled.is_some_and(mm::lru_gen::Enabled::core) {
        true => by_generations(snapshot, swappiness),
        false => by_lists(swappiness),
    };
    match (has_swap(snapshot), free) {
        (Some(false), _) => "inert without swap".to_owned(),
        (_, Some(Kib::ZERO)) => "inert while swap is full".to_owned(),
        (Some(true), _) => what,
        (None, _) => format!("with swap, of which this evidence does not tell: {what}"),
    }
}

/// Whether there is any swap, by the areas or by its size: an empty list beside a size is cut off.
fn has_swap(snapshot: &Snapshot) -> Option<bool> {
    let areas = snapshot.swaps.as_ref().map(|swaps| !swaps.areas.is_empty());
    let total = snapshot
        .meminfo
        .as_ref()
        .and_then(|meminfo| meminfo.swap_total);
    let size = total.map(|total| total > Kib::ZERO);
    match (areas, size) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, None) => None,
        _ => Some(false),
    }
}

/// With the classic LRU: the part of a scan that weighs both, over all costs.
fn by_lists(swappiness: u64) -> String {
    match swappiness {
        0 => "page cache only, unless it is all but gone".to_owned(),
        200.. => "anonymous memory only, where costs decide".to_owned(),
        swappiness => {
            let (least, most) = anon_permille(swappiness);
            let (least, most) = (least / 10, most / 10);
            format!("{least} to {most} % anonymous, where costs decide")
        }
    }
}

/// With the multi-generation LRU: the ends choose a type, and what lies between weighs refaults.
fn by_generations(snapshot: &Snapshot, swappiness: u64) -> String {
    /// Since here the order of the generations no longer comes before the ends.
    const REWORKED: (u64, u64) = (6, 14);
    let release = snapshot.release.as_deref().and_then(version);
    let reworked = release.is_some_and(|release| release >= REWORKED);
    match (swappiness, reworked) {
        (0, _) | (1, true) => "page cache only".to_owned(),
        (1, false) => "page cache, unless anonymous memory has older generations".to_owned(),
        (200.., true) => "anonymous memory only".to_owned(),
        (200.., false) => "anonymous memory, unless page cache alone can go".to_owned(),
        (_, true) => format!(
            "refaults of the generations weigh, {swappiness} to {}; 0, 1 and 200 choose a type",
            200 - swappiness
        ),
        (_, false) => format!(
            "the older generations go first; of equals refaults weigh, {swappiness} to {}, so that \
             values from 2 to 199 hardly differ",
            200 - swappiness
        ),
    }
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u64, u64)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::capture::Frame;

    fn effect_with(files: &[(&str, &str)], swappiness: u64) -> String {
        let mut frame = Frame::default();
        for (path, text) in files {
            frame.files.insert((*path).to_owned(), (*text).to_owned());
        }
        effect(&Snapshot::parse(&frame), swappiness)
    }

    const AREA: (&str, &str) = ("proc/swaps", "/dev/vdb partition 1024 0 -2\n");
    const FREE: (&str, &str) = ("proc/meminfo", "SwapFree: 1024 kB\n");
    const GENERATIONS: (&str, &str) = ("sys/kernel/mm/lru_gen/enabled", "0x0007\n");

    #[test]
    fn swappiness_is_inert_without_free_swap() {
        let none = ("proc/meminfo", "SwapTotal: 0 kB\n");
        assert_eq!(effect_with(&[none], 60), "inert without swap");
        let empty = ("proc/swaps", "Filename Type Size Used Priority\n");
        assert_eq!(effect_with(&[empty], 60), "inert without swap");
        let full = ("proc/meminfo", "SwapFree: 0 kB\n");
        assert_eq!(effect_with(&[AREA, full], 60), "inert while swap is full");
    }

    #[test]
    fn without_the_size_of_swap_it_is_not_said_that_there_is_none() {
        for files in [&[][..], &[FREE][..]] {
            let effect = effect_with(files, 60);
            assert!(effect.contains("does not tell"), "{effect}");
        }
        let size = (
            "proc/meminfo",
            "SwapTotal: 3984588 kB\nSwapFree: 3984588 kB\n",
        );
        assert!(effect_with(&[size], 60).contains("17 to 46 %"));
    }

    #[test]
    fn on_the_classic_lru_the_bounds_of_the_scan_are_told() {
        let classic = |swappiness| effect_with(&[AREA, FREE], swappiness);
        assert!(classic(60).contains("17 to 46 %"), "{}", classic(60));
        assert!(classic(100).contains("33 to 66 %"));
        assert!(classic(0).contains("page cache only"));
        assert!(classic(200).contains("anonymous memory only"));
    }

    #[test]
    fn by_generations_one_means_more_since_the_rework() {
        let with = |release| {
            let release = ("proc/sys/kernel/osrelease", release);
            effect_with(&[AREA, FREE, GENERATIONS, release], 1)
        };
        assert!(with("6.12.1-amd64\n").contains("older generations"));
        assert_eq!(with("6.14.0\n"), "page cache only");
        assert_eq!(version("6.12.117+deb12"), Some((6, 12)));
        assert_eq!(version("rolling"), None);
    }
}
