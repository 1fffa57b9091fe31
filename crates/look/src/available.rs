//! How MemAvailable comes about, term by term, with the kernel's own figure beside ours.

use mm::formula::available::Rule;
use mm::recompute::{AvailableBy, Fit};
use mm::rules::{Print, prints};
use mm::snapshot::Snapshot;
use mm::units::{Kib, PageSize, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::check::{self, Check, Slack};
use super::page::Page;

/// The terms, in kibibytes as /proc/meminfo prints them.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Available {
    free_kib: u64,
    totalreserve_kib: u64,
    file_kib: u64,
    file_needed_kib: u64,
    reclaimable_kib: u64,
    reclaimable_needed_kib: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nameless_kib: Option<u64>,
    computed_kib: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_kib: Option<u64>,
    /// The releases whose rule it was computed by.
    rule_of: String,
    #[serde(skip)]
    reclaimable: &'static str,
    #[serde(skip)]
    rule: Rule,
    #[serde(skip)]
    by: String,
    #[serde(skip)]
    never_printed: bool,
    #[serde(skip)]
    slack: Slack,
    #[serde(skip)]
    page: PageSize,
}

impl Available {
    /// The terms; `None` where an input is missing.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (meminfo, page) = (snapshot.meminfo.as_ref()?, snapshot.page);
        let AvailableBy {
            terms,
            rule,
            row,
            reserve,
            fit,
        } = snapshot.available_by()?;
        let kib = |pages: Pages| pages.kib(page).0;
        let file = meminfo
            .active_file?
            .saturating_add(meminfo.inactive_file?)
            .0;
        let reclaimable = meminfo.kreclaimable.or(meminfo.sreclaimable)?.0;
        let by = match fit {
            Fit::Equal => check::by(snapshot, &[row], reserve),
            Fit::Differs | Fit::Unprinted => String::new(),
        };
        Some(Self {
            free_kib: kib(terms.free),
            totalreserve_kib: kib(terms.totalreserve),
            file_kib: file,
            file_needed_kib: file.saturating_sub(kib(terms.file)),
            reclaimable_kib: reclaimable,
            reclaimable_needed_kib: reclaimable.saturating_sub(kib(terms.reclaimable)),
            nameless_kib: Some(kib(terms.nameless)).filter(|&nameless| nameless > 0),
            computed_kib: kib(terms.total),
            kernel_kib: meminfo.mem_available.map(|available| available.0),
            rule_of: row.releases.to_string(),
            reclaimable: match meminfo.kreclaimable {
                Some(_) => "KReclaimable",
                None => "SReclaimable",
            },
            rule,
            by,
            never_printed: prints(snapshot.span(), Print::NoAvailable) == Some(true),
            slack: Slack::of(snapshot),
            page,
        })
    }

    /// Ours against the kernel's.
    pub(crate) fn check(&self) -> Option<Check> {
        let pages = |kib| Kib(kib).pages_floor(self.page);
        let kernel = pages(self.kernel_kib?);
        let computed = pages(self.computed_kib);
        Some(Check::moving("MemAvailable", computed, kernel, self.slack).by(&self.by))
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading(match self.kernel_kib {
            Some(_) => "MemAvailable, term by term (kB)",
            None => "Available memory by our own estimate, term by term (kB)",
        });
        let needed = "half, at most the low marks";
        let (taken, made_of) = match self.rule {
            Rule::LowMarks => ("- low marks", "of all zones, as before Linux 4.5"),
            Rule::Reserve | Rule::Nameless => ("- totalreserve", "high marks, lowmem reserves"),
        };
        let nameless = self.nameless_kib.map(|kib| {
            let about = "an item without a name, Linux 4.17 to 4.19";
            ("+ reclaimed indirectly", kib, about)
        });
        let terms = [
            ("  free pages", self.free_kib, "MemFree"),
            (taken, self.totalreserve_kib, made_of),
            ("+ page cache", self.file_kib, "both file lists"),
            ("- part of it", self.file_needed_kib, needed),
            (
                "+ reclaimable kernel",
                self.reclaimable_kib,
                self.reclaimable,
            ),
            ("- part of it", self.reclaimable_needed_kib, needed),
        ];
        let sum = [("= available", self.computed_kib, "")];
        for (name, kib, about) in terms.into_iter().chain(nameless).chain(sum) {
            let about = format!("{:>9}  {about}", Kib(kib).to_string());
            page.row(name, kib, &about);
        }
        self.write_comparison(page);
    }

    fn write_comparison(&self, page: &mut Page) {
        let Some(kernel) = self.kernel_kib else {
            let why = match self.never_printed {
                true => "This kernel prints no MemAvailable, which came with Linux 3.14.",
                false => "MemAvailable is not in this evidence.",
            };
            let rule = &self.rule_of;
            page.paragraph(
                2,
                &format!("{why} The sum is our own, by the rule of {rule}."),
            );
            return;
        };
        let says = match kernel == self.computed_kib {
            true if self.by.is_empty() => "equal",
            true => &self.by,
            false => "differs, see below",
        };
        let about = format!("{:>9}  {says}", Kib(kernel).to_string());
        page.row("  the kernel says", kernel, &about);
    }
}
