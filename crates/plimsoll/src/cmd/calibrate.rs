//! `plimsoll calibrate`: what the model must be told of a kernel, measured in a VM.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use lab::bench::Progress;
use lab::calibrate::{SIZES, calibrate};
use lab::calibration;
use lab::vm::{KernelChoice, VmBench, VmOptions};

use crate::exit::ExitCode;

/// Measure what elementary operations cost on a kernel, and how it leaves the memory after boot
///
/// The model predicts with these figures. They come from micro-measurements in a VM in virtual
/// time, never from a study's result, so they are the same on every host.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kernel: 6.1, 6.12 (stock Debian kernels), host, or the path of an image
    #[arg(long)]
    kernel: KernelChoice,
    /// Write the calibration into this folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Sizes of RAM to boot, in MiB
    #[arg(long, value_name = "MIB", value_delimiter = ',', default_values_t = SIZES)]
    #[arg(value_parser = super::whole(64..=1_u64 << 20))]
    sizes: Vec<u64>,
}

/// Calibrates.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let options = VmOptions {
        kernel: args.kernel,
        ..VmOptions::default()
    };
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let bench = VmBench::new(&options, &mut say)?;
    let calibration = calibrate(&bench, &args.sizes, &mut say)?;
    calibration::write(&args.out, &calibration)?;
    eprintln!(
        "calibrated {} into {}",
        calibration.kernel,
        args.out.display()
    );
    Ok(ExitCode::Done)
}

fn say(news: Progress) {
    if let Progress::Stage(stage) = news {
        eprintln!("{stage}");
    }
}
