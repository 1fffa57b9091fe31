//! Control groups that bind memory, as a tree: what each uses, what is set, and what it comes to.

use mm::hierarchy::{Held, Hierarchy, Protection, Taker, ancestors};
use mm::memcg::{Limit, Memcg};
use mm::snapshot::Snapshot;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// The groups of a moment, and what is to know about all of them.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub(crate) struct Groups {
    /// Parents before their children.
    #[serde(rename = "control_groups")]
    groups: Vec<Group>,
    /// How many were not read.
    #[serde(rename = "control_groups_left_out")]
    left_out: LeftOut,
    #[serde(
        rename = "memory_recursiveprot",
        skip_serializing_if = "Option::is_none"
    )]
    recursive: Option<bool>,
    #[serde(rename = "inside_control_group")]
    inside: bool,
}

/// Groups that the capture does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
struct LeftOut {
    unbound: u64,
    bound: u64,
    unvisited: u64,
}

/// One group. Limits are absent where there is none.
#[derive(Debug, Default, JsonSchema, Serialize)]
struct Group {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_min_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_taken_by: Option<TakenBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_low_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_taken_by: Option<TakenBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_taken_by: Option<TighterMax>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_current_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap_max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    soft_limit_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_and_swap_max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oom_kills: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_events: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_events: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_events: Option<u64>,
    #[serde(skip)]
    shown: Shown,
}

/// The ancestor that takes a protection away, what it has, and what its children claim of it.
#[derive(Debug, JsonSchema, Serialize)]
struct TakenBy {
    group: String,
    has_bytes: u64,
    claimed_bytes: u64,
}

/// The ancestor whose `memory.max` is reached before the group's own.
#[derive(Debug, JsonSchema, Serialize)]
struct TighterMax {
    group: String,
    max_bytes: u64,
}

/// What only the text needs.
#[derive(Debug, Default)]
struct Shown {
    /// Groups above it that are shown.
    depth: usize,
    /// Its path below the nearest of them.
    name: String,
    is_v1: bool,
    /// One line each: what is set and does not hold.
    lost: Vec<String>,
    /// Protection of the parent's that it is given.
    given: Vec<String>,
}

impl Groups {
    /// The groups that say something; `note` says what was left out.
    pub(crate) fn of(snapshot: &Snapshot, note: &str) -> Self {
        let tree = snapshot.hierarchy();
        let says_something = |group: &Memcg| group.current.is_some() || group.max.is_some();
        let shown = |name: &str| snapshot.memcgs.get(name).is_some_and(says_something);
        let groups = snapshot
            .memcgs
            .iter()
            .filter(|(_, memcg)| says_something(memcg));
        let group = |(name, memcg): (&String, &Memcg)| {
            let mut group = Group::of(name, memcg, &tree);
            let above: Vec<&str> = ancestors(name).filter(|group| shown(group)).collect();
            group.shown.depth = above.len();
            group.shown.name = below(name, above.first().copied());
            group
        };
        Self {
            groups: groups.map(group).collect(),
            left_out: LeftOut::parse(note),
            recursive: snapshot.recursive_protection,
            inside: tree.is_inside(),
        }
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        if self.groups.is_empty() {
            return;
        }
        let about = match self.recursive {
            Some(true) => " (memory_recursiveprot)",
            Some(false) | None => "",
        };
        page.heading(&format!(
            "Control groups{about}: what they use and what bounds them"
        ));
        for group in &self.groups {
            group.write(page);
        }
        if self.inside {
            let text = "Seen from inside a control group: those above it may bind and protect it, \
                        and are not seen.";
            page.paragraph(2, text);
        }
        self.left_out.write(page);
    }
}

impl LeftOut {
    fn parse(note: &str) -> Self {
        let mut left = Self::default();
        for (name, count) in note.lines().filter_map(|line| line.split_once('\t')) {
            let Ok(count) = count.parse() else { continue };
            match name {
                "unbound" => left.unbound = count,
                "bound" => left.bound = count,
                "unvisited" => left.unvisited = count,
                _ => {}
            }
        }
        left
    }

    fn write(self, page: &mut Page) {
        let counts = [
            (self.unbound, "groups without limit or protection"),
            (self.bound, "with one, more than are read"),
            (self.unvisited, "or more, not looked at"),
        ];
        let counts = counts.into_iter().filter(|&(count, _)| count > 0);
        let counts: Vec<String> = counts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !counts.is_empty() {
            page.paragraph(2, &format!("Left out: {}.", counts.join(", ")));
        }
    }
}

impl Group {
    fn of(name: &str, memcg: &Memcg, tree: &Hierarchy<'_>) -> Self {
        let bytes = |limit: Option<Limit>| limit.and_then(Limit::bytes).map(|bytes| bytes.0);
        let mut group = Self {
            name: name.to_owned(),
            current_bytes: memcg.current.map(|current| current.0),
            high_bytes: bytes(memcg.high),
            max_bytes: bytes(memcg.max),
            swap_current_bytes: memcg.swap_current.map(|current| current.0),
            swap_max_bytes: bytes(memcg.swap_max),
            soft_limit_bytes: bytes(memcg.soft_limit),
            memory_and_swap_max_bytes: bytes(memcg.memsw_limit),
            oom_kills: memcg.event("oom_kill"),
            high_events: memcg.event("high"),
            max_events: memcg.event("max").or(memcg.failures),
            low_events: memcg.event("low"),
            shown: Shown {
                is_v1: memcg.is_v1,
                ..Shown::default()
            },
            ..Self::default()
        };
        group.protect(memcg, tree);
        if let Some((above, max)) = tree.tighter_max(name).filter(|_| group.max_bytes.is_some()) {
            let lost = format!("max is never reached: {} allows {max}", path(above));
            group.shown.lost.push(lost);
            group.max_taken_by = Some(TighterMax {
                group: above.to_owned(),
                max_bytes: max.0,
            });
        }
        group
    }

    /// What `memory.min` and `memory.low` come to.
    fn protect(&mut self, memcg: &Memcg, tree: &Hierarchy<'_>) {
        for protection in Protection::ALL {
            let (word, setting) = match protection {
                Protection::Min => ("min", memcg.min),
                Protection::Low => ("low", memcg.low),
            };
            let setting = setting.filter(|&setting| setting != Limit::Bytes(Bytes::ZERO));
            let Some(setting) = setting else {
                self.given(word, tree.given(&self.name, protection));
                continue;
            };
            let held = tree.held(&self.name, protection);
            let usage = self.current_bytes.map(Bytes);
            let lost = match &held {
                Some(held) => lost(protection, setting, held, usage),
                None => Some(format!(
                    "{word} {setting}: unknown what holds, for a group above it was not read"
                )),
            };
            self.shown.lost.extend(lost);
            self.hold(protection, setting, held);
        }
    }

    fn hold(&mut self, protection: Protection, setting: Limit, held: Option<Held>) {
        let largest = Bytes(u64::MAX);
        let set = held
            .as_ref()
            .map_or(setting.bytes().unwrap_or(largest), |held| held.setting);
        let effective = held.as_ref().map(|held| held.effective.0);
        let taken_by = held.and_then(|held| held.taken_by).map(TakenBy::from);
        match protection {
            Protection::Min => {
                self.min_bytes = Some(set.0);
                (self.effective_min_bytes, self.min_taken_by) = (effective, taken_by);
            }
            Protection::Low => {
                self.low_bytes = Some(set.0);
                (self.effective_low_bytes, self.low_taken_by) = (effective, taken_by);
            }
        }
    }

    fn given(&mut self, word: &str, given: Bytes) {
        if given > Bytes::ZERO {
            self.shown
                .given
                .push(format!("{word} {given} from its parent"));
            match word {
                "min" => self.effective_min_bytes = Some(given.0),
                _ => self.effective_low_bytes = Some(given.0),
            }
        }
    }

    fn write(&self, page: &mut Page) {
        let name = match self.shown.depth {
            0 => path(&self.name),
            depth => format!("{:indent$}{}", "", self.shown.name, indent = 2 * depth),
        };
        let usage = self.current_bytes.map(|bytes| Bytes(bytes).to_string());
        page.row(&name, usage.as_deref().unwrap_or("?"), &self.settings());
        let indent = 6 + 2 * self.shown.depth.min(8);
        for lost in &self.shown.lost {
            page.paragraph(indent, lost);
        }
        let events = self.events();
        if !events.is_empty() {
            page.paragraph(indent, &events);
        }
    }

    /// Everything that is set.
    fn settings(&self) -> String {
        let (max, swap) = match self.shown.is_v1 {
            true => ("limit", "memory and swap"),
            false => ("max", "swap max"),
        };
        let bounds = [
            ("min", self.min_bytes),
            ("low", self.low_bytes),
            ("high", self.high_bytes),
            (max, self.max_bytes),
            (swap, self.swap_max_bytes.or(self.memory_and_swap_max_bytes)),
            ("soft limit", self.soft_limit_bytes),
        ];
        let bound = |(name, bytes): (&str, Option<u64>)| match bytes? {
            // Whole pages of the largest number that the kernel's counters hold.
            0x7fff_ffff_ffff_0000.. => Some(format!("{name} max")),
            bytes => Some(format!("{name} {}", Bytes(bytes))),
        };
        let mut words: Vec<String> = bounds.into_iter().filter_map(bound).collect();
        words.extend(self.shown.given.iter().cloned());
        if words.is_empty() {
            words.push("no limit, no protection".to_owned());
        }
        if let Some(swap) = self.swap_current_bytes.filter(|&swap| swap > 0) {
            words.push(format!("{} in swap", Bytes(swap)));
        }
        words.join(", ")
    }

    /// What happened since it was made.
    fn events(&self) -> String {
        let counts = [
            (self.oom_kills, "OOM kill"),
            (self.max_events, "time at the limit"),
            (self.high_events, "time above high"),
            (self.low_events, "time reclaimed below low"),
        ];
        let counts = counts
            .into_iter()
            .filter_map(|(count, what)| Some((count.filter(|&count| count > 0)?, what)));
        let text = counts.map(|(count, what)| match what.split_once(' ') {
            Some(("time", rest)) if count > 1 => format!("{count} times {rest}"),
            _ if count > 1 => format!("{count} {what}s"),
            _ => format!("{count} {what}"),
        });
        text.collect::<Vec<_>>().join(", ")
    }
}

impl From<Taker> for TakenBy {
    fn from(taker: Taker) -> Self {
        Self {
            group: taker.group,
            has_bytes: taker.has.0,
            claimed_bytes: taker.claimed.0,
        }
    }
}

/// Why a protection does not hold; `None` where it does.
fn lost(
    protection: Protection,
    setting: Limit,
    held: &Held,
    usage: Option<Bytes>,
) -> Option<String> {
    let taker = held.taken_by.as_ref()?;
    let word = protection.file().trim_start_matches("memory.");
    let holds = match usage.map_or(held.effective, |usage| held.effective.min(usage)) {
        Bytes::ZERO => "protects nothing".to_owned(),
        holds => format!("protects {holds}"),
    };
    let why = match taker.has {
        Bytes::ZERO => format!("has no {}", protection.file()),
        has => format!("has {has} for claims of {}", taker.claimed),
    };
    Some(format!(
        "{word} {setting} {holds}: {} {why}",
        path(&taker.group)
    ))
}

/// A group's name below another that is shown; its path where there is none.
fn below(name: &str, above: Option<&str>) -> String {
    let rest = above.and_then(|above| name.strip_prefix(above));
    let rest = rest.map_or(name, |rest| rest.trim_start_matches('/'));
    rest.to_owned()
}

fn path(group: &str) -> String {
    format!("/{group}")
}
