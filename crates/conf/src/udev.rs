//! udev rules: `SYSCTL{key}="value"` and `ATTR{file}="value"`.
//!
//! They are written when a device appears that the rest of the rule matches, so at any time after
//! the loader of `sysctl.d`, and again when such a device comes later. Which devices there are is
//! not known here: a rule counts as if its device came at boot.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::drop_ins::{Names, sources};
use crate::live::Live;
use crate::load::{Load, Write};
use crate::origin::Origin;
use crate::scripts;
use crate::tree::{Found, Tree};

/// The directories, the strongest first.
pub const DIRECTORIES: [&str; 5] = [
    "etc/udev/rules.d",
    "run/udev/rules.d",
    "usr/local/lib/udev/rules.d",
    "usr/lib/udev/rules.d",
    "lib/udev/rules.d",
];

/// Files that one rule is followed to.
const MOST_OF_RULE: usize = 1024;

/// What the rules set, on a machine that has these files.
#[must_use]
pub fn load(tree: &Tree, live: &Live) -> Load {
    let (mut sources, others) = sources(tree, &DIRECTORIES, Names::Visible(".rules"));
    let mut writes = Vec::new();
    for source in sources.iter().filter(|source| source.fate.is_read()) {
        if let Found::File { text, .. } = tree.find(&source.path) {
            for (line, rule) in rules(text) {
                writes.extend(written(&rule, &Origin::new(&source.path, line), live));
            }
        }
    }
    sources.extend(others);
    Load {
        writes,
        lost: Vec::new(),
        sources,
    }
}

/// One `KEY{attribute}OPERATOR"value"` of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Part<'a> {
    key: &'a str,
    attribute: &'a str,
    operator: &'a str,
    value: &'a str,
}

/// The rules of a file, each with the number of its first line. A line goes on after a backslash.
fn rules(text: &str) -> Vec<(usize, String)> {
    let mut rules: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let (part, more) = line
            .strip_suffix('\\')
            .map_or((line, false), |it| (it, true));
        if line.starts_with('#') {
            continue;
        }
        match rules.last_mut().filter(|_| goes_on) {
            Some((_, rule)) => rule.push_str(part),
            None => rules.push((at + 1, part.to_owned())),
        }
        goes_on = more;
    }
    rules
}

fn written(rule: &str, origin: &Origin, live: &Live) -> Vec<Write> {
    let parts = parts(rule);
    let devices = devices(&parts);
    let mut writes = Vec::new();
    for part in parts
        .iter()
        .filter(|part| matches!(part.operator, "=" | ":=" | "+="))
    {
        match part.key {
            "SYSCTL" => {
                let path = ["proc/sys/", &part.attribute.replace('.', "/")].concat();
                writes.push(Write::new(path, part.value, origin.clone()));
            }
            "ATTR" => {
                let pattern = format!("{devices}/{}", part.attribute);
                let write = |path: &str| Write {
                    pattern: Some(pattern.clone()),
                    ..Write::new(path, part.value, origin.clone())
                };
                writes.extend(live.matching(&pattern).take(MOST_OF_RULE).map(write));
            }
            "RUN" => writes.extend(scripts::writes(part.value, origin)),
            _ => {}
        }
    }
    writes
}

/// Where the devices of a rule lie, as a pattern.
fn devices(parts: &[Part<'_>]) -> String {
    let matched = |key| {
        let mut parts = parts.iter();
        let part = parts.find(|part| part.key == key && part.operator == "==")?;
        Some(part.value).filter(|value| !value.contains('|'))
    };
    let name = matched("KERNEL").unwrap_or("*");
    match matched("SUBSYSTEM") {
        Some("block") | None => format!("sys/block/{name}"),
        Some(class) => format!("sys/class/{class}/{name}"),
    }
}

/// The parts of a rule; it ends where something is no part.
fn parts(rule: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = rule;
    while let Some((part, after)) = part(rest) {
        parts.push(part);
        rest = after;
    }
    parts
}

fn part(text: &str) -> Option<(Part<'_>, &str)> {
    const BETWEEN: &[char] = &[' ', '\t', ','];
    let text = text.trim_start_matches(BETWEEN);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_name(c)).filter(|end| *end > 0)?;
    let (key, rest) = text.split_at(end);
    let (attribute, rest) = match rest.strip_prefix('{') {
        Some(rest) => rest.split_once('}')?,
        None => ("", rest),
    };
    let rest = rest.trim_start();
    let operators = ["==", "!=", "+=", "-=", ":=", "="];
    let operator = operators
        .into_iter()
        .find(|operator| rest.starts_with(operator))?;
    let rest = rest[operator.len()..].trim_start();
    let rest = rest
        .strip_prefix('"')
        .or_else(|| rest.strip_prefix("e\""))?;
    let ends = rest.match_indices('"').map(|(at, _)| at);
    let end = ends.into_iter().find(|at| !rest[..*at].ends_with('\\'))?;
    let value = &rest[..end];
    let part = Part {
        key,
        attribute,
        operator,
        value,
    };
    Some((part, &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;

    #[test]
    fn rules_set_sysctls_and_attributes_of_matching_devices() {
        let text = "# zram\nACTION==\"change\", KERNEL==\"zram0\", ATTR{initstate}==\"1\", \\\n  \
                    SYSCTL{vm.swappiness}=\"150\"\nSUBSYSTEM==\"bdi\", ATTR{max_ratio}=\"1\"\n\
                    KERNEL==\"sd[a-z]\", ATTR{queue/read_ahead_kb}=\"64\", \
                    RUN+=\"/bin/sh -c 'echo 1 > /sys/kernel/mm/ksm/run'\"\n";
        let mut live = Live::default();
        for path in [
            "sys/class/bdi/8:0/max_ratio",
            "sys/block/sda/queue/read_ahead_kb",
        ] {
            live.know(path);
        }
        let load = load(&tree_of(&[("etc/udev/rules.d/30-a.rules", text)]), &live);
        let shown = |write: &Write| format!("{} {}={}", write.origin.line, write.path, write.value);
        let writes: Vec<String> = load.writes.iter().map(shown).collect();
        assert_eq!(
            writes,
            [
                "2 proc/sys/vm/swappiness=150",
                "4 sys/class/bdi/8:0/max_ratio=1",
                "5 sys/block/sda/queue/read_ahead_kb=64",
                "5 sys/kernel/mm/ksm/run=1",
            ]
        );
    }
}
