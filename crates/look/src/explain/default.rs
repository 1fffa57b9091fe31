//! The kernel's own choice on this machine, and how a value stands to it.

use mm::catalogue::{DefaultRule, named as named_of_machine};
use mm::recompute::{Chooser, Chosen};
use mm::units::Kib;
use schemars::JsonSchema;
use serde::Serialize;

use super::looked::Looked;
use super::value::{Values, upper, words};

/// What the kernel chooses.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Default {
    /// In words.
    pub(crate) rule: String,
    /// Whether it is the same on every machine.
    #[serde(skip)]
    pub(crate) is_fixed: bool,
    /// Computed for this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    /// Where what it depends on is not all told: from the first to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) between: Option<[u64; 2]>,
    /// Whether the value here is another one; nothing where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) differs: Option<bool>,
    /// How the rule gives the value here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) because: Option<String>,
    /// Of those that a device, size or group has for itself: which differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) differing: Vec<String>,
}

impl Default {
    /// Computed from the machine's files.
    pub(crate) fn of(looked: Looked<'_>, values: &Values) -> Self {
        let (named, snapshot) = (looked.named, looked.snapshot);
        let chosen = snapshot.default_of(named);
        let differs = |value: &str| match partner_rules(looked, value) {
            true => None,
            false => snapshot.differs(named, value),
        };
        let other = values.values.iter().filter(|value| {
            let one = named.tunable.of_this(&value.of);
            one.is_some_and(|one| snapshot.differs(one, &value.value) == Some(true))
        });
        let (value, between) = match chosen {
            Chosen::Value(value) => (Some(value), None),
            Chosen::Between(least, most) => (None, Some([least, most])),
            Chosen::Unknown => (None, None),
        };
        Self {
            rule: named.tunable.default.to_string(),
            is_fixed: matches!(named.tunable.default, DefaultRule::Fixed(_)),
            value,
            between,
            differs: values.value.as_deref().and_then(differs),
            because: because(looked),
            differing: other.map(|value| value.of.clone()).collect(),
        }
    }

    /// What there is to say of the value here beside the rule, in one sentence.
    pub(crate) fn compared(&self) -> Option<String> {
        let here = match self.differs? {
            true => "another value is set",
            false => "the value here is that",
        };
        Some(match (&self.value, self.between) {
            (Some(value), _) if *value == self.rule => format!("{}.", upper(here)),
            (Some(value), _) => format!("Computed for this machine: {value}; {here}."),
            (None, Some([least, most])) => {
                format!("Computed for this machine: from {least} to {most}; {here}.")
            }
            (None, None) => return None,
        })
    }

    /// What is set to bring it back: "vm.swappiness=60"; of a pair its partner. `None` where the
    /// value is the kernel's own or that is not known.
    pub(crate) fn way_back(&self, looked: Looked<'_>) -> Option<String> {
        let named = looked.named;
        let differs = self.differs == Some(true);
        let partner = named.tunable.partner.and_then(named_of_machine);
        let (named, value) = match (named.tunable.default, partner) {
            (DefaultRule::Partner, Some(partner)) => {
                let Chosen::Value(value) = looked.snapshot.default_of(partner) else {
                    return None;
                };
                (partner, value)
            }
            _ => (named, self.value.clone()?),
        };
        differs.then(|| format!("{named}={value}"))
    }

    /// In words, for the first line.
    pub(crate) fn shown(&self, looked: Looked<'_>) -> Option<String> {
        let tunable = looked.named.tunable;
        if let (DefaultRule::Partner, Some(partner)) = (tunable.default, tunable.partner) {
            return Some(format!("{partner} in its place"));
        }
        match (&self.value, self.between) {
            (Some(value), _) => Some(words(looked.named.tunable, value)),
            (None, Some([least, most])) => Some(format!("{least} to {most}")),
            (None, None) => None,
        }
    }
}

/// Whether a value is 0 because the other one of a pair rules.
pub(crate) fn partner_rules(looked: Looked<'_>, value: &str) -> bool {
    let partner = looked.named.tunable.partner;
    let partner = partner.and_then(|name| looked.snapshot.number(name));
    value == "0" && partner.is_some_and(|partner| partner > 0)
}

/// How `vm.min_free_kbytes` came to be, the one rule of several parts.
fn because(looked: Looked<'_>) -> Option<String> {
    let snapshot = looked.snapshot;
    if looked.named.tunable.name != "vm.min_free_kbytes" {
        return None;
    }
    let chosen = snapshot.chosen_min_free()?;
    let Kib(root) = chosen.by_root;
    let asked = match &chosen.khugepaged {
        Some(asked) if asked.start() == asked.end() => {
            format!("khugepaged asks for {}", asked.end())
        }
        Some(asked) => format!("khugepaged asks for {} to {}", asked.start(), asked.end()),
        None => "khugepaged does not run".to_owned(),
    };
    let who = match snapshot.min_free_chooser()? {
        Chooser::Khugepaged => "khugepaged chose the value here",
        Chooser::Root => "the memory's size chose the value here",
        Chooser::Set => "the value here is neither: it was set",
    };
    Some(format!("By the size of memory {root}; {asked}; {who}."))
}
