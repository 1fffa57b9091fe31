//! What Plimsoll itself knows of a machine: what lint says, what became of the changes, and whether
//! the guard runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::facts::{Applied, Facts, Guard, Sample};
use crate::lint::{Report, Severity};

/// Findings by severity; those that there are none of as 0, for every rule was asked.
pub(super) fn findings(facts: &Facts) -> Vec<Sample> {
    let of = |report: &Arc<Report>| {
        Severity::ALL.map(|severity| {
            let labels = [("severity", severity.word().to_owned())];
            Sample::new(labels, report.count(severity) as f64)
        })
    };
    facts.lint.as_ref().map(of).into_iter().flatten().collect()
}

/// Findings by rule, of those that found something.
pub(super) fn by_rule(facts: &Facts) -> Vec<Sample> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in facts.lint.iter().flat_map(|report| &report.findings) {
        let rule = (finding.rule.name, finding.rule.severity.word());
        *counts.entry(rule).or_default() += 1;
    }
    let of = |((rule, severity), count): ((&str, &str), usize)| {
        let labels = [("rule", rule.to_owned()), ("severity", severity.to_owned())];
        Sample::new(labels, count as f64)
    };
    counts.into_iter().map(of).collect()
}

/// Whether each applied value is another one by now.
pub(super) fn drift(facts: &Facts) -> Vec<Sample> {
    let mut drifted: BTreeMap<&str, bool> = BTreeMap::new();
    for Applied {
        tunable,
        drifted: is,
    } in facts.applied.iter().flatten()
    {
        *drifted.entry(tunable).or_default() |= is;
    }
    let of = |(tunable, drifted): (&str, bool)| {
        Sample::new([("tunable", tunable.to_owned())], drifted.into())
    };
    drifted.into_iter().map(of).collect()
}

/// Whether the guard runs.
pub(super) fn guard_runs(facts: &Facts) -> Vec<Sample> {
    of_guard(facts, |guard| guard == Guard::Runs)
}

/// Whether a guard that is gone left tunables set.
pub(super) fn guard_left(facts: &Facts) -> Vec<Sample> {
    of_guard(facts, |guard| guard == Guard::Killed)
}

fn of_guard(facts: &Facts, is: impl Fn(Guard) -> bool) -> Vec<Sample> {
    let sample = |guard| Sample::new([], is(guard).into());
    facts.guard.map(sample).into_iter().collect()
}
