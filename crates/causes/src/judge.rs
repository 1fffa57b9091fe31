//! Asks `plimsoll inspect` about a form and compares its findings with the label.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use mm::findings::{self, Kind};
use serde::Serialize;
use serde_json::Value;

use crate::forms::Form;
use crate::recipe::Label;
use crate::run::Key;
use crate::today;

/// The program that is judged.
#[derive(Clone, Debug)]
pub struct Judge {
    plimsoll: PathBuf,
}

/// What was found in one form, and what of it is right.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The cause.
    pub cause: String,
    /// The kernel's line.
    pub kernel: String,
    /// The seed.
    pub seed: u64,
    /// The form's kind.
    pub form: String,
    /// Tenths of it that were left.
    pub tenths: usize,
    /// Whether the form shows the cause.
    pub shown: bool,
    /// Whether the cause was the first finding; where it is shown.
    pub first: bool,
    /// Whether all that must be concluded was among the findings; where it is shown.
    pub among: bool,
    /// What must be concluded and was not.
    pub missed: Vec<String>,
    /// What was asserted and is false.
    pub wrong: Vec<String>,
    /// What was asserted, in its order.
    pub found: Vec<String>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Verdict {
    /// The form's kind, and whether it was cut short.
    #[must_use]
    pub fn shape(&self) -> String {
        match self.tenths {
            10 => self.form.clone(),
            _ => format!("{}, cut", self.form),
        }
    }

    /// Whether something was missed or false.
    #[must_use]
    pub fn is_miss(&self) -> bool {
        self.shown && !(self.first && self.among) || !self.wrong.is_empty()
    }
}

/// What `inspect` asserts.
#[derive(Clone, Debug, Default)]
struct Said {
    /// Names of findings.
    names: Vec<String>,
    /// The severity of each.
    severities: Vec<String>,
    /// Those that only say what the evidence does not tell.
    open: Vec<String>,
    /// Each finding's words.
    words: Vec<String>,
    /// All of it.
    text: String,
    refused: Option<String>,
}

impl Judge {
    /// Judges this program.
    #[must_use]
    pub fn new(plimsoll: &Path) -> Self {
        Self {
            plimsoll: plimsoll.to_owned(),
        }
    }

    /// What it makes of one form.
    ///
    /// # Errors
    /// That the program cannot be run, or that it died.
    pub fn judge(&self, key: &Key, form: &Form, label: &Label) -> Result<Verdict> {
        let folder = tempfile::tempdir()?;
        let said = self.ask(&form.write(folder.path())?)?;
        Ok(verdict(key, form, label, &said))
    }

    fn ask(&self, evidence: &Path) -> Result<Said> {
        let mut command = Command::new(&self.plimsoll);
        command.args(["inspect", "--json"]).arg(evidence);
        let output = command
            .output()
            .with_context(|| self.plimsoll.display().to_string())?;
        output
            .status
            .code()
            .with_context(|| format!("inspect died: {}", output.status))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(match serde_json::from_str::<Value>(&text) {
            Ok(view) => Said::of(&view, text),
            Err(_) => Said {
                refused: Some(last_line(&output.stderr)),
                ..Said::default()
            },
        })
    }
}

impl Said {
    fn of(view: &Value, text: String) -> Self {
        let findings = view["findings"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let word =
            |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        Self {
            names: findings
                .iter()
                .map(|finding| today::name(finding, view))
                .collect(),
            severities: findings
                .iter()
                .map(|finding| word(finding, "severity"))
                .collect(),
            open: findings
                .iter()
                .filter(|finding| finding["sure"] == "open")
                .map(|finding| today::name(finding, view))
                .collect(),
            words: findings.iter().map(Value::to_string).collect(),
            text,
            refused: None,
        }
    }
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().next_back().unwrap_or_default().to_owned()
}

fn verdict(key: &Key, form: &Form, label: &Label, said: &Said) -> Verdict {
    let shown = form.shows(label);
    let missed = missed(form, label, said);
    let first = said
        .names
        .first()
        .is_some_and(|name| is_one_of(&label.first, name));
    Verdict {
        cause: key.cause.clone(),
        kernel: key.kernel.clone(),
        seed: key.seed,
        form: form.kind.to_owned(),
        tenths: form.tenths,
        shown,
        first: shown && first,
        among: shown && missed.is_empty(),
        missed: if shown { missed } else { Vec::new() },
        wrong: wrong(form, label, said),
        found: said.names.clone(),
        refused: said.refused.clone(),
    }
}

fn is_one_of(names: &[String], name: &str) -> bool {
    names
        .iter()
        .flat_map(|names| names.split('|'))
        .any(|known| known == name)
}

/// What must be among the findings and is not; one of the names that may be first must be there.
fn missed(form: &Form, label: &Label, said: &Said) -> Vec<String> {
    let there = |names: &str| {
        names
            .split('|')
            .any(|name| said.names.iter().any(|it| it == name))
    };
    let heard = |words: &str| {
        let mut any = words.split('|');
        any.any(|word| said.words.iter().any(|words| words.contains(word)))
    };
    let any = (!label.is_healthy()).then(|| label.first.join("|"));
    let names = label.names.iter().chain(&any);
    let names = names
        .filter_map(|names| asked(form, label, names))
        .filter(|names| !there(names));
    let words = label
        .says
        .iter()
        .filter_map(|word| asked(form, label, word));
    let words = words.filter(|word| !heard(word));
    names.chain(words).map(str::to_owned).collect()
}

/// What is asked of a form: `log:name` only where it has a log.
fn asked<'a>(form: &Form, label: &Label, wanted: &'a str) -> Option<&'a str> {
    match wanted.split_once(':') {
        Some((word, wanted)) => form.has(word, label).then_some(wanted),
        None => Some(wanted),
    }
}

/// What is asserted and false: events and causes that the label does not have, states that it
/// denies, words that must be nowhere. On a healthy machine nothing may be more than a note. A
/// finding that the evidence does not tell is no assertion.
fn wrong(form: &Form, label: &Label, said: &Said) -> Vec<String> {
    let is_wrong = |(name, severity): (&String, &String)| {
        if said.open.contains(name) {
            return false;
        }
        let state = match findings::kind(name) {
            Some(Kind::Event | Kind::Cause) | None => return !allowed(form, label, name),
            Some(Kind::Limit) => return false,
            Some(Kind::State) => name,
        };
        let loud = label.is_healthy() && severity != "note" && !label.allows(state);
        loud || label.denied.contains(state)
    };
    let names = said
        .names
        .iter()
        .zip(&said.severities)
        .filter(|&pair| is_wrong(pair));
    let words = label
        .unsaid
        .iter()
        .filter(|words| said.text.contains(words.as_str()));
    names.map(|(name, _)| name).chain(words).cloned().collect()
}

/// A runtime's word for a kill is true of every kill, and it never tells who sent a signal; that a
/// report does not tell why it killed is true where it does not.
fn allowed(form: &Form, label: &Label, name: &str) -> bool {
    match name {
        "kill-of-container" | "signal-unexplained" => form.kind == "kubectl" || label.allows(name),
        "oom-unexplained" => is_of_a_kill(&form.holds.log) || label.allows(name),
        name => label.allows(name),
    }
}

fn is_of_a_kill(log: &str) -> bool {
    ["invoked oom-killer", "oom-kill:", "Killed process"]
        .iter()
        .any(|mark| log.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::Holds;

    fn said(names: &[&str]) -> Said {
        Said {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            severities: names.iter().map(|_| "warning".to_owned()).collect(),
            words: vec!["dentry".into()],
            ..Said::default()
        }
    }

    fn judged(label: &str, names: &[&str]) -> Verdict {
        let form = Form {
            kind: "dmesg",
            tenths: 10,
            files: vec![],
            holds: Holds {
                words: vec![],
                log: "Killed process 7".into(),
            },
        };
        let key = Key {
            cause: "x".into(),
            kernel: "6.1".into(),
            seed: 0,
        };
        verdict(&key, &form, &toml::from_str(label).unwrap(), &said(names))
    }

    const KILLED: &str = "first = [\"oom-machine\"]\nnames = [\"swap-full|zram-full\"]\n\
                          seen_in = [\"log\"]\nmarks = [\"Killed process\"]";

    #[test]
    fn the_cause_is_first_among_or_missed() {
        let right = judged(KILLED, &["oom-machine", "zram-full"]);
        assert!(right.first && right.among && right.wrong.is_empty());
        let second = judged(KILLED, &["available-low", "oom-machine", "swap-full"]);
        assert!(!second.first && second.among && second.wrong.is_empty());
        assert_eq!(
            judged(KILLED, &["oom-machine"]).missed,
            ["swap-full|zram-full"]
        );
        assert_eq!(
            judged(&format!("{KILLED}\nsays = [\"ext4\"]"), &[])
                .missed
                .last()
                .unwrap(),
            "ext4"
        );
    }

    #[test]
    fn where_the_form_does_not_show_it_only_what_is_false_counts() {
        let label = KILLED.replace("Killed process", "Killed process 9");
        let silent = judged(&label, &[]);
        assert!(!silent.shown && silent.missed.is_empty() && silent.wrong.is_empty());
        assert_eq!(judged(&label, &["group-limit"]).wrong, ["group-limit"]);
    }

    #[test]
    fn on_a_healthy_machine_a_warning_is_false() {
        assert_eq!(judged("", &["memory-pressure"]).wrong, ["memory-pressure"]);
        assert_eq!(
            judged("also = [\"memory-pressure\"]", &["memory-pressure"]).wrong,
            [""; 0]
        );
    }
}
