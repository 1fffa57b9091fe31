//! How MemAvailable comes about, term by term, with the kernel's own figure beside ours.

use mm::snapshot::Snapshot;
use mm::units::{Kib, PageSize, Pages};
use serde::Serialize;

use super::check::Check;
use super::page::Page;

/// The terms, in kibibytes as /proc/meminfo prints them.
#[derive(Debug, Serialize)]
pub(crate) struct Available {
    free_kib: u64,
    totalreserve_kib: u64,
    file_kib: u64,
    file_needed_kib: u64,
    reclaimable_kib: u64,
    reclaimable_needed_kib: u64,
    computed_kib: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_kib: Option<u64>,
    #[serde(skip)]
    page: PageSize,
}

impl Available {
    /// The terms; `None` where an input is missing.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (meminfo, page) = (snapshot.meminfo.as_ref()?, snapshot.page);
        let terms = snapshot.available()?;
        let kib = |pages: Pages| pages.kib(page).0;
        let file = meminfo
            .active_file?
            .saturating_add(meminfo.inactive_file?)
            .0;
        let reclaimable = meminfo.kreclaimable.or(meminfo.sreclaimable)?.0;
        Some(Self {
            free_kib: kib(terms.free),
            totalreserve_kib: kib(terms.totalreserve),
            file_kib: file,
            file_needed_kib: file.saturating_sub(kib(terms.file)),
            reclaimable_kib: reclaimable,
            reclaimable_needed_kib: reclaimable.saturating_sub(kib(terms.reclaimable)),
            computed_kib: kib(terms.total),
            kernel_kib: meminfo.mem_available.map(|available| available.0),
            page,
        })
    }

    /// Ours against the kernel's.
    pub(crate) fn check(&self) -> Option<Check> {
        let pages = |kib| Kib(kib).pages_floor(self.page);
        let kernel = pages(self.kernel_kib?);
        Some(Check::moving(
            "MemAvailable",
            pages(self.computed_kib),
            kernel,
        ))
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("MemAvailable, term by term (kB)");
        let needed = "half, at most the low marks";
        let terms = [
            ("  free pages", self.free_kib, "MemFree"),
            (
                "- totalreserve",
                self.totalreserve_kib,
                "high marks, lowmem reserves",
            ),
            ("+ page cache", self.file_kib, "both file lists"),
            ("- part of it", self.file_needed_kib, needed),
            ("+ reclaimable kernel", self.reclaimable_kib, "KReclaimable"),
            ("- part of it", self.reclaimable_needed_kib, needed),
            ("= available", self.computed_kib, ""),
        ];
        for (name, kib, about) in terms {
            let about = format!("{:>9}  {about}", Kib(kib).to_string());
            page.row(name, kib, &about);
        }
        let verdict = match self.kernel_kib {
            Some(kernel) if kernel == self.computed_kib => "equal",
            Some(_) => "differs, see below",
            None => return,
        };
        let kernel = self.kernel_kib.unwrap_or(0);
        page.row(
            "  the kernel says",
            kernel,
            &format!("{:>9}  {verdict}", Kib(kernel).to_string()),
        );
    }
}
