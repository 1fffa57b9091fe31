//! What a run is expected to take on the model, and what it takes: a line for each study, memory
//! and arm, and at the end how many are within a factor of two.
//!
//! `cargo run --release -p plimsoll-lab --example cost -- [--kernel K] [--memory 1G,16G] [--arms N]
//! STUDY...`; without a study, the built-in ones.

use std::process::ExitCode;
use std::time::Duration;

use mm::quantity;
use mm::units::Bytes;
use plimsoll_lab::bench::{Bench as _, Run};
use plimsoll_lab::model_bench::ModelBench;
use plimsoll_lab::study::{AtHand, BUILT_IN, Study, Work};
use plimsoll_lab::{calibration, coverage};
use rustix::time::{ClockId, clock_gettime};

/// Runs that are expected or found to take less are as good as nothing.
const NOTHING: f64 = 0.05;

struct Asked {
    kernel: String,
    memories: Vec<Option<Bytes>>,
    arms: usize,
    most: f64,
    studies: Vec<String>,
}

fn main() -> ExitCode {
    match asked(std::env::args().skip(1)).and_then(|asked| all(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cost: {why}");
            ExitCode::FAILURE
        }
    }
}

fn asked(mut arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked {
        kernel: "6.12".to_owned(),
        memories: vec![None],
        arms: 3,
        most: 120.0,
        studies: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--kernel" => asked.kernel = value()?,
            "--memory" => {
                let sizes = value()?;
                let sizes = sizes.split(',').map(|text| quantity::size(text).ok());
                asked.memories = sizes.collect();
            }
            "--arms" => asked.arms = value()?.parse().map_err(|_| "--arms takes a number")?,
            "--most" => asked.most = value()?.parse().map_err(|_| "--most takes seconds")?,
            _ => asked.studies.push(argument),
        }
    }
    if asked.studies.is_empty() {
        let names = BUILT_IN.iter().map(|(name, _)| (*name).to_owned());
        asked.studies = names.collect();
    }
    Ok(asked)
}

fn all(asked: &Asked) -> Result<(), String> {
    let calibration = calibration::built_in(&asked.kernel).map_err(|why| why.to_string())?;
    let bench = ModelBench::new(calibration);
    let (mut good, mut runs) = (0, 0);
    for name in &asked.studies {
        let study = Study::find(name).map_err(|why| why.to_string())?;
        for memory in &asked.memories {
            let at_hand = AtHand {
                memory: *memory,
                ..AtHand::default()
            };
            let study = match memory {
                None => study.clone(),
                Some(_) => study.on(&at_hand).map_err(|why| why.to_string())?,
            };
            for ratio in of_study(&study, *memory, asked, &bench)? {
                runs += 1;
                good += usize::from((0.5..=2.0).contains(&ratio));
            }
        }
    }
    println!("{good} of {runs} within a factor of two");
    Ok(())
}

/// Expected over taken, for each arm that is run.
fn of_study(
    study: &Study,
    memory: Option<Bytes>,
    asked: &Asked,
    bench: &ModelBench,
) -> Result<Vec<f64>, String> {
    let mut ratios = Vec::new();
    let step = study.arms.len().div_ceil(asked.arms).max(1);
    for arm in study.arms.iter().step_by(step) {
        let scenario = study.scenario(&arm.name, 1).map_err(|why| why.to_string())?;
        let scale = coverage::automatic(&scenario);
        let work = Work::of(&scenario, scale);
        let expected = work.time().as_secs_f64();
        let memory = memory.map_or_else(|| "its own".to_owned(), |it| it.to_string());
        let head = format!("{}\t{memory}\t{}\t{scale}", study.name, arm.name);
        if expected > asked.most {
            println!("{head}\t{expected:.2}\t-\t-\t{}\t{:?}", work.mostly(), work);
            continue;
        }
        let before = cpu();
        let run = Run {
            scenario: &scenario,
        };
        let ended = bench.run(run, &mut |_| ());
        let taken = (cpu() - before).as_secs_f64();
        if std::env::var_os("COUNTS").is_some() && let Ok(capture) = &ended {
            let last = capture.frames.last().expect("a frame");
            let vm = |names: &[&str]| -> u64 {
                let text = last.file("proc/vmstat").unwrap_or_default();
                let line = |l: &str| { let (n, v) = l.split_once(' ')?; names.contains(&n).then(|| v.trim().parse::<u64>().ok())? };
                text.lines().filter_map(line).sum()
            };
            let o = mm::outcome::Outcome::from_capture(capture.clone()).expect("o");
            let ops: u64 = o.steps.iter().map(|s| s.operations).sum();
            let bytes: u64 = o.steps.iter().map(|s| s.bytes.0 / 4096).sum();
            let disk = last.file("proc/diskstats").unwrap_or_default();
            let io: u64 = disk.lines().map(|l| { let f: Vec<u64> = l.split_whitespace().skip(3).map(|x| x.parse().unwrap_or(0)).collect(); f.first().unwrap_or(&0) + f.get(4).unwrap_or(&0) }).sum();
            println!("COUNTS\t{}\t{:?}\t{}\t{}\t{taken:.3}\t{}\t{ops}\t{bytes}\t{}\t{}\t{}\t{}\t{io}\t{}\t{}", study.name, memory, arm.name, scale, last.at.seconds(),
                vm(&["pgfault"]), vm(&["pgpgin", "pgpgout"]) / 4, vm(&["pgscan_kswapd", "pgscan_direct", "pgscan_khugepaged"]), vm(&["pgsteal_kswapd", "pgsteal_direct"]), capture.frames.len(), o.steps.len());
        }
        let ended = ended.map(drop);
        let ratio = expected.max(NOTHING) / taken.max(NOTHING);
        let ended = ended.err().map_or_else(String::new, |why| why.to_string());
        println!(
            "{head}\t{expected:.2}\t{taken:.2}\t{ratio:.2}\t{}\t{ended}\t{work:?}",
            work.mostly()
        );
        ratios.push(ratio);
    }
    Ok(ratios)
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
