//! The reader's own control group and those above it: what binds memory here.

use mm::memcg::{Limit, Memcg};
use mm::snapshot::Snapshot;
use serde::Serialize;

use super::page::Page;

/// One group. Limits are absent where there is none.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_max_bytes: Option<u64>,
    oom_kills: u64,
}

/// The groups of a moment, outermost first.
pub(crate) fn groups(snapshot: &Snapshot) -> Vec<Group> {
    let groups = snapshot
        .memcgs
        .iter()
        .map(|(name, memcg)| Group::of(name, memcg));
    groups.filter(Group::says_something).collect()
}

impl Group {
    fn of(name: &str, memcg: &Memcg) -> Self {
        let bytes = |limit: Option<Limit>| match limit {
            Some(Limit::Bytes(bytes)) => Some(bytes.0),
            Some(Limit::Max) | None => None,
        };
        let protection = |limit| bytes(limit).filter(|&bytes| bytes > 0);
        let kills = memcg
            .events
            .as_ref()
            .and_then(|events| events.get("oom_kill"));
        Self {
            name: name.to_owned(),
            current_bytes: memcg.current.map(|current| current.0),
            min_bytes: protection(memcg.min),
            low_bytes: protection(memcg.low),
            high_bytes: bytes(memcg.high),
            max_bytes: bytes(memcg.max),
            swap_max_bytes: bytes(memcg.swap_max),
            oom_kills: kills.unwrap_or(0),
        }
    }

    fn says_something(&self) -> bool {
        self.current_bytes.is_some() || self.max_bytes.is_some()
    }

    fn write(&self, page: &mut Page) {
        let bounds = [
            ("min", self.min_bytes),
            ("low", self.low_bytes),
            ("high", self.high_bytes),
            ("max", self.max_bytes),
            ("swap max", self.swap_max_bytes),
        ];
        let bound = |(name, bytes): (&str, Option<u64>)| {
            Some(format!("{name} {}", mm::units::Bytes(bytes?)))
        };
        let mut words: Vec<String> = bounds.into_iter().filter_map(bound).collect();
        if words.is_empty() {
            words.push("no limit, no protection".to_owned());
        }
        if self.oom_kills > 0 {
            words.push(format!("{} OOM kills", self.oom_kills));
        }
        page.amount(
            &format!("/{}", self.name),
            self.current_bytes.unwrap_or(0),
            &words.join(", "),
        );
    }
}

/// Writes the section.
pub(crate) fn write(groups: &[Group], page: &mut Page) {
    if groups.is_empty() {
        return;
    }
    page.heading("Control groups: the reader's own and those above");
    for group in groups {
        group.write(page);
    }
}
