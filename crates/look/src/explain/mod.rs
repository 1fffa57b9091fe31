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
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use boot::Boot;
use default::Default;
use found::Found;
use here::Row;
use notes::Note;
use relations::Relation;
use value::Values;

pub use looked::Looked;

/// What is known about one tunable on one machine.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Explanation {
    /// The catalogue's name, with the device or group that was asked for.
    key: String,
    file: String,
    effect: &'static str,
    /// What the number counts; empty for a switch, a word or a weight.
    unit: String,
    takes: String,
    /// The first line: value and what there is to say of it.
    answer: String,
    #[serde(flatten)]
    values: Values,
    default: Default,
    /// What the value comes to on this machine.
    here: Vec<Row>,
    /// Tunables that go with it.
    relations: Vec<Relation>,
    /// Which kernels have it.
    kernels: String,
    /// The release of this one.
    kernel: Option<String>,
    standing: StandingHere,
    #[serde(skip)]
    is_action: bool,
    risk: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    costs: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// What people expect of it and it does not do.
    does_not: Vec<notes::Myth>,
    /// Who sets it at the next boot; nothing where there are no files of configuration to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_boot: Option<Boot>,
    /// Arms of built-in studies that set it.
    found: Vec<Found>,
    /// Commands that go on from here.
    next: Vec<String>,
}

impl Shape for Explanation {
    const NAME: &'static str = "explain";
    const VERSION: u32 = 2;
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
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum StandingHere {
    There,
    /// The kernel takes what is written and ignores it.
    Ignored,
    /// The kernel has it, and the evidence has no file of it.
    NotSeen,
    NotYet,
    NoLonger,
    ByPatch,
    Unknown,
}

fn standing(looked: Looked<'_>, values: &Values) -> StandingHere {
    let tunable = looked.named.tunable;
    match tunable.kernels.standing(looked.snapshot.span()) {
        // A file that can only be written is not read.
        Standing::Has if tunable.is_action() => StandingHere::There,
        Standing::Ignores => StandingHere::Ignored,
        _ if values.is_there() => StandingHere::There,
        Standing::Has => StandingHere::NotSeen,
        Standing::NotYet => StandingHere::NotYet,
        Standing::NoLonger => StandingHere::NoLonger,
        Standing::ByPatch => StandingHere::ByPatch,
        Standing::Unknown => StandingHere::Unknown,
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
