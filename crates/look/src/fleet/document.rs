//! What there is to say of all hosts together, as data.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::host::{MEMORY, RULES};
use super::outliers::outliers;
use super::{Fleet, Id, Rules};

/// All hosts together. Hosts are called by their own name where no other has it, else by where
/// their evidence lies.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// Hosts that were read.
    pub(super) hosts: usize,
    /// Evidence that could not be read.
    pub(super) not_read: Vec<NotRead<'a>>,
    /// The releases whose rules the kernels follow, the most hosts first.
    pub(super) kernel_rules: Vec<Kind<'a>>,
    /// The memory, rounded up to a power of two, the most hosts first.
    pub(super) memory: Vec<Kind<'a>>,
    /// What `inspect` finds, the worst first.
    pub(super) findings: Vec<Found<'a>>,
    /// What `lint` finds, the worst first.
    pub(super) lint: Vec<Found<'a>>,
    /// Hosts that differ from at least three quarters of the others: first what can do the most
    /// harm.
    pub(super) outliers: Vec<Differs<'a>>,
}

impl Shape for Document<'_> {
    const NAME: &'static str = "fleet";
    const VERSION: u32 = 1;
}

#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct NotRead<'a> {
    pub(super) path: &'a str,
    pub(super) why: &'a str,
}

/// How many hosts are of a kind.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Kind<'a> {
    pub(super) is: &'a str,
    pub(super) hosts: usize,
}

/// What a rule finds.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Found<'a> {
    /// Its name: a page of docs/findings or docs/rules.
    pub(super) rule: &'static str,
    /// At worst.
    pub(super) severity: &'static str,
    /// What it says on the first of the hosts on which it is worst.
    pub(super) what: &'a str,
    pub(super) hosts: Vec<&'a str>,
}

/// Hosts that differ from the others.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Differs<'a> {
    /// A tunable, or `kernel rules` or `memory`.
    pub(super) what: &'static str,
    pub(super) value: &'a str,
    /// Whether that is what the kernel chooses there.
    pub(super) is_default: bool,
    /// What the others have.
    pub(super) common: &'a str,
    pub(super) common_is_default: bool,
    /// Hosts that have it.
    pub(super) common_hosts: usize,
    /// Hosts whose evidence says what they have.
    pub(super) of: usize,
    /// What the difference means.
    pub(super) means: String,
    pub(super) hosts: Vec<&'a str>,
}

impl Fleet {
    /// What there is to say of all hosts together.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        let labels = self.labels();
        let faults = self.faults.iter().map(|fault| NotRead {
            path: &fault.path,
            why: &fault.why,
        });
        let outliers = outliers(self, &labels).into_iter().map(|it| Differs {
            what: it.name,
            value: &it.held.property.value,
            is_default: it.held.property.is_default,
            common: &it.common.property.value,
            common_is_default: it.common.property.is_default,
            common_hosts: it.common.hosts.len(),
            of: it.of,
            means: it.means,
            hosts: named(&it.held.hosts, &labels),
        });
        Document {
            hosts: self.names.len(),
            not_read: faults.collect(),
            kernel_rules: self.kinds(RULES),
            memory: self.kinds(MEMORY),
            findings: found(&self.findings, &labels),
            lint: found(&self.lint, &labels),
            outliers: outliers.collect(),
        }
    }

    fn kinds(&self, name: &str) -> Vec<Kind<'_>> {
        let values = self.properties.get(name);
        let mut kinds: Vec<Kind<'_>> = values
            .into_iter()
            .flat_map(|values| values.values())
            .map(|held| Kind {
                is: &held.property.value,
                hosts: held.hosts.len(),
            })
            .collect();
        kinds.sort_by_key(|kind| Reverse(kind.hosts));
        kinds
    }
}

impl Document<'_> {
    /// The first evidence that could not be read, and why.
    #[must_use]
    pub fn first_fault(&self) -> String {
        let first = self.not_read.first();
        first.map_or_else(
            || "nothing lies there".to_owned(),
            |it| format!("{}: {}", it.path, it.why),
        )
    }
}

fn named<'a>(hosts: &[Id], labels: &[&'a str]) -> Vec<&'a str> {
    hosts.iter().map(|&id| labels[id as usize]).collect()
}

fn found<'a>(rules: &'a Rules, labels: &[&'a str]) -> Vec<Found<'a>> {
    let mut rules: Vec<_> = rules.iter().collect();
    rules.sort_by_key(|(name, rule)| (Reverse(rule.severity), Reverse(rule.hosts.len()), **name));
    let found = rules.into_iter().map(|(name, rule)| Found {
        rule: name,
        severity: rule.severity.1,
        what: &rule.what,
        hosts: named(&rule.hosts, labels),
    });
    found.collect()
}
