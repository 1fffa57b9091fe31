//! What every Rust file says and leaves unsaid.

use std::path::Path;

use super::violation::Violation;
use crate::tree::Source;

/// A call that only some crates may make.
struct Banned {
    /// As it stands in the code.
    code: &'static str,
    /// Folders in which it is at home.
    at_home: &'static [&'static str],
    /// The way out.
    instead: &'static str,
}

/// Searched outside comments and strings, and outside tests.
const BANNED: &[Banned] = &[
    Banned {
        code: "process::exit(",
        at_home: &["crates/plimsoll/", "xtask/"],
        instead: "return an error: only plimsoll exits",
    },
    Banned {
        code: ".unwrap()",
        at_home: &[],
        instead: "return the error, or expect(\"why it holds\")",
    },
    Banned {
        code: "panic!(",
        at_home: &[],
        instead: "return an error, or assert the invariant",
    },
    Banned {
        code: "HashMap",
        at_home: &[],
        instead: "use BTreeMap: its order is the same in every run",
    },
    Banned {
        code: "SystemTime::now(",
        at_home: &["crates/host/", "crates/lab/", "crates/plimsoll/", "xtask/"],
        instead: "take the time as an argument",
    },
];

/// Searched everywhere, tests included.
const BANNED_ATTRIBUTES: &[(&str, &str)] = &[
    ("#[ignore", "a test runs, or says \"skipped: why\""),
    ("#[should_panic", "assert the error instead"),
];

/// The rule.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.flat_map(|source| {
        let mut found: Vec<Violation> = unusual_name(source).into_iter().collect();
        found.extend(missing_doc(source));
        found.extend(banned(source));
        found
    })
    .collect()
}

fn unusual_name(source: &Source) -> Option<Violation> {
    let stem = Path::new(&source.path).file_stem()?.to_str()?;
    let usual = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!stem.chars().all(usual)).then(|| Violation::of(&source.path, "file names are snake_case"))
}

fn missing_doc(source: &Source) -> Option<Violation> {
    let what = "must begin with //!, what the file is for";
    (!source.text.starts_with("//! ")).then(|| Violation::of(&source.path, what))
}

fn banned(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    let tests_from = source.tests_begin();
    for (at, line) in source.text.lines().enumerate() {
        let code = strip_prose(line);
        for (attribute, instead) in BANNED_ATTRIBUTES {
            if code.trim_start().starts_with(attribute) {
                found.push(Violation::at(
                    source,
                    at + 1,
                    format!("{attribute}]: {instead}"),
                ));
            }
        }
        let here = |banned: &&Banned| at < tests_from && banned.applies_to(source);
        for banned in BANNED.iter().filter(here).filter(|b| code.contains(b.code)) {
            let what = format!("{} is not for here: {}", banned.code, banned.instead);
            found.push(Violation::at(source, at + 1, what));
        }
    }
    found
}

impl Banned {
    fn applies_to(&self, source: &Source) -> bool {
        !self
            .at_home
            .iter()
            .any(|home| source.path.starts_with(home))
    }
}

/// The line without its comment and without what stands between quotes.
fn strip_prose(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if quoted => _ = characters.next(),
            '"' => quoted = !quoted,
            '/' if !quoted && characters.peek() == Some(&'/') => break,
            _ if !quoted => code.push(character),
            _ => {}
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    fn in_file(path: &str, code: &str) -> usize {
        run(check, &[(path, &format!("//! Doc.\n{code}\n"))]).len()
    }

    #[test]
    fn prose_is_no_code() {
        let at = "crates/lab/src/a.rs";
        assert_eq!(in_file(at, "fn a() { panic!(\"\") }"), 1);
        assert_eq!(in_file(at, "// panic!() is not for here"), 0);
        assert_eq!(in_file(at, "f(\"panic!(\\\"\\\")\")"), 0);
    }

    #[test]
    fn tests_may_do_what_code_may_not() {
        let code = "#[cfg(test)]\nmod tests { fn a() { b().unwrap() } }";
        assert_eq!(in_file("crates/lab/src/a.rs", code), 0);
        assert_eq!(
            in_file("crates/lab/tests/a.rs", "fn a() { b().unwrap() }"),
            0
        );
        assert_eq!(in_file("crates/lab/src/a.rs", "fn a() { b().unwrap() }"), 1);
    }

    #[test]
    fn tests_are_neither_ignored_nor_meant_to_panic() {
        assert_eq!(in_file("crates/lab/tests/a.rs", "#[ignore = \"slow\"]"), 1);
        assert_eq!(in_file("crates/lab/tests/a.rs", "#[should_panic]"), 1);
    }

    #[test]
    fn files_have_a_doc_and_a_plain_name() {
        assert_eq!(
            run(check, &[("src/aB.rs", "fn a() {}\n")]),
            [
                "src/aB.rs: file names are snake_case",
                "src/aB.rs: must begin with //!, what the file is for",
            ]
        );
    }
}
