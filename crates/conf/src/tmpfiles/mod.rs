//! `tmpfiles.d`: which lines write into files, in which order.
//!
//! It is the opposite of `sysctl.d`. Files are found and sorted in the same way, but of the lines
//! for one path the **first** counts, and later ones are dropped: a name that sorts first wins.
//! Only `w+` lines all count. A line that says exactly what an earlier one says counts again.
//!
//! `f+` and `F` lines come before `w` lines, whatever their names. `w` lines are written in the
//! order in which their paths first stand somewhere; two paths that mean the same file, one of them
//! a pattern, are both written, and the later one stands. `w!` counts at boot only, which is what
//! this models. What is written is the rest of the line as it is: quotes stay, `# note` too; only
//! `\` escapes and `%` specifiers are resolved. A file that is missing is passed over in silence.

mod escape;
mod item;
mod specifier;
mod words;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub use item::{Item, Kind};

use crate::drop_ins::{Names, sources};
use crate::glob;
use crate::live::Live;
use crate::load::{Load, Lost, MOST_MATCHES, Why, Write};
use crate::origin::Origin;
use crate::sysctl_d::{self, Loader};
use crate::tree::{Found, Tree};

/// The directories, the strongest first.
pub const DIRECTORIES: [&str; 5] = [
    "etc/tmpfiles.d",
    "run/tmpfiles.d",
    "usr/local/lib/tmpfiles.d",
    "usr/lib/tmpfiles.d",
    "lib/tmpfiles.d",
];

/// Where systemd-tmpfiles writes nothing at boot, for udev does.
const EXCLUDED: &str = "dev";

/// What systemd-tmpfiles writes at boot, on a machine that has these files.
#[must_use]
pub fn load(tree: &Tree, live: &Live) -> Load {
    let (mut sources, others) = sources(tree, &DIRECTORIES, Names::Visible(".conf"));
    let mut plan = Plan::default();
    for source in sources.iter().filter(|source| source.fate.is_read()) {
        if let Found::File { text, .. } = tree.find(&source.path) {
            for (origin, item) in items(text, &source.path, tree) {
                plan.take(origin, item);
            }
        }
    }
    sources.extend(others);
    Load {
        writes: plan.writes(live),
        lost: plan.lost,
        sources,
    }
}

/// The lines of a file that are no comments, as systemd-tmpfiles reads them.
///
/// # Errors
/// For each line: why it is dropped, with the text of it.
pub fn items<'a>(
    text: &'a str,
    path: &'a str,
    tree: &'a Tree,
) -> impl Iterator<Item = (Origin, Result<Item, Lost>)> + 'a {
    let lines = sysctl_d::lines(text, Loader::Systemd).into_iter();
    lines.filter_map(move |line| {
        let origin = Origin::new(path, line.number);
        let text = line.text.trim_matches([' ', '\t', '\n', '\r']);
        let item = match text.as_bytes().first() {
            None | Some(b'#' | b';') => return None,
            Some(_) => Item::parse(text, tree),
        };
        let lost = |why| Lost {
            origin: origin.clone(),
            path: text.to_owned(),
            value: None,
            why,
        };
        let item = item.map_err(lost);
        Some((origin, item))
    })
}

/// The line that writes a value into a file at boot, without its end. The path is as in a capture.
#[must_use]
pub fn line(path: &str, value: &str) -> String {
    let path = path.replace('%', "%%");
    let value = value.replace('\\', "\\\\").replace('%', "%%");
    match path.contains([' ', '\t']) {
        true => format!("w \"/{path}\" - - - - {value}"),
        false => format!("w /{path} - - - - {value}"),
    }
}

/// The lines that count, by path.
#[derive(Default)]
struct Plan {
    /// Lines that create: they come first.
    creating: Paths,
    /// Lines whose path may be a pattern.
    others: Paths,
    lost: Vec<Lost>,
}

/// Lines by path, the paths in the order in which they first came.
#[derive(Default)]
struct Paths {
    places: BTreeMap<String, usize>,
    lines: Vec<Lines>,
}

/// The lines for one path.
#[derive(Default)]
struct Lines {
    all: Vec<(Origin, Item)>,
    /// Those with which a further one may clash: two that differ are enough, for a line that agrees
    /// with neither clashes with one of them.
    owners: Vec<usize>,
}

impl Lines {
    /// Adds a line, unless one before it keeps it out.
    fn add(&mut self, origin: Origin, item: Item) -> Option<Lost> {
        let owners = || self.owners.iter().map(|at| &self.all[*at]);
        if let Some((by, _)) = owners().find(|(_, earlier)| !earlier.allows(&item)) {
            return Some(Lost {
                why: Why::NamedBefore(by.clone()),
                path: item.path,
                value: item.argument,
                origin,
            });
        }
        let known = owners().any(|(_, earlier)| earlier.says(&item));
        if item.owns() && !known && self.owners.len() < 2 {
            self.owners.push(self.all.len());
        }
        self.all.push((origin, item));
        None
    }
}

impl Plan {
    fn take(&mut self, origin: Origin, item: Result<Item, Lost>) {
        let item = match item {
            Ok(item) => item,
            Err(lost) => return self.lost.push(lost),
        };
        let excluded = item.path.strip_prefix(EXCLUDED);
        if excluded.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return;
        }
        let paths = match item.kind.creates() {
            true => &mut self.creating,
            false => &mut self.others,
        };
        let next = paths.lines.len();
        let place = *paths.places.entry(item.path.clone()).or_insert(next);
        if place == next {
            paths.lines.push(Lines::default());
        }
        self.lost.extend(paths.lines[place].add(origin, item));
    }

    fn writes(&self, live: &Live) -> Vec<Write> {
        let paths = self.creating.lines.iter().chain(&self.others.lines);
        let mut writes = Vec::new();
        for lines in paths {
            let mut lines: Vec<&(Origin, Item)> = lines.all.iter().collect();
            lines.sort_by_key(|(_, item)| item.kind.order());
            for (origin, item) in lines.into_iter().filter(|(_, item)| item.writes()) {
                let value = item.argument.clone().unwrap_or_default();
                let room = MOST_MATCHES.saturating_sub(writes.len()).max(1);
                for (path, pattern) in found(item, live).into_iter().take(room) {
                    writes.push(Write {
                        pattern,
                        may_fail: item.may_fail,
                        ..Write::new(path, value.clone(), origin.clone())
                    });
                }
            }
        }
        writes
    }
}

/// The files that a line means, and its pattern where it is one.
fn found(item: &Item, live: &Live) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let texts = match item.kind.creates() {
        true => [item.path.clone()].into(),
        false => glob::braces(&item.path),
    };
    for text in texts {
        if item.kind.creates() || !glob::is_pattern(&text) {
            found.push((text, None));
            continue;
        }
        let pattern = || Some(item.path.clone());
        found.extend(
            live.matching(&text)
                .map(|path| (path.to_owned(), pattern())),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;

    fn written(files: &[(&str, &str)], known: &[&str]) -> Vec<String> {
        let mut live = Live::default();
        for path in known {
            live.know(path);
        }
        let load = load(&tree_of(files), &live);
        let shown = |write: &Write| format!("{} = {}", write.path, write.value);
        load.writes.iter().map(shown).collect()
    }

    #[test]
    fn the_first_line_for_a_path_counts() {
        let files = [
            (
                "etc/tmpfiles.d/b.conf",
                "w /sys/a - - - - 2\nw+ /sys/c - - - - 1\n",
            ),
            ("usr/lib/tmpfiles.d/a.conf", "w /sys/a - - - - 1 # one\n"),
            (
                "usr/lib/tmpfiles.d/c.conf",
                "w /sys/a - - - - 3\nw+ /sys/c - - - - 2\n",
            ),
        ];
        let expected = ["sys/a = 1 # one", "sys/c = 1", "sys/c = 2"];
        assert_eq!(written(&files, &[]), expected);
    }

    #[test]
    fn patterns_are_written_where_they_stand() {
        let text = "w /sys/{x,y*} - - - - 1\nw /sys/y1 - - - - \"2\"\nf+ /sys/z - - - - 3\n";
        let files = [("etc/tmpfiles.d/a.conf", text)];
        let expected = [
            "sys/z = 3",
            "sys/x = 1",
            "sys/y1 = 1",
            "sys/y2 = 1",
            "sys/y1 = \"2\"",
        ];
        assert_eq!(written(&files, &["sys/y1", "sys/y2"]), expected);
    }
}
