//! A study: a machine, a workload, arms, and what is measured, as one TOML file.
//!
//! The file is read once per arm, because an arm can do more than set tunables: it fills in
//! `$parameters`, and machines, processes and steps can be meant for some arms only (`arms`,
//! `except`). Every error is one line with its place and the way out; `docs/studies.md`
//! describes the format.

#![forbid(unsafe_code)]

mod access;
pub mod ages;
mod arm;
mod arms;
mod asked;
mod beside;
mod built_in;
mod cgroup_file;
mod classes;
pub mod compare;
mod cost;
pub mod coverage;
mod edits;
mod fitted;
pub mod footprint;
mod guard;
pub mod hash;
mod kernel_names;
pub mod likely_error;
mod limited;
mod limits;
mod machine;
mod map;
pub mod measure;
mod measures;
mod names;
mod node;
pub mod numbers;
mod observed;
mod pressure;
pub mod program_error;
pub mod record;
pub mod recording;
mod replay;
mod reuse;
pub mod room;
pub mod score;
mod settings;
mod shown;
mod source;
pub mod stats;
mod step;
mod table;
pub mod template;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod traced;
pub mod verdict;
pub mod verdicts;
mod words;
mod work;
mod workload;

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use mm::settings::Settings;
use mm::units::Nanos;
use scenario::Scenario;
use toml::de::DeTable;

use crate::measure::Measure;
use crate::recording::Recording;
use arm::{read_arm, root, sample};
use arms::ArmPlan;
use edits::quoted;
use mm::suggest;
use names::Names;
use node::{Node, Scope};
use source::Source;
use table::Table;

pub use arm::Arm;
pub use asked::asked;
pub use beside::Beside;
pub use built_in::BUILT_IN;
pub use cost::{Cost, memory, roughly};
pub use fitted::{AtHand, DiskKind, SwapAtHand};
pub use limited::Limit;
pub use observed::{CACHED, Load, LoadMemory, LoadStream, Observed, READ_IN, Seen, Written};
pub use pressure::{Least, Pressure};
pub use shown::{ArmTable, Chart, Distribution, Effect, Shown};
pub use source::StudyError;
pub use work::Work;

/// A study that was read and found consistent.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The file it came from, or the built-in study's name; errors begin with it.
    pub file: String,
    /// Its text, as its author wrote it.
    pub text: String,
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// Its title for people.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// The answer, with placeholders for figures (see [`crate::template`]).
    pub answer: Option<String>,
    /// Who published the experiment, and how theirs differs.
    pub publication: Option<String>,
    /// Runs of each arm, each with its own seed.
    pub repetitions: u32,
    /// Time between two samples.
    pub sample_every: Nanos,
    /// What is compared, in order; at least one. The first is what the others are compared with.
    pub arms: Vec<Arm>,
    /// What is read in the outcomes.
    pub measures: Vec<Measure>,
    /// What has to happen so that the arms can be ranked; `None` where the study does not say.
    pub pressure: Option<Pressure>,
    /// What the report shows before all figures.
    pub shown: Shown,
    /// What its steps replay.
    pub recorded: Recording,
    /// How that was recorded, where the study says so.
    pub observed: Option<Observed>,
}

/// The key of the recording's hash.
const RECORDING_SHA256: &str = "recording-sha256";

/// An arm that the study lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("study {study} has no arm `{arm}`; {way_out}")]
pub struct NoSuchArm {
    /// The study's name.
    pub study: String,
    /// What was asked for.
    pub arm: String,
    /// The nearest arm, or all of them.
    pub way_out: String,
}

/// Why an arm cannot be added to a study; the text of the study has no place for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {way_out}")]
pub struct ArmError {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

impl Study {
    /// Reads a study's text; `file` is what errors call it.
    ///
    /// # Errors
    /// The first [`StudyError`], with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        Self::parse_with(text, file, Recording::default())
    }

    /// As [`Self::parse`], with what its steps replay.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_with(text: &str, file: &str, recording: Recording) -> Result<Self, StudyError> {
        let shared = Arc::clone(&recording.recorded);
        let recorded = Some(&*shared);
        let source = Source {
            file,
            text,
            recorded,
        };
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            source.error(
                &span,
                format!("not TOML: {}", error.message()),
                "correct the line",
            )
        })?;
        let document = toml::Spanned::new(
            document.span(),
            toml::de::DeValue::Table(document.into_inner()),
        );
        let plans = arms::plans(source, &document)?;
        let mut labels = Names::default();
        let mut arms = Vec::new();
        for plan in &plans {
            arms.push(read_arm(source, &document, &plans, plan, &mut labels)?);
        }
        let scope = Scope::of_study(source);
        let root = root(&scope, &document)?;
        let study = head(&root, arms, &plans, &labels)?;
        study.with_recording(recording, root.get(RECORDING_SHA256)?.as_ref())
    }

    /// The text says which recording it is of, so that a record does.
    fn with_recording(
        mut self,
        recording: Recording,
        said: Option<&Node<'_>>,
    ) -> Result<Self, StudyError> {
        match (&recording.sha256, said) {
            (Some(sha256), Some(said)) if said.text()? != sha256 => {
                return Err(said.error("the recording is another one", "drop the line"));
            }
            (Some(sha256), None) => {
                self.text = format!("{RECORDING_SHA256} = \"{sha256}\"\n{}", self.text);
            }
            _ => {}
        }
        self.recorded = recording;
        Ok(self)
    }

    /// The scenario of an arm with one seed.
    ///
    /// # Errors
    /// There is no such arm.
    pub fn scenario(&self, arm: &str, seed: u64) -> Result<Scenario, NoSuchArm> {
        let arm = self.arm(arm)?;
        Ok(Scenario {
            study: self.name.clone(),
            arm: arm.name.clone(),
            process_numbers: arm.process_numbers.clone(),
            machine: arm.machine.clone(),
            workload: arm.workload.clone(),
            base: arm.base.clone(),
            arm_settings: arm.settings.clone(),
            seed,
            sample_every: self.sample_every,
            recorded: Arc::clone(&self.recorded.recorded),
        })
    }

    /// The arm with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn arm(&self, name: &str) -> Result<&Arm, NoSuchArm> {
        self.arms
            .iter()
            .find(|arm| arm.name == name)
            .ok_or_else(|| NoSuchArm {
                study: self.name.clone(),
                arm: name.to_owned(),
                way_out: suggest::way_out(name, self.arms.iter().map(|arm| arm.name.as_str())),
            })
    }

    /// The study with one more arm, which sets `settings`; the text says so too, so that a record
    /// can be read again. Where all arms are for the model only, so is this one.
    ///
    /// # Errors
    /// A setting that does not exist, is out of range, or is of a disk that the machine lacks.
    pub fn with_arm(&self, name: &str, settings: &Settings) -> Result<Self, ArmError> {
        self.with_arms([(name, settings)])
    }

    /// The same with several arms, each a name and what it sets.
    ///
    /// # Errors
    /// As [`Self::with_arm`].
    pub fn with_arms<'a>(
        &self,
        arms: impl IntoIterator<Item = (&'a str, &'a Settings)>,
    ) -> Result<Self, ArmError> {
        let arms = arms.into_iter().map(|(name, it)| self.arm_text(name, it));
        let text: String = iter::once(self.text.trim_end().to_owned())
            .chain(arms)
            .collect();
        // The study's own text was read before: what is wrong now is in the lines added here,
        // which nobody can look up.
        let with_arms = Self::parse_with(&text, &self.file, self.recorded.clone());
        with_arms.map_err(|error| ArmError {
            what: error.what,
            way_out: error.way_out,
        })
    }

    /// The lines of one more arm.
    fn arm_text(&self, name: &str, settings: &Settings) -> String {
        let pairs = settings.0.iter();
        let pairs = pairs.map(|it| format!("{} = {}", quoted(&it.tunable), quoted(&it.value)));
        let pairs: Vec<String> = pairs.collect();
        let model_only = match self.is_for_the_model() {
            true => "model-only = true\n",
            false => "",
        };
        let (name, pairs) = (quoted(name), pairs.join(", "));
        format!("\n[[arm]]\nname = {name}\n{model_only}settings = {{ {pairs} }}\n")
    }

    /// The measures that the answer rests on, whose runs must tell: those of the table of arms and
    /// of the charts that say which direction is better; all such where there are none.
    #[must_use]
    pub fn headline(&self) -> Vec<&Measure> {
        let table = self.shown.table.iter();
        let table = table.flat_map(|table| table.columns.iter().chain(&table.sort));
        let charts = self.shown.charts.iter().map(|chart| &chart.measure);
        let named: BTreeSet<&String> = table.chain(charts).collect();
        let with_direction = self.measures.iter().filter(|it| it.better.is_some());
        let with_direction: Vec<&Measure> = with_direction.collect();
        let named = with_direction.iter().filter(|it| named.contains(&it.name));
        let named: Vec<&Measure> = named.copied().collect();
        if named.is_empty() {
            return with_direction;
        }
        named
    }

    /// Whether no real kernel can run it: all of its arms are for the model only.
    #[must_use]
    pub fn is_for_the_model(&self) -> bool {
        self.arms.iter().all(|arm| arm.model_only)
    }

    /// Whether the machine of the publication itself is modelled, by costs of its own: then what
    /// was published can be held against the prediction.
    #[must_use]
    pub fn models_its_publication(&self) -> bool {
        self.arms.iter().all(|arm| !arm.machine.costs.is_empty())
    }

    /// The built-in study of this name; `None` where there is none.
    ///
    /// # Panics
    /// Never: that each is a study is tested.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (name, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        Some(Self::parse(text, name).expect("a built-in study"))
    }
}

fn head(
    root: &Table<'_>,
    arms: Vec<Arm>,
    plans: &[ArmPlan<'_>],
    labels: &Names,
) -> Result<Study, StudyError> {
    let source = root.scope().source;
    let mut arm_names: BTreeSet<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    arm_names.extend(plans.iter().map(|plan| plan.base_name.as_str()));
    // All arms have the same disks.
    let disks = arms.first().map_or(&[][..], |arm| &arm.machine.disks);
    let measures = measures::measures(root, &arm_names, labels, disks)?;
    let words = words::words(root, &measures, &arms)?;
    let shown = shown::shown(root, &measures, &arms)?;
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let pressure = |node: &Node<'_>| pressure::pressure(node, &names, labels, disks);
    let pressure = root.maybe("pressure", pressure)?;
    check_grows(root)?;
    Ok(Study {
        file: source.file.to_owned(),
        text: source.text.to_owned(),
        name: study_name(&root.need("name")?)?,
        title: observed::short(&root.need("title")?)?.trim().to_owned(),
        question: root.need("question")?.text()?.trim().to_owned(),
        answer: words.answer,
        publication: words.publication,
        repetitions: root.or("repetitions", 1, |n| n.count(1, 10_000))?,
        sample_every: sample(root)?,
        arms,
        measures,
        pressure,
        shown,
        recorded: Recording::default(),
        observed: root.maybe("recorded", |node| observed::observed(node))?,
    })
}

/// `grows` names parameters that are times; what becomes of them is in [`fitted`].
fn check_grows(root: &Table<'_>) -> Result<(), StudyError> {
    let Some(list) = root.get("grows")? else {
        return Ok(());
    };
    let parameters = root.get("parameters")?.map(|node| node.entries());
    let parameters = parameters.transpose()?.unwrap_or_default();
    for name in list.list()? {
        let text = name.text()?;
        let Some((_, value)) = parameters.iter().find(|(known, _)| known == text) else {
            let what = format!("{} names an unknown parameter `{text}`", name.place());
            let known = parameters.iter().map(|(known, _)| known.as_str());
            return Err(name.error(what, suggest::way_out(text, known)));
        };
        if value.text().ok().and_then(fitted::time_in).is_none() {
            return Err(name.expected("a parameter that is a time, as in \"20 s\""));
        }
    }
    Ok(())
}

/// It names folders and files, so it is kept plain.
fn study_name(node: &Node<'_>) -> Result<String, StudyError> {
    let name = node.name()?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.chars()
        .all(plain)
        .then_some(name)
        .ok_or_else(|| node.expected("lower-case letters, digits and hyphens"))
}
