//! Asks both benches of a drawn study: the kernel by `plimsoll prove`, whose records stay, the
//! model with the seeds of these.

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use answer::bench::{Bench as _, Run};
use answer::calibration;
use answer::model_bench::ModelBench;
use anyhow::{Context, Result, bail};
use mm::stock::Stock;
use plimsoll_lab::store::Store;
use scenario::outcome::Outcome;
use study::Study;
use study::compare::Reading;
use study::record::Provenance;

use super::drawn::{Drawn, Instead};
use super::text;
use crate::root;

/// The model takes a second or two; one that takes this long never ends.
const LONGEST: Duration = Duration::from_secs(300);

/// A study and what the benches said.
pub(super) struct Asked {
    pub(super) drawn: Drawn,
    pub(super) study: Study,
    /// The kernel's runs, by seed.
    pub(super) kernel: Vec<(u64, Reading)>,
    /// The model's with the same seeds, or why there are none.
    pub(super) model: Result<Vec<(u64, Reading)>, String>,
}

/// Where records lie, and the command that makes them.
pub(super) struct Benches {
    pub(super) records: PathBuf,
    /// `None`: only what is recorded.
    pub(super) plimsoll: Option<PathBuf>,
    pub(super) starts: u64,
    pub(super) instead: Instead,
}

impl Benches {
    /// Both benches' answers; `None` where nothing is recorded and nothing is to be run.
    pub(super) fn ask(&self, drawn: Drawn) -> Result<Option<Asked>> {
        let drawn = self.instead.of(drawn);
        let text = text::of(&drawn);
        let study = Study::parse(&text, "a drawn study")?;
        let mut recorded = self.recorded(&study, &drawn)?;
        if let Some(plimsoll) = &self.plimsoll
            && recorded.len() < study.arms.len() * self.starts as usize
        {
            self.prove(plimsoll, &drawn, &study)?;
            recorded = self.recorded(&study, &drawn)?;
        }
        let Some((release, _, _)) = recorded.first() else {
            return Ok(None);
        };
        let runs = recorded
            .iter()
            .map(|(_, seed, run)| (run.arm.clone(), *seed));
        let model = watched(&study, release, runs.collect());
        let kernel = recorded.into_iter().map(|(_, seed, run)| (seed, run));
        Ok(Some(Asked {
            drawn,
            kernel: kernel.collect(),
            study,
            model,
        }))
    }

    /// What its kernel did with exactly this workload: the release, the seed and the figures.
    fn recorded(&self, study: &Study, drawn: &Drawn) -> Result<Vec<(String, u64, Reading)>> {
        let records = Store::new(&self.records).load(&study.name)?;
        let kernel = Stock::named(drawn.kernel).context("a study is of a stock kernel")?;
        let same = |from: &Provenance| {
            kernel.has(&from.kernel) && workload(&from.study_text) == workload(&study.text)
        };
        let same = records.into_iter().filter(|it| same(&it.provenance));
        let read = same.map(|record| {
            let from = record.provenance;
            let reading = Reading::of(&study.measures, &from.arm, &record.outcome);
            (from.kernel, from.seed, reading)
        });
        Ok(read.collect())
    }

    fn prove(&self, plimsoll: &Path, drawn: &Drawn, study: &Study) -> Result<()> {
        let folder = root().join("target/truth");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let file = folder.join(format!("{}.toml", study.name));
        fs::write(&file, &study.text).with_context(|| file.display().to_string())?;
        let mut prove = Command::new(plimsoll);
        prove
            .arg("prove")
            .arg(&file)
            .args(["--kernel", drawn.kernel]);
        prove.args(["--jobs", "1", "--time", "0", "--deadline", "600"]);
        prove.args(["--repetitions", &self.starts.to_string(), "--records"]);
        prove.arg(&self.records).arg("--out").arg(&folder);
        prove.stdout(Stdio::null()).stderr(Stdio::piped());
        let output = prove
            .output()
            .with_context(|| plimsoll.display().to_string())?;
        match output.status.code() {
            Some(0 | 1) => Ok(()),
            // A refusal of the model comes after the records.
            _ if !self.recorded(study, drawn)?.is_empty() => Ok(()),
            _ => bail!(
                "{}: {}",
                study.name,
                String::from_utf8_lossy(&output.stderr)
                    .lines()
                    .last()
                    .unwrap_or_default()
            ),
        }
    }
}

/// A drawn study's text without its measures, which change no run.
fn workload(text: &str) -> &str {
    text.split("\n[[measure]]").next().unwrap_or_default()
}

/// The model's runs in a thread of their own: a panic and a run that never ends are answers too.
fn watched(
    study: &Study,
    release: &str,
    runs: BTreeSet<(String, u64)>,
) -> Result<Vec<(u64, Reading)>, String> {
    let (tell, told) = mpsc::channel();
    let (study, release) = (study.clone(), release.to_owned());
    thread::spawn(move || {
        let all = || {
            runs.iter()
                .map(|(arm, seed)| model(&study, &release, arm, *seed))
                .collect()
        };
        let ended = panic::catch_unwind(AssertUnwindSafe(all));
        let ended = ended.unwrap_or_else(|panic| {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            Err(format!("panic: {}", words.unwrap_or_default()))
        });
        // Nobody listens once the time is over.
        drop(tell.send(ended));
    });
    let hangs = |_| format!("no end within {} s", LONGEST.as_secs());
    told.recv_timeout(LONGEST).map_err(hangs)?
}

fn model(study: &Study, release: &str, arm: &str, seed: u64) -> Result<(u64, Reading), String> {
    let calibration = calibration::built_in(release).map_err(|why| why.to_string())?;
    let scenario = study.scenario(arm, seed).map_err(|why| why.to_string())?;
    let run = Run {
        scenario: &scenario,
    };
    let bench = ModelBench::new(calibration).by_turns();
    let capture = bench.run(run, &mut |_| ()).map_err(|why| why.to_string())?;
    let outcome = Outcome::from_capture(capture).map_err(|why| why.to_string())?;
    Ok((seed, Reading::of(&study.measures, arm, &outcome)))
}
