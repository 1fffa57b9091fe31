//! Published evidence with its right answer (`fixtures/findings`): the page opens with the right
//! finding, says what it must and nothing that it must not.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

/// The list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    evidence: Vec<Evidence>,
}

/// A piece of evidence, and what is right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Evidence {
    input: String,
    /// The finding that opens; empty where nothing is wrong. Only rules where there is none.
    first: Option<String>,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    #[serde(default)]
    says: Vec<String>,
    /// What lint finds, as RULE:LINE.
    #[serde(default)]
    rules: Vec<String>,
    /// Why the answer is not right yet.
    not_yet: Option<String>,
    #[serde(default, rename = "held")]
    _held: bool,
    #[serde(rename = "right")]
    _right: String,
    #[serde(rename = "source")]
    _source: String,
}

fn folder() -> PathBuf {
    testkit::checkout("fixtures/findings")
}

/// What the program prints of an input.
fn printed(input: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .arg(folder().join("published").join(input));
    let output = command.env("COLUMNS", "80").output();
    String::from_utf8(output.expect("the binary runs").stdout).expect("UTF-8")
}

/// The objects of a list in a line of JSON; none where there is no line.
fn listed(json: &str) -> Vec<serde_json::Value> {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    let list = value.and_then(|value| value.get("findings")?.as_array().cloned());
    list.unwrap_or_default()
}

fn word<'a>(finding: &'a serde_json::Value, key: &str) -> &'a str {
    finding
        .get(key)
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
}

impl Evidence {
    /// What is wrong with today's answer.
    fn mistakes(&self) -> Vec<String> {
        match &self.first {
            Some(first) => self.mistakes_of_inspect(first),
            None => self.mistakes_of_lint(),
        }
    }

    fn mistakes_of_inspect(&self, first: &str) -> Vec<String> {
        let text = printed(&self.input, &["inspect", "--charset", "ascii", "--all"]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let findings = listed(&printed(&self.input, &["inspect", "--json"]));
        let names: Vec<&str> = findings.iter().map(|it| word(it, "name")).collect();
        let bad = findings.iter().find(|it| word(it, "severity") != "note");
        let opens = match first {
            "" => bad.map_or("", |it| word(it, "name")),
            _ => names.first().copied().unwrap_or_default(),
        };
        let mut mistakes = Vec::new();
        if opens != first || text.is_empty() {
            mistakes.push(format!("opens with \"{opens}\", not \"{first}\""));
        }
        let lacks = self.also.iter().filter(|it| !names.contains(&it.as_str()));
        mistakes.extend(lacks.map(|it| format!("no {it}")));
        let has = |it: &&String| names.contains(&it.as_str()) || text.contains(it.as_str());
        let says = self.never.iter().filter(has);
        mistakes.extend(says.map(|it| format!("says \"{it}\"")));
        let unsaid = self.says.iter().filter(|it| !text.contains(it.as_str()));
        mistakes.extend(unsaid.map(|it| format!("does not say \"{it}\"")));
        mistakes
    }

    fn mistakes_of_lint(&self) -> Vec<String> {
        let report = printed(&self.input, &["lint", "--json"]);
        let found = listed(&report).into_iter();
        let found = found.filter(|it| word(it, "status") == "found");
        let mut found: Vec<String> = found
            .map(|it| format!("{}:{}", word(&it, "rule"), it["line"]))
            .collect();
        let mut right = self.rules.clone();
        found.sort();
        right.sort();
        match found == right && !report.is_empty() {
            true => Vec::new(),
            false => vec![format!("lint finds {found:?}, not {right:?}")],
        }
    }
}

#[test]
fn published_evidence_has_the_right_answer() {
    let text = std::fs::read_to_string(folder().join("published.toml")).expect("the list");
    let published: Published = toml::from_str(&text).expect("a list");
    assert!(published.evidence.len() >= 57);
    for it in &published.evidence {
        let mistakes = it.mistakes();
        match &it.not_yet {
            None => assert!(mistakes.is_empty(), "{}: {mistakes:#?}", it.input),
            Some(why) => {
                assert!(
                    !mistakes.is_empty(),
                    "{} is right, not_yet goes: {why}",
                    it.input
                );
            }
        }
    }
    let right = published.evidence.iter().filter(|it| it.not_yet.is_none());
    println!("{} of {} right", right.count(), published.evidence.len());
}
