//! What contradicts itself in the evidence, said before anything is concluded from it.

use mm::recompute::Contradiction as Found;
use mm::snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// A contradiction.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Contradiction {
    /// Which one, for a reader of the JSON.
    pub(crate) id: &'static str,
    /// In one sentence.
    pub(crate) what: String,
}

/// All of them; empty where nothing contradicts itself.
pub(crate) fn contradictions(snapshot: &Snapshot) -> Vec<Contradiction> {
    let found = snapshot.contradictions().into_iter();
    found
        .map(|found| Contradiction::of(found, snapshot))
        .collect()
}

impl Contradiction {
    fn of(found: Found, snapshot: &Snapshot) -> Self {
        let (id, what) = match found {
            Found::MoreThanAll {
                part,
                amount,
                whole,
                of,
            } => (
                "more_than_all",
                format!(
                    "{part} ({}) is more than {whole} ({}), which cannot be: meminfo is a \
                     container's view of its host, or was changed, or a counter of this kernel \
                     has gone astray.",
                    amount.bytes(),
                    of.bytes()
                ),
            ),
            Found::TwoViews { total, zones } => (
                "two_views",
                format!(
                    "MemTotal is {total}, but the zones hold {zones}: meminfo and zoneinfo are not \
                     of one view of one machine. Inside a container lxcfs makes meminfo, and \
                     zoneinfo is the host's; or the files are of two machines, or zones are \
                     missing."
                ),
            ),
            Found::ZoneFree {
                node,
                kind,
                free,
                managed,
            } => (
                "zone_free",
                format!(
                    "{kind} (node {node}) has {} free of {}: that cannot be.",
                    free.bytes(snapshot.page),
                    managed.bytes(snapshot.page)
                ),
            ),
            Found::Marks { node, kind } => (
                "marks",
                format!("The marks of {kind} (node {node}) do not ascend: that cannot be."),
            ),
            Found::PageSize { told, forced } => (
                "page_size",
                format!(
                    "A page size of {} KiB is told, but the amounts in pages and in kB fit pages \
                     of {} KiB.",
                    told.kib(),
                    forced.kib()
                ),
            ),
            Found::Pool { free, all } => (
                "pool",
                format!("{free} huge pages are free of {all}: that cannot be."),
            ),
        };
        Self { id, what }
    }
}

/// Writes the section, which stands before all others.
pub(crate) fn write(contradictions: &[Contradiction], page: &mut Page) {
    if contradictions.is_empty() {
        return;
    }
    page.heading("This evidence contradicts itself: what follows may be wrong");
    for contradiction in contradictions {
        page.paragraph(2, &contradiction.what);
    }
}
