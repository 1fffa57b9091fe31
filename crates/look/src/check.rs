//! Numbers that we compute and the kernel prints: equal, or different with the likely reason.

use mm::recompute::ReserveAs;
use mm::rules::Row;
use mm::snapshot::Snapshot;
use mm::units::Pages;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;
use crate::style::{bad, good};

/// One number from both sides, in pages.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Check {
    /// What was computed.
    pub(crate) name: String,
    /// Our number.
    pub(crate) computed_pages: u64,
    /// The kernel's.
    pub(crate) kernel_pages: u64,
    /// Whether they are equal.
    pub(crate) equal: bool,
    /// Why they may differ; empty where they do not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// By what they are equal, where it is not the rule of this release alone.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) by: String,
    /// Whether its inputs move all the time.
    #[serde(skip)]
    pub(crate) moves: bool,
    /// Whether it would be equal whatever the rule: its ratio was taken from it.
    #[serde(skip)]
    pub(crate) circular: bool,
}

/// How far two files that are read one after the other may be apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slack(Pages);

impl Slack {
    /// A thousandth of the memory, and what the CPUs of a small machine have not yet told.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        Self(Pages((snapshot.managed().0 / 1024).max(128)))
    }
}

/// The reserves as they were made.
pub(super) const STALE_RESERVE: &str = concat!(
    "The kernel made the reserves when the zones managed other pages, as at boot before the ",
    "initial RAM disk's came back. So they stay until vm.lowmem_reserve_ratio is read, as by ",
    "sysctl -a, or written; inspect does not read it."
);

/// Files are read one after the other.
const MOVED: &str = "Memory moved while the files were read, one after the other.";

/// Nothing explains it.
pub(super) const UNKNOWN: &str = concat!(
    "It does not fit the rules of this kernel that we know: a patch of its vendor, or files of ",
    "different moments or machines."
);

impl Check {
    /// A number that stands still, and why it may differ.
    pub(crate) fn still(name: String, computed: Pages, kernel: Pages, reason: &str) -> Self {
        Self::new(name, computed, kernel, reason)
    }

    /// A number that moves: it may differ by `slack`.
    pub(crate) fn moving(name: &str, computed: Pages, kernel: Pages, slack: Slack) -> Self {
        let near = computed.0.abs_diff(kernel.0) <= slack.0.0;
        let reason = if near { MOVED } else { UNKNOWN };
        Self {
            moves: true,
            ..Self::new(name.to_owned(), computed, kernel, reason)
        }
    }

    /// Whether it tests a rule: nothing that equals nothing does not.
    pub(crate) fn tests(&self) -> bool {
        !self.equal || !(self.circular || self.kernel_pages == 0)
    }

    /// The same, and by what it is equal.
    pub(crate) fn by(self, by: &str) -> Self {
        let by = if self.equal {
            by.to_owned()
        } else {
            String::new()
        };
        Self { by, ..self }
    }

    fn new(name: String, computed: Pages, kernel: Pages, reason: &str) -> Self {
        let equal = computed == kernel;
        Self {
            name,
            computed_pages: computed.0,
            kernel_pages: kernel.0,
            equal,
            reason: if equal {
                String::new()
            } else {
                reason.to_owned()
            },
            by: String::new(),
            moves: false,
            circular: false,
        }
    }
}

/// By what a number is equal: nothing to say where it is the rule of this release.
pub(super) fn by(snapshot: &Snapshot, rows: &[&Row], reserve: ReserveAs) -> String {
    let others = rows.iter().filter(|row| !snapshot.is_own(row));
    let releases: Vec<String> = others.map(|row| row.releases.to_string()).collect();
    let rule = match releases.as_slice() {
        [] => String::new(),
        releases => format!("equal by the rule of {}", releases.join(" and ")),
    };
    let reserve = match reserve {
        ReserveAs::Printed => "",
        ReserveAs::Boosted => "equal with the reserve of a boosted zone",
        ReserveAs::Remade => "equal with the reserves as they are made now",
    };
    match (rule.is_empty(), reserve.is_empty()) {
        (true, _) => reserve.to_owned(),
        (false, true) => rule,
        (false, false) => format!("{rule}; {reserve}"),
    }
}

/// Writes the section: one line where all are equal, else each that is not.
pub(crate) fn write(checks: &[Check], page: &mut Page) {
    if checks.is_empty() {
        return;
    }
    page.heading("Recomputed from the kernel's inputs");
    let equal = checks.iter().filter(|check| check.equal).count();
    let count = format!(
        "{equal} of {} numbers equal the kernel's to the page",
        checks.len()
    );
    let all_equal = equal == checks.len();
    page.line(match all_equal {
        true => format!("  {}", good(count)),
        false => format!("  {}", bad(count)),
    });
    if !checks.iter().any(Check::tests) {
        page.paragraph(
            2,
            "None of them tests a rule: they are 0, or their ratio is their own.",
        );
    }
    write_notes(checks, page);
    let differing: Vec<&Check> = checks.iter().filter(|check| !check.equal).collect();
    for group in differing.chunk_by(|a, b| a.reason == b.reason) {
        page.line("");
        page.line(format!("  {:<40}{:>12}{:>12}", "", "here", "kernel"));
        for check in group {
            let (here, kernel) = (check.computed_pages, check.kernel_pages);
            page.line(format!("  {:<40}{here:>12}{kernel:>12}", check.name));
        }
        group
            .first()
            .iter()
            .for_each(|check| page.paragraph(2, &check.reason));
    }
}

/// What could not be checked, and what that takes; empty where all was.
pub(crate) fn unchecked(checks: &[Check]) -> Vec<&'static str> {
    const KINDS: [(&str, &str); 4] = [
        (
            " watermark of ",
            "watermarks (zoneinfo, vm.min_free_kbytes)",
        ),
        (
            "lowmem reserve of ",
            "lowmem reserves (zoneinfo, more than one zone)",
        ),
        ("MemAvailable", "MemAvailable (zoneinfo, meminfo)"),
        (
            "dirty threshold",
            "dirty thresholds (zoneinfo, vmstat, vm.dirty_*)",
        ),
    ];
    let tests = |name: &str| {
        checks
            .iter()
            .any(|check| check.name.contains(name) && check.tests())
    };
    let lacking = KINDS.iter().filter(|(name, _)| !tests(name));
    lacking.map(|(_, words)| *words).collect()
}

/// By what numbers are equal, each reason once.
fn write_notes(checks: &[Check], page: &mut Page) {
    let noted: Vec<&Check> = checks.iter().filter(|check| !check.by.is_empty()).collect();
    for group in noted.chunk_by(|a, b| a.by == b.by) {
        let is_mark = |check: &&&Check| check.name.contains(" watermark of ");
        let names: Vec<&str> = match group.iter().filter(is_mark).count() {
            marks if marks > 3 && marks == group.len() => vec!["the watermarks"],
            _ => group.iter().map(|check| check.name.as_str()).collect(),
        };
        let by = group.first().map_or("", |check| check.by.as_str());
        page.paragraph(2, &format!("{}: {by}.", names.join(", ")));
    }
}
