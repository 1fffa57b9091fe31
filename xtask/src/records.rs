//! `cargo xtask records [STUDY...] [--jobs N]`: proves built-in studies on the VM bench, on both
//! stock kernels at the same time, and replaces their folders in `records/`.
//!
//! The runs take long. They are kept in a folder that is named after the binary, beside a copy of
//! it that makes them all, so that an interrupted call resumes, a build in between changes nothing,
//! and records of different binaries never meet. A study takes the place of the committed one only
//! when all of its runs are there, on both kernels. Then the score is rewritten.

mod size;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};

use crate::{binary, process, score, tree};

/// The kernels that a study is proved on. All records of one more take its VMs a night.
const KERNELS: [&str; 2] = ["6.1", "6.12"];

/// `cargo xtask records`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wanted = Wanted::parse(arguments, &studies()?, KERNELS.len())?;
    let place = Place::of(&binary::release()?, &tree::root().join("target/records"))?;
    let failures = thread::scope(|scope| {
        let (wanted, place) = (&wanted, &place);
        let threads = KERNELS.map(|kernel| scope.spawn(move || prove_all(wanted, place, kernel)));
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|failures| failures.map_err(|_| anyhow!("a thread panicked")))
            .collect::<Result<Vec<_>>>()
    })?;
    let failures = failures.concat();
    for study in &wanted.studies {
        if failures.iter().any(|failure| failure.study == *study) {
            continue;
        }
        let fresh = place.records().join(study);
        size::check(study, &fresh)?;
        replace(&fresh, &tree::root().join("records").join(study))?;
    }
    score::run(&[])?;
    match failures.first() {
        None => Ok(()),
        Some(first) => bail!(
            "{} proofs of studies failed; the first, {} on {}: {}; call it again, it resumes",
            failures.len(),
            first.study,
            first.kernel,
            first.why
        ),
    }
}

/// What is to be proved.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    studies: Vec<String>,
    /// VMs at a time, of each kernel.
    jobs: usize,
}

impl Wanted {
    fn parse(arguments: &[String], built_in: &[String], kernels: usize) -> Result<Self> {
        let (mut studies, mut jobs) = (Vec::new(), usual_jobs(kernels));
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--jobs" {
                let number = arguments.next().and_then(|number| number.parse().ok());
                jobs = number
                    .map(NonZeroUsize::get)
                    .context("--jobs: give it a number from 1")?;
            } else if built_in.contains(argument) {
                studies.push(argument.clone());
            } else {
                bail!(
                    "no study \"{argument}\"; those there are: {}",
                    built_in.join(", ")
                );
            }
        }
        if studies.is_empty() {
            studies = built_in.to_vec();
        }
        Ok(Self { studies, jobs })
    }
}

/// The CPUs shared among the kernels.
fn usual_jobs(kernels: usize) -> usize {
    let cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    cpus.div_ceil(kernels)
}

/// A study that could not be proved whole on a kernel.
#[derive(Clone, Debug)]
struct Failure {
    study: String,
    kernel: String,
    why: String,
}

/// Proves one study after the other on one kernel; a failure does not keep the others from it.
fn prove_all(wanted: &Wanted, place: &Place, kernel: &str) -> Vec<Failure> {
    let mut failures = Vec::new();
    for study in &wanted.studies {
        if let Err(why) = prove(study, kernel, wanted.jobs, place) {
            failures.push(Failure {
                study: study.clone(),
                kernel: kernel.to_owned(),
                why: format!("{why:#}"),
            });
        }
    }
    failures
}

/// Exit code 1 says that a prediction is off, which is for the reader of the report to judge.
fn prove(study: &str, kernel: &str, jobs: usize, place: &Place) -> Result<()> {
    let mut prove = process::program(place.plimsoll());
    prove
        .args(["prove", study, "--kernel", kernel])
        .args(["--jobs", &jobs.to_string(), "--records"])
        .arg(place.records());
    prove.arg("--out").arg(place.reports(kernel));
    let mut child = prove
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| process::describe(&prove))?;
    let last = say_each_line(&mut child, &format!("{study} on {kernel}: "));
    match child.wait()?.code() {
        Some(0 | 1) => Ok(()),
        Some(_) => bail!("{last}"),
        None => bail!("{} was killed", process::describe(&prove)),
    }
}

/// Passes on what the child says, each line with its place in front; hands back the last one.
fn say_each_line(child: &mut Child, place: &str) -> String {
    let mut last = String::new();
    let lines = child.stderr.take().map(BufReader::new).into_iter();
    for line in lines
        .flat_map(|reader| reader.lines())
        .map_while(|line| line.ok())
    {
        eprintln!("{place}{line}");
        last = line;
    }
    last
}

/// The names of the built-in studies that can be proved, in order.
fn studies() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(tree::root().join("studies")).context("studies")? {
        let path = entry?.path();
        let is_study = path
            .extension()
            .is_some_and(|extension| extension == "toml");
        if is_study && is_provable(&fs::read_to_string(&path)?)? {
            names.extend(
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a study's text has an arm that is not for the model only.
///
/// # Errors
/// It is no TOML.
fn is_provable(study: &str) -> Result<bool> {
    let study: toml::Table = study.parse()?;
    let for_the_model = |arm: &toml::Value| arm.get("model-only") == Some(&true.into());
    let mut arms = study
        .get("arm")
        .and_then(|arms| arms.as_array())
        .into_iter()
        .flatten();
    Ok(arms.any(|arm| !for_the_model(arm)))
}

/// The folder of one binary: a copy of it, its records, and the reports on them.
struct Place(PathBuf);

impl Place {
    /// The binary's folder below `all`, made if it is not there.
    fn of(plimsoll: &Path, all: &Path) -> Result<Self> {
        let output = process::program("sha256sum").arg(plimsoll).output();
        let output = output.context("sha256sum")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let hash = text.get(..16).context("sha256sum says nothing")?;
        let place = Self(all.join(hash));
        fs::create_dir_all(&place.0).with_context(|| place.0.display().to_string())?;
        if !place.plimsoll().exists() {
            let part = place.0.join("plimsoll.part");
            fs::copy(plimsoll, &part).with_context(|| part.display().to_string())?;
            fs::rename(&part, place.plimsoll()).with_context(|| part.display().to_string())?;
        }
        Ok(place)
    }

    fn plimsoll(&self) -> PathBuf {
        self.0.join("plimsoll")
    }

    fn records(&self) -> PathBuf {
        self.0.join("records")
    }

    /// Two proofs of one study go on at the same time, so each kernel has its own.
    fn reports(&self, kernel: &str) -> PathBuf {
        self.0.join("reports").join(kernel)
    }
}

/// Puts a copy of `fresh` in the place of `old`; the original stays, so that another call has
/// nothing to run.
fn replace(fresh: &Path, old: &Path) -> Result<()> {
    let at = |path: &Path| path.display().to_string();
    let part = old.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part).with_context(|| at(&part))?;
    }
    fs::create_dir_all(&part).with_context(|| at(&part))?;
    for entry in fs::read_dir(fresh).with_context(|| at(fresh))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if !name.as_encoded_bytes().starts_with(b".") {
            fs::copy(&path, part.join(name)).with_context(|| at(&path))?;
        }
    }
    if old.exists() {
        fs::remove_dir_all(old).with_context(|| at(old))?;
    }
    fs::rename(&part, old).with_context(|| at(old))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_studies_are_found_by_their_files() {
        let found = studies().unwrap();
        assert!(found.contains(&"min-free-kbytes".to_owned()));
        assert!(
            !found.contains(&"memory-hogs-full-size".to_owned()),
            "no VM is as large"
        );
    }

    #[test]
    fn studies_are_named_or_all_of_them() {
        let built_in = words(&["a", "b"]);
        let parse = |arguments: &[&str]| Wanted::parse(&words(arguments), &built_in, 2);
        assert_eq!(parse(&[]).unwrap().studies, built_in);
        let some = parse(&["b", "--jobs", "3"]).unwrap();
        assert_eq!((some.studies, some.jobs), (words(&["b"]), 3));
        let error = parse(&["c"]).unwrap_err().to_string();
        assert_eq!(error, "no study \"c\"; those there are: a, b");
        for wrong in [&["--jobs"][..], &["--jobs", "0"], &["--jobs", "many"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    /// Another build makes another place; the same one comes back to what it left.
    #[test]
    fn each_binary_has_its_own_place_and_its_copy_does_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("built");
        fs::write(&built, "one").unwrap();
        let one = Place::of(&built, folder.path()).unwrap();
        fs::create_dir(one.records()).unwrap();
        fs::write(&built, "two").unwrap();
        let two = Place::of(&built, folder.path()).unwrap();
        assert!(one.0 != two.0 && !two.records().exists());
        assert_eq!(fs::read(one.plimsoll()).unwrap(), b"one");
        assert_eq!(fs::read(two.plimsoll()).unwrap(), b"two");
        fs::write(&built, "one").unwrap();
        assert_eq!(Place::of(&built, folder.path()).unwrap().0, one.0);
    }

    #[test]
    fn a_study_is_replaced_whole_and_the_fresh_records_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (fresh, old) = (folder.path().join("fresh"), folder.path().join("old"));
        for (path, text) in [(&fresh, "new"), (&old, "old")] {
            fs::create_dir(path).unwrap();
            fs::write(path.join(text), text).unwrap();
        }
        fs::write(fresh.join(".unfinished-x"), "half").unwrap();
        for _ in 0..2 {
            replace(&fresh, &old).unwrap();
            let names: Vec<_> = fs::read_dir(&old)
                .unwrap()
                .map(|e| e.unwrap().file_name())
                .collect();
            assert_eq!(names, ["new"]);
        }
        assert!(fresh.join("new").exists() && !old.with_extension("part").exists());
    }

    #[test]
    fn the_last_line_of_a_failure_is_its_reason() {
        let mut child = process::program("sh")
            .args(["-c", "echo one >&2; echo 'plimsoll: no kernel' >&2"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(say_each_line(&mut child, "test: "), "plimsoll: no kernel");
        child.wait().unwrap();
    }
}
