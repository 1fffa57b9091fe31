//! What was measured on real kernels: the arms of built-in studies that set the tunable.

use std::collections::BTreeSet;

use crate::fact::or_unsaid;
use crate::measured::{self, ArmEffect};
use mm::catalogue::{Tunable, named};
use schemars::JsonSchema;
use serde::Serialize;

use crate::page::Page;

/// Arms that the text shows.
const SHOWN: usize = 8;

/// An arm of a study that sets the tunable, on one kernel.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Found {
    study: String,
    kernel: String,
    arm: String,
    baseline: String,
    settings: String,
    measures: Vec<Measured>,
}

/// One measure of it.
#[derive(Debug, JsonSchema, Serialize)]
struct Measured {
    measure: String,
    figure: String,
    of_baseline: String,
    /// "better", "worse", "differs", "not decided", "no difference shown" or "too few runs".
    verdict: String,
    by: String,
    runs: String,
    /// What the model predicted.
    model: String,
    /// How far off that is; empty where there is nothing to compare.
    model_error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_holds: Option<bool>,
}

/// The arms that set it, in the order of the studies; those on which no kernel decided come last.
pub(crate) fn found(tunable: &Tunable) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let sets = |effect: &ArmEffect| {
        let mut settings = effect
            .settings
            .split(", ")
            .filter_map(|it| it.split_once('='));
        settings.any(|(name, _)| named(name).is_some_and(|named| named.tunable == tunable))
    };
    for effect in measured::kept().into_iter().filter(sets) {
        let same = |it: &&mut Found| {
            (&it.study, &it.kernel, &it.arm) == (&effect.study, &effect.kernel, &effect.arm)
        };
        match found.iter_mut().find(same) {
            Some(there) => there.measures.push(Measured::of(effect)),
            None => found.push(Found {
                study: effect.study.clone(),
                kernel: effect.kernel.clone(),
                arm: effect.arm.clone(),
                baseline: effect.baseline.clone(),
                settings: effect.settings.clone(),
                measures: vec![Measured::of(effect)],
            }),
        }
    }
    let arm = |it: &Found| (it.study.clone(), it.arm.clone());
    let decided = found.iter().filter(|it| it.is_decided());
    let decided: BTreeSet<_> = decided.map(arm).collect();
    found.sort_by_key(|it| !decided.contains(&arm(it)));
    found
}

impl Measured {
    fn of(effect: ArmEffect) -> Self {
        Self {
            model_holds: match effect.holds.as_str() {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            measure: effect.measure,
            figure: effect.figure,
            of_baseline: effect.of_baseline,
            verdict: effect.verdict,
            by: effect.by,
            runs: effect.runs,
            model: effect.model,
            model_error: effect.model_error,
        }
    }

    fn is_decided(&self) -> bool {
        ["better", "worse"].contains(&self.verdict.as_str())
    }

    /// "served 4321 against 3900: better, +11 % (5 runs; the model says 4300, -0.5 %)".
    fn words(&self) -> String {
        let Self {
            measure,
            figure,
            of_baseline,
            verdict,
            by,
            ..
        } = self;
        let by = if self.is_decided() {
            format!(", {by}")
        } else {
            String::new()
        };
        let model = match (self.model_error.as_str(), self.model_holds) {
            ("", _) => String::new(),
            ("equal", _) => "; the model says the same".to_owned(),
            (error, Some(false)) => format!("; the model misses it: {}, {error}", self.model),
            (error, _) => format!("; the model says {}, {error}", self.model),
        };
        format!(
            "{measure} {figure} against {of_baseline}: {verdict}{by} ({} runs{model})",
            self.runs
        )
    }
}

impl Found {
    /// The study's name.
    pub(crate) fn study(&self) -> &str {
        &self.study
    }

    fn is_decided(&self) -> bool {
        self.measures.iter().any(Measured::is_decided)
    }

    /// The measure that tells most: the first that is decided, else the first.
    fn telling(&self) -> Option<&Measured> {
        let decided = self.measures.iter().find(|measure| measure.is_decided());
        decided.or_else(|| self.measures.first())
    }
}

/// Writes the section: one measure an arm, on the newest kernel that ran it.
pub(crate) fn write(found: &[Found], page: &mut Page) {
    if found.is_empty() {
        return;
    }
    page.heading("What was measured on real kernels");
    let newest = |it: &&Found| {
        let same = |other: &&Found| (&other.study, &other.arm) == (&it.study, &it.arm);
        let last = found.iter().rfind(same);
        last.is_some_and(|last| last.kernel == it.kernel)
    };
    let newest: Vec<&Found> = found.iter().filter(newest).collect();
    for it in newest.iter().take(SHOWN) {
        let words = or_unsaid(it.telling().map(Measured::words));
        let text = format!(
            "{} on {}, {} in place of {} ({}): {words}",
            it.study, it.kernel, it.arm, it.baseline, it.settings
        );
        page.item(2, "- ", &text);
    }
    if newest.len() > SHOWN {
        page.paragraph(
            2,
            &format!("And {} more arms (--json has all).", newest.len() - SHOWN),
        );
    }
}
