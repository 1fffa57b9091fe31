//! Files that documents and comments name exist, and a mechanism is where `ARCHITECTURE.md` says.

use super::violation::Violation;
use crate::tree::{self, Source};

/// Folders of the checkout, at whose root a path in backticks begins.
const FOLDERS: &[&str] = &[
    "calibration/",
    "crates/",
    "disk-module/",
    "docs/",
    "fixtures/",
    "fuzz/",
    "packaging/",
    "page/",
    "python/",
    "records/",
    "studies/",
    "xtask/",
];

/// The document with the table of mechanisms.
const MAP: &str = "ARCHITECTURE.md";

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let mut found: Vec<Violation> = sources.iter().flat_map(|s| stale(s, sources)).collect();
    let maps = sources.iter().filter(|source| source.path == MAP);
    found.extend(maps.flat_map(|map| misplaced(map, sources)));
    found
}

/// Paths in backticks that lead nowhere, in prose.
fn stale(source: &Source, sources: &[Source]) -> Vec<Violation> {
    let is_prose = |line: &str| match source.is_rust() {
        true => line.trim_start().starts_with("//"),
        false => source.is_markdown(),
    };
    let lines = source.text.lines().enumerate();
    let prose = lines.filter(|(_, line)| is_prose(line));
    prose
        .flat_map(|(at, line)| {
            let gone = quoted(line).filter(|path| names_no_file(path, sources));
            gone.map(move |path| Violation::at(source, at + 1, format!("{path} does not exist")))
        })
        .collect()
}

/// What stands in backticks, where these come in pairs.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let parts: Vec<&str> = line.split('`').collect();
    let paired = parts.len() % 2 == 1;
    let quoted = parts.into_iter().enumerate();
    quoted.filter_map(move |(at, part)| (paired && at % 2 == 1).then_some(part))
}

/// What stands for a name in the recipes.
const STANDS_FOR: [&str; 2] = ["NAME", "SUBJECT"];

/// Whether it reads as the path of a file of ours, and there is none: a Rust file may be named by
/// the end of its path.
fn names_no_file(path: &str, sources: &[Source]) -> bool {
    let in_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let of_a_recipe = STANDS_FOR.iter().any(|word| path.contains(word));
    if of_a_recipe || !path.chars().all(in_path) {
        return false;
    }
    let ends = |source: &Source| {
        let rest = source.path.strip_suffix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let is_rust = path.ends_with(".rs");
    let begins = FOLDERS.iter().any(|folder| path.starts_with(folder));
    match (is_rust, begins) {
        (false, false) => false,
        (_, true) => !sources.iter().any(ends) && !tree::root().join(path).exists(),
        (true, false) => !sources.iter().any(ends),
    }
}

/// Rows of the table of mechanisms whose function is not in the file beside it.
fn misplaced(map: &Source, sources: &[Source]) -> Vec<Violation> {
    let rows = map.text.lines().enumerate();
    let rows = rows.filter(|(_, line)| line.starts_with('|'));
    rows.filter_map(|(at, row)| {
        let names: Vec<&str> = quoted(row).collect();
        let (file, functions) = names
            .split_last()
            .filter(|(file, _)| file.ends_with(".rs"))?;
        let text = sources.iter().find(|source| source.path == *file)?;
        let lacks = |function: &&&str| !text.text.contains(**function);
        let function = functions.iter().find(lacks)?;
        let what = format!("{function} is not in {file}");
        Some(Violation::at(map, at + 1, what))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    #[test]
    fn a_file_that_prose_names_exists() {
        let there = ("crates/x/src/vm/debian.rs", "fn a() {}\n");
        let said =
            "// In `vm/debian.rs`, not in `vm/fedora.rs`; `*.rs` and `a b.rs` are no paths.\n";
        assert_eq!(
            run(check, &[("a.rs", said), there]),
            ["a.rs:1: vm/fedora.rs does not exist"]
        );
        assert!(run(check, &[("a.rs", "let a = \"`b.rs`\";\n")]).is_empty());
        let said = "# A\n`xtask/src/main.rs` and `docs/no-such.md`, `mm/vmscan.c`\n";
        assert_eq!(
            run(check, &[("a.md", said)]),
            ["a.md:2: docs/no-such.md does not exist"]
        );
    }

    #[test]
    fn a_mechanism_is_in_the_file_that_the_map_names() {
        let map =
            "# A\n| a | `here` | `crates/x/src/b.rs` |\n| b | `there` | `crates/x/src/b.rs` |\n";
        let file = ("crates/x/src/b.rs", "/// `here`\nfn a() {}\n");
        assert_eq!(
            run(check, &[(MAP, map), file]),
            ["ARCHITECTURE.md:3: there is not in crates/x/src/b.rs"]
        );
    }
}
