//! Kernel samepage merging, with its profit.

use crate::fact::or_unsaid;
use mm::formula::ksm::{RMAP_ITEM, general_profit, rmap_items, scan_time, skipped_share};
use mm::ksm::KsmNumbers;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Nanos, PageSize};
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// Settings and effect.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Merging {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_shared: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_sharing: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_unshared: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_volatile: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zero_pages: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_scans: Option<u64>,
    /// Of all visits, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmap_items: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profit_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_profit_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shortest_scan_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages_to_scan: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sleep_millisecs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advisor: Option<String>,
    #[serde(skip)]
    page: PageSize,
}

impl Merging {
    /// `None` on a kernel without it.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (ksm, page) = (snapshot.ksm.as_ref()?, snapshot.page);
        let numbers = &ksm.numbers;
        let items = rmap_items(numbers);
        let zero_pages = numbers.ksm_zero_pages;
        let pass = || {
            let sleep = Nanos(numbers.sleep_millisecs?.saturating_mul(Nanos::MILLI.0));
            scan_time(items?, numbers.pages_to_scan?, sleep)
        };
        Some(Self {
            state: match numbers.run? {
                0 => "stopped",
                1 => "merging",
                _ => "unmerged",
            },
            pages_shared: numbers.pages_shared,
            pages_sharing: numbers.pages_sharing,
            pages_unshared: numbers.pages_unshared,
            pages_volatile: numbers.pages_volatile,
            zero_pages,
            full_scans: numbers.full_scans,
            skipped_percent: skipped_share(numbers).map(|share| share * 100.0),
            rmap_items: items,
            profit_bytes: profit(numbers, page),
            kernel_profit_bytes: ksm.general_profit,
            shortest_scan_seconds: pass().map(Nanos::seconds),
            pages_to_scan: numbers.pages_to_scan,
            sleep_millisecs: numbers.sleep_millisecs,
            advisor: ksm
                .advisor_mode
                .as_ref()
                .map(|mode| mode.chosen().to_owned()),
            page,
        })
    }

    /// Writes the section; where nothing was ever merged one line says so.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Kernel samepage merging (KSM)");
        if self.state == "stopped" && self.pages_shared == Some(0) {
            page.line("  stopped, and nothing is merged");
            return;
        }
        let scans = self.full_scans.map(|scans| format!("{scans} full scans"));
        page.row("state", self.state, &or_unsaid(scans));
        let saved = self.pages_sharing.map(|pages| match self.zero_pages {
            Some(zero) => pages.saturating_add(zero),
            None => pages,
        });
        for (name, count, about) in [
            ("saved", saved, "pages_sharing and zero pages"),
            ("kept once", self.pages_shared, "pages_shared"),
            ("without a twin", self.pages_unshared, "pages_unshared"),
            ("changes too fast", self.pages_volatile, "pages_volatile"),
        ] {
            if let Some(count) = count {
                page.amount(name, mm::units::Pages(count).bytes(self.page).0, about);
            }
        }
        if let Some(percent) = self.skipped_percent {
            let about = "pages_skipped of all visits: smart_scan";
            page.row("visits left out", format!("{percent:.1} %"), about);
        }
        self.write_profit(page);
    }

    fn write_profit(&self, page: &mut Page) {
        if let Some(items) = self.rmap_items {
            let about = format!("{items} candidates of {} bytes", RMAP_ITEM.0);
            page.amount("metadata", items.saturating_mul(RMAP_ITEM.0), &about);
        }
        if let Some(profit) = self.kernel_profit_bytes.or(self.profit_bytes) {
            page.row("profit", Bytes::signed(profit), "saved less metadata");
        }
        if let (Some(seconds), Some(pages), Some(sleep)) = (
            self.shortest_scan_seconds,
            self.pages_to_scan,
            self.sleep_millisecs,
        ) {
            let by = match self.advisor.as_deref() {
                Some("scan-time") => ", as the advisor says",
                _ => "",
            };
            let about = format!("at least, {pages} pages every {sleep} ms{by}");
            page.row("one full scan takes", format!("{seconds:.0} s"), &about);
        }
    }
}

/// What merging saves by the counters. A kernel that does not count zero pages apart (before 6.6)
/// has them among the shared ones.
fn profit(numbers: &KsmNumbers, page: PageSize) -> Option<i64> {
    let (sharing, items) = (numbers.pages_sharing?, rmap_items(numbers)?);
    let zero_pages = numbers.ksm_zero_pages.iter().sum();
    Some(general_profit(sharing, zero_pages, items, page))
}
