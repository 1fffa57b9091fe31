//! `plimsoll calibrate`: what the model must be told of a kernel, measured in a VM.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use answer::bench::Progress;
use anyhow::Context as _;
use lab::calibrate::{SIZES, calibrate};
use lab::calibration;
use lab::vm::{KernelChoice, VmBench, VmOptions};
use scenario::calibration::Calibration;
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use crate::exit::ExitCode;
use crate::term;

/// Measure what elementary operations cost on a kernel, and how it leaves the memory after boot
///
/// The model predicts with these figures. They come from micro-measurements in a VM in virtual
/// time, never from a study's result, so they are the same on every host.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(long, help = super::bootable(""))]
    kernel: KernelChoice,
    /// Write the calibration into this folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Sizes of RAM to boot, in MiB
    #[arg(long, value_name = "MIB", value_delimiter = ',', default_values_t = SIZES)]
    #[arg(value_parser = super::whole(64..=1_u64 << 20))]
    sizes: Vec<u64>,
    /// Write what was measured as JSON too, one document in a line
    #[arg(long)]
    json: bool,
    /// Write the costs as CSV too, one a line
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// What is printed.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document<'a> {
    kernel: &'a str,
    bench: &'a str,
    /// By name, as a study's `[machine.costs]` has them.
    costs_ps: BTreeMap<&'static str, u64>,
    /// Sizes of RAM that were booted.
    boots_bytes: Vec<u64>,
}

impl Shape for Document<'_> {
    const NAME: &'static str = "calibration";
    const VERSION: u32 = 2;
}

/// Calibrates.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = VmOptions {
        kernel: args.kernel,
        ..VmOptions::default()
    };
    files::output::folder(&args.out).with_context(|| args.out.display().to_string())?;
    let bench = VmBench::new(&options, &mut say)?;
    let calibration = calibrate(&bench, &args.sizes, &mut say)?;
    calibration::write(&args.out, &calibration)?;
    let (kernel, out) = (&calibration.kernel, args.out.display());
    term::talk(format_args!("calibrated {kernel} into {out}"));
    if args.json {
        writeln!(term::out(), "{}", json(&calibration))?;
    } else if args.csv {
        write!(term::out(), "{}", csv(&calibration))?;
    }
    Ok(ExitCode::Done)
}

fn json(calibration: &Calibration) -> String {
    let document = Document {
        kernel: &calibration.kernel,
        bench: &calibration.bench,
        costs_ps: calibration.costs.iter().collect(),
        boots_bytes: calibration.boots.iter().map(|boot| boot.memory.0).collect(),
    };
    shapes::text(&document)
}

fn csv(calibration: &Calibration) -> String {
    let line = |(name, cost): (&str, u64)| answer::csv::line(&[name.to_owned(), cost.to_string()]);
    let lines: String = calibration.costs.iter().map(line).collect();
    answer::csv::line(&["cost", "picoseconds"]) + &lines
}

fn say(news: Progress) {
    if let Progress::Stage(stage) = news {
        term::talk(stage);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_as_data_has_every_cost() {
        let calibration = answer::calibration::built_in("6.1").unwrap();
        let document: serde_json::Value = serde_json::from_str(&json(&calibration)).unwrap();
        let costs = document["costs_ps"].as_object().unwrap().len();
        assert_eq!(costs, calibration.costs.iter().count());
        let schema = include_str!("../../../../docs/schemas/calibration.json");
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let said = document.as_object().unwrap().keys();
        assert!(said.eq(schema["properties"].as_object().unwrap().keys()));
        assert_eq!(
            document["version"],
            schema["properties"]["version"]["const"]
        );
        assert_eq!(csv(&calibration).lines().count(), costs + 1);
    }
}
