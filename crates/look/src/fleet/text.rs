//! All hosts together, as text for a terminal.

use super::document::{Differs, Document, Found, Kind};
use crate::page::{Canvas, Page};

/// Hosts that are named behind a rule.
const NAMED: usize = 5;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Of each list the first rows, and of hosts the first names.
    Screen,
    /// Everything.
    All,
}

impl Extent {
    fn rows(self) -> usize {
        match self {
            Self::Screen => 8,
            Self::All => usize::MAX,
        }
    }

    fn names(self) -> usize {
        match self {
            Self::Screen => NAMED,
            Self::All => usize::MAX,
        }
    }
}

impl Document<'_> {
    /// The page.
    #[must_use]
    pub fn text(&self, extent: Extent, canvas: Canvas) -> String {
        let mut page = Page::new(canvas);
        page.title(&self.answer());
        self.write_kinds(&mut page);
        self.write_found("What inspect finds", &self.findings, extent, &mut page);
        self.write_found("What lint finds", &self.lint, extent, &mut page);
        self.write_outliers(extent, &mut page);
        self.write_not_read(extent, &mut page);
        page.into_text()
    }

    /// In one sentence.
    pub(super) fn answer(&self) -> String {
        let some = |number: usize, one: &str, more: &str| match number {
            1 => format!("1 {one}"),
            number => format!("{number} {more}"),
        };
        let not_read = match self.not_read.len() {
            0 => String::new(),
            number => format!(", {number} not read"),
        };
        format!(
            "{}{not_read}: {} of inspect, {} of lint, {}",
            some(self.hosts, "host", "hosts"),
            some(self.findings.len(), "finding", "findings"),
            some(self.lint.len(), "rule", "rules"),
            some(self.outliers.len(), "difference", "differences"),
        )
    }

    fn write_kinds(&self, page: &mut Page) {
        for (mark, kinds) in [
            ("Kernel rules of: ", &self.kernel_rules),
            ("Memory up to: ", &self.memory),
        ] {
            if !kinds.is_empty() {
                page.item(2, mark, &listed(kinds));
            }
        }
    }

    fn write_found(&self, title: &str, list: &[Found<'_>], extent: Extent, page: &mut Page) {
        page.heading(title);
        if list.is_empty() {
            page.paragraph(2, "Nothing.");
        }
        for found in list.iter().take(extent.rows()) {
            let share = format!("{} of {}", found.hosts.len(), self.hosts);
            page.line(format!("  {} {}: {share}", found.severity, found.rule));
            page.item(4, "Hosts: ", &names(&found.hosts, extent));
            page.item(4, "First: ", found.what);
        }
        more(list.len(), extent, page);
    }

    fn write_outliers(&self, extent: Extent, page: &mut Page) {
        page.heading("Who differs");
        if self.outliers.is_empty() {
            page.paragraph(
                2,
                "Nobody, from what at least three quarters of the others share.",
            );
        }
        for it in self.outliers.iter().take(extent.rows()) {
            page.paragraph(2, &it.sentence());
            page.item(4, "Hosts: ", &names(&it.hosts, extent));
            if !it.means.is_empty() {
                page.item(4, "Means: ", &it.means);
            }
        }
        more(self.outliers.len(), extent, page);
    }

    fn write_not_read(&self, extent: Extent, page: &mut Page) {
        if self.not_read.is_empty() {
            return;
        }
        page.heading("Not read");
        for it in self.not_read.iter().take(extent.rows()) {
            page.item(2, "", &format!("{}: {}", it.path, it.why));
        }
        more(self.not_read.len(), extent, page);
    }
}

impl Differs<'_> {
    /// Who differs from whom, and by what.
    pub(super) fn sentence(&self) -> String {
        let differ = if self.hosts.len() == 1 {
            "differs"
        } else {
            "differ"
        };
        format!(
            "{} of {} {differ}: {} {} where {} have {}",
            self.hosts.len(),
            self.of,
            self.what,
            value(self.value, self.is_default),
            self.common_hosts,
            value(self.common, self.common_is_default),
        )
    }
}

fn value(value: &str, is_default: bool) -> String {
    match is_default {
        true => format!("{value} (the kernel's choice)"),
        false => value.to_owned(),
    }
}

fn listed(kinds: &[Kind<'_>]) -> String {
    let kinds = kinds
        .iter()
        .map(|kind| format!("{} ({})", kind.is, kind.hosts));
    kinds.collect::<Vec<_>>().join(", ")
}

fn names(hosts: &[&str], extent: Extent) -> String {
    let shown = hosts.len().min(extent.names());
    let more = match hosts.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    hosts[..shown].join(", ") + &more
}

fn more(rows: usize, extent: Extent, page: &mut Page) {
    if let more @ 1.. = rows.saturating_sub(extent.rows()) {
        page.line(format!("  and {more} more: --all"));
    }
}
