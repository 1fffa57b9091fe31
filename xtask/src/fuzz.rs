//! `cargo xtask fuzz`: every fuzz target for some seconds, and a canary that must die.
//!
//! libFuzzer is linked in by libfuzzer-sys, which a C++ compiler builds; a stable rustc instruments
//! by the flags below. The seeds of a target are in `fuzz/seeds`; what a run adds to them, and the
//! inputs that failed, in `target`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};

use crate::tally::Tally;
use crate::{binary, process, tree};

/// Edges are counted, and what is compared is told.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The target that has a fault.
const CANARY: &str = "canary";

/// Fixtures that are seeds too.
const BESIDE: &[(&str, &str)] = &[
    ("evidence", "fixtures/evidence"),
    ("kernel_log", "fixtures/kernel_log"),
    ("study", "studies"),
    ("trace", "fixtures/throttle/vm-512mib-6.12"),
];

/// Seconds for each target where nobody says.
const SECONDS: &str = "60";

/// A run has to try as many inputs at least.
const LEAST: u64 = 50;

/// `cargo xtask fuzz [--seconds S] [TARGET...]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (seconds, wanted) = match arguments {
        [flag, seconds, wanted @ ..] if flag == "--seconds" => (seconds.as_str(), wanted),
        wanted => (SECONDS, wanted),
    };
    let seconds: u32 = seconds.parse().context("--seconds takes a number")?;
    let tally = tried(seconds, wanted)?;
    println!("{tally}");
    match tally.failed {
        0 => Ok(()),
        failed => bail!("{failed} targets failed: {}", tally.failures.join("; ")),
    }
}

/// Runs the targets of these names, or all, as many at a time as there are CPUs.
pub(crate) fn tried(seconds: u32, wanted: &[String]) -> Result<Tally> {
    let targets = targets()?;
    if let Some(unknown) = wanted.iter().find(|name| !targets.contains(name)) {
        bail!("no target {unknown}; there are {}", targets.join(", "));
    }
    let is_wanted = |name: &String| wanted.is_empty() || wanted.contains(name);
    let program = build()?;
    let waiting = Mutex::new(targets.into_iter().filter(is_wanted).collect::<Vec<_>>());
    let tally = Mutex::new(Tally::default());
    let work = || {
        while let Some(name) = next(&waiting) {
            let outcome = one(&program, &name, seconds);
            let mut tally = tally.lock().expect("no run panics");
            match outcome {
                Ok(said) => {
                    tally.passed += 1;
                    println!("{name:14} {said}");
                }
                Err(error) => {
                    tally.failed += 1;
                    eprintln!("{name}: {error:#}");
                    tally.failures.push(format!("{name}: {error}"));
                }
            }
        }
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..cpus).for_each(|_| _ = scope.spawn(work)));
    Ok(tally.into_inner().expect("no run panics"))
}

fn next(waiting: &Mutex<Vec<String>>) -> Option<String> {
    waiting.lock().expect("no run panics").pop()
}

/// The names of the table in the program; each has seeds.
fn targets() -> Result<Vec<String>> {
    let path = tree::root().join("fuzz/src/main.rs");
    let text = std::fs::read_to_string(&path).context("fuzz/src/main.rs")?;
    let rows = text.lines().filter_map(|line| {
        let name = line.trim().strip_prefix("(\"")?.split_once("\", ")?.0;
        Some(name.to_owned())
    });
    let targets: Vec<String> = rows.collect();
    let is_bare = |name: &&String| !seeds(name).is_dir();
    if let Some(bare) = targets.iter().find(is_bare) {
        bail!("{bare} has no seeds: {} is missing", seeds(bare).display());
    }
    Ok(targets)
}

fn seeds(target: &str) -> PathBuf {
    tree::root().join("fuzz/seeds").join(target)
}

fn build() -> Result<PathBuf> {
    let mut cargo = process::cargo();
    cargo.args(["build", "--release", "--locked"]);
    cargo.args(["--manifest-path", "fuzz/Cargo.toml"]);
    cargo.args(["--target-dir", "target/fuzz", "--target", "host-tuple"]);
    // In the place of the product's own, which link it statically.
    binary::built(cargo.env("RUSTFLAGS", FLAGS))
}

/// Runs a target; what it did.
fn one(program: &Path, name: &str, seconds: u32) -> Result<String> {
    let output = libfuzzer(program, name, seconds)?.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let tries = number(&said, "stat::number_of_executed_units:").unwrap_or(0);
    let found = said
        .lines()
        .find(|line| line.contains("Test unit written to"));
    match (output.status.success(), name == CANARY) {
        (true, false) if tries >= LEAST => Ok(format!("{tries} inputs")),
        (true, false) => bail!("only {tries} inputs in {seconds} s"),
        (false, true) if found.is_some() => Ok("died, as it must".to_owned()),
        (true, true) => bail!("its fault was not found in {seconds} s: nothing would be"),
        _ => bail!("{}", last(&said)),
    }
}

fn libfuzzer(program: &Path, name: &str, seconds: u32) -> Result<Command> {
    let place = tree::root().join("target/fuzz");
    let own = place.join("corpus").join(name);
    std::fs::create_dir_all(&own)?;
    std::fs::create_dir_all(place.join("artifacts"))?;
    let mut command = process::program(program);
    command.env("PLIMSOLL_TARGET", name).stdin(Stdio::null());
    command.arg(format!("-max_total_time={seconds}"));
    command.args(["-max_len=16384", "-timeout=20", "-rss_limit_mb=1024"]);
    command.args(["-print_final_stats=1", "-dict=fuzz/words.dict"]);
    let artifacts = place.join("artifacts").join(name);
    command.arg(format!("-artifact_prefix={}-", artifacts.display()));
    command.arg(own).arg(seeds(name));
    let beside = BESIDE.iter().filter(|(target, _)| *target == name);
    command.args(beside.map(|(_, folder)| folder));
    Ok(command)
}

fn number(said: &str, key: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().parse().ok()
}

/// What was said in the end: the reason, and where the input lies.
fn last(said: &str) -> String {
    let tells = |line: &&str| line.contains("panicked at") || line.contains("ERROR: libFuzzer");
    let why = said.lines().filter(tells).take(2);
    let lines: Vec<&str> = said.lines().collect();
    let end = &lines[lines.len().saturating_sub(4)..];
    why.chain(end.iter().copied())
        .collect::<Vec<_>>()
        .join("\n")
}
