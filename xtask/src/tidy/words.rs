//! Words of documents and code: no machine's paths, the kernel's names, links that lead somewhere.

use std::path::Path;

use super::violation::Violation;
use crate::tree::{self, Source};

/// Paths that exist on one machine only. Written apart, so that this file keeps its own rule.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

/// In documents a temporary path is a machine's path too; code may speak of the guest's own.
const DOCUMENT_PATHS: &[&str] = &[concat!("/tm", "p/")];

/// Words with a better one.
const WORDS: &[(&str, &str)] = &[
    ("knob", "tunable"),
    ("knobs", "tunables"),
    ("blazing", "the figure"),
    ("seamless", "what happens"),
    ("seamlessly", "what happens"),
    ("leverage", "use"),
    ("leverages", "uses"),
];

/// Phrases of comments with a plain one in their place.
const PHRASES: &[(&str, &str)] = &[
    ("so many", "this many"),
    ("in the mean", "on average"),
    ("anew", "again"),
];

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let mut found: Vec<Violation> = sources.iter().flat_map(paths).collect();
    found.extend(sources.iter().flat_map(comments));
    for document in sources.iter().filter(|source| source.is_markdown()) {
        found.extend(words(document));
        found.extend(titles(document));
        found.extend(links(document));
    }
    found
}

fn paths(source: &Source) -> Vec<Violation> {
    let documents = if source.is_markdown() {
        DOCUMENT_PATHS
    } else {
        &[]
    };
    let banned = || MACHINE_PATHS.iter().chain(documents);
    let lines = source.text.lines().enumerate();
    lines
        .filter_map(|(at, line)| Some((at, banned().find(|path| line.contains(**path))?)))
        .map(|(at, path)| Violation::at(source, at + 1, format!("{path} is one machine's path")))
        .collect()
}

/// Phrases in the comments of Rust files.
fn comments(source: &Source) -> Vec<Violation> {
    if !source.is_rust() {
        return Vec::new();
    }
    let commented = source.text.lines().enumerate();
    let commented = commented.filter(|(_, line)| line.trim_start().starts_with("//"));
    commented
        .flat_map(|(at, line)| {
            let padded = format!(" {} ", line.replace(|c: char| !c.is_alphanumeric(), " "));
            let has = move |phrase: &str| padded.contains(&format!(" {phrase} "));
            let found = PHRASES.iter().filter(move |(phrase, _)| has(phrase));
            found.map(move |(phrase, better)| {
                let what = format!("\"{phrase}\": say \"{better}\"");
                Violation::at(source, at + 1, what)
            })
        })
        .collect()
}

fn words(document: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, line) in document.text.lines().enumerate() {
        let lower = line.to_lowercase();
        for (word, better) in WORDS {
            if lower
                .split(|c: char| !c.is_alphanumeric())
                .any(|w| w == *word)
            {
                let what = format!("\"{word}\": say \"{better}\"");
                found.push(Violation::at(document, at + 1, what));
            }
        }
        if line.matches('\u{2014}').count() > 1 {
            found.push(Violation::at(
                document,
                at + 1,
                "a chain of dashes: make sentences",
            ));
        }
    }
    found
}

fn titles(document: &Source) -> Option<Violation> {
    let count = outside_fences(&document.text)
        .filter(|(_, line)| line.starts_with("# "))
        .count();
    (count != 1).then(|| Violation::of(&document.path, format!("{count} titles, one is due")))
}

/// Links to files of the checkout, without looking at the anchor.
fn links(document: &Source) -> Vec<Violation> {
    let folder = Path::new(&document.path).parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for (at, line) in outside_fences(&document.text) {
        for target in line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
            if !elsewhere && !tree::root().join(folder).join(file).exists() {
                found.push(Violation::at(
                    document,
                    at + 1,
                    format!("{file} does not exist"),
                ));
            }
        }
    }
    found
}

/// Numbered lines (from 0) that are not part of a code block.
pub(super) fn outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    #[test]
    fn one_machines_paths_are_found() {
        let line = format!("// see {}x\n", MACHINE_PATHS[0]);
        assert_eq!(run(check, &[("a.rs", &line)]).len(), 1);
        let line = format!("# A\n{}x\n", DOCUMENT_PATHS[0]);
        assert_eq!(run(check, &[("a.md", &line)]).len(), 1);
        assert!(run(check, &[("a.rs", &line)]).is_empty());
    }

    #[test]
    fn words_have_better_ones() {
        assert_eq!(
            run(check, &[("a.md", "# A\nThe Knob, and doorknobs.\n")]),
            ["a.md:2: \"knob\": say \"tunable\""]
        );
        assert_eq!(
            run(check, &[("a.md", "# A\na \u{2014} b \u{2014} c\n")]).len(),
            1
        );
    }

    #[test]
    fn comments_are_in_plain_english() {
        let said = run(
            check,
            &[("a.rs", "/// Of so many pages.\nlet a = \"anew\";\n")],
        );
        assert_eq!(said, ["a.rs:1: \"so many\": say \"this many\""]);
        assert!(run(check, &[("a.rs", "// In the meantime.\n")]).is_empty());
    }

    #[test]
    fn a_document_has_one_title() {
        assert_eq!(
            run(check, &[("a.md", "# A\n# B\n")]),
            ["a.md: 2 titles, one is due"]
        );
        assert!(run(check, &[("a.md", "# A\n```sh\n# a comment\n```\n")]).is_empty());
    }

    #[test]
    fn links_lead_somewhere() {
        let good = "# A\n[b](../Cargo.toml#x) [c](https://example.org/) [d](#e)\n";
        assert!(run(check, &[("docs/a.md", good)]).is_empty());
        let dead = "# A\n[b](no-such-file.md)\n";
        assert_eq!(
            run(check, &[("docs/a.md", dead)]),
            ["docs/a.md:2: no-such-file.md does not exist"]
        );
    }
}
