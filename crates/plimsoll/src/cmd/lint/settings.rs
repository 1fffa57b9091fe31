//! `plimsoll.toml`: which rules are asked, and what makes the exit code 1. What stands on the
//! command line comes before it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;
use mm::suggest;
use toml::{Spanned, Value};

use crate::lint::{Choice, Severity, table};

use super::explain;

/// The file, in the directory that lint is run in.
const FILE: &str = "plimsoll.toml";

/// The keys of its table `lint`.
const KEYS: [&str; 3] = ["select", "ignore", "fail-on"];

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The rules.
    pub(super) choice: Choice,
    /// The severity from which on the exit code is 1.
    pub(super) fail_on: Option<Severity>,
}

/// Reads the file; nothing where there is none.
///
/// # Errors
/// The line of what is not known.
pub(super) fn read() -> anyhow::Result<Settings> {
    match fs::read_to_string(Path::new(FILE)) {
        Ok(text) => parse(&text).with_context(|| FILE.to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(error).with_context(|| format!("{FILE}: cannot be read")),
    }
}

fn parse(text: &str) -> anyhow::Result<Settings> {
    let document: BTreeMap<Spanned<String>, Spanned<Value>> = toml::from_str(text)?;
    if let Some(other) = document.keys().find(|name| name.get_ref() != "lint") {
        let (name, at) = (other.get_ref(), line(text, other.span().start));
        bail!("line {at}: there is no {name}; there is the table [lint]");
    }
    let tables: BTreeMap<String, BTreeMap<Spanned<String>, Value>> = toml::from_str(text)?;
    let mut settings = Settings::default();
    for (key, value) in tables.get("lint").into_iter().flatten() {
        let at = line(text, key.span().start);
        let taken = settings.take(key.get_ref(), value);
        taken.with_context(|| format!("line {at}"))?;
    }
    Ok(settings)
}

impl Settings {
    fn take(&mut self, key: &str, value: &Value) -> anyhow::Result<()> {
        match key {
            "select" => self.choice.select = rules(value)?,
            "ignore" => self.choice.ignore = rules(value)?,
            "fail-on" => self.fail_on = Some(severity(value)?),
            _ => match suggest::nearest(key, KEYS) {
                Some(near) => bail!("there is no key {key}; did you mean {near}?"),
                None => bail!("there is no key {key}; there is {}", KEYS.join(", ")),
            },
        }
        Ok(())
    }
}

fn rules(value: &Value) -> anyhow::Result<Vec<&'static str>> {
    let names = value.as_array().context("expected a list of rules")?;
    let rule = |name: &Value| {
        let name = name.as_str().context("expected a list of rules")?;
        let found = table::find(name).map(|rule| rule.name);
        found.ok_or_else(|| explain::no_rule(name))
    };
    names.iter().map(rule).collect()
}

fn severity(value: &Value) -> anyhow::Result<Severity> {
    let word = value.as_str().unwrap_or_default();
    Severity::from_str(word, false).map_err(|_| anyhow::anyhow!("expected error, warning or note"))
}

/// The line of an offset, from 1.
fn line(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_keys_are_taken() {
        let text = "[lint]\nselect = [\"dirty-pair\"]\nignore = []\nfail-on = \"error\"\n";
        let settings = parse(text).expect("it is right");
        assert_eq!(settings.choice.select, ["dirty-pair"]);
        assert_eq!(settings.fail_on, Some(Severity::Error));
        assert!(parse("").expect("it is right").choice.ignore.is_empty());
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_the_way_out() {
        let rows = [
            ("[lint]\n\nselct = []\n", "line 3", "select"),
            (
                "[lint]\nselect = [\"dirty-pare\"]\n",
                "line 2",
                "dirty-pair",
            ),
            ("[lint]\nfail-on = \"bad\"\n", "line 2", "warning"),
            ("[lint]\nignore = 5\n", "line 2", "list"),
            ("\n[linter]\n", "line 2", "[lint]"),
            ("[lint\n", "", ""),
        ];
        for (text, at, way_out) in rows {
            let error = format!("{:#}", parse(text).expect_err(text));
            assert!(error.contains(at) && error.contains(way_out), "{error}");
        }
    }
}
