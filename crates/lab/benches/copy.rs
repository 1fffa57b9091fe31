//! How many terabytes of I/O the model simulates in a second of CPU time, by the size of the files,
//! and how long the whole of `file-copy` takes.
//!
//! `cargo bench -p plimsoll-lab --bench copy` prints a Markdown table; `cargo xtask bench` uses it.
//! An argument is the number of rounds.

mod clock;

use answer::calibration;
use clock::{cpu_seconds, rounds};
use scenario::Scenario;
use scenario::calibration::Calibration;
use scenario::outcome::Outcome;
use study::Study;

const KERNEL: &str = "6.1";
const SEED: u64 = 1;
const TERABYTE: f64 = 1e12;

fn main() {
    let calibration = calibration::built_in(KERNEL).expect("the binary carries it");
    let copy = Study::parse(include_str!("copy/copy.toml"), "copy").expect("it is a study");
    let copies = scenarios(&copy);
    println!(
        "| files of | pages a simulated one stands for | I/O simulated, TB | CPU s, median | range | TB per CPU second |"
    );
    println!("|---|---|---|---|---|---|");
    for (scenario, arm) in copies.iter().zip(&copy.arms) {
        let (bytes, seconds) = measure(std::slice::from_ref(scenario), &calibration);
        let size = arm
            .name
            .rsplit(['=', ','])
            .next()
            .unwrap_or(&arm.name)
            .trim();
        let scale = sim::sampling::automatic(scenario);
        let (terabytes, median) = (bytes as f64 / TERABYTE, seconds[seconds.len() / 2]);
        println!(
            "| {size} | {scale} | {terabytes:.2} | {median:.3} | {:.3} to {:.3} | {:.1} |",
            seconds[0],
            seconds[seconds.len() - 1],
            terabytes / median
        );
    }
    let published = plimsoll_lab::find::find("file-copy").expect("the binary carries it");
    let (_, seconds) = measure(&scenarios(&published), &calibration);
    println!();
    println!(
        "All four runs of `file-copy`, one after the other: {:.3} CPU s ({:.3} to {:.3}).",
        seconds[seconds.len() / 2],
        seconds[0],
        seconds[seconds.len() - 1]
    );
}

fn scenarios(study: &Study) -> Vec<Scenario> {
    let arms = study.arms.iter();
    let scenario = |name| study.scenario(name, SEED).expect("it has the arm");
    arms.map(|arm| scenario(&arm.name)).collect()
}

/// The bytes that the runs read and write, and what they took in each round, in ascending order.
fn measure(scenarios: &[Scenario], calibration: &Calibration) -> (u64, Vec<f64>) {
    let mut bytes = 0;
    let round = |_| {
        let start = cpu_seconds();
        let captures = scenarios.iter().map(|scenario| {
            let scale = sim::sampling::automatic(scenario);
            sim::run_sampled(scenario, calibration, scale).expect("the model has all of it")
        });
        let captures: Vec<_> = captures.collect();
        let seconds = cpu_seconds() - start;
        let outcomes = captures.into_iter().map(Outcome::from_capture);
        let outcomes = outcomes.map(|outcome| outcome.expect("the model writes steps"));
        bytes = outcomes
            .flat_map(|outcome| outcome.steps)
            .map(|step| step.bytes.0)
            .sum();
        seconds
    };
    let mut seconds: Vec<f64> = (0..rounds()).map(round).collect();
    seconds.sort_by(f64::total_cmp);
    (bytes, seconds)
}
