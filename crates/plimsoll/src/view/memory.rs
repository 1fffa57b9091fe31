//! Memory at a glance: what it is used for.

use mm::meminfo::Meminfo;
use mm::rules::{Print, prints};
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Pages};
use serde::Serialize;

use super::page::Page;
use super::share::bar;

/// Amounts in bytes. The parts add up to the total, `other` being the rest.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    total_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_bytes: Option<u64>,
    parts: Vec<Part>,
    hugetlb_idle_bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<&'static str>,
}

/// What some of the memory is used for.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    name: &'static str,
    bytes: u64,
    #[serde(skip)]
    title: &'static str,
    #[serde(skip)]
    about: String,
}

/// Items without which the rest says nothing: any of them may be most of it. Either of two
/// spellings will do.
const LARGE: [[&str; 2]; 5] = [
    ["AnonPages", "AnonPages"],
    ["Cached", "Cached"],
    ["Slab", "SUnreclaim"],
    ["SReclaimable", "Slab"],
    ["PageTables", "PageTables"],
];

/// A rest of fewer pages than a sixty-fourth of the memory needs no explanation.
const SMALL: u64 = 64;

impl Memory {
    /// The parts; `None` without MemTotal and MemFree.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let meminfo = snapshot.meminfo.as_ref()?;
        let (total, free) = (meminfo.mem_total?, meminfo.mem_free?);
        let mut parts = used(snapshot, meminfo);
        parts.push(Part::new("free", "free", free, free_about(meminfo)));
        let known: Bytes = parts.iter().map(|part| Bytes(part.bytes)).sum();
        let rest = Kib(total.bytes().saturating_sub(known).0 / 1024);
        let missing = missing(meminfo);
        parts.extend(explained(snapshot, meminfo, rest, total, &missing));
        Some(Self {
            total_bytes: total.bytes().0,
            available_bytes: meminfo.mem_available.map(|available| available.bytes().0),
            parts,
            hugetlb_idle_bytes: pools(snapshot, meminfo)[1].bytes().0,
            missing,
        })
    }

    /// Writes the section; parts that are nothing are left out.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Memory at a glance");
        page.amount("total", self.total_bytes, "");
        if let Some(available) = self.available_bytes {
            let about = bar(page, available, self.total_bytes, "without swapping");
            page.amount("available", available, &about);
        }
        for part in self.parts.iter().filter(|part| part.bytes > 0) {
            let about = bar(page, part.bytes, self.total_bytes, &part.about);
            page.amount(part.title, part.bytes, &about);
        }
    }
}

/// What meminfo says of memory that is in use.
fn used(snapshot: &Snapshot, meminfo: &Meminfo) -> Vec<Part> {
    let sum = |items: &[Option<Kib>]| -> Kib { items.iter().flatten().copied().sum() };
    let shmem = sum(&[meminfo.shmem]);
    let cache = sum(&[meminfo.cached, meminfo.buffers, meminfo.swap_cached]);
    let tables = sum(&[meminfo.page_tables, meminfo.sec_page_tables]);
    let kernel = sum(&[meminfo.kernel_stack, meminfo.percpu]);
    let vmalloc = meminfo.vmalloc_used.filter(|_| !is_address_space(snapshot));
    let (kernel, kernel_title) = match vmalloc.unwrap_or_default() {
        Kib::ZERO => (kernel, "stacks, percpu"),
        vmalloc => (kernel.saturating_add(vmalloc), "stacks, percpu, vmalloc"),
    };
    let (anon, tmpfs) = match meminfo.swap_total {
        Some(Kib::ZERO) => ("stays: no swap", "tmpfs; stays: no swap"),
        Some(_) => ("goes to swap", "tmpfs; goes to swap"),
        None => ("", "tmpfs"),
    };
    let cache_about = match meminfo.shmem {
        Some(_) => "dropped or written",
        None => "with shared memory, which is not told",
    };
    let slab = meminfo.sunreclaim.or_else(|| {
        let reclaimable = meminfo.sreclaimable.unwrap_or_default();
        meminfo.slab.map(|slab| slab.saturating_sub(reclaimable))
    });
    let [pools, idle] = pools(snapshot, meminfo);
    let pools_about = match meminfo.other.get("HugePages_Rsvd").unwrap_or(0) {
        0 => format!("reserved, of it {} idle", idle.bytes()),
        promised => format!(
            "reserved, of it {} idle, {promised} pages promised",
            idle.bytes()
        ),
    };
    let plain = |name, title, amount, about: &str| Part::new(name, title, amount, about.to_owned());
    let cache = cache.saturating_sub(shmem);
    vec![
        plain("anonymous", "anonymous", sum(&[meminfo.anon_pages]), anon),
        plain("shared", "shared", shmem, tmpfs),
        plain("page_cache", "page cache", cache, cache_about),
        Part::new("hugetlb", "hugetlb pools", pools, pools_about),
        plain(
            "slab_reclaimable",
            "slab, reclaimable",
            sum(&[meminfo.sreclaimable]),
            "caches that shrink",
        ),
        plain("slab_unreclaimable", "slab, fixed", sum(&[slab]), "stays"),
        plain(
            "kernel_reclaimable",
            "kernel, reclaimable",
            misc_reclaimable(snapshot, meminfo),
            "caches that shrink",
        ),
        plain("page_tables", "page tables", tables, ""),
        plain("kernel_other", kernel_title, kernel, "stays"),
    ]
}

/// Whether `VmallocUsed` is address space, as before 4.4: it holds what is mapped of devices too,
/// and pages of other lines.
fn is_address_space(snapshot: &Snapshot) -> bool {
    snapshot.span().is_before(4, 4)
}

/// What of the rest may be vmalloc where `VmallocUsed` is address space. More than the rest it
/// cannot be, and then it says nothing.
fn vmalloc_at_most(snapshot: &Snapshot, meminfo: &Meminfo, rest: Kib) -> Option<Kib> {
    let used = meminfo.vmalloc_used?;
    (is_address_space(snapshot) && Kib::ZERO < used && used <= rest).then_some(used)
}

/// Pages of the kernel's that can be reclaimed and are no slab.
fn misc_reclaimable(snapshot: &Snapshot, meminfo: &Meminfo) -> Kib {
    let nameless = snapshot
        .zoneinfo
        .as_ref()
        .and_then(|info| info.shape.nameless);
    match (meminfo.kreclaimable, nameless) {
        (Some(all), _) => all.saturating_sub(meminfo.sreclaimable.unwrap_or(all)),
        (None, Some(bytes)) => Kib(bytes / 1024),
        (None, None) => Kib::ZERO,
    }
}

/// What the pools of huge pages hold, and the idle part of it. Before 4.16 there is no sum of all
/// sizes: then it is the pool of the default size, and those that `/sys` shows.
fn pools(snapshot: &Snapshot, meminfo: &Meminfo) -> [Kib; 2] {
    let size = meminfo.hugepagesize.unwrap_or_default();
    let item = |name| meminfo.other.get(name).unwrap_or(0);
    let times = |count: u64, size: u64| Kib(count.saturating_mul(size));
    let others = snapshot.pools.iter().filter(|(other, _)| **other != size.0);
    let (mut all, mut idle) = (
        times(item("HugePages_Total"), size.0),
        times(item("HugePages_Free"), size.0),
    );
    for (&size, pool) in others {
        all = all.saturating_add(times(pool.all, size));
        idle = idle.saturating_add(times(pool.free, size));
    }
    let all = meminfo.hugetlb.unwrap_or(all);
    [all, idle.min(all)]
}

/// Free pages that not every request may have.
fn free_about(meminfo: &Meminfo) -> String {
    match meminfo.get("CmaFree") {
        Some(Kib::ZERO) | None => String::new(),
        Some(cma) => format!("of it {} CMA, for movable pages only", cma.bytes()),
    }
}

fn missing(meminfo: &Meminfo) -> Vec<&'static str> {
    let lacks = |names: &&[&str; 2]| names.iter().all(|name| meminfo.get(name).is_none());
    LARGE.iter().filter(lacks).map(|names| names[0]).collect()
}

/// The rest, with what explains it before drivers do.
fn explained(
    snapshot: &Snapshot,
    meminfo: &Meminfo,
    rest: Kib,
    total: Kib,
    missing: &[&'static str],
) -> Vec<Part> {
    if !missing.is_empty() {
        let verb = if missing.len() == 1 { "is" } else { "are" };
        let about = format!("not told: {} {verb} missing", missing.join(", "));
        return vec![Part::new("other", "the rest", rest, about)];
    }
    let mut left = rest;
    let mut parts = Vec::new();
    for (name, title, amount, about) in candidates(snapshot, meminfo, total) {
        let amount = amount.min(left);
        left = left.saturating_sub(amount);
        if amount > Kib::ZERO {
            parts.push(Part::new(name, title, amount, about.to_owned()));
        }
    }
    if let Some(vmalloc) = vmalloc_at_most(snapshot, meminfo, left) {
        left = left.saturating_sub(vmalloc);
        let about = "address space, devices among it".to_owned();
        parts.push(Part::new("vmalloc", "vmalloc, at most", vmalloc, about));
    }
    parts.push(Part::new(
        "other",
        "other",
        left,
        other_about(snapshot, meminfo),
    ));
    parts
}

/// Memory that no line of meminfo has, or that two have in part.
fn candidates(
    snapshot: &Snapshot,
    meminfo: &Meminfo,
    total: Kib,
) -> [(&'static str, &'static str, Kib, &'static str); 6] {
    let pages = |item| Pages(snapshot.vmstat(item).unwrap_or(0)).kib(snapshot.page);
    let zsmalloc = match snapshot.vmstat("nr_zspages") {
        Some(_) => pages("nr_zspages"),
        None => in_zram(snapshot).saturating_add(meminfo.zswap.unwrap_or_default()),
    };
    let balloon = meminfo.balloon.unwrap_or_else(|| pages("nr_balloon_pages"));
    let gpu = pages("nr_gpu_active").saturating_add(pages("nr_gpu_reclaim"));
    let over = |list: Kib, told: Kib| {
        let over = list.saturating_sub(told);
        // A list longer than all memory is a counter that has gone astray.
        if over.0 > total.0 / SMALL && list <= total {
            over
        } else {
            Kib::ZERO
        }
    };
    let sum = |items: &[Option<Kib>]| -> Option<Kib> {
        let items: Option<Vec<Kib>> = items.iter().copied().collect();
        items.map(|items| items.into_iter().sum())
    };
    let anon_lists = sum(&[meminfo.active_anon, meminfo.inactive_anon]).unwrap_or_default();
    let anon = sum(&[meminfo.anon_pages, meminfo.shmem, meminfo.swap_cached]);
    let file_lists = sum(&[meminfo.active_file, meminfo.inactive_file]).unwrap_or_default();
    let file = sum(&[meminfo.cached, meminfo.buffers]);
    let file = file.map(|file| file.saturating_sub(meminfo.shmem.unwrap_or_default()));
    let anon = anon.map_or(Kib::ZERO, |anon| over(anon_lists, anon));
    let file = file.map_or(Kib::ZERO, |file| over(file_lists, file));
    [
        ("zsmalloc", "zsmalloc", zsmalloc, "zram and zswap"),
        (
            "balloon",
            "balloon",
            balloon,
            "given back to the hypervisor",
        ),
        ("gpu", "graphics", gpu, "GPU drivers"),
        (
            "anonymous_unmapped",
            "anonymous, not mapped",
            anon,
            "on the lists, nothing maps it",
        ),
        (
            "file_unmapped",
            "on the file lists alone",
            file,
            "of no file any more, or freed lazily",
        ),
        (
            "corrupted",
            "corrupted",
            meminfo.get("HardwareCorrupted").unwrap_or_default(),
            "",
        ),
    ]
}

/// What the zram devices take.
fn in_zram(snapshot: &Snapshot) -> Kib {
    let devices = snapshot.zram.values();
    let used: Bytes = devices
        .filter_map(|zram| zram.memory.map(|memory| memory.used))
        .sum();
    Kib(used.0 / 1024)
}

/// What may be in the rest on this kernel.
fn other_about(snapshot: &Snapshot, meminfo: &Meminfo) -> String {
    let mut may = vec!["drivers"];
    let never_told = prints(snapshot.span(), Print::NoVmalloc) == Some(true);
    let hides_vmalloc = meminfo.vmalloc_used.is_none_or(|used| used == Kib::ZERO)
        && (never_told || !snapshot.span().is_since(5, 3));
    if is_address_space(snapshot) {
        may.push("vmalloc (told as address space)");
    } else if hides_vmalloc {
        may.push("vmalloc (told as 0)");
    }
    let event = |item| snapshot.vmstat(item).unwrap_or(0);
    if event("balloon_inflate") > event("balloon_deflate") {
        may.push("a balloon");
    }
    let cma = meminfo.get("CmaTotal").unwrap_or_default();
    if cma > meminfo.get("CmaFree").unwrap_or_default() {
        may.push("CMA in use by devices");
    }
    format!("{} and the rest", may.join(", "))
}

impl Part {
    fn new(name: &'static str, title: &'static str, amount: Kib, about: String) -> Self {
        Self {
            name,
            title,
            bytes: amount.bytes().0,
            about,
        }
    }
}
