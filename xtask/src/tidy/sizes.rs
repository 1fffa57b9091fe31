//! Lines of Rust by crate and kind: what a change makes larger stands here.

use std::collections::BTreeMap;

use crate::tree::Source;

/// Lines that are not blank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    code: usize,
    /// `///` and `//!`.
    docs: usize,
    /// Everything in tests.
    tests: usize,
}

/// One line a crate, and the sum.
pub(super) fn table(sources: &[Source]) -> String {
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let path = source.path.as_str();
        let name = path.strip_prefix("crates/").unwrap_or(path);
        let name = name.split('/').next().unwrap_or_default();
        crates.entry(name).or_default().add(of(source));
    }
    let mut all = Lines::default();
    crates.values().for_each(|lines| all.add(*lines));
    let rows = crates.into_iter().chain([("all", all)]);
    let row = |(name, Lines { code, docs, tests }): (&str, Lines)| {
        format!("{name:16}{code:8}{docs:8}{tests:8}\n")
    };
    let head = format!(
        "{:16}{:>8}{:>8}{:>8}\n",
        "lines of Rust", "code", "docs", "tests"
    );
    head + &rows.map(row).collect::<String>()
}

fn of(source: &Source) -> Lines {
    let tests_begin = source.tests_begin();
    let mut lines = Lines::default();
    for (at, line) in source.text.lines().map(str::trim).enumerate() {
        match line {
            "" => {}
            _ if at >= tests_begin => lines.tests += 1,
            _ if line.starts_with("///") || line.starts_with("//!") => lines.docs += 1,
            _ => lines.code += 1,
        }
    }
    lines
}

impl Lines {
    fn add(&mut self, other: Self) {
        self.code += other.code;
        self.docs += other.docs;
        self.tests += other.tests;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_crate_and_kind() {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let sources = [
            source(
                "crates/mm/src/a.rs",
                "//! Doc.\n\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n",
            ),
            source("crates/mm/tests/b.rs", "fn b() {}\n"),
            source("xtask/src/main.rs", "fn main() {}\n"),
        ];
        let table = table(&sources);
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect())
            .collect();
        let expected = [
            ["mm", "1", "1", "4"],
            ["xtask", "1", "0", "0"],
            ["all", "2", "1", "4"],
        ];
        assert_eq!(rows, expected);
    }
}
