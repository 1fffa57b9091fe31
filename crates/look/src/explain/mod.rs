//! What `explain` says about one tunable: plain data made from a machine's files, written as text
//! or
//! as JSON.
//!
//! The first lines answer: the value here, whether it is the kernel's own choice, what it does.
//! Below
//! stand what the value comes to in bytes, what changes with it, what it does not do, and what was
//! measured.

pub mod boot;
mod default;
mod found;
mod here;
mod looked;
mod notes;
pub mod overview;
mod page;
pub mod proposed;
mod relations;
mod title;
mod value;

use mm::catalogue::{Of, Risk, Scope, Standing};
use serde::Serialize;

use boot::Boot;
use default::Default;
use found::Found;
use here::Row;
use notes::Note;
use relations::Relation;
use value::Values;

pub use looked::Looked;

/// Version of the shape in docs/schemas/explain.json. A new field is no new version.
const VERSION: u32 = 2;

/// What is known about one tunable on one machine.
#[derive(Debug, Serialize)]
pub struct Explanation {
    schema: &'static str,
    version: u32,
    /// The catalogue's name, with the device or group that was asked for.
    key: String,
    file: String,
    effect: &'static str,
    unit: String,
    takes: String,
    /// The first line: value and what there is to say of it.
    answer: String,
    #[serde(flatten)]
    values: Values,
    default: Default,
    here: Vec<Row>,
    relations: Vec<Relation>,
    kernels: String,
    kernel: Option<String>,
    standing: &'static str,
    #[serde(skip)]
    is_action: bool,
    risk: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    costs: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    does_not: Vec<notes::Myth>,
    /// Who sets it at the next boot; nothing where there are no files of configuration to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_boot: Option<Boot>,
    /// Arms of built-in studies that set it.
    found: Vec<Found>,
    next: Vec<String>,
}

impl Explanation {
    /// What the files say.
    pub fn of(looked: Looked<'_>) -> Self {
        let (named, snapshot) = (looked.named, looked.snapshot);
        let tunable = named.tunable;
        let values = Values::of(looked);
        let default = Default::of(looked, &values);
        let note = Note::of(tunable.name);
        let found = found::found(tunable);
        // One that is named, and a setting: the others no single line sets.
        let is_one = named.of != Of::Each && !tunable.is_action();
        let configuration = looked.configuration.filter(|_| is_one);
        let value = values.value.as_deref();
        let at_boot = configuration.map(|tree| Boot::of(looked, tree, value, &default));
        let at_boot = at_boot.filter(|boot| value.is_some() || boot.is_named());
        Self {
            schema: "plimsoll-explain",
            version: VERSION,
            key: named.to_string(),
            file: format!("/{}", named.path()),
            effect: tunable.effect,
            unit: tunable.unit.to_string(),
            takes: tunable.values.to_string(),
            answer: title::answer(looked, &values, &default),
            here: here::rows(looked, &values),
            relations: relations::relations(looked),
            kernels: tunable.kernels.to_string(),
            kernel: snapshot.release.clone(),
            standing: standing(looked, &values),
            is_action: tunable.is_action(),
            risk: risk(tunable.risk),
            costs: note.iter().flat_map(|note| note.costs.to_vec()).collect(),
            does_not: note
                .iter()
                .flat_map(|note| note.does_not.to_vec())
                .collect(),
            at_boot,
            next: next(looked, &values, &default, &found),
            found,
            values,
            default,
        }
    }
}

/// How this kernel stands to the tunable: a file that is there beats what its release says.
fn standing(looked: Looked<'_>, values: &Values) -> &'static str {
    let tunable = looked.named.tunable;
    match tunable.kernels.standing(looked.snapshot.span()) {
        // A file that can only be written is not read.
        Standing::Has if tunable.is_action() => "there",
        Standing::Ignores => "ignored",
        _ if values.is_there() => "there",
        Standing::Has => "not_seen",
        Standing::NotYet => "not_yet",
        Standing::NoLonger => "no_longer",
        Standing::ByPatch => "by_patch",
        Standing::Unknown => "unknown",
    }
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low: a bad value costs some speed until it is set back",
        Risk::Medium => "medium: a bad value can stall the machine or waste much of its memory",
        Risk::High => "high: with a bad value allocations fail and processes are killed",
    }
}

/// The commands that go on from here.
fn next(looked: Looked<'_>, values: &Values, default: &Default, found: &[Found]) -> Vec<String> {
    let named = looked.named;
    let mut next = Vec::new();
    if let Some(section) = here::section(named.tunable.name) {
        let evidence = match looked.evidence {
            "" => String::new(),
            evidence => format!(" {evidence}"),
        };
        next.push(format!("plimsoll inspect{evidence} --section {section}"));
    }
    if let Some(found) = found.first() {
        next.push(format!("plimsoll predict {}", found.study()));
    }
    let can_be_set = !named.tunable.is_action() && named.tunable.scope() != Scope::Group;
    if can_be_set && looked.evidence.is_empty() && values.is_there() {
        let setting = default.way_back(looked);
        let setting = setting.unwrap_or_else(|| format!("{named}=VALUE"));
        next.push(format!("plimsoll apply {setting} --dry-run"));
    }
    next
}
