//! The JSON of `guard check`, `status` and `events`.

use guard::{Event, Figures};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::checked::Checked;
use super::others::Other;
use super::shared::stands_down;

/// What each policy of a configuration would do on a machine.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Check<'a> {
    #[serde(flatten)]
    checked: &'a Checked,
    costs: &'a [String],
    others: &'a [Other],
}

impl Shape for Check<'_> {
    const NAME: &'static str = "guard-check";
    const VERSION: u32 = 1;
}

/// What a configuration would do.
pub(super) fn check(checked: &Checked, costs: &[String], others: &[Other]) -> String {
    shapes::text(&Check {
        checked,
        costs,
        others,
    })
}

/// The guard that runs.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Status<'a> {
    /// `null` where none runs.
    guard: Option<Guard<'a>>,
}

impl Shape for Status<'_> {
    const NAME: &'static str = "guard-status";
    const VERSION: u32 = 1;
}

/// What a guard holds and did since it started.
#[derive(JsonSchema, Serialize)]
struct Guard<'a> {
    version: &'a str,
    pid: Option<u32>,
    started_seconds: u64,
    policies: Vec<Policy<'a>>,
    lock_budget_bytes: u64,
    locked_bytes: u64,
    locked_files: u64,
    anon_floor_bytes: u64,
    ceilings: Vec<Ceiling<'a>>,
    settings: Vec<Held<'a>>,
    /// Places of files that it let go for good.
    released: Vec<&'a str>,
    actions: Vec<Counted<'a>>,
    failures: Vec<Counted<'a>>,
    reclaimed_bytes: u64,
    refaulted_bytes: u64,
    lost_events: u64,
}

#[derive(JsonSchema, Serialize)]
struct Policy<'a> {
    policy: &'a str,
    enabled: bool,
    stands_down: bool,
}

#[derive(JsonSchema, Serialize)]
struct Ceiling<'a> {
    /// `null` for the whole machine.
    group: Option<&'a str>,
    bytes: u64,
}

/// A tunable that the guard has set.
#[derive(JsonSchema, Serialize)]
struct Held<'a> {
    tunable: &'a str,
    before: &'a str,
}

#[derive(JsonSchema, Serialize)]
struct Counted<'a> {
    policy: &'a str,
    action: &'a str,
    times: u64,
}

/// What a guard holds; `null` where none runs.
pub(super) fn status(figures: Option<&Figures>) -> String {
    shapes::text(&Status {
        guard: figures.map(Guard::of),
    })
}

impl<'a> Guard<'a> {
    fn of(figures: &'a Figures) -> Self {
        let info = figures.of("info").next();
        let label = |name| info.map_or("", |info| info.label(name));
        let total = |family| figures.of(family).map(|it| it.value).sum();
        Self {
            version: label("version"),
            pid: label("pid").parse().ok(),
            started_seconds: figures.value("start_time_seconds"),
            policies: policies(figures),
            lock_budget_bytes: figures.value("lock_budget_bytes"),
            locked_bytes: figures.value("locked_bytes"),
            locked_files: figures.value("locked_files"),
            anon_floor_bytes: figures.value("anon_floor_bytes"),
            ceilings: ceilings(figures),
            settings: settings(figures),
            released: figures.of("released").map(|it| it.label("place")).collect(),
            actions: counted(figures, "actions_total"),
            failures: counted(figures, "failures_total"),
            reclaimed_bytes: total("reclaimed_bytes_total"),
            refaulted_bytes: total("refaulted_bytes_total"),
            lost_events: figures.value("lost_events_total"),
        }
    }
}

fn policies(figures: &Figures) -> Vec<Policy<'_>> {
    let policies = figures.of("policy_enabled").map(|it| {
        let policy = it.label("policy");
        Policy {
            policy,
            enabled: it.value == 1,
            stands_down: stands_down(figures, policy),
        }
    });
    policies.collect()
}

fn ceilings(figures: &Figures) -> Vec<Ceiling<'_>> {
    let ceilings = figures.of("ceiling_bytes").map(|it| Ceiling {
        group: some(it.label("group")),
        bytes: it.value,
    });
    ceilings.collect()
}

fn settings(figures: &Figures) -> Vec<Held<'_>> {
    let settings = figures.of("setting_held").map(|it| Held {
        tunable: it.label("tunable"),
        before: it.label("before"),
    });
    settings.collect()
}

fn counted<'a>(figures: &'a Figures, family: &'a str) -> Vec<Counted<'a>> {
    let counted = figures.of(family).map(|it| Counted {
        policy: it.label("policy"),
        action: it.label("action"),
        times: it.value,
    });
    counted.collect()
}

/// What the guard did and said, the oldest first.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Events<'a> {
    events: Vec<Entry<'a>>,
}

impl Shape for Events<'_> {
    const NAME: &'static str = "guard-events";
    const VERSION: u32 = 1;
}

#[derive(JsonSchema, Serialize)]
struct Entry<'a> {
    /// Milliseconds since 1970 (UTC).
    at_ms: u64,
    policy: Option<&'a str>,
    action: Option<&'a str>,
    failed: bool,
    file: Option<&'a str>,
    bytes: u64,
    what: &'a str,
    why: Option<&'a str>,
}

/// What it did.
pub(super) fn events(events: &[Event]) -> String {
    shapes::text(&Events {
        events: events.iter().map(entry).collect(),
    })
}

fn entry(event: &Event) -> Entry<'_> {
    Entry {
        at_ms: event.at,
        policy: some(&event.policy),
        action: some(&event.action),
        failed: event.is_failed,
        file: some(&event.file),
        bytes: event.bytes.0,
        what: &event.what,
        why: some(&event.why),
    }
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
