//! What a run of an arm depends on, and nothing else: neither words, nor measures, nor other arms.

use mm::units::Nanos;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::arm::{Arm, read_arm, root, sample};
use super::names::Names;
use super::node::Scope;
use super::source::{Source, StudyError};
use super::{Study, arms};
use crate::hash::sha256;

/// SHA-256 of what a study's text asks of an arm: machine, workload with its deadline, settings of
/// all arms and of this one, and the time between two samples. Two texts that ask for the same give
/// the same, however they put it. `None` where the text is no study with that arm.
///
/// The rest of the text, such as its measures, may even be wrong: a record outlives the format of
/// what it does not depend on.
#[must_use]
pub fn asked(text: &str, arm: &str) -> Option<String> {
    read(text, arm).ok().flatten()
}

impl Study {
    /// As [`asked`], of this study.
    #[must_use]
    pub fn asked(&self, arm: &str) -> Option<String> {
        let arm = self.arm(arm).ok()?;
        Some(of(arm, self.sample_every, self.recorded.sha256.as_deref()))
    }
}

fn read(text: &str, arm: &str) -> Result<Option<String>, StudyError> {
    let source = Source {
        file: "",
        text,
        recorded: None,
    };
    let Ok(document) = DeTable::parse(text) else {
        return Ok(None);
    };
    let document = Spanned::new(document.span(), DeValue::Table(document.into_inner()));
    let plans = arms::plans(source, &document)?;
    let Some(plan) = plans.iter().find(|plan| plan.name == arm) else {
        return Ok(None);
    };
    let arm = read_arm(source, &document, &plans, plan, &mut Names::default())?;
    let scope = Scope::of_study(source);
    let root = root(&scope, &document)?;
    let recording = root.maybe(super::RECORDING_SHA256, |n| n.text())?;
    Ok(Some(of(&arm, sample(&root)?, recording)))
}

/// Every field counts without being named here. The text has the form of this version's types;
/// since it is made again from the studies' texts, only texts of one version are compared.
fn of(arm: &Arm, sample_every: Nanos, recording: Option<&str>) -> String {
    let Arm {
        name: _,
        about: _,
        asks: _,
        model_only: _,
        settings,
        base,
        machine,
        workload,
        process_numbers,
    } = arm;
    let run = (sample_every, settings, base, machine);
    let text = format!("{:?}", (run, workload, process_numbers, recording));
    sha256(text.as_bytes())
}
