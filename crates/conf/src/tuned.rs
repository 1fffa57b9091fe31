//! TuneD: what the active profile sets.
//!
//! A profile includes others, and its own options replace theirs, section by section. TuneD comes
//! after the loader of `sysctl.d`. After its `[sysctl]` section it reads `/run/sysctl.d`,
//! `/etc/sysctl.d` and `/etc/sysctl.conf` again, unless `reapply_sysctl = 0`, so that an
//! administrator's line there wins over the profile. It does so with a grammar of its own: `/run`
//! hides `/etc`, no key is a pattern, `-key` is a key that begins with a dash, and every dot is a
//! slash. Vendors' files in `/usr/lib/sysctl.d` are not read again, so the profile wins over them.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use mm::catalogue::folder;

use crate::command_line;
use crate::drop_ins::{Names, sources};
use crate::ini::{Assignment, assignments, unquoted};
use crate::load::{Fate, Load, Lost, Source, Why, Write};
use crate::origin::Origin;
use crate::tree::{Found, Tree};

/// The names of the active profiles.
pub const ACTIVE: &str = "etc/tuned/active_profile";

/// TuneD's own configuration.
pub const MAIN: &str = "etc/tuned/tuned-main.conf";

/// Where profiles lie, the strongest first.
pub const PROFILES: [&str; 4] = [
    "etc/tuned/profiles",
    "etc/tuned",
    "usr/lib/tuned/profiles",
    "usr/lib/tuned",
];

/// Profiles that one may include in turn; a chain that is longer is taken for a circle.
const MOST_PROFILES: usize = 64;

/// Variables within variables that are resolved.
const DEEPEST: usize = 16;

/// What the active profile sets.
#[must_use]
pub fn load(tree: &Tree) -> Load {
    let mut load = Load::default();
    let Found::File { text, .. } = tree.find(ACTIVE) else {
        return load;
    };
    let mut merged = Merged::default();
    for name in text.split_whitespace() {
        merged.add(tree, name, &mut load.sources);
    }
    for section in &merged.sections {
        section.load(&merged.variables, tree, &mut load);
        if section.kind == "sysctl" && reapplies(tree) {
            load.writes.extend(again(tree));
        }
    }
    load
}

/// What a profile asks for, were it the active one: `text` is its `tuned.conf`, and `tree` has the
/// profiles that it includes. What an administrator's `sysctl.d` says after it is left out.
#[must_use]
pub fn wishes(tree: &Tree, path: &str, text: &str) -> Load {
    let (mut load, mut merged) = (Load::default(), Merged::default());
    merged.lay(tree, path.to_owned(), text, &mut load.sources);
    for section in &merged.sections {
        section.load(&merged.variables, tree, &mut load);
    }
    load.lost.append(&mut merged.missing);
    load
}

/// Profiles laid over one another.
#[derive(Default)]
struct Merged {
    sections: Vec<Section>,
    places: BTreeMap<String, usize>,
    variables: BTreeMap<String, String>,
    read: Vec<String>,
    /// Profiles that are included and are nowhere.
    missing: Vec<Lost>,
}

#[derive(Default)]
struct Section {
    /// The plugin: `type=`, or the name.
    kind: String,
    options: Vec<Setting>,
    places: BTreeMap<String, usize>,
}

/// One option of a section.
struct Setting {
    key: String,
    value: String,
    origin: Origin,
}

impl Merged {
    /// Lays a profile over what is there, those that it includes first.
    fn add(&mut self, tree: &Tree, name: &str, sources: &mut Vec<Source>) {
        let paths = PROFILES.map(|directory| [directory, "/", name, "/tuned.conf"].concat());
        let unread = paths.into_iter().filter(|path| !self.read.contains(path));
        let file = |path: String| match tree.find(&path) {
            Found::File { text, .. } => Some((path, text)),
            _ => None,
        };
        if let Some((path, text)) = unread.filter_map(file).next() {
            self.lay(tree, path, text, sources);
        }
    }

    /// Lays a profile's text over what is there.
    fn lay(&mut self, tree: &Tree, path: String, text: &str, sources: &mut Vec<Source>) {
        if self.read.len() >= MOST_PROFILES {
            return;
        }
        self.read.push(path.clone());
        for option in assignments(text) {
            if option.section == "variables" {
                self.variable(&option, tree);
            }
        }
        let includes = assignments(text).filter(|it| it.section == "main" && it.key == "include");
        for include in includes {
            let names = expanded(include.value, &self.variables).unwrap_or_default();
            for name in names.split([',', ';']).map(str::trim) {
                self.add(tree, name, sources);
                if !self.has_read(name) {
                    self.missing.push(Lost {
                        origin: Origin::new(&path, include.line),
                        path: "include".to_owned(),
                        value: None,
                        why: Why::Unknown(["the profile ", name].concat()),
                    });
                }
            }
        }
        for option in assignments(text) {
            self.option(&option, &path);
        }
        let fate = Fate::Read(None);
        sources.push(Source { path, fate });
    }

    fn has_read(&self, name: &str) -> bool {
        let file = |directory: &str| [directory, "/", name, "/tuned.conf"].concat();
        PROFILES.iter().any(|it| self.read.contains(&file(it)))
    }

    /// Takes a variable, or all of a file that `include=` names.
    fn variable(&mut self, option: &Assignment<'_>, tree: &Tree) {
        let value = unquoted(without_comment(option.value));
        if option.key != "include" {
            self.variables
                .insert(option.key.to_owned(), value.to_owned());
            return;
        }
        if let Found::File { text, .. } = tree.find(value) {
            for option in assignments(text).filter(|option| option.key != "include") {
                let value = unquoted(without_comment(option.value)).to_owned();
                self.variables.insert(option.key.to_owned(), value);
            }
        }
    }

    fn option(&mut self, option: &Assignment<'_>, path: &str) {
        if matches!(option.section, "main" | "variables" | "") {
            return;
        }
        let next = self.sections.len();
        let at = *self.places.entry(option.section.to_owned()).or_insert(next);
        if at == next {
            self.sections.push(Section {
                kind: option.section.to_owned(),
                ..Section::default()
            });
        }
        self.sections[at].take(option, path);
    }
}

impl Section {
    fn load(&self, variables: &BTreeMap<String, String>, tree: &Tree, load: &mut Load) {
        for option in &self.options {
            match option.setting(&self.kind, variables, tree) {
                Ok(Some(write)) => load.writes.push(write),
                Ok(None) => {}
                Err(lost) => load.lost.push(lost),
            }
        }
    }

    fn take(&mut self, option: &Assignment<'_>, path: &str) {
        let value = without_comment(option.value);
        match option.key {
            "type" => self.kind = value.to_owned(),
            "replace" if is_true(value) => self.drop_all_but(path),
            key => self.set(Setting {
                key: key.to_owned(),
                value: value.to_owned(),
                origin: Origin::new(path, option.line),
            }),
        }
    }

    fn set(&mut self, setting: Setting) {
        let next = self.options.len();
        match *self.places.entry(setting.key.clone()).or_insert(next) {
            at if at == next => self.options.push(setting),
            at => self.options[at] = setting,
        }
    }

    fn drop_all_but(&mut self, path: &str) {
        let options = core::mem::take(&mut self.options);
        self.places.clear();
        for setting in options.into_iter().filter(|it| it.origin.path == path) {
            self.set(setting);
        }
    }
}

impl Setting {
    fn setting(
        &self,
        kind: &str,
        variables: &BTreeMap<String, String>,
        tree: &Tree,
    ) -> Result<Option<Write>, Lost> {
        let Some(path) = self.path(kind) else {
            return Ok(None);
        };
        let lost = |path: &str, why| Lost {
            origin: self.origin.clone(),
            path: path.to_owned(),
            value: Some(self.value.clone()),
            why,
        };
        let by_kernel = path.ends_with("transparent_hugepage/enabled")
            && command_line::load(tree)
                .writes
                .into_iter()
                .any(|it| it.path == path);
        if by_kernel {
            let why = Why::NamedBefore(Origin::new(command_line::PATH, 1));
            return Err(lost(&path, why));
        }
        let value = expanded(unquoted(&self.value), variables);
        let value = value.map_err(|what| lost(&path, Why::Unknown(what)))?;
        if value.starts_with(['<', '>']) {
            return Err(lost(&path, Why::Unknown("the value before".to_owned())));
        }
        let (path, value) = in_percent(path, &value);
        Ok(Some(Write::new(path, value, self.origin.clone())))
    }

    /// The file that an option of a plugin sets.
    fn path(&self, plugin: &str) -> Option<String> {
        let below = |folder: &str, name: &str| [folder, "/", name].concat();
        match (plugin, self.key.as_str()) {
            ("sysctl", key) => Some(["proc/sys/", &key.replace('.', "/")].concat()),
            ("sysfs", key) => key.strip_prefix('/').map(str::to_owned),
            ("vm", "transparent_hugepages" | "transparent_hugepage") => {
                Some(below(folder::THP, "enabled"))
            }
            ("vm", "transparent_hugepage.defrag") => Some(below(folder::THP, "defrag")),
            ("vm", key) if key.starts_with("dirty_") => Some(below(folder::VM, key)),
            _ => None,
        }
    }
}

/// A percentage for bytes goes to the ratio.
fn in_percent(path: String, value: &str) -> (String, String) {
    match (value.strip_suffix('%'), path.strip_suffix("_bytes")) {
        (Some(share), Some(pair)) => ([pair, "_ratio"].concat(), share.to_owned()),
        _ => (path, value.to_owned()),
    }
}

/// A text with its variables resolved.
///
/// # Errors
/// The function or variable whose value is not known here.
fn expanded(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let mut text = text.to_owned();
    for _ in 0..DEEPEST {
        let Some((before, rest)) = text.split_once("${") else {
            return Ok(text);
        };
        let (name, after) = rest.split_once('}').ok_or_else(|| text.clone())?;
        let value = variables.get(name);
        let value = value.ok_or_else(|| ["${", name, "}"].concat())?;
        text = [before, value, after].concat();
    }
    Err(text)
}

/// A value up to `#` after a blank.
fn without_comment(value: &str) -> &str {
    let ends = value.match_indices('#').map(|(at, _)| at);
    let mut ends = ends.filter(|at| value[..*at].ends_with([' ', '\t']));
    ends.next().map_or(value, |end| value[..end].trim_end())
}

fn is_true(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "1" | "true" | "yes" | "y" | "on"
    )
}

/// Whether TuneD reads the administrator's `sysctl.d` again; it does unless told otherwise.
fn reapplies(tree: &Tree) -> bool {
    let Found::File { text, .. } = tree.find(MAIN) else {
        return true;
    };
    let told = assignments(text).find(|option| option.key == "reapply_sysctl");
    told.is_none_or(|option| is_true(without_comment(option.value)))
}

/// What is written when `sysctl.d` is read again.
fn again(tree: &Tree) -> Vec<Write> {
    let directories = ["run/sysctl.d", "etc/sysctl.d"];
    let (mut files, _) = sources(tree, &directories, Names::All(".conf"));
    let conf = "etc/sysctl.conf".to_owned();
    files.push(Source {
        path: conf,
        fate: Fate::Read(None),
    });
    let mut writes = Vec::new();
    for source in files {
        let Found::File { text, .. } = tree.find(&source.path) else {
            continue;
        };
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            if !line.starts_with(['#', ';']) && !key.trim().is_empty() {
                let path = ["proc/sys/", &key.trim().replace('.', "/")].concat();
                let origin = Origin::new(&source.path, at + 1);
                writes.push(Write::new(path, value.trim(), origin));
            }
        }
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;
    use alloc::format;

    fn shown(files: &[(&str, &str)]) -> Vec<String> {
        let load = load(&tree_of(files));
        let written = |it: &Write| format!("{}={} {}", it.path, it.value, it.origin);
        let lost = |it: &Lost| format!("{}: {}", it.path, it.why);
        let lost = load.lost.iter().map(lost);
        load.writes.iter().map(written).chain(lost).collect()
    }

    const BASE: (&str, &str) = (
        "usr/lib/tuned/base/tuned.conf",
        "[vm]\ntransparent_hugepages=always\ndirty_bytes = 40%\n[sysctl]\nvm.swappiness=30\n\
         kernel.x = ${f:exec:uname}\n",
    );

    #[test]
    fn a_profile_replaces_what_it_includes() {
        let own = "[main]\ninclude=base\n[variables]\nswap=10 # few\n[sysctl]\n\
                   vm.swappiness=${swap}\nvm.min_free_kbytes=>90112\n[sysfs]\n\
                   /sys/kernel/mm/ksm/run=0\n";
        let files = [
            (ACTIVE, "own\n"),
            BASE,
            ("etc/tuned/profiles/own/tuned.conf", own),
        ];
        assert_eq!(
            shown(&files),
            [
                "sys/kernel/mm/transparent_hugepage/enabled=always \
                 /usr/lib/tuned/base/tuned.conf:2",
                "proc/sys/vm/dirty_ratio=40 /usr/lib/tuned/base/tuned.conf:3",
                "proc/sys/vm/swappiness=10 /etc/tuned/profiles/own/tuned.conf:6",
                "sys/kernel/mm/ksm/run=0 /etc/tuned/profiles/own/tuned.conf:9",
                "proc/sys/kernel/x: it depends on ${f:exec:uname}, which is not known here",
                "proc/sys/vm/min_free_kbytes: it depends on the value before, which is not known \
                 here",
            ]
        );
    }

    #[test]
    fn a_wish_needs_no_active_profile_and_names_what_it_includes_in_vain() {
        let text = "[main]\ninclude=base,gone\n[sysctl]\nvm.swappiness=1\n";
        let load = wishes(&tree_of(&[BASE]), "mine/tuned.conf", text);
        let written: Vec<&str> = load.writes.iter().map(|it| it.value.as_str()).collect();
        assert_eq!(written, ["always", "40", "1"]);
        let missing = load.lost.last().expect("the profile that is nowhere");
        assert_eq!((missing.path.as_str(), missing.origin.line), ("include", 2));
    }

    #[test]
    fn the_administrators_lines_are_written_again() {
        let profile = "[sysctl]\nvm.swappiness=30\n";
        let mut files = [
            (ACTIVE, "p"),
            ("usr/lib/tuned/p/tuned.conf", profile),
            ("etc/sysctl.d/a.conf", "vm.swappiness = 1\n-vm.x = 1\n"),
            ("run/sysctl.d/a.conf", "# x = 1\nvm/swappiness = 2\n"),
            (MAIN, "reapply_sysctl = 1\n"),
        ];
        let expected = [
            "proc/sys/vm/swappiness=30 /usr/lib/tuned/p/tuned.conf:2",
            "proc/sys/vm/swappiness=2 /run/sysctl.d/a.conf:2",
        ];
        assert_eq!(shown(&files), expected);
        files[4].1 = "reapply_sysctl = 0\n";
        assert_eq!(shown(&files), expected[..1]);
    }

    #[test]
    fn profiles_that_include_each_other_end() {
        let text = "[main]\ninclude=p\n[variables]\na=${a}\n[sysctl]\nvm.x=${a}\n";
        let files = [(ACTIVE, "p"), ("usr/lib/tuned/p/tuned.conf", text)];
        assert_eq!(shown(&files).len(), 1);
    }
}
