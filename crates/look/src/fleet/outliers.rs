//! Hosts that differ from what the others share.

use std::cmp::Reverse;

use mm::catalogue::{self, Risk};
use mm::units::Bytes;

use super::host::{MEMORY, RULES};
use super::{Fleet, Held, Id};

/// Fewer hosts than these share nothing by which one could differ.
const FEWEST: usize = 4;

/// The part of the hosts that holds a value which is called common, in percent.
const COMMON: usize = 75;

/// A value that some hosts hold while the others share another.
#[derive(Debug)]
pub(super) struct Outlier<'a> {
    pub(super) name: &'static str,
    pub(super) held: &'a Held,
    /// What the others share.
    pub(super) common: &'a Held,
    /// Hosts that say what they hold.
    pub(super) of: usize,
    /// What the difference means.
    pub(super) means: String,
}

/// All of them: first what can do the most harm, then what the fewest hosts hold.
pub(super) fn outliers<'a>(fleet: &'a Fleet, labels: &[&str]) -> Vec<Outlier<'a>> {
    let mut outliers = Vec::new();
    for (&name, values) in &fleet.properties {
        let of: usize = values.values().map(|held| held.hosts.len()).sum();
        let is_common = |held: &&Held| held.hosts.len() * 100 >= of * COMMON;
        let Some(common) = values.values().find(is_common).filter(|_| of >= FEWEST) else {
            continue;
        };
        let others = values.values().filter(|held| !std::ptr::eq(*held, common));
        let others = others.filter(|held| !is_partner_off(name, held));
        outliers.extend(others.map(|held| Outlier {
            name,
            held,
            common,
            of,
            means: means(name, held, common, labels),
        }));
    }
    outliers.sort_by_key(|it| {
        let hosts: &[Id] = &it.held.hosts;
        (
            Reverse(risk(it.name)),
            hosts.len(),
            it.name,
            hosts.first().copied(),
        )
    });
    outliers
}

/// Whether the value only says that the tunable's partner rules, which differs too.
fn is_partner_off(name: &str, held: &Held) -> bool {
    let partner = catalogue::find(name).and_then(|tunable| tunable.partner);
    partner.is_some() && held.property.value == "0"
}

fn risk(name: &str) -> Option<Risk> {
    catalogue::find(name).map(|tunable| tunable.risk)
}

fn means(name: &str, held: &Held, common: &Held, labels: &[&str]) -> String {
    match (name, catalogue::find(name)) {
        (RULES, _) => "Another kernel: it computes some lines and limits otherwise.".to_owned(),
        (MEMORY, _) => "What is a share of memory is another amount.".to_owned(),
        (_, None) => String::new(),
        (_, Some(tunable)) => {
            let amount = |held: &Held| {
                let (Bytes(bytes), first) = (held.property.worth?, held.hosts.first()?);
                Some((bytes, labels[*first as usize]))
            };
            // Each on a machine of its own: a share is another amount on another.
            let amounts = match (amount(held), amount(common)) {
                (Some((here, host)), Some((there, other))) if here != there => format!(
                    "{} on {host}, where {other} has {}. ",
                    Bytes(here),
                    Bytes(there)
                ),
                _ => String::new(),
            };
            amounts + tunable.effect
        }
    }
}
