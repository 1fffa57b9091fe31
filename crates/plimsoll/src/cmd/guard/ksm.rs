//! The policy `ksm` on a machine: whether it can merge there, and what it sees.

use guard::sample;
use guard::{Figures, config};
use mm::ksm;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use super::machine::Machine;
use super::shared::{before, stands_down};

/// Samepage merging.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Merging {
    /// `run`; `None` where the kernel has no samepage merging.
    pub(super) run: Option<u64>,
    /// The kernel's own advisor sets how fast ksmd scans.
    pub(super) is_advised: bool,
    /// What ksmd may take of a CPU, in thousandths.
    pub(super) most_cpu_thousandths: u32,
    /// What a second of that has to gain.
    pub(super) least_gain_bytes: u64,
    pub(super) saved_bytes: u64,
    /// Pages that ksmd has found to be offered for merging; `None` before it scanned.
    pub(super) candidates: Option<u64>,
}

impl Merging {
    pub(super) fn of(
        config: config::Ksm,
        machine: &Machine<'_>,
        problems: &mut Vec<String>,
    ) -> Self {
        let ksm = read(machine);
        let run = ksm.numbers.run;
        if run.is_none() && matches!(machine, Machine::This(_)) {
            problems.push(
                "ksm does nothing: this kernel has no samepage merging: leave [ksm] out".to_owned(),
            );
        }
        if sample::is_advised(&ksm) {
            problems.push(
                "ksm does nothing while the kernel's advisor sets how fast ksmd scans: plimsoll \
                 apply ksm.advisor_mode=none, or leave [ksm] out"
                    .to_owned(),
            );
        }
        let numbers = &ksm.numbers;
        let found = [
            numbers.pages_shared,
            numbers.pages_sharing,
            numbers.pages_unshared,
            numbers.pages_volatile,
        ];
        let found = found.into_iter().flatten().fold(0, u64::saturating_add);
        let has_scanned = found > 0 || numbers.full_scans.is_some_and(|scans| scans > 0);
        Self {
            run,
            is_advised: sample::is_advised(&ksm),
            most_cpu_thousandths: config.most_cpu,
            least_gain_bytes: config.least_gain.0,
            saved_bytes: saved(&ksm, machine).0,
            candidates: has_scanned.then_some(found),
        }
    }

    pub(super) fn most_cpu_percent(&self) -> f64 {
        f64::from(self.most_cpu_thousandths) / 10.0
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let Some(run) = self.run else {
            return vec!["no samepage merging is known there".to_owned()];
        };
        let (cpu, gain) = (self.most_cpu_percent(), Bytes(self.least_gain_bytes));
        let mut lines = vec![format!(
            "lets ksmd scan with at most {cpu} % of a CPU, as long as a second of that gains {gain}"
        )];
        let saved = Bytes(self.saved_bytes);
        lines.push(format!("{} now, and merging saves {saved}", state(run)));
        let note = match self.candidates {
            None => {
                Some("ksmd has scanned nothing yet: plimsoll ksm estimate says what it would find")
            }
            Some(0) => Some(
                "nothing is offered for merging: programs offer memory by madvise or prctl, as \
                 QEMU does",
            ),
            Some(_) => None,
        };
        lines.extend(note.map(str::to_owned));
        lines
    }
}

/// What it sees now.
pub(super) fn explained(figures: &Figures, machine: &Machine<'_>) -> Vec<String> {
    let ksm = read(machine);
    let numbers = &ksm.numbers;
    let Some((run, pages)) = numbers.run.zip(numbers.pages_to_scan) else {
        return vec!["There is no samepage merging.".to_owned()];
    };
    let saved = saved(&ksm, machine);
    let scans = numbers.full_scans.unwrap_or(0);
    let mut told = vec![format!(
        "{}; merging saves {saved} after {scans} scans of all candidates.",
        state(run)
    )];
    if sample::is_advised(&ksm) {
        told.push(
            "It stands down, because the kernel's advisor (ksm.advisor_mode) sets how fast ksmd \
             scans."
                .to_owned(),
        );
    } else if stands_down(figures, "ksm") {
        told.push(
            "It stands down, because ksmtuned runs or somebody else wrote what it had set."
                .to_owned(),
        );
    }
    for (tunable, now) in [("ksm.run", run), ("ksm.pages_to_scan", pages)] {
        told.extend(
            before(figures, tunable)
                .map(|before| format!("{tunable} is {now}, set by the guard; it was {before}.")),
        );
    }
    told
}

fn state(run: u64) -> &'static str {
    match run {
        0 => "ksmd stands still",
        1 => "ksmd scans",
        _ => "ksmd stands still and has unmerged everything",
    }
}

fn read(machine: &Machine<'_>) -> ksm::Ksm {
    let mut read = ksm::Ksm::default();
    for name in [
        "run",
        "pages_to_scan",
        "pages_shared",
        "pages_sharing",
        "pages_unshared",
        "pages_volatile",
        "full_scans",
        "ksm_zero_pages",
        "advisor_mode",
    ] {
        let path = ksm::path(name);
        let text = machine.file(&path);
        // What is no number counts as missing.
        text.and_then(|text| read.read(&path, &text).ok());
    }
    read
}

fn saved(ksm: &ksm::Ksm, machine: &Machine<'_>) -> Bytes {
    sample::saved(ksm).bytes(machine.page())
}

#[cfg(test)]
mod tests {
    use mm::units::Pages;

    use super::super::machine::tests::root;
    use super::*;

    const RUN: (&str, &str) = ("sys/kernel/mm/ksm/run", "0\n");
    const SPEED: (&str, &str) = ("sys/kernel/mm/ksm/pages_to_scan", "100\n");
    const SCANS: (&str, &str) = ("sys/kernel/mm/ksm/full_scans", "3\n");

    /// What is told of a machine of these files, and the problems.
    fn checked(files: &[(&str, &str)]) -> (Merging, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let machine = Machine::This(root(&folder, files));
        let mut problems = Vec::new();
        let told = Merging::of(config::Ksm::default(), &machine, &mut problems);
        (told, problems)
    }

    #[test]
    fn that_nothing_is_offered_is_a_note_and_that_nothing_can_be_done_a_problem() {
        let (ksm, problems) = checked(&[RUN, SPEED]);
        assert_eq!(problems, Vec::<String>::new());
        let lines = ksm.lines().join("; ");
        assert!(lines.contains("at most 20 % of a CPU"), "{lines}");
        assert!(lines.contains("plimsoll ksm estimate"), "{lines}");
        let (scanned, problems) = checked(&[RUN, SPEED, SCANS]);
        assert_eq!(problems, Vec::<String>::new());
        let lines = scanned.lines().join("; ");
        assert!(lines.contains("nothing is offered"), "{lines}");

        let mode = ("sys/kernel/mm/ksm/advisor_mode", "none [scan-time]\n");
        let advised = checked(&[RUN, SPEED, mode]).1;
        assert!(advised[0].contains("ksm.advisor_mode=none"), "{advised:?}");
        let none = checked(&[]).1;
        assert!(none[0].contains("no samepage merging"), "{none:?}");
    }

    #[test]
    fn what_ksmd_does_is_explained_with_what_it_goes_back_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let sharing = ("sys/kernel/mm/ksm/pages_sharing", "256\n");
        let root = root(&folder, &[RUN, SPEED, SCANS, sharing]);
        let machine = Machine::This(root);
        let mut figures = Figures::default();
        let labels = [("tunable", "ksm.pages_to_scan"), ("before", "4000")];
        figures.add("setting_held", &labels, 1);
        let saved = Pages(256).bytes(machine.page());
        let expected = [
            format!("ksmd stands still; merging saves {saved} after 3 scans of all candidates."),
            "ksm.pages_to_scan is 100, set by the guard; it was 4000.".to_owned(),
        ];
        assert_eq!(explained(&figures, &machine), expected);
        figures.add("policy_standing_down", &[("policy", "ksm")], 1);
        let told = explained(&figures, &machine).join(" ");
        assert!(told.contains("somebody else wrote"), "{told}");
    }
}
