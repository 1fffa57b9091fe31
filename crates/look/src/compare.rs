//! What changed between two pieces of evidence.
//!
//! Settings, amounts and marks are set side by side. Counters are subtracted only where both
//! pieces can be of one boot: none of them is lower in the second.

use mm::capture::Frame;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Pages};
use mm::vmstat::{Kind, kind};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use crate::page::{Canvas, Page};

/// Rows that the page shows of a table; JSON has all.
const SHOWN: usize = 20;

/// Two moments or machines, and what differs.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Compare {
    before: String,
    after: String,
    settings: Vec<Words>,
    meminfo: Vec<Amount>,
    zones: Vec<Amount>,
    counters: Vec<Grown>,
    /// Why counters are not subtracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters_apart: Option<String>,
}

impl Shape for Compare {
    const NAME: &'static str = "compare";
    const VERSION: u32 = 1;
}

/// A value that is another one.
#[derive(Debug, JsonSchema, Serialize)]
struct Words {
    name: String,
    before: String,
    after: String,
}

/// An amount that is another one.
#[derive(Debug, JsonSchema, Serialize)]
struct Amount {
    name: String,
    before_bytes: u64,
    after_bytes: u64,
}

/// A counter that grew.
#[derive(Debug, JsonSchema, Serialize)]
struct Grown {
    name: String,
    grown: u64,
}

impl Compare {
    /// What differs between two frames; the names are those of the evidence.
    pub fn of(before: (&str, &Frame), after: (&str, &Frame)) -> Self {
        let (first, second) = (Snapshot::parse(before.1), Snapshot::parse(after.1));
        let counters_apart = apart(&first, &second);
        Self {
            before: before.0.to_owned(),
            after: after.0.to_owned(),
            settings: settings(&first, &second),
            meminfo: meminfo(&first, &second),
            zones: zones(&first, &second),
            counters: match counters_apart {
                Some(_) => Vec::new(),
                None => counters(&first, &second),
            },
            counters_apart,
        }
    }

    /// The page of text.
    pub fn text(&self, canvas: Canvas) -> String {
        let mut page = Page::new(canvas);
        page.title(&format!(
            "What changed from {} to {}",
            self.before, self.after
        ));
        if self.is_empty() {
            page.paragraph(2, "Nothing that both show.");
        }
        self.write_settings(&mut page);
        write_amounts("Memory", &self.meminfo, &mut page);
        write_amounts("Zones", &self.zones, &mut page);
        self.write_counters(&mut page);
        page.into_text()
    }

    fn is_empty(&self) -> bool {
        let none = self.settings.is_empty() && self.meminfo.is_empty();
        none && self.zones.is_empty() && self.counters.is_empty()
    }

    fn write_settings(&self, page: &mut Page) {
        if self.settings.is_empty() {
            return;
        }
        page.heading("Settings");
        for setting in &self.settings {
            let change = format!("{} -> {}", setting.before, setting.after);
            page.paragraph(2, &format!("{}: {change}", setting.name));
        }
    }

    fn write_counters(&self, page: &mut Page) {
        if let Some(why) = &self.counters_apart {
            page.heading("Counters");
            page.paragraph(2, why);
        }
        if self.counters.is_empty() {
            return;
        }
        page.heading("Counters of vmstat that grew most");
        for counter in self.counters.iter().take(SHOWN) {
            page.row(&counter.name, counter.grown, "");
        }
        more(self.counters.len(), page);
    }
}

fn write_amounts(title: &str, amounts: &[Amount], page: &mut Page) {
    if amounts.is_empty() {
        return;
    }
    page.heading(title);
    for amount in amounts.iter().take(SHOWN) {
        let (before, after) = (amount.before_bytes, amount.after_bytes);
        let sign = if after > before { "+" } else { "-" };
        let change = format!("{sign}{}", Bytes(after.abs_diff(before)));
        let about = format!("{} -> {}", Bytes(before), Bytes(after));
        page.row(&amount.name, change, &about);
    }
    more(amounts.len(), page);
}

fn more(rows: usize, page: &mut Page) {
    if rows > SHOWN {
        page.paragraph(2, &format!("and {} more (--json has all)", rows - SHOWN));
    }
}

/// Values that both give and that differ: what one does not give may be the same there.
fn settings(first: &Snapshot, second: &Snapshot) -> Vec<Words> {
    let words = |name: &str, before: Option<&str>, after: Option<&str>| {
        let (before, after) = (before?.to_owned(), after?.to_owned());
        (before != after).then(|| Words {
            name: name.to_owned(),
            before,
            after,
        })
    };
    let kernel = words(
        "kernel",
        first.release.as_deref(),
        second.release.as_deref(),
    );
    let all = mm::catalogue::all().filter_map(|tunable| {
        let (before, after) = (first.tunable(tunable.name), second.tunable(tunable.name));
        words(tunable.name, before, after)
    });
    kernel.into_iter().chain(all).collect()
}

fn meminfo(first: &Snapshot, second: &Snapshot) -> Vec<Amount> {
    let (Some(before), Some(after)) = (&first.meminfo, &second.meminfo) else {
        return Vec::new();
    };
    let items = before.iter().filter_map(|(name, old)| {
        let new = after.get(name)?;
        (old != new && !name.starts_with("HugePages_")).then(|| Amount {
            name: name.to_owned(),
            before_bytes: old.bytes().0,
            after_bytes: new.bytes().0,
        })
    });
    largest_first(items.collect())
}

fn largest_first(mut amounts: Vec<Amount>) -> Vec<Amount> {
    let change = |amount: &Amount| amount.after_bytes.abs_diff(amount.before_bytes);
    amounts.sort_by_key(|amount| std::cmp::Reverse(change(amount)));
    amounts
}

/// Free pages and marks of the zones that both have.
fn zones(first: &Snapshot, second: &Snapshot) -> Vec<Amount> {
    let (Some(before), Some(after)) = (&first.zoneinfo, &second.zoneinfo) else {
        return Vec::new();
    };
    let mut changed = Vec::new();
    for zone in before.populated() {
        let Some(other) = after.zone(zone.node, zone.kind) else {
            continue;
        };
        let (old, new) = (zone.watermarks, other.watermarks);
        let pairs = [
            ("free", zone.free, other.free),
            ("min", old.min, new.min),
            ("low", old.low, new.low),
            ("high", old.high, new.high),
            ("managed", zone.managed, other.managed),
        ];
        for (what, old, new) in pairs.into_iter().filter(|(_, old, new)| old != new) {
            let bytes = |pages: Pages, snapshot: &Snapshot| pages.bytes(snapshot.page).0;
            changed.push(Amount {
                name: format!("{} (node {}) {what}", zone.kind, zone.node),
                before_bytes: bytes(old, first),
                after_bytes: bytes(new, second),
            });
        }
    }
    changed
}

/// Why the counters of the two are not of one boot; `None` where they can be.
fn apart(first: &Snapshot, second: &Snapshot) -> Option<String> {
    let (before, after) = (first.vmstat.as_ref()?, second.vmstat.as_ref()?);
    if first.release.is_some() && second.release.is_some() && first.release != second.release {
        return Some("Not subtracted: the two are of different kernels.".to_owned());
    }
    let lower = before.iter().find(|(name, old)| {
        kind(name) == Kind::Counter && after.get(name).is_some_and(|new| new < *old)
    })?;
    Some(format!(
        "Not subtracted: {} is lower in the second, so the two are not of one boot in this order.",
        lower.0
    ))
}

fn counters(first: &Snapshot, second: &Snapshot) -> Vec<Grown> {
    let (Some(before), Some(after)) = (&first.vmstat, &second.vmstat) else {
        return Vec::new();
    };
    let grown = before.iter().filter_map(|(name, old)| {
        let grown = after.get(name)?.saturating_sub(old);
        (kind(name) == Kind::Counter && grown > 0).then(|| Grown {
            name: name.to_owned(),
            grown,
        })
    });
    let mut grown: Vec<Grown> = grown.collect();
    grown.sort_by_key(|counter| std::cmp::Reverse(counter.grown));
    grown
}
