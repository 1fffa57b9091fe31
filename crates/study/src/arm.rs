//! An arm: everything of a scenario but the seed.

use mm::settings::Settings;
use mm::units::Nanos;
use scenario::machine::Machine;
use scenario::workload::{Action, Workload};

use super::arms::ArmPlan;
use super::names::{Kind, Names};
use super::node::{Node, Scope};
use super::source::{Source, StudyError};
use super::table::Table;
use super::{machine, settings, workload};

/// One arm of a study: everything of a scenario but the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// Unique within the study.
    pub name: String,
    /// What it is about, in the author's words.
    pub about: String,
    /// What it asks of the administrator, where it is a remedy.
    pub asks: Option<String>,
    /// It shows a kernel that cannot be booted any more: the model runs it, no real kernel does.
    pub model_only: bool,
    /// What it sets.
    pub settings: Settings,
    /// What is set on every arm before the run.
    pub base: Settings,
    /// What has memory.
    pub machine: Machine,
    /// What asks for it.
    pub workload: Workload,
    /// The place of each of its processes among all of the study.
    pub process_numbers: Vec<u32>,
}

pub(super) const ROOT: &[&str] = &[
    "name",
    "title",
    "question",
    "recording",
    "recording-sha256",
    "recorded",
    "answer",
    "publication",
    "sample",
    "repetitions",
    "deadline",
    "machine",
    "base",
    "parameters",
    "arm",
    "sweep",
    "cgroup",
    "process",
    "measure",
    "pressure",
    "grows",
    "table",
    "chart",
    "distribution",
];

pub(super) fn root<'a>(
    scope: &'a Scope<'a>,
    document: &'a toml::Spanned<toml::de::DeValue<'a>>,
) -> Result<Table<'a>, StudyError> {
    Node::new(scope, "the study".to_owned(), document)?.table(ROOT)
}

pub(super) fn read_arm<'a>(
    source: Source<'a>,
    document: &'a toml::Spanned<toml::de::DeValue<'a>>,
    plans: &'a [ArmPlan<'a>],
    plan: &'a ArmPlan<'a>,
    labels: &mut Names,
) -> Result<Arm, StudyError> {
    let scope = Scope::of_arm(source, plans, plan);
    // The values of this arm live as long as the scope, not as long as the document.
    let root = root(&scope, document)?;
    let mut names = Names::default();
    let table = root
        .need("machine")?
        .placed("[machine]")
        .table(machine::MACHINE)?;
    let machine = machine::machine(&table, &mut names, plan.model_only)?;
    let (workload, process_numbers) = workload::workload(&root, &mut names)?;
    let replays = workload.any_action(|action| matches!(action, Action::Replay(_)));
    if replays && machine.recorded_on.is_none() {
        return Err(root.need("machine")?.error(
            "[machine] has no disk for the files of the recording",
            "name one: recorded-files = \"DISK\"",
        ));
    }
    let arm = Arm {
        name: plan.name.clone(),
        about: plan.about.clone(),
        asks: plan.asks.clone(),
        model_only: plan.model_only,
        settings: plan.settings(&scope, &names)?,
        base: root.or("base", Settings::default(), |n| {
            settings::settings(&n.clone().placed("[base]"), &names)
        })?,
        machine,
        workload,
        process_numbers,
    };
    labels.join(Kind::Label, &names);
    labels.join(Kind::Snapshot, &names);
    labels.join(Kind::Process, &names);
    Ok(arm)
}

/// The time between two samples.
pub(super) fn sample(root: &Table<'_>) -> Result<Nanos, StudyError> {
    root.or("sample", Nanos::SECOND, |n| n.some_duration())
}
