//! What is told of a plan and of changes: text, and JSON.

use std::time::{Duration, UNIX_EPOCH};

use change::status::{Now, Status};
use change::{Change, Phase, Role, Value, Written};
use look::lint::Severity;
use look::lint::planned::Planned;
use mm::catalogue::Risk;
use mm::text::lasting;
use mm::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::plan::{Plan, Row};
use crate::results::wrapped;
use crate::table::Table;
use crate::term::{bad, bold};

/// The plan as text.
pub(crate) fn plan(plan: &Plan, width: usize) -> String {
    let mut text = String::new();
    for row in &plan.rows {
        text += &of_row(row, width);
    }
    for setting in &plan.already {
        text += &format!("{setting}: so already, not written\n");
    }
    if !plan.effects.is_empty() {
        let head = ["by the formulas", "now", "then"].map(Into::into);
        let mut table = Table::new(head.to_vec());
        for effect in &plan.effects {
            table.row(vec![
                effect.name.into(),
                effect.before.into(),
                effect.after.into(),
            ]);
        }
        text += &format!("\n{}", table.to_text(width));
    }
    let unknown =
        "the formulas know no workload; plimsoll predict STUDY --like this asks the model";
    let unknown = (!plan.rows.is_empty()).then_some(unknown);
    let notes = plan.notes.iter().map(String::as_str).chain(unknown);
    let notes: String = notes.map(|note| item(note, width)).collect();
    if !notes.is_empty() {
        text += &format!("\n{notes}");
        for file in &plan.files {
            text += &item(
                &format!("once it is confirmed, {file} keeps it over reboots"),
                width,
            );
        }
    }
    let (errors, others): (Vec<&Planned>, Vec<&Planned>) = plan
        .findings
        .iter()
        .partition(|it| it.rule.severity == Severity::Error);
    for finding in others {
        let word = finding.rule.severity.word();
        text += &item(&format!("{word}: {}", of_finding(finding)), width);
    }
    for finding in errors {
        text += &format!("{}\n{}", bad("refused"), item(&of_finding(finding), width));
    }
    text
}

fn of_finding(finding: &Planned) -> String {
    let Planned { tunable, what, .. } = finding;
    format!("{tunable}: {what} ({})", finding.rule.name)
}

fn of_row(row: &Row, width: usize) -> String {
    let bytes = |bytes: Option<Bytes>| bytes.map_or_else(String::new, |it| format!(" ({it})"));
    let (from, to) = (bytes(row.from_bytes), bytes(row.to_bytes));
    let risk = row.risk.word();
    let head = format!(
        "{}: {}{from} -> {}{to}, risk {risk}",
        row.setting.tunable, row.from, row.to
    );
    format!("{}\n{}", bold(head), item(row.effect, width))
}

fn item(text: &str, width: usize) -> String {
    let lines = wrapped(text, width.saturating_sub(2));
    lines.lines().map(|line| format!("  {line}\n")).collect()
}

/// When, in UTC; empty where it is not known.
pub(crate) fn date(unix: u64) -> String {
    let moment = UNIX_EPOCH.checked_add(Duration::from_secs(unix));
    moment.map_or_else(String::new, study::record::utc)
}

/// Where a change stands, in a few words.
pub(crate) fn phase(change: &Change, now: Nanos) -> String {
    match &change.phase {
        Phase::Pending if change.is_overdue(now) => {
            "its time is over, and it is not taken back".into()
        }
        Phase::Pending => {
            let left = Nanos(change.deadline.0.saturating_sub(now.0));
            format!("waits for a confirmation, {} left", lasting(left))
        }
        Phase::Confirmed if change.files.is_empty() => "confirmed, until the next boot".into(),
        Phase::Confirmed => "confirmed, and outlives a reboot".into(),
        Phase::Undone { why } => format!("taken back: {why}"),
    }
}

/// A change and what it set, a line each.
pub(crate) fn change(change: &Change, now: Nanos, width: usize) -> String {
    let head = format!("change {}, {}", change.id, date(change.at));
    let mut text = format!("{}: {}\n", bold(head), phase(change, now));
    if !change.why.is_empty() {
        text += &item(&change.why, width);
    }
    let steps = change.steps.iter().zip(&change.before);
    for ((step, before), written) in steps.zip(&change.written) {
        if step.role != Role::Aside {
            let back = match written {
                Written::No => " (not written, or put back since)".to_owned(),
                _ => goes_back(change, step, before),
            };
            text += &format!(
                "  /{}: {}{back}\n",
                step.new.path,
                from_to(before, &step.new)
            );
        }
    }
    text
}

/// A value, and what it was set to.
fn from_to(before: &Value, new: &Value) -> String {
    match before.path == new.path {
        true => format!("{} -> {}", before.text, new.text),
        false => format!(
            "{} ({}) -> {}",
            before.text,
            file_name(&before.path),
            new.text
        ),
    }
}

/// What it goes back to, where a change below it was taken back.
fn goes_back(change: &Change, step: &change::Step, before: &Value) -> String {
    match step.same(&step.old, before) || !change.stands() {
        true => String::new(),
        false => format!(" (undo restores {})", step.old.text),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// What is not as a standing change left it, a line each.
pub(crate) fn drift(standing: &Status) -> Vec<String> {
    let mut lines = vec![];
    for (step, now) in standing
        .steps
        .iter()
        .filter(|(step, _)| step.role != Role::Aside)
    {
        let path = &step.new.path;
        lines.extend(match now {
            Now::AsSet => None,
            Now::AsBefore => Some(format!("/{path} is {} again, as before it", step.old.text)),
            Now::Changed(live) => Some(format!(
                "/{} is {}: somebody changed it",
                live.path, live.text
            )),
            Now::Covered { by } => Some(format!("/{path}: change {by} covers it")),
            Now::Unwritten => Some(format!("/{path} was not written, or is put back already")),
            Now::Unreadable(failure) => Some(failure.to_string()),
        });
    }
    let gone = standing.files.iter().filter(|(_, has)| !has);
    let pending = standing.change.is_pending();
    lines.extend(gone.map(|(file, _)| match pending {
        true => format!("/{file} does not have its lines: its confirmation was cut"),
        false => format!("/{file} does not have its lines: the next boot does not bring it"),
    }));
    lines
}

/// A plan as JSON has it.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct PlanDocument<'a> {
    writes: Vec<Write<'a>>,
    already: Vec<String>,
    effects: Vec<Figure>,
    refused: Vec<Reason<'a>>,
    /// What lint finds in the machine once all of it is written, and does not find now.
    findings: Vec<Found<'a>>,
    #[schemars(extend("enum" = Risk::WORDS))]
    risk: &'static str,
    notes: &'a [String],
    /// The native files that keep it once it is confirmed; only with `--persist`.
    files: &'a [String],
    /// The change, where it was made.
    change: Option<Told>,
}

impl Shape for PlanDocument<'_> {
    const NAME: &'static str = "apply";
    const VERSION: u32 = 1;
}

#[derive(Debug, JsonSchema, Serialize)]
struct Write<'a> {
    tunable: &'a str,
    path: &'a str,
    from: &'a str,
    to: &'a str,
    from_bytes: Option<u64>,
    to_bytes: Option<u64>,
    #[schemars(extend("enum" = Risk::WORDS))]
    risk: &'static str,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Figure {
    name: &'static str,
    before_bytes: u64,
    after_bytes: u64,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Reason<'a> {
    tunable: &'a str,
    what: &'a str,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Found<'a> {
    rule: &'static str,
    severity: Severity,
    tunable: &'a str,
    what: &'a str,
}

/// Changes as JSON has them.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Changes {
    changes: Vec<Told>,
}

impl Shape for Changes {
    const NAME: &'static str = "changes";
    const VERSION: u32 = 1;
}

#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Told {
    id: u32,
    date: String,
    why: String,
    phase: PhaseName,
    undone_because: Option<String>,
    /// Until it is taken back.
    seconds_left: Option<f64>,
    lasts: bool,
    files: Vec<String>,
    steps: Vec<Step>,
    drift: Vec<String>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum PhaseName {
    Pending,
    Confirmed,
    Undone,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Step {
    path: String,
    value: String,
    before_path: String,
    before: String,
    asked: bool,
}

impl Changes {
    pub(crate) fn new(changes: Vec<Told>) -> Self {
        Self { changes }
    }
}

impl Told {
    pub(crate) fn of(change: &Change, drift: Vec<String>, now: Nanos) -> Self {
        let undone_because = match &change.phase {
            Phase::Undone { why } => Some(why.clone()),
            Phase::Pending | Phase::Confirmed => None,
        };
        let left = Nanos(change.deadline.0.saturating_sub(now.0)).seconds();
        let step = |(step, before): (&change::Step, &Value)| Step {
            path: format!("/{}", step.new.path),
            value: step.new.text.clone(),
            before_path: format!("/{}", before.path),
            before: before.text.clone(),
            asked: step.role != Role::Aside,
        };
        Self {
            id: change.id,
            date: date(change.at),
            why: change.why.clone(),
            phase: match change.phase {
                Phase::Pending => PhaseName::Pending,
                Phase::Confirmed => PhaseName::Confirmed,
                Phase::Undone { .. } => PhaseName::Undone,
            },
            undone_because,
            seconds_left: change.is_pending().then_some(left),
            lasts: !change.files.is_empty(),
            files: change.files.iter().map(|file| format!("/{file}")).collect(),
            steps: change.steps.iter().zip(&change.before).map(step).collect(),
            drift,
        }
    }
}

impl<'a> PlanDocument<'a> {
    pub(crate) fn of(plan: &'a Plan, change: Option<Told>) -> Self {
        let write = |row: &'a Row| Write {
            tunable: &row.setting.tunable,
            path: &row.path,
            from: &row.from,
            to: &row.to,
            from_bytes: row.from_bytes.map(|bytes| bytes.0),
            to_bytes: row.to_bytes.map(|bytes| bytes.0),
            risk: row.risk.word(),
        };
        let effects = plan.effects.iter().map(|effect| Figure {
            name: effect.name,
            before_bytes: effect.before.0,
            after_bytes: effect.after.0,
        });
        let refused = plan.errors().map(|it| Reason {
            tunable: &it.tunable,
            what: &it.what,
        });
        let findings = plan.findings.iter().map(|it| Found {
            rule: it.rule.name,
            severity: it.rule.severity,
            tunable: &it.tunable,
            what: &it.what,
        });
        Self {
            writes: plan.rows.iter().map(write).collect(),
            already: plan.already.iter().map(ToString::to_string).collect(),
            effects: effects.collect(),
            refused: refused.collect(),
            findings: findings.collect(),
            risk: plan.risk.word(),
            notes: &plan.notes,
            files: &plan.files,
            change,
        }
    }
}
