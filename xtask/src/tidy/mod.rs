//! The house rules as tests.
//!
//! Each rule is a pure function from sources to violations, so that the rules have tests too.

mod arrows;
mod circles;
mod edge;
mod facts;
mod lines;
mod modules;
mod paths;
mod reference;
mod rust;
mod sizes;
mod structs;
mod tokens;
mod tunables;
mod violation;
mod words;

use std::io::{self, Write};

use anyhow::{Result, bail};

use crate::tree::{self, Source};
use violation::Violation;

/// A rule, over all the sources at once.
type Rule = fn(&[Source]) -> Vec<Violation>;

const RULES: &[(&str, Rule)] = &[
    ("crate arrows", arrows::check),
    ("circles of files", circles::check),
    ("methods of a struct", structs::check),
    ("what one place does", edge::check),
    ("lengths and widths", lines::check),
    ("Rust files", rust::check),
    ("paths of tunables", tunables::check),
    ("no defaults for facts", facts::check),
    ("words and links", words::check),
    ("paths that prose names", paths::check),
    ("the study reference", reference::check),
];

const EXTENSIONS: &[&str] = &["rs", "toml", "md", "c", "h", "sh"];

/// `cargo xtask tidy`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let sources = tree::sources(EXTENSIONS)?;
    match arguments {
        [] => keep(&sources),
        [circles] if circles == "--circles" => {
            let circles = circles::all(&sources);
            let text: String = circles.iter().map(|circle| format!("{circle}\n")).collect();
            show(&mut io::stdout(), &text)
        }
        _ => bail!(
            "expected --circles or nothing, found \"{}\"",
            arguments.join(" ")
        ),
    }
}

fn keep(sources: &[Source]) -> Result<()> {
    let violations = violations(sources);
    let broken: String = violations.iter().map(|it| format!("{it}\n")).collect();
    show(&mut io::stderr(), &broken)?;
    if !violations.is_empty() {
        bail!("{} house rules broken", violations.len());
    }
    let mut text = format!(
        "tidy: {} rules hold\n{}",
        RULES.len(),
        sizes::table(sources)
    );
    if let Some(circle) = circles::all(sources).first() {
        text.push_str(&format!("{}\n", circle.summary()));
    }
    if let Some(largest) = structs::largest(sources) {
        text.push_str(&format!("{largest}\n"));
    }
    show(&mut io::stdout(), &text)
}

/// Writes a text; a reader that has gone, as `head` does, wants no more of it.
fn show(out: &mut impl Write, text: &str) -> Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Everything in the checkout that breaks a rule.
fn violations(sources: &[Source]) -> Vec<Violation> {
    RULES.iter().flat_map(|(_, rule)| rule(sources)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_keeps_the_house_rules() {
        let violations = violations(&tree::sources(EXTENSIONS).unwrap());
        let text: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(text.is_empty(), "\n{}", text.join("\n"));
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error() {
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        show(&mut writer, "text").unwrap();
        show(&mut [0_u8; 2].as_mut_slice(), "text").unwrap_err();
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
