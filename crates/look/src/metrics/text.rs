//! The text: the format of Prometheus, and that of OpenMetrics 1.0.

use std::fmt::{self, Write as _};

use mm::text::harmless;

use super::facts::{Facts, Sample};
use super::table::{FAMILIES, Family, Unit};

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl Form {
    /// Its media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The name that stands in the lines about a family.
    fn family_name(self, family: &Family) -> String {
        match self {
            Self::Prometheus => family.sample_name(),
            Self::OpenMetrics => family.name(),
        }
    }
}

impl Facts {
    /// The page of all families that have samples.
    #[must_use]
    pub fn text(&self, form: Form) -> String {
        page(self, form)
    }
}

fn page(facts: &Facts, form: Form) -> String {
    let mut page = String::new();
    for family in FAMILIES {
        let samples = (family.samples)(facts);
        if !samples.is_empty() {
            head(family, form, &mut page);
        }
        let name = family.sample_name();
        for sample in samples {
            writeln!(page, "{name}{sample}").ok();
        }
    }
    if form == Form::OpenMetrics {
        page.push_str("# EOF\n");
    }
    page
}

fn head(family: &Family, form: Form, page: &mut String) {
    let Family {
        kind, unit, help, ..
    } = family;
    let name = form.family_name(family);
    writeln!(page, "# HELP {name} {help}").ok();
    writeln!(page, "# TYPE {name} {}", kind.word()).ok();
    if form == Form::OpenMetrics && *unit != Unit::None {
        writeln!(page, "# UNIT {name} {}", unit.word()).ok();
    }
}

/// The labels and the value of a line.
impl fmt::Display for Sample {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (label, value)) in self.labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            write!(to, "{before}{label}=\"{}\"", Escaped(value))?;
        }
        let end = if self.labels.is_empty() { "" } else { "}" };
        write!(to, "{end} {}", self.value)
    }
}

/// A label's value as both formats have it. What would act on a terminal is written out, so that
/// no name does where the text is looked at.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        harmless(self.0).chars().try_for_each(|c| match c {
            '\\' => to.write_str("\\\\"),
            '"' => to.write_str("\\\""),
            '\n' => to.write_str("\\n"),
            c => to.write_char(c),
        })
    }
}
