//! Evidence that is damaged at random: each kind of it, changed many times over, is read, explained
//! and shown or refused within two seconds and 256 MiB; nothing panics, and no line is too wide.
//!
//! `cargo xtask fuzz-evidence` runs many inputs (`PLIMSOLL_INPUTS`, `PLIMSOLL_SECONDS` a kind) and
//! prints a table; a plain test run takes few. Each kind has a process of its own, so that memory
//! is measured and bounded by kind. An input that fails is named by its kind,
//! its seed and the damage.

mod kinds;
mod shown;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use self::kinds::Kind;

/// This test, for the processes that it starts.
const NAME: &str = concat!(module_path!(), "::damaged_evidence_is_read_or_refused");

/// Inputs of each kind, and seconds for them, where nothing else is asked.
const FEW: (u64, u64) = (1000, 3);

/// Address space of a kind's process.
const MEMORY: u64 = 256 << 20;

/// CPU time that one input may take.
const LONGEST: Duration = Duration::from_secs(2);

/// Failures after which a kind is given up.
const ENOUGH: usize = 5;

/// Where a process writes the seed that it is at: what it died of can be found again.
const SEED: &str = "PLIMSOLL_SEED_FILE";

/// What tells a process its kind.
const KIND: &str = "PLIMSOLL_KIND";

#[test]
fn damaged_evidence_is_read_or_refused() {
    let all = kinds::all();
    if let Ok(name) = std::env::var(KIND) {
        let kind = all.iter().find(|kind| kind.name == name);
        return perform(kind.expect("the kind that is asked for"));
    }
    println!("kind            inputs  seconds  slowest ms  peak MiB");
    let (left, failed) = (Mutex::new(all.iter()), Mutex::new(Vec::new()));
    let next = || left.lock().expect("no panic").next();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        while let Some(kind) = next() {
            let why = process(kind).err();
            failed.lock().expect("no panic").extend(why);
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| _ = scope.spawn(work)));
    let failed = failed.into_inner().expect("no panic");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs a kind in a process of its own and prints its row.
fn process(kind: &Kind) -> Result<(), String> {
    let seed = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    let name = NAME.trim_start_matches("plimsoll::");
    command.args([name, "--exact", "--nocapture"]);
    command.env(KIND, kind.name).env(SEED, seed.path());
    let output = command.output().expect("this test starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(row) = said.lines().find_map(|line| line.strip_prefix("row ")) {
        println!("{row}");
    }
    match output.status.success() {
        true => Ok(()),
        false => Err(death(kind, &output, seed.path())),
    }
}

fn death(kind: &Kind, output: &Output, seed: &std::path::Path) -> String {
    let bytes = std::fs::read(seed).unwrap_or_default();
    let at = bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let said = String::from_utf8_lossy(&output.stderr);
    format!(
        "{}, ended at seed {at} ({}), {}:\n{said}",
        kind.name,
        kind.examples.nth(at),
        output.status
    )
}

/// A number that the environment asks for.
fn asked(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// CPU time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("it is not negative")
}

/// Runs the inputs of one kind.
fn perform(kind: &Kind) {
    let old = getrlimit(Resource::As);
    let current = Some(MEMORY);
    setrlimit(Resource::As, Rlimit { current, ..old }).expect("a lower limit is allowed");
    let inputs = asked("PLIMSOLL_INPUTS");
    let seconds = asked("PLIMSOLL_SECONDS").or(inputs.is_none().then_some(FEW.1));
    let seeds = asked("PLIMSOLL_FIRST").unwrap_or(0)..;
    let note = File::create(std::env::var(SEED).expect("where the seed goes")).expect("a file");
    let begun = Instant::now();
    let (mut failed, mut slowest, mut done) = (Vec::new(), Duration::ZERO, 0);
    for seed in seeds.take(usize::try_from(inputs.unwrap_or(FEW.0)).expect("it fits")) {
        if seconds.is_some_and(|seconds| begun.elapsed().as_secs() >= seconds)
            || failed.len() >= ENOUGH
        {
            break;
        }
        note.write_at(&seed.to_le_bytes(), 0)
            .expect("it is written");
        let took = match one(kind, seed) {
            Ok(took) => took,
            Err(why) => {
                failed.push(format!("{}, seed {seed}: {why}", kind.name));
                Duration::ZERO
            }
        };
        slowest = slowest.max(took);
        done += 1;
    }
    row(kind, done, begun.elapsed(), slowest);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// One input: how long it took, or what is wrong.
fn one(kind: &Kind, seed: u64) -> Result<Duration, String> {
    let damaged = kind.examples.nth(seed);
    let begun = cpu_time();
    let read = std::panic::catch_unwind(|| shown::performed(&damaged.bytes, kind.name, seed));
    let took = cpu_time() - begun;
    let read = read.map_err(|_| "it panics".to_owned()).flatten();
    match read {
        Ok(()) if took < LONGEST => Ok(took),
        Ok(()) => Err(format!("{damaged}: it takes {took:?}")),
        Err(why) => Err(format!("{damaged}: {why}")),
    }
}

fn row(kind: &Kind, done: u64, took: Duration, slowest: Duration) {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|kib| kib.split_whitespace().next()?.parse::<u64>().ok());
    println!(
        "\nrow {:14} {done:>7}  {:>7.1}  {:>10.1}  {:>8}",
        kind.name,
        took.as_secs_f64(),
        slowest.as_secs_f64() * 1000.0,
        kib.expect("every process has a peak") >> 10
    );
}
