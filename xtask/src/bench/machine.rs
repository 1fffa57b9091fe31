//! The commit and the machine that figures were measured on.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::{process, tree};

/// Commit, CPU, memory, kernel and compiler, as Markdown.
pub(super) fn describe() -> Result<String> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| path.to_owned());
    let cpuinfo = read("/proc/cpuinfo")?;
    let model = value(&cpuinfo, "model name").unwrap_or("an unnamed CPU");
    let cpus = cpuinfo
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let meminfo = read("/proc/meminfo")?;
    let kib: u64 = value(&meminfo, "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .context("MemTotal")?;
    let load = read("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or_default();
    Ok(format!(
        "Measured at {}, on {model}, {cpus} CPUs, {} GiB,\nLinux {}, {}; load average {load} \
         before.\n",
        commit()?,
        kib >> 20,
        read("/proc/sys/kernel/osrelease")?.trim(),
        compiler()?,
    ))
}

/// The commit that is measured, and whether the tree is another than it.
fn commit() -> Result<String> {
    let commit = git(&["rev-parse", "--short=10", "HEAD"])?;
    // The page is what this command writes.
    let changed = git(&["status", "--porcelain", "--", ".", ":!docs/benchmarks.md"])?;
    Ok(match changed.is_empty() {
        true => format!("commit {commit}"),
        false => format!("commit {commit} with changes that are not committed"),
    })
}

fn git(arguments: &[&str]) -> Result<String> {
    let mut git = process::program("git");
    let output = git.args(arguments).current_dir(tree::root()).output();
    let output = output.context("git")?;
    if !output.status.success() {
        bail!("{}: {}", process::describe(&git), output.status);
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The text behind the first line of this name.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn compiler() -> Result<String> {
    let output = process::program("rustc")
        .arg("--version")
        .output()
        .context("rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .split(" (")
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned())
}
