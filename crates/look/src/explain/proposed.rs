//! Values that somebody proposes for a machine, judged: what they change in bytes, what lint says
//! of them there, what could not be told, and what was measured.

use crate::fact::or_unsaid;
use crate::lint::Severity;
use crate::lint::planned;
use mm::capture::Frame;
use mm::catalogue::{self, Named};
use mm::settings::Setting;
use mm::snapshot::Snapshot;
use mm::text::counted;
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::found::{self, Found};
use crate::figures::{Effect, effects};
use crate::page::{Canvas, Page};

/// What there is to say of them.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Proposed {
    kernel: Option<String>,
    /// In one sentence.
    answer: String,
    settings: Vec<Value>,
    /// Figures of the machine that become others.
    changes: Vec<Change>,
    /// What lint finds then, and does not find now.
    findings: Vec<Judged>,
    /// Facts that a rule lacks to judge them.
    not_told: Vec<&'static str>,
    /// Arms of built-in studies that set one of them.
    found: Vec<Found>,
    #[serde(skip)]
    given: Vec<Setting>,
}

impl Shape for Proposed {
    const NAME: &'static str = "explain-proposed";
    const VERSION: u32 = 1;
}

/// A value beside the one of now.
#[derive(Debug, JsonSchema, Serialize)]
struct Value {
    key: String,
    value: String,
    /// The value now, where the evidence has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
    /// What the value comes to here.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_now: Option<u64>,
    effect: &'static str,
    /// Whether it is so already.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_so: Option<bool>,
}

/// A figure before and after, in bytes.
#[derive(Debug, JsonSchema, Serialize)]
struct Change {
    name: &'static str,
    before: u64,
    after: u64,
}

/// What a rule says.
#[derive(Debug, JsonSchema, Serialize)]
struct Judged {
    rule: &'static str,
    severity: Severity,
    what: String,
}

impl Proposed {
    /// Judges values for the machine of a frame.
    pub fn of(frame: &Frame, snapshot: &Snapshot, given: Vec<Setting>) -> Self {
        let mut settings = Vec::new();
        let mut found = Vec::new();
        for setting in &given {
            if let Some(named) = catalogue::named(&setting.tunable) {
                settings.push(Value::of(frame, snapshot, setting, named));
                found.extend(found::found(named.tunable));
            }
        }
        let changes = effects(snapshot, &snapshot.after(&given)).into_iter();
        let findings = judged(snapshot, &given);
        Self {
            kernel: snapshot.release.clone(),
            answer: answer(&settings, &findings),
            changes: changes.map(Change::of).collect(),
            not_told: planned::unknown(snapshot, &given),
            settings,
            findings,
            found,
            given,
        }
    }

    /// The page; its next commands name this evidence.
    pub fn text(&self, canvas: Canvas, evidence: &str) -> String {
        let mut page = Page::new(canvas);
        page.title(&self.answer);
        self.settings
            .iter()
            .for_each(|value| value.write(&mut page));
        self.write_findings(&mut page);
        self.write_changes(&mut page);
        found::write(&self.found, &mut page);
        page.heading("Next");
        self.next(evidence)
            .iter()
            .for_each(|command| page.command(2, "", command));
        page.into_text()
    }

    fn write_findings(&self, page: &mut Page) {
        page.heading("What lint says of it here");
        for it in &self.findings {
            let mark = format!("{} {}: ", it.severity.word(), it.rule);
            page.item(2, &mark, &it.what);
        }
        if self.findings.is_empty() {
            page.paragraph(2, "No rule finds anything that it does not find now.");
        }
        if !self.not_told.is_empty() {
            let lacks = self.not_told.join(", ");
            page.paragraph(
                2,
                &format!("Not in this evidence, and so not judged by: {lacks}."),
            );
        }
    }

    fn write_changes(&self, page: &mut Page) {
        page.heading("What it changes at once");
        for change in &self.changes {
            let [before, after] = [change.before, change.after].map(mm::units::Bytes);
            page.row(change.name, after, &format!("now {before}"));
        }
        if self.changes.is_empty() {
            page.paragraph(2, "No amount of memory that the formulas give.");
        }
    }

    fn next(&self, evidence: &str) -> Vec<String> {
        let words: Vec<String> = self
            .given
            .iter()
            .map(|it| format!("{}={}", it.tunable, it.value))
            .collect();
        let words = words.join(" ");
        let key = self.settings.first().map(|value| value.key.as_str());
        let of = match evidence {
            "" => String::new(),
            evidence => format!(" --of {evidence}"),
        };
        let explain = key.map(|key| format!("plimsoll explain {key}{of}"));
        let apply = format!("sudo plimsoll apply {words}");
        let refused = self
            .findings
            .iter()
            .any(|it| it.severity == Severity::Error);
        let apply = (!refused && self.given.len() <= 4).then_some(apply);
        explain.into_iter().chain(apply).collect()
    }
}

impl Change {
    fn of(effect: Effect) -> Self {
        Self {
            name: effect.name,
            before: effect.before.0,
            after: effect.after.0,
        }
    }
}

/// What the rules find in the machine then, the worst first.
fn judged(snapshot: &Snapshot, given: &[Setting]) -> Vec<Judged> {
    let findings = planned::findings(snapshot, given).into_iter();
    let judged = |it: planned::Planned| Judged {
        rule: it.rule.name,
        severity: it.rule.severity,
        what: it.what,
    };
    let mut findings: Vec<Judged> = findings.map(judged).collect();
    findings.sort_by_key(|it| std::cmp::Reverse(it.severity));
    findings
}

impl Value {
    fn of(frame: &Frame, snapshot: &Snapshot, setting: &Setting, named: Named<'_>) -> Self {
        let now = frame.file(&named.path());
        let now = now.map(|text| named.tunable.value_in(text));
        // A size is itself; a share or a factor is what it makes here.
        let unit = named.tunable.unit.bytes(snapshot.page);
        let worth = |value: &str| match unit {
            Some(unit) => value.parse::<u64>().ok()?.checked_mul(unit),
            None => Some(snapshot.worth(&setting.tunable, value)?.0),
        };
        Self {
            is_so: now
                .as_deref()
                .map(|now| named.tunable.means_same(now, &setting.value)),
            bytes: worth(&setting.value),
            bytes_now: now.as_deref().and_then(worth),
            key: setting.tunable.clone(),
            value: setting.value.clone(),
            effect: named.tunable.effect,
            now,
        }
    }

    fn write(&self, page: &mut Page) {
        let bytes = |bytes: Option<u64>| {
            or_unsaid(bytes.map(|bytes| format!(" ({})", mm::units::Bytes(bytes))))
        };
        let now = match (&self.now, self.is_so) {
            (_, Some(true)) => "; it is so already".to_owned(),
            (Some(now), _) => format!("; now {now}{}", bytes(self.bytes_now)),
            (None, _) => "; what it is now is not in this evidence".to_owned(),
        };
        let value = bytes(self.bytes);
        page.paragraph(
            2,
            &format!("{} = {}{value}{now}. {}", self.key, self.value, self.effect),
        );
    }
}

/// The judgement, in one sentence.
fn answer(settings: &[Value], findings: &[Judged]) -> String {
    let what = match settings {
        [one] => format!("{} = {}", one.key, one.value),
        several => format!("{} settings", several.len()),
    };
    let is_so = !settings.is_empty() && settings.iter().all(|it| it.is_so == Some(true));
    let count = |severity| findings.iter().filter(|it| it.severity == severity).count();
    match (count(Severity::Error), count(Severity::Warning)) {
        _ if is_so => format!("{what}: so already; nothing would change"),
        (0, 0) if findings.is_empty() => format!("{what}: no rule speaks against it here"),
        (0, 0) => format!("{what}: taken; lint has something to say of it here"),
        (0, warnings) => format!("{what}: taken; lint has {}", counted(warnings, "warning")),
        (errors, _) => format!(
            "{what}: refused by apply; lint has {}",
            counted(errors, "error")
        ),
    }
}
