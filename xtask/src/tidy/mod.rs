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
            circles.iter().for_each(|circle| println!("{circle}"));
            Ok(())
        }
        _ => bail!(
            "expected --circles or nothing, found \"{}\"",
            arguments.join(" ")
        ),
    }
}

fn keep(sources: &[Source]) -> Result<()> {
    let violations = violations(sources);
    for violation in &violations {
        eprintln!("{violation}");
    }
    if !violations.is_empty() {
        bail!("{} house rules broken", violations.len());
    }
    println!("tidy: {} rules hold", RULES.len());
    print!("{}", sizes::table(sources));
    if let Some(circle) = circles::all(sources).first() {
        println!("{}", circle.summary());
    }
    if let Some(largest) = structs::largest(sources) {
        println!("{largest}");
    }
    Ok(())
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
