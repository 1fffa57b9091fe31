//! The table `lint` of plimsoll.toml: which rules are asked, and what makes the exit code 1.

use std::collections::BTreeMap;
use std::fmt;

use mm::suggest;
use toml::{Spanned, Value};

use super::choice::Choice;
use super::rule::Severity;

/// The keys of the table.
const KEYS: [&str; 3] = ["select", "ignore", "fail-on"];

/// What the text says.
#[derive(Debug, Default)]
pub struct Settings {
    /// The rules.
    pub choice: Choice,
    /// The severity from which on the exit code is 1.
    pub fail_on: Option<Severity>,
}

/// Why a text is none of these. It names the line, and does not show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// Where, from 1.
    pub line: usize,
    /// Why, with the way out.
    pub what: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Reads a text.
    ///
    /// # Errors
    /// The line of what is not known.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let at = |offset: usize, what: String| SettingsError {
            line: line(text, offset),
            what,
        };
        let document: BTreeMap<Spanned<String>, Spanned<Value>> = toml(text)?;
        if let Some(other) = document.keys().find(|name| name.get_ref() != "lint") {
            let what = format!("there is no {}; there is the table [lint]", other.get_ref());
            return Err(at(other.span().start, what));
        }
        let tables: BTreeMap<String, BTreeMap<Spanned<String>, Value>> = toml(text)?;
        let mut settings = Self::default();
        for (key, value) in tables.get("lint").into_iter().flatten() {
            let taken = settings.take(key.get_ref(), value);
            taken.map_err(|what| at(key.span().start, what))?;
        }
        Ok(settings)
    }

    fn take(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "select" => self.choice.select = rules(value)?,
            "ignore" => self.choice.ignore = rules(value)?,
            "fail-on" => self.fail_on = Some(severity(value)?),
            _ => return Err(unknown(key)),
        }
        Ok(())
    }
}

fn unknown(key: &str) -> String {
    match suggest::nearest(key, KEYS) {
        Some(near) => format!("there is no key {key}; did you mean {near}?"),
        None => format!("there is no key {key}; there is {}", KEYS.join(", ")),
    }
}

/// Reads TOML.
fn toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, SettingsError> {
    toml::from_str(text).map_err(|error| SettingsError {
        line: line(text, error.span().map_or(0, |span| span.start)),
        what: error.message().to_owned(),
    })
}

fn rules(value: &Value) -> Result<Vec<&'static str>, String> {
    const EXPECTED: &str = "expected a list of rules";
    let names = value.as_array().ok_or(EXPECTED)?;
    let rule = |name: &Value| Choice::rule(name.as_str().ok_or(EXPECTED)?);
    names.iter().map(rule).collect()
}

fn severity(value: &Value) -> Result<Severity, String> {
    let found = value.as_str().and_then(Severity::of_word);
    found.ok_or_else(|| "expected error, warning or note".to_owned())
}

/// The line of an offset, from 1.
fn line(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    before.filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_does_not_show_the_file() {
        for text in ["root:$6$secret\n", "a = [[[secret\n", "[lint]\nsecret"] {
            let error = Settings::parse(text).expect_err(text).to_string();
            assert!(
                error.starts_with("line ") && !error.contains("secret"),
                "{error}"
            );
        }
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(Settings::parse(&deep).expect_err("deep").to_string().len() < 1000);
    }

    #[test]
    fn three_keys_are_taken() {
        let text = "[lint]\nselect = [\"dirty-pair\"]\nignore = []\nfail-on = \"error\"\n";
        let settings = Settings::parse(text).expect("it is right");
        assert_eq!(settings.choice.select, ["dirty-pair"]);
        assert_eq!(settings.fail_on, Some(Severity::Error));
        assert!(
            Settings::parse("")
                .expect("it is right")
                .choice
                .ignore
                .is_empty()
        );
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
            let error = Settings::parse(text).expect_err(text).to_string();
            assert!(error.contains(at) && error.contains(way_out), "{error}");
        }
    }
}
