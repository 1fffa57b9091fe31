//! What is concluded has no default for a fact: what is not there is not said.

use super::violation::Violation;
use crate::tree::Source;

/// Where conclusions are drawn.
const LOOK: &str = "crates/look/src/";

/// Not there: a rule of lint is asked of a setting, which is there, and texts are no facts.
const APART: [&str; 4] = ["lint/", "pages.rs", "style.rs", "fact.rs"];

/// What puts a value in the place of a fact.
const CALLS: [&str; 3] = ["unwrap_or_default()", "unwrap_or(", "map_or("];

/// What stands for a fact.
const DEFAULTS: [&str; 5] = ["0", "0.0", "1", "false", "100"];

/// The rule: outside tests no fact has a default there. An empty phrase is none.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let concludes = |path: &str| {
        let path = path.strip_prefix(LOOK);
        path.is_some_and(|path| !APART.iter().any(|apart| path.starts_with(apart)))
    };
    sources
        .iter()
        .filter(|source| source.is_rust() && concludes(&source.path))
        .flat_map(|source| {
            let code: Vec<&str> = source.text.lines().take(source.tests_begin()).collect();
            let next = |at: usize| code.get(at + 1).copied().unwrap_or("");
            let found = code.iter().enumerate();
            let found = found.filter(|(at, line)| has_default(line, next(*at)));
            let what = "a default stands for a fact: say it of what is there, or not at all";
            let found: Vec<usize> = found.map(|(at, _)| at + 1).collect();
            found
                .into_iter()
                .map(move |at| Violation::at(source, at, what))
        })
        .collect()
}

/// Of a call that is broken after its parenthesis the next line has the argument.
fn has_default(line: &str, next: &str) -> bool {
    let code = match line.ends_with('(') {
        true => line.trim().to_owned() + next.trim(),
        false => line.trim().to_owned(),
    };
    let default = |call: &&str| match code.split_once(*call) {
        Some((_, rest)) => call.ends_with("default()") || stands(rest),
        None => false,
    };
    !code.starts_with("//") && CALLS.iter().any(default)
}

/// Whether an argument stands for a fact.
fn stands(rest: &str) -> bool {
    let end = rest.find([',', ')']).unwrap_or(rest.len());
    let first = &rest[..end];
    DEFAULTS.contains(&first) || first.ends_with("ZERO") || first.ends_with("(0")
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    #[test]
    fn a_default_in_look_is_found_and_elsewhere_and_in_tests_it_is_let_be() {
        let view = format!("{LOOK}swap.rs");
        for code in [
            "let a = b.unwrap_or(0);",
            "let a = b.unwrap_or_default();",
            "let a = b.unwrap_or(Kib::ZERO);",
            "let a = b.map_or(0, |b| b.0);",
            "let a = b.map_or(\n    0, |b| b.0,\n);",
            "let a = b.unwrap_or(Pages(0));",
        ] {
            assert_eq!(run(check, &[(&view, code)]).len(), 1, "{code}");
            assert_eq!(run(check, &[("crates/mm/src/a.rs", code)]), [""; 0]);
            let test = format!("#[cfg(test)]\n{code}\n");
            assert_eq!(run(check, &[(&view, &test)]), [""; 0]);
        }
        for code in ["let a = b.unwrap_or(\"\");", "// b.unwrap_or(0)"] {
            assert_eq!(run(check, &[(&view, code)]), [""; 0], "{code}");
        }
    }
}
