//! Refaults: pages that were evicted and needed again, from which the kernel tells a working set
//! that does not fit.

use crate::fact::or_unsaid;
use crate::share::Share;
use mm::snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// Counters of pages since boot, and what remembers the evicted ones.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Refaults {
    #[serde(skip_serializing_if = "Option::is_none")]
    anonymous: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow_nodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow_nodes_reclaimed: Option<u64>,
    /// Whether the multi-generation LRU counts.
    #[serde(skip)]
    generations: bool,
}

/// What became of one kind of page.
#[derive(Debug, JsonSchema, Serialize)]
struct Kind {
    #[serde(skip_serializing_if = "Option::is_none")]
    evicted: Option<u64>,
    refaulted: u64,
    activated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<u64>,
}

impl Kind {
    /// The counters of a kind; before Linux 5.9 the kernel counted file pages only, and together.
    fn of(snapshot: &Snapshot, kind: &str) -> Option<Self> {
        let item = |name: &str| {
            let split = snapshot.vmstat(&format!("workingset_{name}_{kind}"));
            let whole = || snapshot.vmstat(&format!("workingset_{name}"));
            split.or_else(|| whole().filter(|_| kind == "file"))
        };
        Some(Self {
            evicted: snapshot.vmstat(&format!("pgsteal_{kind}")),
            refaulted: item("refault")?,
            activated: item("activate")?,
            restored: item("restore"),
        })
    }
}

impl Refaults {
    /// `None` where vmstat has no such counters.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (anonymous, file) = (Kind::of(snapshot, "anon"), Kind::of(snapshot, "file"));
        (anonymous.is_some() || file.is_some()).then(|| Self {
            anonymous,
            file,
            shadow_nodes: snapshot.vmstat("workingset_nodes"),
            shadow_nodes_reclaimed: snapshot.vmstat("workingset_nodereclaim"),
            generations: snapshot
                .lru_gen
                .enabled
                .is_some_and(mm::lru_gen::Enabled::core),
        })
    }

    fn any(&self) -> bool {
        let kinds = [&self.anonymous, &self.file];
        kinds.into_iter().flatten().any(|kind| kind.refaulted > 0)
    }

    fn meaning(&self) -> &'static str {
        match self.generations {
            false => {
                "Activated: it had been gone for no longer than the memory in use would have kept \
                 it; with more memory, or less of something else, it would not have gone. \
                 Restored: it was in use when it was evicted: the working set is being lost."
            }
            true => {
                "Activated: it came back while the generation that it went with was still the \
                 oldest. Restored: besides, a page fault asked for it or it had been read often: \
                 the working set is being lost."
            }
        }
    }

    /// Writes the section; nothing where nothing was ever read back.
    pub(crate) fn write(&self, page: &mut Page) {
        if !self.any() {
            return;
        }
        page.heading("Refaults: evicted pages that were needed again, since boot");
        page.line(format!(
            "  {:<19}{:>12}{:>19}",
            "", "anonymous", "page cache"
        ));
        let kinds = [&self.anonymous, &self.file];
        type Row = (&'static str, fn(&Kind) -> Option<(u64, Option<u64>)>);
        let rows: [Row; 4] = [
            ("evicted", |kind| Some((kind.evicted?, None))),
            ("refaulted", |kind| Some((kind.refaulted, kind.evicted))),
            ("of them activated", |kind| {
                Some((kind.activated, Some(kind.refaulted)))
            }),
            ("of them restored", |kind| {
                Some((kind.restored?, Some(kind.refaulted)))
            }),
        ];
        let told = |(_, value): &Row| {
            kinds
                .into_iter()
                .flatten()
                .any(|kind| value(kind).is_some())
        };
        for (name, value) in rows.into_iter().filter(told) {
            let cells = kinds.map(|kind| cell(kind.as_ref().and_then(value)));
            page.line(format!("  {name:<19}{}", cells.concat()));
        }
        page.paragraph(2, self.meaning());
        if let Some(nodes) = self.shadow_nodes.filter(|&nodes| nodes > 0) {
            let lost = self.shadow_nodes_reclaimed;
            let lost = lost.map(|lost| format!("; {lost} were freed since boot"));
            let about = format!("hold shadows{}", or_unsaid(lost));
            page.row("workingset_nodes", nodes, &about);
        }
    }
}

/// A count and its share of a whole.
fn cell(value: Option<(u64, Option<u64>)>) -> String {
    match value {
        None => format!("{:>12}{:7}", "", ""),
        Some((count, None | Some(0))) => format!(" {count:>11}{:7}", ""),
        Some((count, Some(whole))) => {
            let share = Share::of(count, whole).map_or(">100%".to_owned(), |it| it.to_string());
            format!(" {count:>11}  {share:<5}")
        }
    }
}
