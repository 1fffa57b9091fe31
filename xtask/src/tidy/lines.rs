//! Lengths: lines, functions, files.

use super::violation::Violation;
use super::words::outside_fences;
use crate::tree::Source;

const WIDTH_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;

/// Documents that a command writes.
const GENERATED: [&str; 2] = ["docs/cli.md", "docs/tunables.md"];

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.flat_map(|source| {
        let mut found = wide_lines(source);
        found.extend(long_functions(source));
        found.extend(long_file(source));
        found
    })
    .chain(sources.iter().flat_map(wide_prose))
    .chain(sources.iter().flat_map(loose_ends))
    .collect()
}

/// Line width counts characters; rustfmt leaves long strings alone, this does not. Tests hold
/// output as it comes, and are let be.
fn wide_lines(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().enumerate();
    wide(source, lines.take(source.tests_begin()))
}

fn wide<'a>(source: &Source, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Violation> {
    lines
        .filter(|(_, line)| line.chars().count() > WIDTH_MAX)
        .map(|(at, _)| Violation::at(source, at + 1, format!("wider than {WIDTH_MAX} columns")))
        .collect()
}

/// Prose of documents that are written by hand.
fn wide_prose(source: &Source) -> Vec<Violation> {
    if !source.is_markdown() || GENERATED.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let prose = outside_fences(&source.text).filter(|(_, line)| is_prose(line));
    wide(source, prose)
}

/// A row of a table, an indented block and a single word, such as a link, cannot be broken.
fn is_prose(line: &str) -> bool {
    let is_indented = line.starts_with("    ");
    let is_row = line.trim_start().starts_with('|');
    let words = line.trim_start_matches(['-', ' ']).split(' ');
    !is_indented && !is_row && words.count() > 1
}

/// rustfmt puts a function's closing brace alone under the column where the function begins, so
/// no parser is needed.
fn long_functions(source: &Source) -> Vec<Violation> {
    let lines: Vec<&str> = source.text.lines().collect();
    let too_long = |(at, line): (usize, &&str)| {
        let name = function_name(line)?;
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let length = lines[at..].iter().position(|line| *line == closing)? + 1;
        let what = format!("fn {name} has {length} lines, {FUNCTION_LINES_MAX} at most");
        (length > FUNCTION_LINES_MAX && !ends_at_once(line))
            .then(|| Violation::at(source, at + 1, what))
    };
    lines.iter().enumerate().filter_map(too_long).collect()
}

/// A declaration without a body, or a function on one line.
fn ends_at_once(line: &str) -> bool {
    line.ends_with(';') || line.ends_with('}')
}

fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let qualifier = |word: &&str| {
        let known = ["pub", "const", "async", "unsafe", "extern"];
        known.contains(word) || word.starts_with("pub(") || word.starts_with('"')
    };
    let word = words.find(|word| !qualifier(word))?;
    if word != "fn" {
        return None;
    }
    words.next()?.split(['(', '<']).next()
}

fn long_file(source: &Source) -> Option<Violation> {
    let length = source.text.lines().count();
    let what = format!("{length} lines, {FILE_LINES_MAX} at most: one subject a file");
    (length > FILE_LINES_MAX).then(|| Violation::of(&source.path, what))
}

fn loose_ends(source: &Source) -> Vec<Violation> {
    let trailing = |(at, line): (usize, &str)| {
        line.ends_with([' ', '\t'])
            .then(|| Violation::at(source, at + 1, "space at the end of the line"))
    };
    let lines = source.text.lines().enumerate();
    let mut found: Vec<Violation> = lines.filter_map(trailing).collect();
    if !source.text.is_empty() && !source.text.ends_with('\n') {
        found.push(Violation::of(&source.path, "does not end with a newline"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    #[test]
    fn a_long_function_is_found_wherever_it_stands() {
        let body = |lines: usize| "        work();\n".repeat(lines);
        let file = |lines| {
            let body = body(lines);
            format!("impl A {{\n    pub(crate) const fn b<T>(x: T)\n    {{\n{body}    }}\n}}\n")
        };
        assert!(run(check, &[("a.rs", &file(FUNCTION_LINES_MAX - 3))]).is_empty());
        assert_eq!(
            run(check, &[("a.rs", &file(FUNCTION_LINES_MAX - 2))]),
            ["a.rs:2: fn b has 71 lines, 70 at most"]
        );
        let declared = format!("trait A {{\n    fn a();\n    fn b() {{}}\n{}}}\n", body(80));
        assert!(run(check, &[("a.rs", &declared)]).is_empty());
    }

    #[test]
    fn only_functions_have_names() {
        assert_eq!(
            function_name("    pub(super) unsafe fn go<T>()"),
            Some("go")
        );
        assert_eq!(function_name("extern \"C\" fn go() {"), Some("go"));
        assert_eq!(function_name("// fn go()"), None);
        assert_eq!(function_name("let f: fn() = go;"), None);
        assert_eq!(function_name(""), None);
    }

    #[test]
    fn width_counts_characters() {
        assert!(run(check, &[("a.rs", &format!("{}\n", "é".repeat(100)))]).is_empty());
        let wide = format!("\n{}\n", "x".repeat(101));
        assert_eq!(
            run(check, &[("a.rs", &wide)]),
            ["a.rs:2: wider than 100 columns"]
        );
        assert!(run(check, &[("a.rs", &format!("#[cfg(test)]\n{wide}"))]).is_empty());
        assert!(run(check, &[("a/tests/a.rs", &wide)]).is_empty());
    }

    #[test]
    fn wide_prose_is_found_in_documents_that_are_written_by_hand() {
        let prose = format!("- word {}\n", "é".repeat(94));
        assert_eq!(
            run(check, &[("docs/a.md", &prose)]),
            ["docs/a.md:1: wider than 100 columns"]
        );
        for path in GENERATED {
            assert!(run(check, &[(path, &prose)]).is_empty(), "{path}");
        }
        for let_be in [
            format!("| {prose}"),
            format!("    {prose}"),
            format!("```text\n{prose}```\n"),
            format!("- [a]({})\n", "x".repeat(100)),
            format!("word {}\n", "é".repeat(95)),
        ] {
            assert_eq!(run(check, &[("docs/a.md", &let_be)]), [""; 0]);
        }
    }

    #[test]
    fn a_long_file_is_found() {
        let long = "\n".repeat(FILE_LINES_MAX + 1);
        assert_eq!(run(check, &[("a.rs", &long)]).len(), 1);
    }

    #[test]
    fn loose_ends_are_found_in_every_text() {
        assert_eq!(
            run(check, &[("a.md", "a \nb")]),
            [
                "a.md:1: space at the end of the line",
                "a.md: does not end with a newline"
            ]
        );
    }
}
