//! What a prediction is not covered by: memory that no boot was measured with, more CPUs than were
//! compared with a kernel, and files too small for the scale.

use mm::units::PageSize;
use scenario::Scenario;
use scenario::calibration::Calibration;
use scenario::machine::{File, Machine};

/// A file with fewer simulated pages fares as no real one: readahead windows, batches and
/// the lists' least sizes keep their pages and are a large part of it. `min-free-kbytes` at 1024,
/// where its file has 589, takes 39 % more time; smaller ones were up to 80 times off.
const LEAST_PAGES: u64 = 4096;

/// The most CPUs with which drawn studies were proven in a VM and compared.
const COMPARED_CPUS: u32 = 4;

/// What the model lacks of several CPUs.
const CONTENTION: &str = "what CPUs contend for and each CPU's own lists of free pages";

/// How many times finer than usual a scale may become for the sake of a small file.
const FINER: u64 = 16;

/// How many real pages a simulated one stands for unless said otherwise: as the model has it, and
/// finer where a file would be too small, as far as that takes sixteen times the pages.
#[must_use]
pub fn automatic(scenario: &Scenario) -> u64 {
    let usual = sim::sampling::automatic(scenario);
    let least = 1 << scenario.recorded.level;
    let mut scale = usual;
    while scale > least && usual / scale < FINER && !too_small(scenario, scale).is_empty() {
        scale /= 2;
    }
    // Where even the finest leaves something too small, nothing is gained by its cost.
    match too_small(scenario, scale).is_empty() {
        true => scale,
        false => usual,
    }
}

/// What of a prediction is extrapolated or distorted, one line each, for the arms' scenarios; the
/// scale is what each chooses for itself where none is said.
#[must_use]
pub fn notes(scenarios: &[Scenario], calibration: &Calibration, scale: Option<u64>) -> Vec<String> {
    let scales = scenarios
        .iter()
        .map(|it| scale.unwrap_or_else(|| automatic(it)));
    let mut notes: Vec<String> = unlike(&scales.collect::<Vec<_>>()).into_iter().collect();
    for scenario in scenarios {
        let scale = scale.unwrap_or_else(|| automatic(scenario));
        let memory = beyond_boots(&scenario.machine, calibration);
        let cpus = several_cpus(&scenario.machine);
        let small = distorted(scenario, scale);
        for note in [memory, cpus, small].into_iter().flatten() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Arms that are simulated at several scales differ by that too.
fn unlike(scales: &[u64]) -> Option<String> {
    let (least, most) = (scales.iter().min()?, scales.iter().max()?);
    (least != most).then(|| {
        format!(
            "distorted: one page in {least} of some arms and one in {most} of others is simulated; \
             compare arms of one scale only (control groups and hugetlb pages are not sampled)"
        )
    })
}

fn beyond_boots(machine: &Machine, calibration: &Calibration) -> Option<String> {
    let boots = calibration.boots.iter().map(|boot| boot.memory);
    let (least, most) = (boots.clone().min()?, boots.max()?);
    let covered = (least..=most).contains(&machine.memory);
    (!covered).then(|| {
        format!(
            "extrapolated: {} of memory; boots of {least} to {most} were measured",
            machine.memory
        )
    })
}

fn several_cpus(machine: &Machine) -> Option<String> {
    match machine.cpus {
        0..=1 => None,
        2..=COMPARED_CPUS => Some(format!("left out: {CONTENTION}")),
        cpus => Some(format!(
            "extrapolated: {cpus} CPUs; at most {COMPARED_CPUS} were compared with a kernel, and \
             {CONTENTION} are left out"
        )),
    }
}

fn distorted(scenario: &Scenario, scale: u64) -> Option<String> {
    let small = too_small(scenario, scale);
    (!small.is_empty()).then(|| {
        format!(
            "distorted: at one page in {scale}, {} {} fewer than {LEAST_PAGES} simulated pages, \
             and times that hang on {} may be off by a multiple; a smaller --scale mends it",
            small.join(", "),
            if small.len() == 1 { "has" } else { "have" },
            if small.len() == 1 { "it" } else { "them" },
        )
    })
}

/// Files with too few simulated pages, by name; none where every page is simulated.
fn too_small(scenario: &Scenario, scale: u64) -> Vec<String> {
    if scale <= 1 {
        return Vec::new();
    }
    let is_small = |file: &&File| {
        let pages = file.size.pages_floor(PageSize::FOUR_KIB).0;
        pages / scale < LEAST_PAGES
    };
    let small = scenario.machine.files.iter().filter(is_small);
    let mut names: Vec<String> = small.map(|file| file.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use mm::units::Bytes;

    use super::*;
    use crate::Study;
    use answer::calibration;

    fn scenario(study: &str) -> Scenario {
        let study = Study::built_in(study).unwrap();
        study.scenario(&study.arms[0].name, 1).unwrap()
    }

    #[test]
    fn a_scale_at_which_a_file_is_too_small_is_said() {
        let calibration = calibration::built_in("6.1").unwrap();
        let all = [scenario("min-free-kbytes")];
        let found = notes(&all, &calibration, Some(1024));
        let said = |note: &String| note.contains("distorted: at one page in 1024, big");
        assert!(found.iter().any(said), "{found:?}");
        assert!(notes(&all, &calibration, None).is_empty());
        assert!(notes(&all, &calibration, Some(64)).is_empty());
    }

    #[test]
    fn a_large_machine_with_a_small_file_is_simulated_finer() {
        let mut large = scenario("file-copy");
        let usual = sim::sampling::automatic(&large);
        assert_eq!(automatic(&large), usual, "its files are large");
        let pages = LEAST_PAGES * usual / 4;
        large.machine.files[0].size = Bytes(pages << 12);
        assert_eq!(automatic(&large), usual / 4);
        large.machine.files[0].size = Bytes(4096);
        assert_eq!(
            automatic(&large),
            usual,
            "no scale that is fine enough: it is said"
        );
    }

    #[test]
    fn what_no_calibration_covers_is_marked() {
        let calibration = calibration::built_in("6.1").unwrap();
        let mut large = scenario("min-free-kbytes");
        large.machine.memory = Bytes(1 << 40);
        large.machine.cpus = 8;
        let found = notes(&[large], &calibration, Some(1));
        assert!(
            found[0].starts_with("extrapolated: 1 TiB of memory"),
            "{found:?}"
        );
        assert!(found[1].starts_with("extrapolated: 8 CPUs"), "{found:?}");
    }

    #[test]
    fn what_is_left_out_of_a_few_cpus_is_said_and_of_one_nothing_is() {
        let calibration = calibration::built_in("6.1").unwrap();
        let with = |cpus| {
            let mut machine = scenario("min-free-kbytes");
            machine.machine.cpus = cpus;
            notes(&[machine], &calibration, Some(1))
        };
        assert!(with(1).is_empty());
        for cpus in [2, COMPARED_CPUS] {
            assert!(with(cpus)[0].starts_with("left out: "), "{:?}", with(cpus));
        }
    }
}
