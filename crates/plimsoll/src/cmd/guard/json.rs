//! The JSON of `guard check`, `status` and `events`, as docs/schemas has it.

use guard::{Event, Figures};
use serde::Serialize;
use serde_json::{Value, json};

use super::checked::Checked;
use super::others::Other;
use super::shared::stands_down;
use crate::term;

/// Version of the shapes in docs/schemas. A new field is no new version.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Check<'a> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    checked: &'a Checked,
    costs: &'a [String],
    others: &'a [Other],
}

/// What a configuration would do.
pub(super) fn check(checked: &Checked, costs: &[String], others: &[Other]) -> String {
    term::json(&Check {
        schema: "plimsoll-guard-check",
        version: VERSION,
        checked,
        costs,
        others,
    })
}

/// What a guard holds; `null` where none runs.
pub(super) fn status(figures: Option<&Figures>) -> String {
    term::json(&json!({
        "schema": "plimsoll-guard-status",
        "version": VERSION,
        "guard": figures.map(guard),
    }))
}

fn guard(figures: &Figures) -> Value {
    let info = figures.of("info").next();
    let label = |name| info.map_or("", |info| info.label(name));
    let policies = figures.of("policy_enabled").map(|policy| {
        let name = policy.label("policy");
        json!({
            "policy": name,
            "enabled": policy.value == 1,
            "stands_down": stands_down(figures, name),
        })
    });
    let ceilings = figures.of("ceiling_bytes").map(|it| {
        let group = Some(it.label("group")).filter(|group| !group.is_empty());
        json!({ "group": group, "bytes": it.value })
    });
    let settings = figures
        .of("setting_held")
        .map(|it| json!({ "tunable": it.label("tunable"), "before": it.label("before") }));
    let counted = |family| {
        let of = figures.of(family).map(|it| {
            json!({ "policy": it.label("policy"), "action": it.label("action"), "times": it.value })
        });
        of.collect::<Vec<_>>()
    };
    let total = |family| figures.of(family).map(|it| it.value).sum::<u64>();
    json!({
        "version": label("version"),
        "pid": label("pid").parse::<u32>().ok(),
        "started_seconds": figures.value("start_time_seconds"),
        "policies": policies.collect::<Vec<_>>(),
        "lock_budget_bytes": figures.value("lock_budget_bytes"),
        "locked_bytes": figures.value("locked_bytes"),
        "locked_files": figures.value("locked_files"),
        "anon_floor_bytes": figures.value("anon_floor_bytes"),
        "ceilings": ceilings.collect::<Vec<_>>(),
        "settings": settings.collect::<Vec<_>>(),
        "released": figures.of("released").map(|it| it.label("place")).collect::<Vec<_>>(),
        "actions": counted("actions_total"),
        "failures": counted("failures_total"),
        "reclaimed_bytes": total("reclaimed_bytes_total"),
        "refaulted_bytes": total("refaulted_bytes_total"),
        "lost_events": figures.value("lost_events_total"),
    })
}

/// What it did.
pub(super) fn events(events: &[Event]) -> String {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let events = events.iter().map(|event| {
        json!({
            "at_ms": event.at,
            "policy": some(&event.policy),
            "action": some(&event.action),
            "failed": event.is_failed,
            "file": some(&event.file),
            "bytes": event.bytes.0,
            "what": event.what,
            "why": some(&event.why),
        })
    });
    term::json(&json!({
        "schema": "plimsoll-guard-events",
        "version": VERSION,
        "events": events.collect::<Vec<_>>(),
    }))
}
