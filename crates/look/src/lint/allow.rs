//! What a text allows: `# plimsoll: allow(NAME) REASON`.
//!
//! It is for the next line that is neither empty nor a comment. In the comments that a text begins
//! with it is for the whole text, where an empty line stands between them and the first setting.

use std::collections::{BTreeMap, BTreeSet};

use mm::suggest;

use super::choice::Choice;
use super::rule::{At, Rule};
use super::scope::Scope;
use super::table;
use super::text::Text;

/// Every allowance of a scope, and which of them were needed.
#[derive(Debug, Default)]
pub(super) struct Allowances {
    all: Vec<Allowance>,
    /// Whether one that is for a place and a rule gives a reason.
    reasons: BTreeMap<Key, bool>,
    /// The places and rules for which one was needed.
    used: BTreeSet<Key>,
}

/// A text, what of it is meant, and the name of a rule.
type Key = (usize, Target, String);

/// What an allowance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// The whole text.
    Text,
    /// A line, from 1.
    Line(usize),
    /// Nothing: no line follows.
    Nothing,
}

/// A comment that allows a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Allowance {
    text: usize,
    /// The line it stands on, from 1.
    line: usize,
    target: Target,
    name: String,
    has_reason: bool,
}

impl Allowances {
    /// Those of the scope's texts.
    pub(super) fn of(scope: &Scope<'_>) -> Self {
        let texts = scope.texts.iter().enumerate();
        let all = texts.flat_map(|(index, text)| in_text(index, text));
        let mut allowances = Self {
            all: all.collect(),
            ..Self::default()
        };
        for allowance in &allowances.all {
            let reason = allowances.reasons.entry(allowance.key()).or_default();
            *reason |= allowance.has_reason;
        }
        allowances
    }

    /// Whether what a rule says is allowed; what allows it then counts as needed.
    pub(super) fn cover(&mut self, rule: &Rule, at: &At) -> bool {
        let mut covered = false;
        for target in [Target::Text, Target::Line(at.line)] {
            let key = (at.text, target, rule.name.to_owned());
            if let Some(&has_reason) = self.reasons.get(&key) {
                covered |= has_reason && at.said.is_ok();
                self.used.insert(key);
            }
        }
        covered
    }

    /// What is wrong with the allowances themselves.
    pub(super) fn wrong(&self, choice: &Choice) -> Vec<(&'static Rule, At)> {
        let wrong = self.all.iter().filter_map(|allowance| {
            let is_used = self.used.contains(&allowance.key());
            let (name, what) = allowance.fault(choice, is_used)?;
            let at = At {
                text: allowance.text,
                line: allowance.line,
                said: Ok(what.into()),
            };
            Some((table::find(name)?, at))
        });
        wrong.collect()
    }
}

impl Allowance {
    fn key(&self) -> Key {
        (self.text, self.target, self.name.clone())
    }

    fn fault(&self, choice: &Choice, is_used: bool) -> Option<(&'static str, String)> {
        let name = &self.name;
        let Some(rule) = table::find(name) else {
            let near = suggest::nearest(name, table::names());
            let meant = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return Some(("allow-unknown", format!("no rule is named {name}{meant}")));
        };
        if !self.has_reason {
            let what = format!("allow({name}) gives no reason, so it allows nothing");
            return Some(("allow-without-reason", what));
        }
        let place = match self.target {
            Target::Text => "this file".to_owned(),
            Target::Line(line) => format!("line {line}"),
            Target::Nothing => "what follows: nothing does".to_owned(),
        };
        (!is_used && choice.has(rule))
            .then(|| ("allow-unused", format!("{name} finds nothing in {place}")))
    }
}

fn in_text(index: usize, text: &Text) -> Vec<Allowance> {
    if !text.text.contains("plimsoll:") {
        return Vec::new();
    }
    let lines = 1..=text.lines();
    let line = |number| text.line(number).trim();
    let head = lines.clone().find(|&number| !is_comment(line(number)));
    // The comments of the head are for the text where an empty line ends them.
    let head = head.filter(|&number| line(number).is_empty()).unwrap_or(0);
    let (mut next, mut found) = (Target::Nothing, Vec::new());
    for number in lines.rev() {
        let target = if number < head { Target::Text } else { next };
        let (names, reason) = allowed(line(number)).unwrap_or_default();
        found.extend(names.into_iter().rev().map(|name| Allowance {
            text: index,
            line: number,
            target,
            name: name.to_owned(),
            has_reason: !reason.is_empty(),
        }));
        if !line(number).is_empty() && !is_comment(line(number)) {
            next = Target::Line(number);
        }
    }
    found.reverse();
    found
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', ';'])
}

/// The names and the reason of a comment that allows.
fn allowed(line: &str) -> Option<(Vec<&str>, &str)> {
    let comment = line
        .strip_prefix(['#', ';'])?
        .trim_start_matches(['#', ';']);
    let rest = comment.trim().strip_prefix("plimsoll:")?.trim_start();
    let (names, reason) = rest.strip_prefix("allow(")?.split_once(')')?;
    Some((names.split(',').map(str::trim).collect(), reason.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::read::Form;

    fn allowances(text: &str) -> Vec<(usize, Target, String, bool)> {
        let text = Text::new("a", text, Form::Sysctl);
        let of = |a: Allowance| (a.line, a.target, a.name, a.has_reason);
        in_text(0, &text).into_iter().map(of).collect()
    }

    fn one(line: usize, target: Target, name: &str) -> (usize, Target, String, bool) {
        (line, target, name.to_owned(), true)
    }

    #[test]
    fn it_is_for_the_next_line_that_is_no_comment() {
        let text = "vm.a = 1\n# plimsoll: allow(x) why\n# more\n\nvm.b = 1\n";
        assert_eq!(allowances(text), [one(2, Target::Line(5), "x")]);
        let first = "# plimsoll: allow(x) why\nvm.b = 1\n";
        assert_eq!(allowances(first), [one(1, Target::Line(2), "x")]);
    }

    #[test]
    fn at_the_head_with_an_empty_line_behind_it_is_for_the_text() {
        let text = "# About\n# plimsoll: allow(x, y) why\n\nvm.b = 1\n";
        let both = [one(2, Target::Text, "x"), one(2, Target::Text, "y")];
        assert_eq!(allowances(text), both);
    }

    #[test]
    fn without_a_reason_it_says_so_and_at_the_end_it_is_for_nothing() {
        let end = allowances("vm.b = 1\n;plimsoll:allow(x)");
        assert_eq!(end, [(2, Target::Nothing, "x".to_owned(), false)]);
        assert!(allowances("# plimsoll allow(x) y\n# allow(x)\nplimsoll: allow(x) y").is_empty());
    }
}
