//! What the model says of an arm, and what a kernel that performs the recording says.

use std::fs;
use std::path::Path;

use answer::bench::Bench;
use answer::model_bench::ModelBench;
use anyhow::{Context as _, Result};
use mm::units::{Bytes, Nanos};
use plimsoll_lab::experiment::Experiment;
use plimsoll_lab::vm::{KernelChoice, Stock, VmBench, VmOptions};
use study::{AtHand, READ_IN, Study, SwapAtHand, recording};

use crate::measure::Figures;
use crate::program::{ARMS, Arm};

/// Measures that not every recording has.
const WRITTEN: &str = "written to disk";
const SWAPPED_IN: &str = "pages swapped in";

pub(crate) fn predict(recording: &Path, arm: &Arm, kernel: &str) -> Result<Figures> {
    ask(&asked(recording, arm)?, &ModelBench::of_kernel(kernel)?)
}

pub(crate) fn prove(recording: &Path, arm: &Arm, stock: Stock) -> Result<Figures> {
    let options = VmOptions {
        kernel: KernelChoice::Stock(stock),
        binary: Some(testkit::checkout(
            "target/x86_64-unknown-linux-gnu/release/plimsoll",
        )),
        ..VmOptions::default()
    };
    let bench = VmBench::new(&options, &mut |_| {})?;
    ask(&asked(recording, arm)?, &bench)
}

/// The recording's study as it is asked: with the arm's memory, settings and limit.
fn asked(path: &Path, arm: &Arm) -> Result<Study> {
    let bytes = fs::read(path)?;
    let (text, recording) = recording::read(&bytes)?;
    let text = with_settings(&with_limit(text, arm), arm);
    let study = Study::parse_with(&text, "load.rec", recording)?;
    if arm.memory_mib == ARMS[0].memory_mib {
        return Ok(study);
    }
    let at_hand = AtHand {
        memory: Some(Bytes(arm.memory_mib << 20)),
        swap: arm.zram_mib.map(|mib| SwapAtHand::Zram(Bytes(mib << 20))),
        ..AtHand::default()
    };
    Ok(study.on(&at_hand)?)
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

/// All that the recording has ran in the group.
fn with_limit(text: String, arm: &Arm) -> String {
    let Some(mib) = arm.limit_mib else {
        return text;
    };
    let group =
        format!("\n[[cgroup]]\npath = \"load\"\nfiles = {{ \"memory.max\" = \"{mib} MiB\" }}\n");
    let on_demand = "start = \"on demand\"\n";
    text.replace(on_demand, &format!("{on_demand}cgroup = \"load\"\n")) + &group
}

fn ask(study: &Study, bench: &(dyn Bench + Sync)) -> Result<Figures> {
    let mut experiment = Experiment::new(study);
    experiment.repetitions = 1;
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
