//! What of a kernel an answer is not about: what the model has no mechanism for, and the rules of
//! the calibrated kernel that another one does not share. It is said before the answer.

use mm::release::{Span, Version};
use mm::rules::{Rule, TABLE};
use scenario::machine::Machine;

/// Something that releases have and the model does not, and no calibration makes up for.
struct Lack {
    releases: Span,
    /// Whether it matters on a machine.
    matters: fn(&Machine) -> bool,
    /// Behind "on Linux 7.3 ".
    what: &'static str,
}

const LACKS: [Lack; 2] = [
    // `wait_iff_congested`; the request queues that say so went in 5.0.
    Lack {
        releases: span(Version::FIRST, Version::last(4, 20)),
        matters: |machine| !machine.disks.is_empty(),
        what: "reclaim waits while a disk is congested; in the model disks never are, as since 5.0",
    },
    Lack {
        releases: span(Version::first(6, 16), Version::LAST),
        matters: |machine| !machine.files.is_empty(),
        what: "ext4 has large folios; there are no large folios in the model, so that reading, \
               writing and reclaim of files differ",
    },
];

/// Rules that are named where two kernels differ.
const NAMED: usize = 3;

const fn span(from: Version, to: Version) -> Span {
    Span { from, to }
}

/// One line for each thing that an answer for a kernel of `release` by the calibration of another,
/// or of the same one, is not about on these machines.
#[must_use]
pub fn notes<'a>(
    release: &str,
    calibrated: &str,
    machines: impl Iterator<Item = &'a Machine> + Clone,
) -> Vec<String> {
    let (Some(own), Some(other)) = (Version::of(release), Version::of(calibrated)) else {
        return Vec::new();
    };
    let matters =
        |lack: &&Lack| lack.releases.meets(span(own, own)) && machines.clone().any(lack.matters);
    let lacking = LACKS.iter().filter(matters);
    let said = lacking.map(|lack| format!("not covered: on Linux {} {}", line(own), lack.what));
    said.chain(differing(own, other)).collect()
}

/// The rules of one kernel that another does not have, and the other way round.
fn differing(own: Version, other: Version) -> Option<String> {
    let differs = |row: &&mm::rules::Row| {
        let has = |version| row.is_of(span(version, version));
        matches!(row.rule, Rule::Does(_)) && has(own) != has(other)
    };
    let sources: Vec<&str> = TABLE.iter().filter(differs).map(|row| row.source).collect();
    let named = sources.iter().take(NAMED).copied().collect::<Vec<_>>();
    let more = match sources.len() - named.len() {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    (!named.is_empty()).then(|| {
        format!(
            "not covered: {} of the model's rules are those of {} and not of {} ({}{more})",
            sources.len(),
            line(other),
            line(own),
            named.join("; ")
        )
    })
}

fn line(version: Version) -> String {
    format!("{}.{}", version.0, version.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::Study;

    fn said(release: &str, calibrated: &str) -> Vec<String> {
        let study = Study::built_in("min-free-kbytes").unwrap();
        notes(
            release,
            calibrated,
            study.arms.iter().map(|arm| &arm.machine),
        )
    }

    #[test]
    fn the_calibrated_kernels_lack_nothing_that_is_known() {
        assert!(said("6.1.0-57-cloud-amd64", "6.1.0-53").is_empty());
        assert!(said("6.12.118", "6.12.117+deb12").is_empty());
        assert!(said("custom", "6.12.117").is_empty());
    }

    #[test]
    fn what_a_release_has_besides_is_said() {
        let newest = said("7.3.4+deb13-cloud-amd64", "6.12.117");
        assert!(newest[0].starts_with("not covered: on Linux 7.3 ext4 has large folios"));
        assert!(said("5.10.0-46-cloud-amd64", "5.10.0-46").is_empty());
        let old = said("4.19.0-27-amd64", "5.10.0-46");
        assert!(old[0].contains("while a disk is congested"), "{old:?}");
    }

    #[test]
    fn rules_that_two_kernels_do_not_share_are_counted_and_named() {
        let between = said("6.8.0-40-generic", "6.12.117");
        let [note] = &between[..] else {
            panic!("{between:?}")
        };
        assert!(
            note.contains("rules are those of 6.12 and not of 6.8 ("),
            "{note}"
        );
        assert!(note.ends_with(" more)"), "{note}");
    }

    /// A machine without files has no large folios to miss.
    #[test]
    fn what_a_machine_does_not_use_is_not_missed() {
        let mut study = Study::built_in("min-free-kbytes").unwrap();
        for arm in &mut study.arms {
            arm.machine.files.clear();
            arm.machine.disks.clear();
        }
        let machines = study.arms.iter().map(|arm| &arm.machine);
        assert!(notes("7.3.4", "7.3.4", machines).is_empty());
    }
}
