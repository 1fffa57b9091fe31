//! The house rules as tests.
//!
//! Each rule is a pure function from sources to violations, so that the rules have tests too.

mod arrows;
mod lines;
mod reference;
mod rust;
mod words;

use anyhow::{Result, bail};

use crate::tree::{self, Source};

/// Something that breaks a house rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The file, from the root.
    path: String,
    /// The line, from 1; `None` for the file as a whole.
    line: Option<usize>,
    /// What is wrong, and the way out.
    what: String,
}

/// A rule, over all the sources at once.
type Rule = fn(&[Source]) -> Vec<Violation>;

const RULES: &[(&str, Rule)] = &[
    ("crate arrows", arrows::check),
    ("lengths and widths", lines::check),
    ("Rust files", rust::check),
    ("words and links", words::check),
    ("the study reference", reference::check),
];

const EXTENSIONS: &[&str] = &["rs", "toml", "md", "c", "h", "sh"];

/// `cargo xtask tidy`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("tidy takes no arguments, found \"{unknown}\"");
    }
    let violations = violations()?;
    for violation in &violations {
        eprintln!("{violation}");
    }
    match violations.len() {
        0 => println!("tidy: {} rules hold", RULES.len()),
        count => bail!("{count} house rules broken"),
    }
    Ok(())
}

/// Everything in the checkout that breaks a rule.
fn violations() -> Result<Vec<Violation>> {
    let sources = tree::sources(EXTENSIONS)?;
    Ok(RULES.iter().flat_map(|(_, rule)| rule(&sources)).collect())
}

impl Violation {
    fn at(source: &Source, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: source.path.clone(),
            line: Some(line),
            what: what.into(),
        }
    }

    fn of(path: &str, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_keeps_the_house_rules() {
        let violations = violations().unwrap();
        let text: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(text.is_empty(), "\n{}", text.join("\n"));
    }

    /// Runs one rule over files that are made up, and gives back what it says.
    pub(super) fn check(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        rule(&sources).iter().map(ToString::to_string).collect()
    }
}
