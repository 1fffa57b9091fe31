//! The worst finding in one line, as node-problem-detector shows it.

use look::lint::Report;
use mm::text::{counted, harmless, one_line};

/// Bytes of the line; node-problem-detector shows no more of it.
const LONGEST: usize = 80;

/// The line.
pub(super) fn text(report: &Report) -> String {
    // Of those that are equally bad the first.
    let worst = report.findings.iter().rev();
    let Some(worst) = worst.max_by_key(|finding| finding.rule.severity) else {
        return format!(
            "nothing found in {}\n",
            counted(report.settings as u64, "setting")
        );
    };
    let where_it_is = match worst.source.as_str() {
        "" => &worst.path,
        source => source,
    };
    let more = match report.findings.len() - 1 {
        0 => String::new(),
        more => format!(" (+{more})"),
    };
    let (severity, rule) = (worst.rule.severity.word(), worst.rule.name);
    let line = harmless(&format!("{severity} {rule}: {}", one_line(where_it_is))).into_owned();
    cut(&line, LONGEST - more.len()) + &more + "\n"
}

/// A text of at most this many bytes; dots stand for what is cut off.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most - 3);
    format!("{}...", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use look::lint::Severity;
    use look::lint::report::Finding;
    use look::lint::table::RULES;

    fn finding(severity: Severity, source: &str) -> Finding {
        let mut rules = RULES.iter();
        Finding {
            rule: rules
                .find(|rule| rule.severity == severity)
                .expect("a rule"),
            path: "etc/sysctl.d/9.conf".to_owned(),
            line: 1,
            source: source.to_owned(),
            what: String::new(),
            fix: None,
        }
    }

    #[test]
    fn the_line_has_the_worst_finding_and_fits() {
        let mut report = Report {
            settings: 1,
            ..Report::default()
        };
        assert_eq!(text(&report), "nothing found in 1 setting\n");
        let source = format!("vm.dirty_ratio = {}\u{1b}", "\u{e4}".repeat(80));
        report.findings = vec![
            finding(Severity::Note, "a"),
            finding(Severity::Error, &source),
            finding(Severity::Error, "b"),
        ];
        let line = text(&report);
        let name = report.findings[1].rule.name;
        assert!(
            line.starts_with(&format!("error {name}: vm.dirty_ratio = \u{e4}")),
            "{line}"
        );
        assert!(
            line.ends_with("... (+2)\n") && line.len() <= LONGEST + 1,
            "{line}"
        );
        report.findings = vec![finding(Severity::Warning, "")];
        assert!(text(&report).ends_with(": etc/sysctl.d/9.conf\n"));
    }
}
