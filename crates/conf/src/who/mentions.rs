//! Every line that names a tunable, in the order of boot.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::boot::{Boot, Effect};
use crate::load::{Fate, Source, Why};
use crate::origin::Origin;
use crate::stage::Stage;
use crate::sysctl_d::{self, Loader, Says};
use crate::tree::{Found, Tree};
use crate::{glob, tmpfiles};

/// A line that names a tunable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The line.
    pub origin: Origin,
    /// The program that reads it, or would.
    pub stage: Stage,
    /// The tunable's file.
    pub path: String,
    /// What it sets; none where it only names the tunable.
    pub value: Option<String>,
    /// The pattern by which it names the tunable, as a path.
    pub pattern: Option<String>,
    /// What comes of it.
    pub role: Role,
}

/// What comes of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is written; what becomes of the write.
    Written(Effect),
    /// It is read and leads to no write.
    Lost(Why),
    /// Its file is not read.
    Unread(Fate),
}

pub(super) fn standing(boot: &Boot, path: &str) -> Option<Mention> {
    let stands = |mention: &Mention| mention.role == Role::Written(Effect::Stands);
    written(boot, path).find(stands)
}

pub(super) fn mentions(tree: &Tree, path: &str, boot: &Boot, loader: Loader) -> Vec<Mention> {
    let mut mentions: Vec<Mention> = written(boot, path).collect();
    mentions.extend(lost(boot, path));
    for source in boot.sources.iter().filter(|it| !it.1.fate.is_read()) {
        mentions.extend(unread(tree, path, source, loader));
    }
    mentions
}

fn written(boot: &Boot, path: &str) -> impl Iterator<Item = Mention> {
    let steps = boot
        .steps
        .iter()
        .filter(move |step| step.write.path == path);
    steps.map(|step| Mention {
        origin: step.write.origin.clone(),
        stage: step.stage,
        path: step.write.path.clone(),
        value: Some(step.write.value.clone()),
        pattern: step.write.pattern.clone(),
        role: Role::Written(step.effect.clone()),
    })
}

fn lost(boot: &Boot, path: &str) -> impl Iterator<Item = Mention> {
    let lines = boot
        .lost
        .iter()
        .filter(move |(_, line)| names(&line.path, path));
    lines.map(move |(stage, line)| Mention {
        origin: line.origin.clone(),
        stage: *stage,
        path: path.to_owned(),
        value: line.value.clone(),
        pattern: (line.path != path).then(|| line.path.clone()),
        role: Role::Lost(line.why.clone()),
    })
}

/// The lines of a file that is not read which would name the tunable.
fn unread(
    tree: &Tree,
    path: &str,
    (stage, source): &(Stage, Source),
    loader: Loader,
) -> Vec<Mention> {
    let Found::File { text, .. } = tree.find(&source.path) else {
        return Vec::new();
    };
    let lines = match stage {
        Stage::Sysctl => in_sysctl_d(text, loader),
        Stage::Tmpfiles => in_tmpfiles_d(text, tree),
        _ => Vec::new(),
    };
    let named = lines.into_iter().filter(|(_, named, _)| names(named, path));
    let mention = |(line, named, value): (usize, String, String)| Mention {
        origin: Origin::new(&source.path, line),
        stage: *stage,
        path: path.to_owned(),
        value: Some(value),
        pattern: (named != path).then_some(named),
        role: Role::Unread(source.fate.clone()),
    };
    named.map(mention).collect()
}

/// The assignments of a file: line, path or pattern, value.
fn in_sysctl_d(text: &str, loader: Loader) -> Vec<(usize, String, String)> {
    let lines = sysctl_d::lines(text, loader).into_iter();
    let set = |line: sysctl_d::Line<'_>| match line.says {
        Says::Sets { key, value, .. } => {
            let path = sysctl_d::path_of(key, loader);
            Some((line.number, path, value.to_owned()))
        }
        _ => None,
    };
    lines.filter_map(set).collect()
}

fn in_tmpfiles_d(text: &str, tree: &Tree) -> Vec<(usize, String, String)> {
    let items = tmpfiles::items(text, "", tree);
    let written = |(origin, item): (Origin, Result<tmpfiles::Item, _>)| {
        let item = item.ok().filter(tmpfiles::Item::writes)?;
        Some((origin.line, item.path, item.argument?))
    };
    items.filter_map(written).collect()
}

/// Whether a path or pattern in a file means this path.
fn names(named: &str, path: &str) -> bool {
    named == path || (glob::is_pattern(named) && glob::matches(named, path))
}
