//! A line for each run of the model: study, kernel, arm, seed, and the hash of all that it hands
//! back.
//!
//! `cargo xtask outcomes` runs it on two states of the source and compares the lines: a change that
//! means to leave the model as it is changes none of them. Arguments are studies, names or paths;
//! without any, all built-in ones.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use answer::bench::{Bench as _, Run};
use answer::calibration;
use answer::model_bench::ModelBench;
use scenario::Scenario;
use sha2::{Digest as _, Sha256};
use study::BUILT_IN;

/// The kernels: those with records, by which speed is measured too.
const KERNELS: [&str; 2] = ["6.1", "6.12"];
/// The seeds of each arm.
const SEEDS: [u64; 2] = [1, 2];

fn main() -> ExitCode {
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    if asked.is_empty() {
        asked = BUILT_IN
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
    }
    match asked.iter().try_for_each(|study| show(study)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("outcomes: {why}");
            ExitCode::FAILURE
        }
    }
}

/// All runs of a study, in an order that does not depend on which ends first.
fn show(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let study = plimsoll_lab::find::find(name)?;
    let mut asked = Vec::new();
    for kernel in KERNELS {
        for arm in &study.arms {
            for seed in SEEDS {
                let label = format!("{}\t{kernel}\t{}\t{seed}", study.name, arm.name);
                asked.push((label, kernel, study.scenario(&arm.name, seed)?));
            }
        }
    }
    let (next, lines) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((label, kernel, scenario)) = asked.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let line = format!("{label}\t{}", outcome(kernel, scenario));
            lines.lock().expect("no run panics").push(line);
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let mut lines = lines.into_inner()?;
    lines.sort();
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// The hash of the run's capture, or why there is none.
fn outcome(kernel: &str, scenario: &Scenario) -> String {
    let calibration = calibration::built_in(kernel).expect("it is one of those the binary carries");
    let run = Run { scenario };
    match ModelBench::new(calibration).run(run, &mut |_| {}) {
        Ok(capture) => {
            let hash = Sha256::digest(capture.to_text());
            hash.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        Err(why) => why.to_string().replace('\n', " "),
    }
}
