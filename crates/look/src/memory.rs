//! Memory at a glance: what it is used for.

use crate::fact::or_unsaid;
use mm::meminfo::Meminfo;
use mm::rules::{Print, prints};
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;
use super::share::bar;

/// Amounts in bytes. The parts add up to the total, `other` being the rest.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Memory {
    total_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_bytes: Option<u64>,
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hugetlb_idle_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<&'static str>,
}

/// What some of the memory is used for.
#[derive(Debug, JsonSchema, Serialize)]
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
            hugetlb_idle_bytes: pools(snapshot, meminfo).map(|[_, idle]| idle.bytes().0),
            missing,
        })
    }

    /// What is in no line, where all large lines are there.
    pub(crate) fn untold(&self) -> Option<Bytes> {
        let other = self.parts.iter().find(|part| part.name == "other");
        let other = other.filter(|_| self.missing.is_empty());
        other.map(|part| Bytes(part.bytes))
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
    let shmem = meminfo.shmem;
    let cache = told(&[meminfo.cached, meminfo.buffers, meminfo.swap_cached]);
    let tables = told(&[meminfo.page_tables, meminfo.sec_page_tables]);
    let vmalloc = meminfo.vmalloc_used.filter(|_| !is_address_space(snapshot));
    let kernel = told(&[meminfo.kernel_stack, meminfo.percpu, vmalloc]);
    let kernel_title = match vmalloc {
        None | Some(Kib::ZERO) => "stacks, percpu",
        Some(_) => "stacks, percpu, vmalloc",
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
        // A part of a sum that is not told is in what is.
        let (slab, reclaimable) = (meminfo.slab?, meminfo.sreclaimable);
        Some(reclaimable.map_or(slab, |reclaimable| slab.saturating_sub(reclaimable)))
    });
    let pools = pools(snapshot, meminfo);
    let promised = meminfo
        .other
        .get("HugePages_Rsvd")
        .filter(|&pages| pages > 0);
    let promised = promised.map(|pages| format!(", {pages} pages promised"));
    let idle = pools.map(|[_, idle]| format!(", of it {} idle", idle.bytes()));
    let pools_about = format!("reserved{}{}", or_unsaid(idle), or_unsaid(promised));
    let pools = pools.map(|[all, _]| all);
    let plain = |name, title, amount: Option<Kib>, about: &str| {
        Some(Part::new(name, title, amount?, about.to_owned()))
    };
    let cache = cache.map(|cache| shmem.map_or(cache, |shmem| cache.saturating_sub(shmem)));
    let parts = [
        plain("anonymous", "anonymous", meminfo.anon_pages, anon),
        plain("shared", "shared", shmem, tmpfs),
        plain("page_cache", "page cache", cache, cache_about),
        plain("hugetlb", "hugetlb pools", pools, &pools_about),
        plain(
            "slab_reclaimable",
            "slab, reclaimable",
            meminfo.sreclaimable,
            "caches that shrink",
        ),
        plain("slab_unreclaimable", "slab, fixed", slab, "stays"),
        plain(
            "kernel_reclaimable",
            "kernel, reclaimable",
            misc_reclaimable(snapshot, meminfo),
            "caches that shrink",
        ),
        plain("page_tables", "page tables", tables, ""),
        plain("kernel_other", kernel_title, kernel, "stays"),
    ];
    parts.into_iter().flatten().collect()
}

/// The sum of those of these items that are told; `None` where none is.
fn told(items: &[Option<Kib>]) -> Option<Kib> {
    let told = items.iter().flatten().copied();
    told.reduce(Kib::saturating_add)
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
fn misc_reclaimable(snapshot: &Snapshot, meminfo: &Meminfo) -> Option<Kib> {
    let nameless = snapshot
        .zoneinfo
        .as_ref()
        .and_then(|info| info.shape.nameless);
    match meminfo.kreclaimable {
        Some(all) => Some(all.saturating_sub(meminfo.sreclaimable?)),
        None => Some(Kib(nameless? / 1024)),
    }
}

/// What the pools of huge pages hold, and the idle part of it. Before 4.16 there is no sum of all
/// sizes: then it is the pool of the default size, and those that `/sys` shows.
fn pools(snapshot: &Snapshot, meminfo: &Meminfo) -> Option<[Kib; 2]> {
    let size = meminfo.hugepagesize?;
    let item = |name| meminfo.other.get(name);
    let times = |count: u64, size: u64| Kib(count.saturating_mul(size));
    let others = snapshot.pools.iter().filter(|(other, _)| **other != size.0);
    let (mut all, mut idle) = (
        times(item("HugePages_Total")?, size.0),
        times(item("HugePages_Free")?, size.0),
    );
    for (&size, pool) in others {
        all = all.saturating_add(times(pool.all, size));
        idle = idle.saturating_add(times(pool.free, size));
    }
    let all = meminfo.hugetlb.unwrap_or(all);
    Some([all, idle.min(all)])
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
        let Some(amount) = amount else { continue };
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
) -> [(&'static str, &'static str, Option<Kib>, &'static str); 6] {
    let pages = |item| Some(Pages(snapshot.vmstat(item)?).kib(snapshot.page));
    let compressed = || told(&[in_zram(snapshot), meminfo.zswap]);
    let zsmalloc = pages("nr_zspages").or_else(compressed);
    let balloon = meminfo.balloon.or_else(|| pages("nr_balloon_pages"));
    let gpu = told(&[pages("nr_gpu_active"), pages("nr_gpu_reclaim")]);
    let over = |list: Kib, told: Kib| {
        let over = list.saturating_sub(told);
        // A list longer than all memory is a counter that has gone astray.
        (over.0 > total.0 / SMALL && list <= total).then_some(over)
    };
    let sum = |items: &[Option<Kib>]| -> Option<Kib> {
        let items: Option<Vec<Kib>> = items.iter().copied().collect();
        items.map(|items| items.into_iter().sum())
    };
    let anon_lists = sum(&[meminfo.active_anon, meminfo.inactive_anon]);
    let anon = sum(&[meminfo.anon_pages, meminfo.shmem, meminfo.swap_cached]);
    let file_lists = sum(&[meminfo.active_file, meminfo.inactive_file]);
    // With shared memory in it the cache is more than the lists: nothing is over then.
    let file = sum(&[meminfo.cached, meminfo.buffers]);
    let file = meminfo
        .shmem
        .zip(file)
        .map(|(shmem, file)| file.saturating_sub(shmem));
    let anon = anon_lists
        .zip(anon)
        .and_then(|(list, anon)| over(list, anon));
    let file = file_lists
        .zip(file)
        .and_then(|(list, file)| over(list, file));
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
            meminfo.get("HardwareCorrupted"),
            "",
        ),
    ]
}

/// What the zram devices take.
fn in_zram(snapshot: &Snapshot) -> Option<Kib> {
    let devices = snapshot.zram.values();
    let used = devices.filter_map(|zram| Some(Kib(zram.memory?.used.0 / 1024)));
    used.reduce(Kib::saturating_add)
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
    let event = |item| snapshot.vmstat(item);
    let balloon = event("balloon_inflate").zip(event("balloon_deflate"));
    if balloon.is_some_and(|(taken, given)| taken > given) {
        may.push("a balloon");
    }
    let cma = meminfo.get("CmaTotal").zip(meminfo.get("CmaFree"));
    if cma.is_some_and(|(all, free)| all > free) {
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
