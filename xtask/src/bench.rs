//! `cargo xtask bench`: measures speed and writes the figures into `docs/benchmarks.md`.
//!
//! Figures are CPU time, medians over rounds that take turns, so that they mean something on a
//! machine that does other work too. They are read by people; no test waits for them.

mod clock;
mod machine;
mod page;
mod pages;
mod ratios;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::{against, binary, process, tree};
use clock::{Spent, median};

const ROUNDS: usize = 5;
/// The sizes of the traces that are put beside libCacheSim, in pages; memory is a tenth.
const TRACES: &[u32] = &[1_000_000, 10_000_000];
const STUDY: &str = "min-free-kbytes";
/// The benchmarks of `lab`, and what each shows.
const BENCHMARKS: [(&str, &str); 4] = [
    ("replay", "Page accesses of a replay"),
    ("model", "Page accesses of the whole model"),
    ("copy", "Copied files, sampled"),
    ("merging", "A host of 1 TiB under ksmd, sampled"),
];

/// libCacheSim's LRU on one trace; prints the miss ratio and the CPU seconds of the replay alone.
const LIBCACHESIM: &str = "
import sys, time, libcachesim as lcs
parameters = lcs.ReaderInitParam(ignore_obj_size=True)
kind = lcs.TraceType.ORACLE_GENERAL_TRACE
reader = lcs.TraceReader(trace=sys.argv[1], trace_type=kind, reader_init_params=parameters)
cache = lcs.LRU(cache_size=int(sys.argv[2]))
start = time.process_time()
ratio = cache.process_trace(reader)[0]
print(ratio, time.process_time() - start)
";

/// `cargo xtask bench [--python PATH]`: with a Python that has libcachesim, both run side by side.
/// `cargo xtask bench --try` shows that every benchmark runs, in one round each, and
/// `cargo xtask bench --against REV [--rounds N]` compares; both write nothing.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let (Some(revision), rest) = against::revision(arguments)? {
        return ratios::print(&revision, &rest);
    }
    let python = match arguments {
        [flag] if flag == "--try" => {
            println!("{}", sections(&binary::release()?, 1)?.join("\n"));
            return Ok(());
        }
        [] => None,
        [flag, path] if flag == "--python" => Some(path.as_str()),
        _ => bail!("bench takes nothing, --try, or --python with a Python that has libcachesim"),
    };
    let plimsoll = binary::release()?;
    let mut sections = sections(&plimsoll, ROUNDS)?;
    if let Some(python) = python {
        sections.push(beside_libcachesim(&plimsoll, python)?);
    }
    page::write(
        &tree::root().join("docs/benchmarks.md"),
        &sections.join("\n"),
    )
}

/// What of the page needs no other program.
fn sections(plimsoll: &Path, rounds: usize) -> Result<Vec<String>> {
    let mut sections = vec![machine::describe()?];
    for (name, title) in BENCHMARKS {
        let table = benchmark(name, &[&rounds.to_string()])?;
        sections.push(format!("### {title}\n\n{table}"));
    }
    sections.push(study(plimsoll, rounds)?);
    sections.push(pages::section(plimsoll, rounds)?);
    Ok(sections)
}

fn benchmark(name: &str, arguments: &[&str]) -> Result<String> {
    let mut cargo = process::cargo();
    cargo.args([
        "bench",
        "--quiet",
        "--package",
        "plimsoll-lab",
        "--bench",
        name,
        "--",
    ]);
    let output = cargo.args(arguments).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| process::describe(&cargo))?;
    if !output.status.success() {
        bail!("{}: {}", process::describe(&cargo), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The whole study on the model, all arms.
fn study(plimsoll: &Path, rounds: usize) -> Result<String> {
    let mut spent = Vec::new();
    for _ in 0..rounds {
        let mut predict = process::program(plimsoll);
        predict.args(["predict", STUDY]).stdout(Stdio::null());
        spent.push(Spent::by(&mut predict)?);
    }
    let wall = median(spent.iter().map(|spent| spent.wall));
    let cpu = median(spent.iter().map(|spent| spent.cpu));
    Ok(format!(
        "### A whole study\n\n\
         `plimsoll predict {STUDY}`, all arms, median of {rounds}: {wall:.2} s of \
         wall time,\n{cpu:.2} s of CPU time.\n"
    ))
}

/// The same trace files through `plimsoll replay` and libCacheSim's LRU, in turns.
fn beside_libcachesim(plimsoll: &Path, python: &str) -> Result<String> {
    let mut text = String::from(
        "### Beside libCacheSim\n\n\
         20 million accesses, Zipf 1.0, memory 10 %, one `oracleGeneral` file, one thread. \
         Plimsoll's time is that\nof the whole command, which reads the file and numbers its pages \
         first; libCacheSim's (its LRU) is that\nof the replay alone.\n\n\
         | pages | Plimsoll, CPU s | libCacheSim, CPU s | ratio | miss ratio, two lists | \
         miss ratio, LRU |\n|---|---|---|---|---|---|\n",
    );
    for &pages in TRACES {
        let trace = trace(pages)?;
        let memory = (pages / 10).to_string();
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let ours = ours(plimsoll, &trace, &memory)?;
            rounds.push((ours, theirs(python, &trace, &memory)?));
        }
        fs::remove_file(&trace)?;
        text += &line(pages, &rounds);
    }
    Ok(text)
}

/// A miss ratio, and the CPU seconds that it took.
struct Replayed {
    ratio: f64,
    seconds: f64,
}

fn line(pages: u32, rounds: &[(Replayed, Replayed)]) -> String {
    let ours = median(rounds.iter().map(|(ours, _)| ours.seconds));
    let theirs = median(rounds.iter().map(|(_, theirs)| theirs.seconds));
    let times = median(
        rounds
            .iter()
            .map(|(ours, theirs)| theirs.seconds / ours.seconds),
    );
    let (two_lists, lru) = (rounds[0].0.ratio, rounds[0].1.ratio);
    format!("| {pages} | {ours:.2} | {theirs:.2} | {times:.1} | {two_lists:.4} | {lru:.4} |\n")
}

fn trace(pages: u32) -> Result<PathBuf> {
    let path = tree::root().join(format!("target/zipf-{pages}.bin"));
    benchmark(
        "replay",
        &["trace", &pages.to_string(), &path.to_string_lossy()],
    )?;
    Ok(path)
}

fn ours(plimsoll: &Path, trace: &Path, memory: &str) -> Result<Replayed> {
    let mut replay = process::program(plimsoll);
    replay
        .arg("replay")
        .arg(trace)
        .args(["--memory", memory, "--json"]);
    let spent = Spent::by(replay.stdout(Stdio::piped()))?;
    let ratio = spent
        .output
        .rsplit_once("\"miss_ratio\":")
        .context("no miss_ratio")?
        .1;
    Ok(Replayed {
        ratio: ratio.trim_matches(|c: char| !c.is_ascii_digit()).parse()?,
        seconds: spent.cpu,
    })
}

fn theirs(python: &str, trace: &Path, memory: &str) -> Result<Replayed> {
    let mut command = process::program(python);
    command.args(["-c", LIBCACHESIM]).arg(trace).arg(memory);
    let spent = Spent::by(command.stdout(Stdio::piped()))?;
    let (ratio, seconds) = spent.output.trim().split_once(' ').context("two numbers")?;
    Ok(Replayed {
        ratio: ratio.parse()?,
        seconds: seconds.parse()?,
    })
}
