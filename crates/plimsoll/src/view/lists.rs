//! The lists of pages that reclaim works on.

use mm::formula::inactive::inactive_ratio;
use mm::snapshot::Snapshot;
use mm::units::{Kib, PageSize, Pages};
use serde::Serialize;

use super::page::Page;

/// Sizes in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Lists {
    anonymous: List,
    file: List,
    unevictable_bytes: u64,
    mlocked_bytes: u64,
}

/// The two lists of one kind of page.
#[derive(Debug, Serialize)]
struct List {
    active_bytes: u64,
    inactive_bytes: u64,
    /// The classic LRU deactivates while active is more than so many times inactive.
    inactive_ratio: u64,
}

impl Lists {
    /// The sizes; `None` where meminfo has no lists.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (meminfo, page) = (snapshot.meminfo.as_ref()?, snapshot.page);
        let list = |active: Kib, inactive: Kib| List {
            active_bytes: active.bytes().0,
            inactive_bytes: inactive.bytes().0,
            inactive_ratio: inactive_ratio(pages(active.saturating_add(inactive), page), page),
        };
        Some(Self {
            anonymous: list(meminfo.active_anon?, meminfo.inactive_anon?),
            file: list(meminfo.active_file?, meminfo.inactive_file?),
            unevictable_bytes: meminfo.unevictable.unwrap_or_default().bytes().0,
            mlocked_bytes: meminfo.mlocked.unwrap_or_default().bytes().0,
        })
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Page lists");
        let lists = [("anonymous", &self.anonymous), ("page cache", &self.file)];
        for (name, list) in lists {
            page.amount(&format!("{name}, active"), list.active_bytes, "");
            let ratio = list.inactive_ratio;
            let about = match ratio {
                1 => "refilled while below active".to_owned(),
                ratio => format!("refilled below 1/{ratio} of active"),
            };
            page.amount(&format!("{name}, inactive"), list.inactive_bytes, &about);
        }
        if self.unevictable_bytes > 0 {
            let mlocked = Pages(self.mlocked_bytes).0;
            let about = format!("of it mlocked: {}", mm::units::Bytes(mlocked));
            page.amount("unevictable", self.unevictable_bytes, &about);
        }
    }
}

fn pages(amount: Kib, page: PageSize) -> Pages {
    amount.pages_floor(page)
}
