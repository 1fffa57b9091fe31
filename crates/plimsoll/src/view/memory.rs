//! Memory at a glance: what it is used for.

use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib};
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
}

/// What some of the memory is used for.
#[derive(Debug, Serialize)]
struct Part {
    name: &'static str,
    bytes: u64,
    #[serde(skip)]
    title: &'static str,
    #[serde(skip)]
    about: &'static str,
}

impl Memory {
    /// The parts; `None` without MemTotal and MemFree.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let meminfo = snapshot.meminfo.as_ref()?;
        let (total, free) = (meminfo.mem_total?, meminfo.mem_free?);
        let sum = |items: &[Option<Kib>]| -> Kib { items.iter().flatten().copied().sum() };
        let shmem = sum(&[meminfo.shmem]);
        let cache = sum(&[meminfo.cached, meminfo.buffers, meminfo.swap_cached]);
        let tables = sum(&[meminfo.page_tables, meminfo.sec_page_tables]);
        let kernel = sum(&[meminfo.kernel_stack, meminfo.percpu, meminfo.vmalloc_used]);
        let (anon, tmpfs) = match meminfo.swap_total {
            Some(Kib::ZERO) => ("stays: no swap", "tmpfs; stays: no swap"),
            _ => ("goes to swap", "tmpfs; goes to swap"),
        };
        let mut parts = vec![
            Part::new("anonymous", "anonymous", sum(&[meminfo.anon_pages]), anon),
            Part::new("shared", "shared", shmem, tmpfs),
            Part::new(
                "page_cache",
                "page cache",
                cache.saturating_sub(shmem),
                "dropped or written",
            ),
            Part::new(
                "hugetlb",
                "hugetlb pools",
                sum(&[meminfo.hugetlb]),
                "reserved",
            ),
            Part::new(
                "slab_reclaimable",
                "slab, reclaimable",
                sum(&[meminfo.sreclaimable]),
                "caches that shrink",
            ),
            Part::new(
                "slab_unreclaimable",
                "slab, fixed",
                sum(&[meminfo.sunreclaim]),
                "stays",
            ),
            Part::new("page_tables", "page tables", tables, ""),
            Part::new("kernel_other", "stacks, percpu, vmalloc", kernel, "stays"),
            Part::new("free", "free", free, ""),
        ];
        let known: Bytes = parts.iter().map(|part| Bytes(part.bytes)).sum();
        let rest = Kib(total.bytes().saturating_sub(known).0 / 1024);
        parts.push(Part::new("other", "other", rest, "drivers and the rest"));
        Some(Self {
            total_bytes: total.bytes().0,
            available_bytes: meminfo.mem_available.map(|available| available.bytes().0),
            parts,
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
            let about = bar(page, part.bytes, self.total_bytes, part.about);
            page.amount(part.title, part.bytes, &about);
        }
    }
}

impl Part {
    fn new(name: &'static str, title: &'static str, amount: Kib, about: &'static str) -> Self {
        Self {
            name,
            title,
            bytes: amount.bytes().0,
            about,
        }
    }
}
