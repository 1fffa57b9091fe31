//! A recipe: how a trouble is made, and what is true then.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use mm::findings;
use serde::Deserialize;

/// A size that a seed draws: usual, least and most.
pub type Size = [u64; 3];

/// How a trouble is made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// What happens, in one sentence.
    pub about: String,
    /// Memory of the machine in MiB.
    #[serde(default = "memory")]
    pub memory: Size,
    /// NUMA nodes.
    #[serde(default = "one")]
    pub nodes: u32,
    /// Words for the kernel's command line.
    #[serde(default)]
    pub parameters: Vec<String>,
    /// Modules of the kernel's that are loaded.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Whether the guest has `/lab/cause.ko`, the module of `cause-module/`.
    #[serde(default)]
    pub driver: bool,
    /// Further arguments of QEMU; `ORDERS` is a pipe with the lines of `orders`.
    #[serde(default)]
    pub devices: Vec<String>,
    /// What QEMU's monitor is told at the start.
    #[serde(default)]
    pub orders: String,
    /// Disks: `/dev/pda` and so on.
    #[serde(default)]
    pub disks: Vec<Disk>,
    /// The kernels on which it can be made, where not all: `6.1`.
    #[serde(default)]
    pub kernels: Vec<String>,
    /// Whether it may stand beside another trouble on one machine.
    #[serde(default)]
    pub mixes: bool,
    /// What a seed draws; `{NAME}` in the steps and the label.
    #[serde(default)]
    pub sizes: BTreeMap<String, Size>,
    /// What the guest's shell does.
    pub steps: String,
    /// Conditions of the guest's shell, a line each, that hold when the evidence is taken: a run in
    /// which one does not is no evidence.
    #[serde(default)]
    pub arose: String,
    /// What is true then.
    pub label: Label,
}

/// A disk.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its size in MiB.
    pub size: u64,
    /// MB a second; 0 has no limit.
    #[serde(default)]
    pub rate: u64,
    /// Microseconds that each request takes.
    #[serde(default)]
    pub latency: u64,
}

/// What must be concluded from a run, and what may be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Names of which one must be the first finding; empty where nothing is wrong.
    #[serde(default)]
    pub first: Vec<String>,
    /// Names that must be among the findings; `a|b` is either, and `log:a` is asked only where
    /// there is a log.
    #[serde(default)]
    pub names: Vec<String>,
    /// Names that are true too. Other events and causes are false.
    #[serde(default)]
    pub also: Vec<String>,
    /// Names of states that are false.
    #[serde(default)]
    pub denied: Vec<String>,
    /// Words that a finding must have, written as the names: a group, a device, a cache.
    #[serde(default)]
    pub says: Vec<String>,
    /// Words that must be nowhere.
    #[serde(default)]
    pub unsaid: Vec<String>,
    /// What shows the cause: `log`, or several with `+`. See [`Holds`](crate::forms::Holds).
    #[serde(default)]
    pub seen_in: Vec<String>,
    /// Words without which a kernel log does not show it.
    #[serde(default)]
    pub marks: Vec<String>,
    /// The control group whose files people would show.
    #[serde(default)]
    pub group: Option<String>,
}

/// Without what says where it must be.
fn plain(names: &str) -> &str {
    names.split_once(':').map_or(names, |(_, names)| names)
}

fn memory() -> Size {
    [256, 224, 384]
}

fn one() -> u32 {
    1
}

/// The folder of the recipes.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../causes")
}

/// All recipes of a folder, in the order of their names.
///
/// # Errors
/// A file that is no recipe, with what is wrong in it.
pub fn all(folder: &Path) -> Result<Vec<Recipe>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Recipe> {
    let shown = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(shown)?;
    let mut recipe: Recipe = toml::from_str(&text).with_context(shown)?;
    let stem = path.file_stem().unwrap_or_default();
    recipe.name = stem.to_string_lossy().into_owned();
    recipe.label.check().with_context(shown)?;
    Ok(recipe)
}

impl Label {
    /// Every name in it is one of [`findings::NAMES`].
    fn check(&self) -> Result<()> {
        let lists = [&self.first, &self.names, &self.also, &self.denied];
        let names = lists.into_iter().flatten();
        for name in names.flat_map(|names| plain(names).split('|')) {
            if findings::kind(name).is_none() {
                bail!("\"{name}\" is no name of a finding (mm::findings)");
            }
        }
        Ok(())
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether a name is true.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        let lists = [&self.first, &self.names, &self.also];
        let mut names = lists.into_iter().flatten();
        names.any(|known| plain(known).split('|').any(|known| known == name))
    }

    /// Both labels: what two troubles on one machine are.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        let join = |own: &mut Vec<String>, others: &[String]| own.extend_from_slice(others);
        join(&mut self.first, &other.first);
        join(&mut self.names, &other.names);
        join(&mut self.also, &other.also);
        join(&mut self.unsaid, &other.unsaid);
        self.seen_in = both(&self.seen_in, &other.seen_in);
        join(&mut self.marks, &other.marks);
        self.denied.retain(|name| other.denied.contains(name));
        self.group = self.group.or_else(|| other.group.clone());
        self
    }
}

/// What shows two causes: one way of each.
fn both(a: &[String], b: &[String]) -> Vec<String> {
    let pairs = a
        .iter()
        .flat_map(|a| b.iter().map(move |b| format!("{a}+{b}")));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipes_are_recipes() {
        let recipes = all(&folder()).unwrap();
        for recipe in &recipes {
            assert!(recipe.about.ends_with('.'), "{}", recipe.name);
            let seen = !recipe.label.seen_in.is_empty();
            assert!(seen || recipe.label.is_healthy(), "{}", recipe.name);
            let checked = !recipe.arose.is_empty();
            assert!(checked || recipe.label.is_healthy(), "{}", recipe.name);
        }
    }

    #[test]
    fn a_label_names_findings() {
        let label: Label = toml::from_str("first = [\"swap-fool\"]").unwrap();
        let error = label.check().unwrap_err().to_string();
        assert!(error.starts_with("\"swap-fool\""), "{error}");
    }

    #[test]
    fn what_shows_two_causes_is_one_way_of_each() {
        let ways = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(both(&ways("log x"), &ways("y")), ways("log+y x+y"));
    }
}
