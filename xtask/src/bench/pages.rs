//! How fast `plimsoll ksm estimate` reads the pages of a process.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::clock::{Spent, median};
use crate::process;

/// Pages of the process that is read: 160 MiB.
const PAGES: u64 = 40_000;

/// Bounds of what is kept: everything, and one content in 64.
const KEPT: [(&str, &str); 2] = [("every page", "4194304"), ("one content in 64", "1000")];

/// Pages a CPU second, as a section of the page.
pub(super) fn section(plimsoll: &Path, rounds: usize) -> Result<String> {
    let mut text = format!(
        "### Pages read by `ksm estimate`\n\n\
         {PAGES} pages of one process, each with another content, looked at twice; median of \
         {rounds}.\nThe time is that of the whole command, less that of one on a process of 100 \
         pages.\n\n| kept | thousand pages per CPU second | GB per CPU second |\n|---|---|---|\n"
    );
    let tenant = tenant(plimsoll)?;
    let seconds = |pages, keep| seconds(plimsoll, &tenant, (pages, keep), rounds);
    let idle = seconds(100, KEPT[0].1)?;
    for (name, keep) in KEPT {
        let each = PAGES as f64 / (seconds(PAGES, keep)? - idle).max(0.01);
        let (thousands, gigabytes) = (each / 1e3, each * 4096.0 / 1e9);
        text += &format!("| {name} | {thousands:.0} | {gigabytes:.1} |\n");
    }
    Ok(text)
}

/// Builds the process that is read; its path.
fn tenant(plimsoll: &Path) -> Result<PathBuf> {
    let mut cargo = process::cargo();
    cargo.args(["build", "--quiet", "--release"]);
    process::succeed(cargo.args(["--package", "plimsoll", "--example", "tenant"]))?;
    let folder = plimsoll.parent().context("a folder")?;
    Ok(folder.join("examples/tenant"))
}

/// CPU seconds of the command on a process with this many pages.
fn seconds(
    plimsoll: &Path,
    tenant: &Path,
    (pages, keep): (u64, &str),
    rounds: usize,
) -> Result<f64> {
    let mut tenant = process::program(tenant);
    let place = process::describe(&tenant);
    tenant
        .arg(format!("unique={pages}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut tenant = tenant.spawn().context(place)?;
    let mut line = String::new();
    let output = tenant.stdout.take().context("its output is piped")?;
    BufReader::new(output).read_line(&mut line)?;
    let mut spent = Vec::new();
    for _ in 0..rounds {
        let mut estimate = process::program(plimsoll);
        estimate.args([
            "ksm",
            "estimate",
            "--json",
            "--sample-time",
            "0",
            "--keep",
            keep,
        ]);
        estimate
            .arg("--pid")
            .arg(tenant.id().to_string())
            .stdout(Stdio::piped());
        let run = Spent::by(&mut estimate)?;
        if !run.output.contains("\"estimate\":{") {
            bail!("the process could not be read: run the benchmark as root");
        }
        spent.push(run.cpu);
    }
    // Its input closes, and with it the process.
    drop(tenant.stdin.take());
    tenant.wait()?;
    Ok(median(spent.into_iter()))
}
