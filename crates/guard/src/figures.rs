//! What the guard holds and did, as figures in the text format of Prometheus: written by the
//! daemon, read by the command and by who collects metrics.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What begins every name.
const PREFIX: &str = "plimsoll_guard_";

/// The names without the prefix that all have, their kinds and what they say, in the order of the
/// text.
pub const FAMILIES: [(&str, &str, &str); 18] = [
    (
        "info",
        "gauge",
        "The guard that runs: its version and process.",
    ),
    ("start_time_seconds", "gauge", "When it began, since 1970."),
    (
        "policy_enabled",
        "gauge",
        "1 where the configuration turns the policy on.",
    ),
    (
        "policy_standing_down",
        "gauge",
        "1 where the policy leaves a tunable alone: somebody else wrote it.",
    ),
    (
        "lock_budget_bytes",
        "gauge",
        "The most that the floor locks.",
    ),
    (
        "locked_bytes",
        "gauge",
        "What is locked in memory at present.",
    ),
    ("locked_files", "gauge", "Of how many files."),
    (
        "anon_floor_bytes",
        "gauge",
        "Below this much anonymous memory nothing is swapped out.",
    ),
    (
        "ceiling_bytes",
        "gauge",
        "The ceiling of the page cache of the machine or of a control group.",
    ),
    (
        "setting_held",
        "gauge",
        "1 for each tunable that it set and will write back.",
    ),
    (
        "released",
        "gauge",
        "1 for each file system that it was told to let go of, and the files of others.",
    ),
    ("actions_total", "counter", "Actions that were carried out."),
    ("failures_total", "counter", "Actions that failed."),
    (
        "locked_bytes_total",
        "counter",
        "What was locked since it began.",
    ),
    (
        "reclaimed_bytes_total",
        "counter",
        "File pages of the machine or of a control group that were asked to go, or dropped.",
    ),
    (
        "refaulted_bytes_total",
        "counter",
        "The kernel's count of its file pages that came back, as of the last reclaim.",
    ),
    (
        "lost_events_total",
        "counter",
        "Times that more files were used than the kernel's queue holds.",
    ),
    (
        "ignored_events_total",
        "counter",
        "Uses of files that did not count, because one user's were too many between two samples.",
    ),
];

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name, without the prefix.
    pub name: String,
    /// Names and values of its labels, in order.
    pub labels: Vec<(String, String)>,
    /// The figure.
    pub value: u64,
}

/// All figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures(Vec<Figure>);

impl Figure {
    /// The value of a label; empty where it has none of the name.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(label, _)| label == name);
        found.map_or("", |(_, value)| value)
    }
}

impl Figures {
    /// Adds a figure.
    pub fn add(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        debug_assert!(FAMILIES.iter().any(|(known, ..)| *known == name), "{name}");
        let owned = |(label, value): &(&str, &str)| ((*label).to_owned(), (*value).to_owned());
        self.0.push(Figure {
            name: name.into(),
            labels: labels.iter().map(owned).collect(),
            value,
        });
    }

    /// The figures of a name.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Figure> {
        self.0.iter().filter(move |figure| figure.name == name)
    }

    /// The first figure of a name; 0 where there is none.
    #[must_use]
    pub fn value(&self, name: &str) -> u64 {
        self.of(name).next().map_or(0, |figure| figure.value)
    }

    /// The figures of a text; lines that are none of ours are passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(parse).collect())
    }
}

/// The text: each family's help and kind, then its figures.
impl fmt::Display for Figures {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, kind, help) in FAMILIES {
            let mut figures = self.of(name).peekable();
            if figures.peek().is_none() {
                continue;
            }
            writeln!(to, "# HELP {PREFIX}{name} {help}")?;
            writeln!(to, "# TYPE {PREFIX}{name} {kind}")?;
            figures.try_for_each(|figure| writeln!(to, "{PREFIX}{figure}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.name)?;
        for (at, (label, value)) in self.labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            write!(to, "{before}{label}=\"{}\"", Escaped(value))?;
        }
        let end = if self.labels.is_empty() { "" } else { "}" };
        write!(to, "{end} {}", self.value)
    }
}

/// A label's value as the format has it.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.0.chars().try_for_each(|c| match c {
            '\\' => to.write_str("\\\\"),
            '"' => to.write_str("\\\""),
            '\n' => to.write_str("\\n"),
            c => to.write_char(c),
        })
    }
}

/// The figure of a line.
fn parse(line: &str) -> Option<Figure> {
    let rest = line.strip_prefix(PREFIX)?;
    let (name, mut rest) = rest.split_at(rest.find(['{', ' '])?);
    let mut labels = Vec::new();
    while let Some(inside) = rest.strip_prefix(['{', ',']) {
        let (label, behind) = inside.split_once("=\"")?;
        let (value, behind) = unescape(behind)?;
        labels.push((label.to_owned(), value));
        rest = behind.strip_prefix('}').unwrap_or(behind);
    }
    let value = rest.trim().parse().ok()?;
    let name = name.to_owned();
    Some(Figure {
        name,
        labels,
        value,
    })
}

/// The value up to its quotation mark, and what is behind it.
fn unescape(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                c => c,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn figures_are_written_by_family_and_read_back() {
        let mut figures = Figures::default();
        let labels = [("policy", "ceiling"), ("action", "a\\\"\nb")];
        figures.add("locked_bytes", &[], 5);
        figures.add("actions_total", &labels, 7);
        figures.add("actions_total", &[], 8);
        let text = figures.to_string();
        let expected = "# HELP plimsoll_guard_locked_bytes What is locked in memory at present.\n\
             # TYPE plimsoll_guard_locked_bytes gauge\n\
             plimsoll_guard_locked_bytes 5\n\
             # HELP plimsoll_guard_actions_total Actions that were carried out.\n\
             # TYPE plimsoll_guard_actions_total counter\n\
             plimsoll_guard_actions_total{policy=\"ceiling\",action=\"a\\\\\\\"\\nb\"} 7\n\
             plimsoll_guard_actions_total 8\n";
        assert_eq!(text, expected);
        let back = Figures::parse(&text);
        assert_eq!(back, figures);
        let first = back.of("actions_total").next().unwrap();
        assert_eq!(
            (first.label("policy"), first.label("other")),
            ("ceiling", "")
        );
        assert_eq!((back.value("locked_bytes"), back.value("info")), (5, 0));
    }

    #[test]
    fn a_text_cut_short_or_of_somebody_else_gives_fewer_figures() {
        let line = "plimsoll_guard_info{version=\"1\",pid=\"2\"} 1";
        for end in 0..line.len() {
            assert_eq!(Figures::parse(&line[..end]), Figures::default(), "{end}");
        }
        assert_eq!(Figures::parse("node_info{a=\"b\"} 1\n"), Figures::default());
    }
}
