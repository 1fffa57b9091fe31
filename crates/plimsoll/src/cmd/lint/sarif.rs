//! What was found, as SARIF 2.1.0: the list of all rules stands in it on a clean run too, so that a
//! reader closes what is not found any more.

use std::borrow::Cow;

use look::lint::Report;
use look::lint::report::Finding;
use look::lint::rule::Rule;
use look::lint::table::RULES;
use serde_json::{Value, json};

use super::targets::Targets;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One document.
pub(super) fn text(report: &Report, targets: &Targets) -> String {
    let results: Vec<Value> = report.findings.iter().map(result).collect();
    let rules: Vec<Value> = RULES.iter().map(descriptor).collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "plimsoll",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(report, targets),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{document}\n")
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": {"text": rule.entry().summary()},
        "fullDescription": {"text": rule.entry().first_of("Why")},
        "help": {"text": rule.entry().first_of("Instead"), "markdown": rule.page},
        "defaultConfiguration": {"level": rule.severity.word()},
    })
}

fn result(finding: &Finding) -> Value {
    let index = RULES.iter().position(|rule| rule.name == finding.rule.name);
    let mut location = json!({"artifactLocation": {"uri": uri(&finding.path)}});
    if finding.line > 0 {
        location["region"] = json!({"startLine": finding.line});
    }
    let mut result = json!({
        "ruleId": finding.rule.name,
        "ruleIndex": index,
        "level": finding.rule.severity.word(),
        "message": {"text": message(&finding.what)},
        "locations": [{"physicalLocation": location}],
    });
    if let Some(fix) = &finding.fix {
        let mut replacement = json!({"deletedRegion": {"startLine": fix.line()}});
        match fix.with() {
            Some(with) => replacement["insertedContent"] = json!({"text": with}),
            None => {
                // The line with its end.
                let region = json!({"startLine": fix.line(), "startColumn": 1,
                    "endLine": fix.line() + 1, "endColumn": 1});
                replacement["deletedRegion"] = region;
            }
        }
        result["fixes"] = json!([{
            "description": {"text": finding.rule.entry().first_of("Instead")},
            "artifactChanges": [{
                "artifactLocation": {"uri": uri(&finding.path)},
                "replacements": [replacement],
            }],
        }]);
    }
    result
}

/// What could not be read, and what could not be told for want of a fact.
fn notifications(report: &Report, targets: &Targets) -> Vec<Value> {
    let problems = targets.problems.iter().chain(&report.problems);
    let problems = problems.map(|problem| ("warning", problem.clone()));
    let unknown = report.unknown.iter().map(|unknown| {
        let (rule, path) = (unknown.rule.name, &unknown.path);
        let text = format!(
            "{path}:{}: {rule} is unknown without {}",
            unknown.line, unknown.needs
        );
        ("note", text)
    });
    let all = problems.chain(unknown);
    all.map(|(level, text)| json!({"level": level, "message": {"text": message(&text)}}))
        .collect()
}

/// A message without links: `[text](address)` would be one.
fn message(text: &str) -> Cow<'_, str> {
    match text.contains("](") {
        true => Cow::Owned(text.replace('[', "\\[").replace(']', "\\]")),
        false => Cow::Borrowed(text),
    }
}

/// A path as the reference that SARIF wants.
fn uri(path: &str) -> String {
    let relative = path.strip_prefix("./").unwrap_or(path);
    let mut uri = String::new();
    if relative.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in relative.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_file_becomes_a_link() {
        assert_eq!(message("vm.[a](http://b)"), "vm.\\[a\\](http://b)");
        assert_eq!(message("always [madvise] never"), "always [madvise] never");
    }

    #[test]
    fn a_path_is_a_reference() {
        assert_eq!(uri("./a b/c.conf"), "a%20b/c.conf");
        assert_eq!(
            uri("/etc/sysctl.d/ä#.conf"),
            "file:///etc/sysctl.d/%C3%A4%23.conf"
        );
    }
}
