//! Numbers that we compute and the kernel prints: equal, or different with the likely reason.

use mm::units::Pages;
use serde::Serialize;

use super::page::Page;
use crate::term::{bad, good};

/// One number from both sides, in pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What was computed.
    pub(crate) name: String,
    /// Our number.
    pub(crate) computed_pages: u64,
    /// The kernel's.
    pub(crate) kernel_pages: u64,
    /// Whether they are equal.
    pub(crate) equal: bool,
    /// Why they may differ; empty where they do not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// Whether its inputs move all the time.
    #[serde(skip)]
    pub(crate) moves: bool,
}

const STALE_RESERVE: &str = "The kernel made it when the zones managed other pages, as at boot \
    before the initial RAM disk's came back. Writing vm.lowmem_reserve_ratio to itself makes it \
    anew.";

/// Files are read one after the other.
const MOVED: &str = "Memory moved while the files were read, one after the other.";

impl Check {
    /// A watermark.
    pub(crate) fn watermark(name: String, computed: Pages, kernel: Pages, reason: &str) -> Self {
        Self::new(name, computed, kernel, reason)
    }

    /// A lowmem reserve.
    pub(crate) fn reserve(name: String, computed: Pages, kernel: Pages) -> Self {
        Self::new(name, computed, kernel, STALE_RESERVE)
    }

    /// A number that moves.
    pub(crate) fn moving(name: &str, computed: Pages, kernel: Pages) -> Self {
        Self::new(name.to_owned(), computed, kernel, MOVED)
    }

    fn new(name: String, computed: Pages, kernel: Pages, reason: &str) -> Self {
        let equal = computed == kernel;
        Self {
            name,
            computed_pages: computed.0,
            kernel_pages: kernel.0,
            equal,
            reason: if equal {
                String::new()
            } else {
                reason.to_owned()
            },
            moves: reason == MOVED,
        }
    }
}

/// Writes the section: one line where all are equal, else each that is not.
pub(crate) fn write(checks: &[Check], page: &mut Page) {
    if checks.is_empty() {
        return;
    }
    page.heading("Recomputed from the kernel's inputs");
    let equal = checks.iter().filter(|check| check.equal).count();
    let count = format!(
        "{equal} of {} numbers equal the kernel's to the page",
        checks.len()
    );
    if equal == checks.len() {
        page.line(format!("  {}", good(count)));
        return;
    }
    page.line(format!("  {}", bad(count)));
    let differing: Vec<&Check> = checks.iter().filter(|check| !check.equal).collect();
    for group in differing.chunk_by(|a, b| a.reason == b.reason) {
        page.line("");
        page.line(format!("  {:<40}{:>12}{:>12}", "", "here", "kernel"));
        for check in group {
            let (here, kernel) = (check.computed_pages, check.kernel_pages);
            page.line(format!("  {:<40}{here:>12}{kernel:>12}", check.name));
        }
        group
            .first()
            .iter()
            .for_each(|check| page.paragraph(2, &check.reason));
    }
}
