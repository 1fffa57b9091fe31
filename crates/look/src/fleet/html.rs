//! All hosts together, as a page that needs nothing beside it.

use std::fmt::{Display, Write as _};

use mm::html::Escaped;
use mm::text::harmless;

use super::document::{Document, Found};

const HEAD: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" ",
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    "<title>Hosts</title>\n<style>\n",
    include_str!("style.css"),
    "</style>\n</head>\n<body>\n<main>\n",
);

impl Document<'_> {
    /// The page; it loads nothing and runs no script.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = format!("{HEAD}<h1>{}</h1>\n", shown(self.answer()));
        for (name, kinds) in [
            ("Kernel rules of", &self.kernel_rules),
            ("Memory up to", &self.memory),
        ] {
            let kinds = kinds
                .iter()
                .map(|kind| format!("{} ({})", kind.is, kind.hosts));
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            say(&mut page, format_args!("<p>{name}: {}</p>\n", shown(kinds)));
        }
        self.found(&mut page, "What inspect finds", "finding", &self.findings);
        self.found(&mut page, "What lint finds", "rule", &self.lint);
        self.differing(&mut page);
        self.unread(&mut page);
        page + "</main>\n</body>\n</html>\n"
    }

    fn found(&self, page: &mut String, title: &str, what: &str, list: &[Found<'_>]) {
        table(
            page,
            title,
            &["severity", what, "on the first of them", "hosts"],
        );
        for it in list {
            let word = it.severity;
            row(
                page,
                &[
                    format!("<span class=\"{word}\">{word}</span>"),
                    shown(it.rule),
                    shown(it.what),
                    hosts(&it.hosts, self.hosts),
                ],
            );
        }
        end(page);
    }

    fn differing(&self, page: &mut String) {
        table(
            page,
            "Who differs",
            &["from what others share", "means", "hosts"],
        );
        for it in &self.outliers {
            row(
                page,
                &[
                    shown(it.sentence()),
                    shown(&it.means),
                    hosts(&it.hosts, it.of),
                ],
            );
        }
        end(page);
    }

    fn unread(&self, page: &mut String) {
        if self.not_read.is_empty() {
            return;
        }
        table(page, "Not read", &["evidence", "why"]);
        for it in &self.not_read {
            row(page, &[it.path, it.why].map(shown));
        }
        end(page);
    }
}

fn table(page: &mut String, title: &str, columns: &[&str]) {
    say(page, format_args!("<h2>{title}</h2>\n<table>\n<thead><tr>"));
    for column in columns {
        say(page, format_args!("<th scope=\"col\">{column}</th>"));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

fn row(page: &mut String, cells: &[String]) {
    page.push_str("<tr>");
    for cell in cells {
        say(page, format_args!("<td>{cell}</td>"));
    }
    page.push_str("</tr>\n");
}

fn end(page: &mut String) {
    page.push_str("</tbody>\n</table>\n");
}

/// How many, and behind it which.
fn hosts(hosts: &[&str], of: usize) -> String {
    let names = shown(hosts.join(", "));
    format!(
        "<details><summary>{} of {of}</summary>{names}</details>",
        hosts.len()
    )
}

/// A text of the evidence: no markup, and nothing that acts.
fn shown(text: impl Display) -> String {
    let text = text.to_string();
    Escaped(harmless(&text)).to_string()
}

fn say(page: &mut String, what: std::fmt::Arguments<'_>) {
    page.write_fmt(what).expect("a string takes it");
}
