//! The configuration of a machine as a scope: which texts of a tree are read at boot, in which
//! order.

use std::collections::BTreeMap;

use conf::load::{Fate, Write};
use conf::places::{Place, Take};
use conf::scripts::is_filled_in;
use conf::stage::Stage;
use conf::sysctl_d::{Loader, files, which};
use conf::{Found, Live, Tree, who};
use mm::catalogue;

use super::machine::Machine;
use super::read::Form;
use super::scope::{Elsewhere, Extent, Scope};
use super::setting::{Setting, Writer};
use super::text::Text;

/// Places beside those of [`conf::places::WHERE`] that rules ask for.
pub const PLACES: &[Place] = &[
    there("usr/sbin/ksmtuned"),
    there("usr/bin/redis-server"),
    there("usr/bin/valkey-server"),
    there("etc/redis"),
    there("etc/valkey"),
    there("etc/zfs"),
    there("usr/sbin/zfs"),
    there("usr/bin/containerd"),
    there("usr/bin/dockerd"),
    there("usr/bin/java"),
    there("usr/bin/kubelet"),
    there("usr/bin/podman"),
];

/// The programs whose settings are taken as `conf` tells them.
const TOLD: [(Stage, Writer); 4] = [
    (Stage::CommandLine, Writer::CommandLine),
    (Stage::Tuned, Writer::Tuned),
    (Stage::Saptune, Writer::Saptune),
    (Stage::Scripts, Writer::Script),
];

const fn there(path: &'static str) -> Place {
    let take = Take::Presence;
    Place { path, take }
}

/// How much of a tree there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The texts alone, as evidence keeps them.
    Texts,
    /// Links and programs too: what is not there is not on the machine.
    Everything,
}

/// The scope of a tree. Paths are shown behind `prefix`.
pub fn scope<'a>(tree: &Tree, known: Known, prefix: &str, machine: &'a Machine) -> Scope<'a> {
    let mut texts = sysctl(tree, known);
    texts.extend(named(tree, "tmpfiles.d", ".conf", Form::Tmpfiles));
    texts.extend(named(tree, "udev/rules.d", ".rules", Form::Udev));
    let mut told: Vec<(Text, Vec<Setting>)> = TOLD
        .iter()
        .flat_map(|&(stage, writer)| told(tree, stage, writer))
        .collect();
    let paths = told.iter_mut().map(|(text, _)| text);
    for text in texts.iter_mut().chain(paths) {
        text.path = format!("{prefix}{}", text.path);
    }
    let mut scope = Scope::with(texts, told, Extent::Machine, machine);
    if known == Known::Everything {
        let paths = tree.entries().map(|(path, _)| path.to_owned());
        scope.beside = Some(paths.collect());
        let which = which(tree);
        scope.loader = which.because.is_some().then_some(which.loader);
        scope.elsewhere = elsewhere(tree, &scope);
    }
    scope
}

/// The settings with which another loader of sysctl.d ends otherwise.
fn elsewhere(tree: &Tree, scope: &Scope<'_>) -> Vec<Elsewhere> {
    let standing = scope.settings.iter().enumerate();
    let standing = standing.filter(|(_, setting)| setting.stands && setting.by == Writer::Sysctl);
    let of_memory = standing.filter(|(_, setting)| catalogue::find(&setting.name).is_some());
    let differs = of_memory.flat_map(|(index, setting)| {
        let tunable = catalogue::find(&setting.name);
        let path = tunable.map_or("", |tunable| tunable.path);
        let others = who::who(tree, path, &Live::default()).elsewhere;
        others.into_iter().map(move |other| Elsewhere {
            setting: index,
            loader: other.loader,
            ends: other
                .stands
                .map(|(value, origin)| (value, origin.to_string())),
        })
    });
    differs.collect()
}

/// Whether a tree is that of a machine: it has one of the places of sysctl.d or tmpfiles.d.
pub fn is_machine(tree: &Tree) -> bool {
    let sysctl = files::DIRECTORIES.iter().copied();
    let mut places = sysctl.chain([files::SYSCTL_CONF, "etc/tmpfiles.d", "usr/lib/tmpfiles.d"]);
    places.any(|place| tree.find(place) != Found::Nothing)
}

/// The loader of sysctl.d at boot. Without links it is not known whether systemd reads sysctl.conf;
/// its settings matter if so.
fn loader(tree: &Tree, known: Known) -> Loader {
    let which = which(tree);
    match (known, which.because) {
        (Known::Texts, None) => Loader::Procps,
        _ => which.loader,
    }
}

/// The texts of sysctl.d, those that are read first.
fn sysctl(tree: &Tree, known: Known) -> Vec<Text> {
    let sources = files::sources(tree, loader(tree, known)).into_iter();
    let texts = sources.filter_map(|source| {
        let (path, is_read) = match source.fate {
            Fate::Read(real) => (real.unwrap_or_else(|| source.path.clone()), true),
            Fate::NotRead => (source.path.clone(), false),
            Fate::BadName if !is_copy(&source.path) => (source.path.clone(), false),
            _ => return None,
        };
        let Found::File { text, .. } = tree.find(&path) else {
            return None;
        };
        let mut text = Text::new(path.clone(), text, Form::Sysctl);
        text.is_read = is_read;
        Some(text)
    });
    texts.collect()
}

/// Whether a file is what an editor, a package manager or we left beside another, or a text to be
/// read.
fn is_copy(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = [
        "~",
        ".bak",
        ".orig",
        ".old",
        ".dpkg-old",
        ".dpkg-dist",
        ".dpkg-new",
        ".dpkg-bak",
        ".ucf-dist",
        ".rpmnew",
        ".rpmsave",
        ".rpmorig",
        ".pacnew",
        ".pacsave",
        ".swp",
        ".plimsoll-old",
        ".disabled",
    ];
    let is_text = name.to_ascii_uppercase().starts_with("README");
    is_text || ends.iter().any(|end| name.ends_with(end))
}

/// The texts of a directory that exists in `/etc`, `/run` and `/usr`, in the order of their names;
/// of two with one name that of the first directory.
fn named(tree: &Tree, directory: &str, suffix: &str, form: Form) -> Vec<Text> {
    let mut chosen = BTreeMap::new();
    for root in ["etc", "run", "usr/local/lib", "usr/lib", "lib"] {
        let directory = format!("{root}/{directory}");
        for name in tree.list(&directory) {
            let path = format!("{directory}/{name}");
            if name.ends_with(suffix) {
                chosen.entry(name.to_owned()).or_insert(path);
            }
        }
    }
    let texts = chosen
        .into_values()
        .filter_map(|path| of_path(tree, &path, form));
    texts.collect()
}

fn of_path(tree: &Tree, path: &str, form: Form) -> Option<Text> {
    let Found::File { text, .. } = tree.find(path) else {
        return None;
    };
    Some(Text::new(path, text, form))
}

/// What a program sets, by the texts that say so.
fn told(tree: &Tree, stage: Stage, writer: Writer) -> Vec<(Text, Vec<Setting>)> {
    let load = stage.load(tree, Loader::Systemd, &Live::default());
    let mut by_path: BTreeMap<String, Vec<Setting>> = BTreeMap::new();
    let known = |write: &Write| writer != Writer::Script || !is_filled_in(&write.value);
    for write in load.writes.into_iter().filter(known) {
        let path = write.origin.path.clone();
        by_path
            .entry(path)
            .or_default()
            .push(Setting::of(write, writer));
    }
    let texts = by_path.into_iter().filter_map(|(path, settings)| {
        let text = of_path(tree, &path, Form::Told)?;
        Some((text, settings))
    });
    texts.collect()
}
