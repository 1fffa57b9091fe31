//! systemd units: the memory limits of slices and services.
//!
//! The last assignment stands: the unit's file first, then its drop-ins in byte order of their
//! names, those of `systemctl set-property` (`system.control`) by their own. An empty value takes
//! the limit back. A limit is written when the unit starts.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::drop_ins::{Names, sources};
use crate::ini::{Assignment, assignments};
use crate::load::{Load, Source, Write};
use crate::origin::Origin;
use crate::tree::{Found, Tree};

/// Where units lie, the strongest first.
pub const DIRECTORIES: [&str; 7] = [
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// Properties, and the file of the group that each sets.
const PROPERTIES: &[(&str, &str)] = &[
    ("MemoryMin", "memory.min"),
    ("MemoryLow", "memory.low"),
    ("MemoryHigh", "memory.high"),
    ("MemoryMax", "memory.max"),
    ("MemorySwapMax", "memory.swap.max"),
    ("MemoryZSwapMax", "memory.zswap.max"),
];

/// What the units' limits set.
#[must_use]
pub fn load(tree: &Tree) -> Load {
    let mut load = Load::default();
    let names = DIRECTORIES
        .iter()
        .flat_map(|directory| tree.list(directory));
    let names: BTreeSet<&str> = names.collect();
    for unit in units(&names) {
        let assigned = of_unit(tree, &unit, &names, &mut load.sources);
        let slice = assigned.iter().rev().find(|it| it.0 == "Slice");
        let slice = slice.map_or("system.slice", |(_, value, _)| value.as_str());
        let Some(group) = group(&unit, slice) else {
            continue;
        };
        for (key, value, origin) in &assigned {
            let property = PROPERTIES.iter().find(|(name, _)| name == key);
            if let Some((_, file)) = property {
                let path = format!("sys/fs/cgroup/{group}/{file}");
                load.writes
                    .push(Write::new(path, plain(value, file), origin.clone()));
            }
        }
    }
    load
}

/// The names of slices and services that have a file or a drop-in.
fn units(names: &BTreeSet<&str>) -> BTreeSet<String> {
    let unit = |name: &&str| {
        let name = name.strip_suffix(".d").unwrap_or(name);
        let is_unit = name.ends_with(".slice") || name.ends_with(".service");
        is_unit.then(|| name.to_owned())
    };
    names.iter().filter_map(unit).collect()
}

/// The assignments of a unit that are of interest, in the order in which they count.
fn of_unit(
    tree: &Tree,
    unit: &str,
    names: &BTreeSet<&str>,
    used: &mut Vec<Source>,
) -> Vec<(String, String, Origin)> {
    let paths = DIRECTORIES.map(|directory| [directory, "/", unit].concat());
    let found = paths.iter().find(|path| tree.find(path) != Found::Nothing);
    let mut files: Vec<String> = found.cloned().into_iter().collect();
    files.extend(drop_ins(tree, unit, names));
    let mut assigned = Vec::new();
    for path in files {
        let Found::File { text, .. } = tree.find(&path) else {
            continue;
        };
        let before = assigned.len();
        let limits = assignments(text).filter(is_of_interest);
        assigned.extend(limits.map(|it| {
            let origin = Origin::new(&path, it.line);
            (it.key.to_owned(), it.value.to_owned(), origin)
        }));
        if assigned.len() > before {
            used.push(crate::drop_ins::opened(tree, path));
        }
    }
    assigned
}

/// The drop-ins of a unit: its own and those of its kind and of its name's beginnings, those with
/// the more general directory first to be hidden.
fn drop_ins(tree: &Tree, unit: &str, present: &BTreeSet<&str>) -> Vec<String> {
    let (stem, kind) = unit.rsplit_once('.').unwrap_or((unit, ""));
    let mut names = [unit.to_owned()].to_vec();
    let dashes = stem.match_indices('-').map(|(at, _)| at).rev();
    names.extend(dashes.map(|at| format!("{}.{kind}", &stem[..=at])));
    names.push(kind.to_owned());
    names.retain(|name| present.contains(format!("{name}.d").as_str()));
    let directories = names.iter().flat_map(|name| {
        let directories = DIRECTORIES.iter();
        directories.map(move |directory| format!("{directory}/{name}.d"))
    });
    let directories: Vec<String> = directories.collect();
    let directories: Vec<&str> = directories.iter().map(String::as_str).collect();
    let (files, _) = sources(tree, &directories, Names::Visible(".conf"));
    files.into_iter().map(|source| source.path).collect()
}

fn is_of_interest(assignment: &Assignment<'_>) -> bool {
    let section = matches!(assignment.section, "Slice" | "Service");
    let known = |key: &str| PROPERTIES.iter().any(|(name, _)| *name == key);
    section && (assignment.key == "Slice" || known(assignment.key))
}

/// Where the group of a unit lies below `sys/fs/cgroup`; a slice lies in those that its name begins
/// with.
fn group(unit: &str, slice: &str) -> Option<String> {
    let Some(stem) = unit.strip_suffix(".slice") else {
        let parent = group(slice, "")?;
        return Some(format!("{parent}/{unit}"));
    };
    if stem.is_empty() || stem.contains('/') || !slice.is_empty() && !slice.ends_with(".slice") {
        return None;
    }
    let dashes = stem.match_indices('-').map(|(at, _)| at);
    let ends = dashes.chain([stem.len()]);
    let slices: Vec<String> = ends.map(|end| format!("{}.slice", &stem[..end])).collect();
    Some(slices.join("/"))
}

/// A limit as the kernel's file takes it: bytes, or `max`. A share of memory stays one.
fn plain(value: &str, file: &str) -> String {
    if value.is_empty() {
        let none = if matches!(file, "memory.min" | "memory.low") {
            "0"
        } else {
            "max"
        };
        return none.to_owned();
    }
    if value == "infinity" {
        return "max".to_owned();
    }
    let digits = value.trim_end_matches(['K', 'M', 'G', 'T', 'B']);
    let shift = match value[digits.len()..].chars().next() {
        None | Some('B') => 0,
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some(_) => 40,
    };
    let bytes = digits
        .trim()
        .parse::<u64>()
        .ok()
        .and_then(|it| it.checked_mul(1 << shift));
    bytes.map_or_else(|| value.to_owned(), |bytes| format!("{bytes}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;

    #[test]
    fn the_last_of_file_and_drop_ins_counts() {
        let tree = tree_of(&[
            (
                "usr/lib/systemd/system/db.service",
                "[Service]\nMemoryLow=1G\nSlice=a-b.slice\n",
            ),
            (
                "etc/systemd/system/db.service.d/20.conf",
                "[Service]\nMemoryLow=2G\n",
            ),
            (
                "etc/systemd/system.control/db.service.d/50-MemoryLow.conf",
                "[Service]\nMemoryLow=infinity\n",
            ),
            (
                "etc/systemd/system/service.d/10-all.conf",
                "[Service]\nMemoryHigh=50%\n",
            ),
            (
                "etc/systemd/system/a.slice",
                "[Slice]\nMemoryMax=\n[Unit]\nMemoryMax=1\n",
            ),
        ]);
        let load = load(&tree);
        let shown = |it: &Write| format!("{}={}", it.path, it.value);
        let writes: Vec<String> = load.writes.iter().map(shown).collect();
        let db = "sys/fs/cgroup/a.slice/a-b.slice/db.service";
        assert_eq!(
            writes,
            [
                "sys/fs/cgroup/a.slice/memory.max=max".to_owned(),
                format!("{db}/memory.low=1073741824"),
                format!("{db}/memory.high=50%"),
                format!("{db}/memory.low=2147483648"),
                format!("{db}/memory.low=max"),
            ]
        );
    }

    #[test]
    fn a_masked_unit_and_one_without_limits_are_left_out() {
        let mut tree = tree_of(&[
            (
                "usr/lib/systemd/system/db.service",
                "[Service]\nMemoryLow=1G\n",
            ),
            (
                "usr/lib/systemd/system/x.service",
                "[Service]\nExecStart=/x\n",
            ),
        ]);
        let null = crate::tree::Entry::Link("/dev/null".into());
        tree.put("etc/systemd/system/db.service", null);
        let load = load(&tree);
        assert!(load.writes.is_empty() && load.sources.is_empty());
    }
}
