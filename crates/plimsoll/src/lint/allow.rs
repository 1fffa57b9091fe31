//! What a text allows: `# plimsoll: allow(NAME) REASON`.
//!
//! It is for the next line that is neither empty nor a comment. In the comments that a text begins
//! with it is for the whole text, where an empty line stands between them and the first setting.

use mm::suggest;

use super::report::Choice;
use super::rule::{At, Rule};
use super::scope::{Scope, Text};
use super::table;

/// A comment that allows a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    text: usize,
    /// The line it stands on, from 1.
    line: usize,
    /// The line it is for; `None` for the whole text.
    target: Option<usize>,
    name: String,
    has_reason: bool,
    is_used: bool,
}

/// Every allowance of the texts.
pub(super) fn of(scope: &Scope<'_>) -> Vec<Allowance> {
    let texts = scope.texts.iter().enumerate();
    texts
        .flat_map(|(index, text)| in_text(index, text))
        .collect()
}

/// Whether what a rule says is allowed; the allowance then counts as used.
pub(super) fn covers(allowances: &mut [Allowance], rule: &Rule, at: &At) -> bool {
    let mut covered = false;
    for allowance in allowances.iter_mut() {
        let there = allowance.target.is_none_or(|line| line == at.line);
        if allowance.text == at.text && there && allowance.name == rule.name {
            allowance.is_used = true;
            covered |= allowance.has_reason && at.said.is_ok();
        }
    }
    covered
}

/// What is wrong with the allowances themselves.
pub(super) fn wrong(allowances: &[Allowance], choice: &Choice) -> Vec<(&'static Rule, At)> {
    allowances
        .iter()
        .filter_map(|allowance| {
            let (name, what) = allowance.fault(choice)?;
            let at = At {
                text: allowance.text,
                line: allowance.line,
                said: Ok(what.into()),
            };
            Some((table::find(name)?, at))
        })
        .collect()
}

impl Allowance {
    fn fault(&self, choice: &Choice) -> Option<(&'static str, String)> {
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
            Some(line) => format!("line {line}"),
            None => "this file".to_owned(),
        };
        (!self.is_used && choice.has(rule))
            .then(|| ("allow-unused", format!("{name} finds nothing in {place}")))
    }
}

fn in_text(index: usize, text: &Text) -> Vec<Allowance> {
    if !text.text.contains("plimsoll:") {
        return Vec::new();
    }
    let lines: Vec<&str> = text.text.lines().map(str::trim).collect();
    let head = lines.iter().position(|line| !is_comment(line));
    // The comments of the head are for the text where an empty line ends them.
    let head = head.filter(|&at| lines[at].is_empty()).unwrap_or(0);
    let allowed = lines.iter().enumerate().flat_map(|(at, line)| {
        let (names, reason) = allowed(line).unwrap_or_default();
        let behind = lines[at + 1..]
            .iter()
            .position(|line| !line.is_empty() && !is_comment(line));
        names.into_iter().map(move |name| Allowance {
            text: index,
            line: at + 1,
            target: (at >= head).then(|| behind.map_or(0, |behind| at + behind + 2)),
            name: name.to_owned(),
            has_reason: !reason.is_empty(),
            is_used: false,
        })
    });
    allowed.collect()
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

    fn allowances(text: &str) -> Vec<(usize, Option<usize>, String, bool)> {
        let text = Text {
            path: "a".to_owned(),
            text: text.to_owned(),
            form: Form::Sysctl,
            is_read: true,
        };
        let of = |a: Allowance| (a.line, a.target, a.name, a.has_reason);
        in_text(0, &text).into_iter().map(of).collect()
    }

    #[test]
    fn it_is_for_the_next_line_that_is_no_comment() {
        let text = "vm.a = 1\n# plimsoll: allow(x) why\n# more\n\nvm.b = 1\n";
        assert_eq!(allowances(text), [(2, Some(5), "x".to_owned(), true)]);
        let first = "# plimsoll: allow(x) why\nvm.b = 1\n";
        assert_eq!(allowances(first), [(1, Some(2), "x".to_owned(), true)]);
    }

    #[test]
    fn at_the_head_with_an_empty_line_behind_it_is_for_the_text() {
        let text = "# About\n# plimsoll: allow(x, y) why\n\nvm.b = 1\n";
        let expected = [
            (2, None, "x".to_owned(), true),
            (2, None, "y".to_owned(), true),
        ];
        assert_eq!(allowances(text), expected);
    }

    #[test]
    fn without_a_reason_it_says_so_and_at_the_end_it_is_for_no_line() {
        let text = "vm.b = 1\n;plimsoll:allow(x)";
        assert_eq!(allowances(text), [(2, Some(0), "x".to_owned(), false)]);
        assert!(allowances("# plimsoll allow(x) y\n# allow(x)\nplimsoll: allow(x) y").is_empty());
    }
}
