//! `cargo xtask test`: every check there is, and one line on each at the end.

use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::tally::{Tally, tests};
use crate::{binary, debian, deny, fuzz, hostile, loaders, package, packages, process, tidy};

/// Whether a test that could not run fails the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skips {
    Allowed,
    Refused,
}

/// The tests that only run when they are named.
const NAMED: [&str; 8] = [
    "--test", "vm", "--test", "debian", "--test", "loaders", "--test", "hostile",
];

/// Seconds for which each fuzz target runs.
const FUZZ_SECONDS: u32 = 3;

/// A check that ran.
struct Done {
    name: &'static str,
    took: Duration,
    tally: Tally,
}

/// `cargo xtask test [--no-skips]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let skips = match arguments {
        [] => Skips::Allowed,
        [flag] if flag == "--no-skips" => Skips::Refused,
        _ => bail!("test takes --no-skips or nothing"),
    };
    let missing = packages::install();
    for line in &missing {
        eprintln!("{line}");
    }
    let mut done = vec![
        check("rustfmt", || passes(&mut rustfmt())),
        check("tidy", || Ok(Tally::of(tidy::run(&[])))),
        check("clippy", || passes(&mut clippy())),
        check("clippy, named tests", || {
            passes(&mut clippy_of_named_tests())
        }),
        check("documentation", || passes(&mut documentation())),
        check("dependencies", || Ok(Tally::of(deny::run(&[])))),
        check("building the tests", build_tests),
    ];
    let (built, programs_of) = mpsc::channel();
    let (tests, machines) = beside(|| programs(&programs_of), || machines(skips, built));
    done.extend(tests);
    done.extend(machines);
    summarise(&done, skips)
}

/// A machine of the tests has one CPU: what needs none keeps the others busy meanwhile.
fn beside<A: Send, B: Send>(this: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        (this(), other.join().expect("a check that fails returns"))
    })
}

/// What runs on this machine. The attacks are on the programs as packaged, and come last: they
/// flood the machine's file systems with events.
fn programs(built: &Receiver<PathBuf>) -> Vec<Done> {
    vec![
        check("unit and integration tests", || {
            tests("", &mut workspace_tests())
        }),
        check("page and Python package compile", || Ok(Tally::of(apart()))),
        check("boot-time loaders", || tests("", &mut loaders::tests())),
        check("fuzz targets", || fuzz::tried(FUZZ_SECONDS, &[])),
        check("attacks", || {
            let plimsoll = built.recv().context("the programs are not built")?;
            tests("", &mut hostile::tests(&plimsoll))
        }),
    ]
}

/// What boots machines; all run the command, as a user has it, which is built once, and packaged.
fn machines(skips: Skips, to: Sender<PathBuf>) -> Vec<Done> {
    let (mut command, mut package) = (None, None);
    let built = check("building the programs", || {
        // Who waits for them learns where they lie, or that they are not built.
        let to = to;
        to.send(command.insert(binary::both()?).clone())?;
        Ok(Tally::of(Ok(())))
    });
    let packaged = check("packaging them", || {
        package = command.as_deref().map(package::make).transpose()?;
        Ok(Tally::of(Ok(())))
    });
    let boot = |mut cargo: Command| {
        cargo.envs(command.iter().map(|path| ("PLIMSOLL_BINARY", path)));
        cargo.envs(package.iter().map(|path| ("PLIMSOLL_PACKAGE", path)));
        tests("VM: ", booting(&mut cargo, skips))
    };
    vec![
        built,
        packaged,
        check("tests on a real kernel", || boot(vm_tests())),
        check("tests on a real Debian", || boot(debian::tests())),
    ]
}

fn rustfmt() -> Command {
    with(process::cargo(), &["fmt", "--all", "--check"])
}

fn clippy() -> Command {
    let arguments = [
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--",
        "-Dwarnings",
    ];
    with(process::cargo(), &arguments)
}

/// `--all-targets` passes over a test that only runs when it is named.
fn clippy_of_named_tests() -> Command {
    let clippy = ["clippy", "--quiet", "--workspace"];
    let arguments = [&clippy[..], &NAMED, &["--", "-Dwarnings"]].concat();
    with(process::cargo(), &arguments)
}

/// Those that only run when they are named too, so that nothing is built beside tests that run.
fn build_tests() -> Result<Tally> {
    let workspace = ["test", "--quiet", "--workspace", "--no-run"];
    process::succeed(&mut with(process::cargo(), &workspace))?;
    passes(with(process::cargo(), &workspace).args(NAMED))
}

/// The output of tests that passed is shown too: it says what was skipped.
/// The workspaces of their own, which use crates of this one.
fn apart() -> Result<()> {
    for manifest in ["page/Cargo.toml", "python/Cargo.toml"] {
        let arguments = ["check", "--quiet", "--locked", "--manifest-path", manifest];
        let mut cargo = with(process::cargo(), &arguments);
        process::succeed(cargo.args(["--target-dir", "target/apart"]))?;
    }
    Ok(())
}

fn workspace_tests() -> Command {
    let arguments = [
        "test",
        "--quiet",
        "--workspace",
        "--no-fail-fast",
        "--",
        "--show-output",
    ];
    let mut cargo = with(process::cargo(), &arguments);
    cargo.env("RUST_TEST_THREADS", threads().to_string());
    // A check compares with what is committed, and never writes it.
    cargo.env_remove("UPDATE_EXPECT");
    cargo
}

/// More than there are CPUs: half of the longest tests wait for a process and leave the CPU idle.
fn threads() -> usize {
    4 * thread::available_parallelism().map_or(1, NonZero::get)
}

fn documentation() -> Command {
    let mut cargo = with(
        process::cargo(),
        &["doc", "--quiet", "--workspace", "--no-deps"],
    );
    cargo.env("RUSTDOCFLAGS", "-Dwarnings");
    cargo
}

/// One at a time: some measure the host's time. Their output is shown, for they take minutes.
fn vm_tests() -> Command {
    let arguments = ["test", "--workspace", "--test", "vm", "--no-fail-fast"];
    let mut cargo = with(process::cargo(), &arguments);
    cargo.args(["--", "--nocapture", "--test-threads=1"]);
    cargo
}

/// Says what tests do that cannot boot a machine.
fn booting(cargo: &mut Command, skips: Skips) -> &mut Command {
    let mode = match skips {
        Skips::Allowed => "auto",
        Skips::Refused => "required",
    };
    cargo.env("PLIMSOLL_VM", mode)
}

fn with(mut command: Command, arguments: &[&str]) -> Command {
    command.args(arguments);
    command
}

fn check(name: &'static str, run: impl FnOnce() -> Result<Tally>) -> Done {
    eprintln!("\n== {name}");
    let start = Instant::now();
    let tally = run().unwrap_or_else(|error| Tally::of(Err(error)));
    Done {
        name,
        took: start.elapsed(),
        tally,
    }
}

fn passes(command: &mut Command) -> Result<Tally> {
    Ok(Tally::of(process::succeed(command)))
}

fn summarise(done: &[Done], skips: Skips) -> Result<()> {
    println!();
    for Done { name, took, tally } in done {
        let minutes = took.as_secs() / 60;
        println!("{name:28} {minutes:2}:{:02}  {tally}", took.as_secs() % 60);
    }
    for reason in done.iter().flat_map(|done| &done.tally.reasons) {
        println!("skipped: {reason}");
    }
    let total: Tally = done.iter().map(|done| &done.tally).sum();
    println!("{total}");
    // Where only the end of the output is kept, they are still told.
    for line in total.failures.iter().filter(|_| total.failed > 0) {
        println!("failed: {line}");
    }
    if total.failed > 0 {
        bail!("{} failed", total.failed);
    }
    if total.skipped > 0 && skips == Skips::Refused {
        bail!("{} skipped, and --no-skips was given", total.skipped);
    }
    Ok(())
}
