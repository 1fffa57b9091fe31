//! A boot: everything that a machine's files write into tunables, in order, and what stands at the
//! end.
//!
//! Some tunables switch another one off, its partner: a write of `dirty_bytes` makes `dirty_ratio`
//! 0 and the other way round, so of two lines the later one counts, whatever their names. A value
//! that the kernel refuses leaves the one before it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use mm::catalogue::{self, DefaultRule, Tunable, path_of};

use crate::live::Live;
use crate::load::{Load, Lost, Source, Write};
use crate::origin::Origin;
use crate::stage::{STAGES, Stage};
use crate::sysctl_d::Loader;
use crate::tree::Tree;
use crate::value;

/// What a boot does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// Every write, in order.
    pub steps: Vec<Step>,
    /// The lines that lead to no write.
    pub lost: Vec<(Stage, Lost)>,
    /// The files that are read and those that are not.
    pub sources: Vec<(Stage, Source)>,
}

/// One write and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whose write it is.
    pub stage: Stage,
    /// The write.
    pub write: Write,
    /// What becomes of it until the end of the boot.
    pub effect: Effect,
}

/// What becomes of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is the last word.
    Stands,
    /// A later write of the same tunable replaces it.
    Overwritten(Origin),
    /// Another program writes the same tunable at the same time; either may come last.
    Races(Origin),
    /// A later write of its partner makes it 0.
    PartnerSet {
        /// The partner's file.
        path: String,
        /// The line that sets the partner.
        by: Origin,
    },
    /// The kernel refuses the value; what was there stays.
    Refused,
}

/// The boot of a machine with this loader. Patterns expand to the tunables of `live`, and to those
/// of the catalogue; its values do not count, for they are those of another boot.
#[must_use]
pub fn boot(tree: &Tree, loader: Loader, live: &Live) -> Boot {
    Stages::of(tree, live).boot(tree, loader)
}

/// What each stage of a boot does, but for the one that depends on the loader.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    live: Live,
    loads: Vec<(Stage, Load)>,
}

impl Stages {
    pub(crate) fn of(tree: &Tree, live: &Live) -> Self {
        let live = known(live);
        let stages = STAGES.into_iter().filter(|stage| *stage != Stage::Sysctl);
        let loads = stages.map(|stage| (stage, stage.load(tree, Loader::Systemd, &live)));
        let loads = loads.collect();
        Self { live, loads }
    }

    /// The boot with a loader.
    pub(crate) fn boot(&self, tree: &Tree, loader: Loader) -> Boot {
        self.with(Stage::Sysctl, tree, loader)
    }

    /// The boot in which one stage finds another tree.
    pub(crate) fn with(&self, stage: Stage, tree: &Tree, loader: Loader) -> Boot {
        let mut loads = self.loads.clone();
        loads.retain(|(other, _)| *other != stage);
        loads.push((stage, stage.load(tree, loader, &self.live)));
        if stage != Stage::Sysctl {
            loads.push((Stage::Sysctl, Stage::Sysctl.load(tree, loader, &self.live)));
        }
        loads.sort_by_key(|(stage, _)| *stage);
        Boot::of(loads, loader)
    }
}

/// The tunables to which patterns expand: those of a machine and of the catalogue.
fn known(live: &Live) -> Live {
    let mut known = Live::default();
    let catalogue = catalogue::all().map(|tunable| tunable.path);
    for path in live.paths().chain(catalogue) {
        known.know(path);
    }
    known
}

impl Boot {
    /// The write that a tunable has its value from at the end, if a file sets it at all.
    #[must_use]
    pub fn standing(&self, path: &str) -> Option<&Step> {
        let mut steps = self.steps.iter().rev();
        steps.find(|step| step.write.path == path && step.effect == Effect::Stands)
    }

    /// The write that makes a tunable 0, because it is its partner's and stands.
    #[must_use]
    pub fn switched_off_by(&self, path: &str) -> Option<&Step> {
        let partner = self.standing(value::partner(path)?)?;
        (switches_off(&partner.write) && !partner.write.is_live).then_some(partner)
    }

    fn of(loads: impl IntoIterator<Item = (Stage, Load)>, loader: Loader) -> Self {
        let mut boot = Self::default();
        for (stage, load) in loads {
            boot.add(stage, load);
        }
        boot.settle(loader);
        boot
    }

    fn add(&mut self, stage: Stage, load: Load) {
        let step = |write| Step {
            stage,
            write,
            effect: Effect::Stands,
        };
        self.steps.extend(load.writes.into_iter().map(step));
        self.lost
            .extend(load.lost.into_iter().map(|it| (stage, it)));
        let sources = load.sources.into_iter().map(|it| (stage, it));
        self.sources.extend(sources);
    }

    /// Finds out what becomes of each write.
    fn settle(&mut self, loader: Loader) {
        let mut current: BTreeMap<String, usize> = BTreeMap::new();
        for at in 0..self.steps.len() {
            let Step { stage, write, .. } = &self.steps[at];
            let (stage, path, by) = (*stage, write.path.clone(), write.origin.clone());
            let tunable = value::tunable(&path);
            if tunable.is_some_and(|tunable| tunable.taken(&write.value).is_none()) {
                self.steps[at].effect = Effect::Refused;
                continue;
            }
            let passes_over = stage == Stage::Sysctl && loader == Loader::Systemd;
            let is_live = passes_over && self.value_at(&current, &path) == Some(write.value.trim());
            let partner = value::partner(&path).filter(|_| switches_off(write) && !is_live);
            self.steps[at].write.is_live |= is_live;
            if let Some(old) = partner.and_then(|partner| current.remove(partner)) {
                let (path, by) = (path.clone(), by.clone());
                self.steps[old].effect = Effect::PartnerSet { path, by };
            }
            if let Some(old) = current.insert(path, at) {
                self.steps[old].effect = match self.steps[old].stage.races(stage) {
                    true => Effect::Races(by),
                    false => Effect::Overwritten(by),
                };
            }
        }
    }

    /// The value of a tunable when these writes are the current ones; none where it is not known.
    /// systemd-sysctl does not write what is live already, so such a line switches no partner off.
    fn value_at(&self, current: &BTreeMap<String, usize>, path: &str) -> Option<&str> {
        if let Some(at) = current.get(path) {
            return Some(self.steps[*at].write.value.trim());
        }
        match value::partner(path).is_some_and(|partner| current.contains_key(partner)) {
            true => Some("0"),
            false => value::tunable(path).and_then(default_of),
        }
    }
}

/// What the kernel begins with, where it is the same on every machine.
fn default_of(tunable: &Tunable) -> Option<&'static str> {
    match tunable.default {
        DefaultRule::Fixed(value) => Some(value),
        DefaultRule::Partner => Some("0"),
        DefaultRule::Rule(_) | DefaultRule::Action => None,
    }
}

/// Whether a write makes the partner 0. A 0 for `dirty_ratio` changes nothing while the bytes rule,
/// and so does nothing.
fn switches_off(write: &Write) -> bool {
    let zero = catalogue::sysctl_number(&write.value) == Some(0);
    !(zero && write.path == const { path_of("vm.dirty_ratio") })
}

/// A tree of files with these texts; for tests.
#[cfg(test)]
pub(crate) fn tree_of(files: &[(&str, &str)]) -> Tree {
    let file = |(path, text): &(&str, &str)| {
        let text = String::from(*text);
        (String::from(*path), crate::tree::Entry::File(text))
    };
    files.iter().map(file).collect()
}

/// Each write of a load with its line; for tests.
#[cfg(test)]
pub(crate) fn shown(load: &crate::load::Load) -> Vec<String> {
    let shown = |it: &Write| alloc::format!("{}={} {}", it.path, it.value, it.origin);
    load.writes.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATIO: &str = "proc/sys/vm/dirty_ratio";
    const BYTES: &str = "proc/sys/vm/dirty_bytes";

    fn standing(boot: &Boot, path: &str) -> Option<String> {
        let step = boot.standing(path)?;
        Some(alloc::format!("{} {}", step.write.value, step.write.origin))
    }

    #[test]
    fn the_same_three_files_end_with_bytes_or_with_the_ratio() {
        let tree = tree_of(&[
            ("etc/sysctl.d/1.conf", "vm.dirty_ratio = 5\n"),
            ("etc/sysctl.d/2.conf", "vm.dirty_bytes = 8192\n"),
            ("etc/sysctl.d/3.conf", "vm.dirty_ratio = 5\n"),
        ]);
        let systemd = boot(&tree, Loader::Systemd, &Live::default());
        let bytes = "8192 /etc/sysctl.d/2.conf:1".into();
        assert_eq!(standing(&systemd, BYTES), Some(bytes));
        assert_eq!(standing(&systemd, RATIO), None);
        let procps = boot(&tree, Loader::Procps, &Live::default());
        let ratio = "5 /etc/sysctl.d/3.conf:1".into();
        assert_eq!(standing(&procps, RATIO), Some(ratio));
        assert_eq!(standing(&procps, BYTES), None);
    }

    /// As Debian 12 boots: `overcommit_ratio` stays 50.
    #[test]
    fn systemd_passes_over_what_is_live_and_the_partner_stays() {
        let tree = tree_of(&[("etc/sysctl.d/1.conf", "vm.overcommit_kbytes = 0\n")]);
        let both = tree_of(&[(
            "etc/sysctl.d/1.conf",
            "vm.dirty_bytes = 8192\nvm.dirty_ratio = 20\n",
        )]);
        let ends = |tree: &Tree, loader| boot(tree, loader, &Live::default());
        let switched_off = |boot: &Boot| {
            let is = |step: &Step| matches!(step.effect, Effect::PartnerSet { .. });
            boot.steps.iter().any(is)
        };
        assert!(!switched_off(&ends(&tree, Loader::Systemd)));
        // 20 is what the kernel begins with, and not what it has once the bytes are set.
        assert!(switched_off(&ends(&both, Loader::Systemd)));
    }

    #[test]
    fn a_refused_value_leaves_the_one_before() {
        let text = "vm.dirty_ratio = 5\nvm.dirty_bytes = 0\nvm.swappiness = 10 # low\n\
                    vm.swappiness = 60%\n";
        let tree = tree_of(&[("etc/sysctl.conf", text)]);
        let boot = boot(&tree, Loader::Procps, &Live::default());
        let ratio = "5 /etc/sysctl.conf:1".into();
        assert_eq!(standing(&boot, RATIO), Some(ratio));
        let swappiness = "10 # low /etc/sysctl.conf:3".into();
        let path = "proc/sys/vm/swappiness";
        assert_eq!(standing(&boot, path), Some(swappiness));
    }
}
