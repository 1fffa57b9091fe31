//! What the model says of an arm, and what a kernel that performs the recording says.

use std::fs;
use std::path::Path;

use answer::bench::Bench;
use answer::model_bench::ModelBench;
use answer::room::with_room;
use anyhow::{Context as _, Result, bail};
use mm::stock::Stock;
use mm::units::{Bytes, Nanos};
use plimsoll_lab::experiment::Experiment;
use plimsoll_lab::vm::{KernelChoice, VmBench, VmOptions};
use study::{AtHand, Beside, Limit, READ_IN, Study, SwapAtHand, recording};

use crate::measure::Figures;
use crate::program::{ARMS, Arm};

/// Measures that not every recording has.
const WRITTEN: &str = "written to disk";
const SWAPPED_IN: &str = "pages swapped in";

pub(crate) fn predict(recording: &Path, arm: &Arm, kernel: &str) -> Result<Figures> {
    ask(
        &asked(recording, arm, kernel)?,
        &ModelBench::of_kernel(kernel)?,
    )
}

pub(crate) fn prove(
    recording: &Path,
    arm: &Arm,
    kernel: &str,
    stock: &'static Stock,
) -> Result<Figures> {
    let options = VmOptions {
        kernel: KernelChoice::Stock(stock),
        binary: Some(testkit::checkout(
            "target/x86_64-unknown-linux-gnu/release/plimsoll",
        )),
        ..VmOptions::default()
    };
    let bench = VmBench::new(&options, &mut |_| {})?;
    ask(&asked(recording, arm, kernel)?, &bench)
}

/// The recording's study as it is asked: with the arm's memory, settings and limit.
fn asked(path: &Path, arm: &Arm, kernel: &str) -> Result<Study> {
    let bytes = fs::read(path)?;
    let (text, recording) = recording::read(&bytes)?;
    let study = Study::parse_with(&with_settings(&text, arm), "load.rec", recording)?;
    let study = with_backup(with_limit(study, arm)?, arm)?;
    let at_hand = AtHand {
        memory: Some(Bytes(arm.memory_mib << 20)),
        swap: arm.zram_mib.map(|mib| SwapAtHand::Zram(Bytes(mib << 20))),
        ..AtHand::default()
    };
    let study = match arm.memory_mib == ARMS[0].memory_mib {
        true => study,
        false => study.on(&at_hand)?,
    };
    Ok(with_room(study, &ModelBench::of_kernel(kernel)?)?.0)
}

fn with_settings(text: &str, arm: &Arm) -> String {
    let settings = arm
        .settings
        .iter()
        .map(|(key, value)| format!("{key:?} = {value:?}, "));
    let settings = format!("settings = {{ {} }}", settings.collect::<String>());
    let settings = settings.replace(",  }", " }");
    let name = "name = \"as recorded\"\n";
    let text = text.replacen(name, &format!("{name}{settings}\n"), 1);
    format!(
        "{text}\n[[measure]]\nname = {WRITTEN:?}\nbetween = [\"begin\", \"end\"]\n\
         vmstat = \"pgpgout\"\nunit = \"kB\"\n\n\
         [[measure]]\nname = {SWAPPED_IN:?}\nbetween = [\"begin\", \"end\"]\n\
         vmstat = \"pswpin\"\nunit = \"pages\"\n"
    )
}

/// The programs run in one group.
fn with_limit(study: Study, arm: &Arm) -> Result<Study> {
    let limit = arm.limit_mib.map(|mib| Limit {
        group: "load".to_owned(),
        memory: Bytes(mib << 20),
    });
    let arms: Vec<String> = study.arms.iter().map(|arm| arm.name.clone()).collect();
    match (limit, &arms[..]) {
        (None, _) => Ok(study),
        (Some(limit), [only]) => Ok(study.with_limits(only, &[limit])?.0),
        (Some(_), _) => bail!("a recording has one arm"),
    }
}

/// In an arm that stands last.
fn with_backup(study: Study, arm: &Arm) -> Result<Study> {
    match arm.backup_mib {
        None => Ok(study),
        Some(mib) => Ok(study.beside(Beside::Backup, Bytes(mib << 20))?),
    }
}

fn ask(study: &Study, bench: &(dyn Bench + Sync)) -> Result<Figures> {
    let mut experiment = Experiment::new(study);
    experiment.repetitions = 1;
    experiment
        .arms
        .extend(study.arms.last().map(|arm| arm.name.clone()));
    let results = experiment.run(bench, None, &|_| {})?;
    let why = || format!("no outcome: {:?}", results.failures);
    let record = results.records.first().with_context(why)?;
    let measure = |name: &str| -> Result<f64> {
        let measure = study.measures.iter().find(|it| it.name == name);
        Ok(measure.context("no such measure")?.read(&record.outcome)?)
    };
    // Stream 0 was cached before; each of the others is a step, and sleeps until its first run.
    let steps = record
        .outcome
        .steps
        .iter()
        .filter(|step| !step.label.starts_with("0 "));
    let streams = &study.recorded.recorded.streams;
    let first = streams
        .iter()
        .skip(1)
        .filter_map(|stream| stream.iter().next());
    let first = first.map(|run| run.sleep).min().unwrap_or(Nanos::ZERO);
    let begins = steps
        .clone()
        .map(|step| step.start)
        .min()
        .unwrap_or(Nanos::ZERO);
    let ends = steps.map(|step| step.end).max().unwrap_or(Nanos::ZERO);
    Ok(Figures {
        read: measure(READ_IN)?,
        written: measure(WRITTEN)?,
        swapped_in: measure(SWAPPED_IN)?,
        seconds: ends.saturating_sub(begins).saturating_sub(first).seconds(),
    })
}
