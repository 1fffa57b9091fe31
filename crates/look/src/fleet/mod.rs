//! Many machines beside each other: what is found on how many of them, and which differ from what
//! the others share.
//!
//! One host is judged by itself ([`Host`]); of it the fleet keeps which rule said something and
//! what its tunables are, so that ten thousand hosts take little memory.

mod document;
mod host;
mod html;
mod kernel;
mod outliers;
mod text;

use std::collections::BTreeMap;

use host::{Property, Said};

pub use document::Document;
pub use host::Host;
pub use text::Extent;

/// A host by its place in the order in which they came.
type Id = u32;

/// All that was read.
#[derive(Debug, Default)]
pub struct Fleet {
    names: Vec<Name>,
    faults: Vec<Fault>,
    findings: Rules,
    lint: Rules,
    /// By its name: who holds which value.
    properties: BTreeMap<&'static str, BTreeMap<String, Held>>,
}

/// What a rule says, by its name.
type Rules = BTreeMap<&'static str, Rule>;

#[derive(Debug)]
struct Name {
    host: String,
    path: String,
}

#[derive(Debug)]
struct Fault {
    path: String,
    why: String,
}

/// A rule that says something on some hosts.
#[derive(Debug)]
struct Rule {
    /// The worst on any of them: its place among severities, and its word.
    severity: (u8, &'static str),
    /// What it says on the first with that severity.
    what: String,
    hosts: Vec<Id>,
}

/// A value that some hosts hold.
#[derive(Debug)]
struct Held {
    /// As it is on the first of them.
    property: Property,
    hosts: Vec<Id>,
}

impl Fleet {
    /// Takes a host; the order of hosts is that of their coming.
    pub fn add(&mut self, host: Host) {
        let id = Id::try_from(self.names.len()).unwrap_or(Id::MAX);
        for said in host.findings {
            take(&mut self.findings, said, id);
        }
        for said in host.lint {
            take(&mut self.lint, said, id);
        }
        for property in host.properties {
            let values = self.properties.entry(property.name).or_default();
            let held = values.entry(property.key()).or_insert_with(|| Held {
                property,
                hosts: Vec::new(),
            });
            held.hosts.push(id);
        }
        self.names.push(Name {
            host: host.host,
            path: host.path,
        });
    }

    /// Notes evidence that could not be read.
    pub fn add_fault(&mut self, path: &str, why: &str) {
        self.faults.push(Fault {
            path: host::cut(path),
            why: host::cut(why),
        });
    }

    /// Whether no host could be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What hosts are called: by their own name where no other has it, else by where they lie.
    fn labels(&self) -> Vec<&str> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &self.names {
            *counts.entry(&name.host).or_default() += 1;
        }
        let label = |name: &'_ Name| counts.get(name.host.as_str()) == Some(&1);
        let names = self.names.iter();
        let labels = names.map(|name| match label(name) {
            true => name.host.as_str(),
            false => name.path.as_str(),
        });
        labels.collect()
    }
}

fn take(rules: &mut Rules, said: Said, id: Id) {
    let rule = rules.entry(said.rule).or_insert_with(|| Rule {
        severity: said.severity,
        what: said.what.clone(),
        hosts: Vec::new(),
    });
    if said.severity > rule.severity {
        (rule.severity, rule.what) = (said.severity, said.what);
    }
    // A rule of lint may speak of several lines.
    if rule.hosts.last() != Some(&id) {
        rule.hosts.push(id);
    }
}

#[cfg(test)]
mod tests;
