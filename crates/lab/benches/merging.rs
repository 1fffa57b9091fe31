//! How long the model takes for a large host under ksmd.
//!
//! `cargo bench -p plimsoll-lab --bench merging` prints a Markdown table; `cargo xtask bench` uses
//! it. An argument is the number of rounds.

mod clock;

use answer::calibration;
use clock::{cpu_seconds, rounds};
use scenario::Scenario;
use scenario::calibration::Calibration;
use study::Study;

const KERNEL: &str = "6.12";
const SEED: u64 = 1;

fn main() {
    let calibration = calibration::built_in(KERNEL).expect("the binary carries it");
    let study = include_str!("merging/merging.toml");
    let study = Study::parse(study, "merging").expect("it is a study");
    println!(
        "| simulated after the guests are filled | pages a simulated one stands for | CPU s, median | range |"
    );
    println!("|---|---|---|---|");
    for arm in &study.arms {
        let scenario = study.scenario(&arm.name, SEED).expect("it has the arm");
        let scale = sim::sampling::automatic(&scenario);
        let mut seconds: Vec<f64> = (0..rounds())
            .map(|_| measure(&scenario, &calibration, scale))
            .collect();
        seconds.sort_by(f64::total_cmp);
        println!(
            "| {} | {scale} | {:.2} | {:.2} to {:.2} |",
            arm.name,
            seconds[seconds.len() / 2],
            seconds[0],
            seconds[seconds.len() - 1]
        );
    }
}

/// CPU seconds of a run.
fn measure(scenario: &Scenario, calibration: &Calibration, scale: u64) -> f64 {
    let start = cpu_seconds();
    sim::run_sampled(scenario, calibration, scale).expect("the model has all of it");
    cpu_seconds() - start
}
