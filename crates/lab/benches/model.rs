//! How many page accesses a second the whole model makes: zones, reclaim, readahead, swap, disks,
//! scheduler and pressure included.
//!
//! `cargo bench -p plimsoll-lab --bench model` prints a Markdown table; `cargo xtask bench` uses
//! it. An argument is the number of rounds.

mod clock;

use answer::calibration;
use clock::{cpu_seconds, rounds};
use mm::units::PageSize;
use scenario::calibration::Calibration;
use scenario::outcome::Outcome;
use study::Study;

const KERNEL: &str = "6.12";
const SEED: u64 = 1;

/// One line of the table for each kind of lists.
struct Case {
    name: &'static str,
    study: &'static str,
    /// The arm of the classic lists, and that of the generations.
    arms: [&'static str; 2],
    cpus: u32,
}

const LRUS: [&str; 2] = ["classic", "mglru"];
const RESIDENT: &str = include_str!("model/resident.toml");
const TASKS: &str = include_str!("model/tasks.toml");

const CASES: [Case; 6] = [
    Case {
        name: "resident, reads of one page (Zipf 1.0)",
        study: RESIDENT,
        arms: LRUS,
        cpus: 1,
    },
    Case {
        name: "resident, reads of 64 KiB (Zipf 1.0)",
        study: RESIDENT,
        arms: ["classic, 64 KiB", "mglru, 64 KiB"],
        cpus: 1,
    },
    Case {
        name: "stream of eight times the memory",
        study: include_str!("model/stream.toml"),
        arms: LRUS,
        cpus: 1,
    },
    Case {
        name: "swap (buffers of 110 % of the memory beside a stream)",
        study: include_str!("model/swap.toml"),
        arms: LRUS,
        cpus: 1,
    },
    Case {
        name: "two tasks on one CPU",
        study: TASKS,
        arms: LRUS,
        cpus: 1,
    },
    Case {
        name: "two tasks on two CPUs",
        study: TASKS,
        arms: LRUS,
        cpus: 2,
    },
];

fn main() {
    let calibration = calibration::built_in(KERNEL).expect("the binary carries it");
    let mut speeds = CASES.map(|_| [const { Vec::new() }; 2]);
    // The cases take turns, so that a slow minute of the machine falls on all of them.
    for _ in 0..rounds() {
        for (case, speeds) in CASES.iter().zip(&mut speeds) {
            for (arm, speeds) in case.arms.iter().zip(speeds) {
                speeds.push(measure(case, arm, &calibration));
            }
        }
    }
    println!("| case | LRU | million accesses per CPU second, median | range | of classic |");
    println!("|---|---|---|---|---|");
    let mut before = [0.0; 2];
    for (case, speeds) in CASES.iter().zip(&mut speeds) {
        before = print_lines(case, speeds, before);
    }
}

/// Million page accesses of a whole run for each second of CPU time that it takes.
fn measure(case: &Case, arm: &str, calibration: &Calibration) -> f64 {
    let study = Study::parse(case.study, case.name).expect("it is a study");
    let mut scenario = study.scenario(arm, SEED).expect("it has the arm");
    scenario.machine.cpus = case.cpus;
    let start = cpu_seconds();
    let capture = sim::run(&scenario, calibration).expect("the model has all of it");
    let seconds = cpu_seconds() - start;
    let outcome = Outcome::from_capture(capture).expect("the model writes steps");
    let bytes: u64 = outcome.steps.iter().map(|step| step.bytes.0).sum();
    (bytes / PageSize::FOUR_KIB.bytes()) as f64 / 1e6 / seconds
}

/// Prints a case's lines and gives back the medians; `before` are those of the case before it,
/// which does the same on one CPU where this one has several.
fn print_lines(case: &Case, speeds: &mut [Vec<f64>; 2], before: [f64; 2]) -> [f64; 2] {
    let medians = speeds.each_mut().map(|speeds| {
        speeds.sort_by(f64::total_cmp);
        speeds[speeds.len() / 2]
    });
    for (at, lru) in LRUS.into_iter().enumerate() {
        let (speeds, median) = (&speeds[at], medians[at]);
        let (least, most) = (speeds[0], speeds[speeds.len() - 1]);
        let share = 100.0 * median / medians[0];
        let times = match case.cpus {
            1 => String::new(),
            _ => format!("; {:.2} times the time of one CPU", before[at] / median),
        };
        println!(
            "| {} | {lru} | {median:.1} | {least:.1} to {most:.1} | {share:.0} %{times} |",
            case.name
        );
    }
    medians
}
