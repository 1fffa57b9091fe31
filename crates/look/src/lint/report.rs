//! Every rule asked of every scope, and what came of it.

use super::allow::Allowances;
use super::choice::Choice;
use super::fix::Fix;
use super::read::Form;
use super::rule::{At, Check, Rule, Said, Severity};
use super::scope::Scope;
use super::setting::Setting;
use super::table::RULES;
use crate::fact::Missing;

/// What a rule finds in a text.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that says it.
    pub rule: &'static Rule,
    /// The text's path.
    pub path: String,
    /// The line, from 1; 0 for the text as a whole.
    pub line: usize,
    /// What stands there; empty for the text as a whole.
    pub source: String,
    /// What is the case, with its numbers.
    pub what: String,
    /// A change that is certain to be right.
    pub fix: Option<Fix>,
}

/// What a rule could not tell.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// The rule that says it.
    pub rule: &'static Rule,
    /// The text's path.
    pub path: String,
    /// The line, from 1; 0 for the text as a whole.
    pub line: usize,
    /// The fact that is missing.
    pub needs: &'static str,
}

/// What all rules say of all scopes.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order of texts and lines, of one line the worst first.
    pub findings: Vec<Finding>,
    /// In the same order.
    pub unknown: Vec<Unknown>,
    /// Texts that were read.
    pub texts: usize,
    /// Settings that they hold.
    pub settings: usize,
    /// What could not be read, one line each.
    pub problems: Vec<String>,
}

impl Report {
    /// Asks the chosen rules of every scope.
    pub fn of(scopes: &[Scope<'_>], choice: &Choice) -> Self {
        let mut report = Self::default();
        for scope in scopes {
            let mut of_scope = asked(scope, choice);
            of_scope.sort_by_key(|(rule, at)| (at.text, at.line, std::cmp::Reverse(rule.severity)));
            report.texts += scope.texts.len();
            report.settings += scope.settings.len();
            report.problems.extend(scope.breaks_off.iter().map(|line| {
                let path = &scope.texts[line.text].path;
                format!(
                    "{path}:{}: not read from here on: {}",
                    line.number, line.what
                )
            }));
            for (rule, at) in of_scope {
                report.add(scope, rule, at);
            }
        }
        report
    }

    fn add(&mut self, scope: &Scope<'_>, rule: &'static Rule, at: At) {
        let text = &scope.texts[at.text];
        let (path, line) = (text.path.clone(), at.line);
        let source = match text.form {
            Form::Live => text.line(1),
            _ => text.line(line),
        };
        let source = source.trim().to_owned();
        match at.said {
            Ok(Said { what, fix }) => self.findings.push(Finding {
                rule,
                path,
                line,
                source,
                what,
                fix: fix.filter(|fix| fix.fits(text.form)),
            }),
            Err(Missing(needs)) => self.unknown.push(Unknown {
                rule,
                path,
                line,
                needs,
            }),
        }
    }

    /// Findings of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let of = |finding: &&Finding| finding.rule.severity == severity;
        self.findings.iter().filter(of).count()
    }

    /// Whether nothing is as bad as this.
    pub fn is_better_than(&self, severity: Severity) -> bool {
        let mut findings = self.findings.iter();
        !findings.any(|finding| finding.rule.severity >= severity)
    }
}

/// What the chosen rules say of a scope, without what its texts allow, and what is wrong with these
/// allowances.
fn asked(scope: &Scope<'_>, choice: &Choice) -> Vec<(&'static Rule, At)> {
    let all = RULES.iter().flat_map(|rule| {
        let said = said(rule, scope);
        said.into_iter().map(move |at| (rule, at))
    });
    let mut all: Vec<(&'static Rule, At)> = all.collect();
    let mut allowances = Allowances::of(scope);
    all.retain(|(rule, at)| !allowances.cover(rule, at));
    all.extend(allowances.wrong(choice));
    all.retain(|(rule, _)| choice.has(rule));
    all
}

fn said(rule: &'static Rule, scope: &Scope<'_>) -> Vec<At> {
    match rule.check {
        Check::Standing(names, check) => {
            let standing = scope.settings.iter().filter(|setting| setting.stands);
            let asked = standing.filter(|setting| names.contains(&setting.name.as_str()));
            asked
                .filter_map(|setting| at(setting, check(setting, scope)))
                .collect()
        }
        Check::Each(check) => {
            let settings = scope.settings.iter();
            settings
                .filter_map(|setting| at(setting, check(setting, scope)))
                .collect()
        }
        Check::Whole(check) => check(scope),
        Check::Allowances => Vec::new(),
    }
}

fn at(setting: &Setting, answer: super::rule::Answer) -> Option<At> {
    Some(At {
        text: setting.text,
        line: setting.line,
        said: answer.transpose()?,
    })
}
