//! `cargo xtask outcomes`: a hash of every run of the model, and the runs whose hash another state
//! of the source does not share.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::against::{self, Program, State};

/// `cargo xtask outcomes [--against REV] [STUDY...]`: with a revision, an error if a run differs.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (revision, studies) = against::revision(arguments)?;
    if let Some(unknown) = studies.iter().find(|study| study.starts_with('-')) {
        bail!("outcomes takes studies and --against REV, not {unknown}");
    }
    let studies: Vec<String> = studies.iter().map(|study| whole(study)).collect();
    let now = of(&State::now(), &studies)?;
    let Some(revision) = revision else {
        print!("{now}");
        return Ok(());
    };
    let before = of(&State::of(&revision)?, &studies)?;
    let different = different(&before, &now)?;
    for run in &different {
        println!("{run}");
    }
    let runs = now.lines().count();
    if !different.is_empty() {
        bail!("{} of {runs} runs differ from {revision}", different.len());
    }
    println!("{runs} runs are those of {revision}, byte by byte");
    Ok(())
}

fn of(state: &State, studies: &[String]) -> Result<String> {
    against::printed(&state.build(Program::Outcomes)?, studies)
}

/// A study's name as it is, a path as one from anywhere.
fn whole(study: &str) -> String {
    let path = std::fs::canonicalize(study);
    path.map_or_else(|_| study.to_owned(), |path| path.to_string_lossy().into())
}

/// The runs of either whose hash is not the other's, in order.
fn different(before: &str, now: &str) -> Result<Vec<String>> {
    let (before, now) = (by_run(before)?, by_run(now)?);
    let all = before
        .keys()
        .chain(now.keys().filter(|run| !before.contains_key(*run)));
    let differs = |run: &&&str| before.get(**run) != now.get(**run);
    let mut runs: Vec<String> = all
        .filter(differs)
        .map(|run| run.replace('\t', ", "))
        .collect();
    runs.sort();
    Ok(runs)
}

/// The hash of each run.
fn by_run(lines: &str) -> Result<BTreeMap<&str, &str>> {
    let split = |line| str::rsplit_once(line, '\t').with_context(|| format!("no hash: {line}"));
    lines.lines().map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_differ_whose_hash_is_another_or_lacks() {
        let before = "ksm\t6.1\toff\t1\taa\nksm\t6.1\ton\t1\tbb\nksm\t6.1\tgone\t1\tcc\n";
        let now = "ksm\t6.1\toff\t1\taa\nksm\t6.1\ton\t1\tbd\nksm\t6.1\tnew\t1\tdd\n";
        let runs = ["ksm, 6.1, gone, 1", "ksm, 6.1, new, 1", "ksm, 6.1, on, 1"];
        assert_eq!(different(before, now).unwrap(), runs);
        assert!(different(before, before).unwrap().is_empty());
        assert!(different("no hash", now).is_err());
    }
}
