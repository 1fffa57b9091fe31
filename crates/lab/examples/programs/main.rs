//! Real programs: recorded under one setting, run themselves under others, and predicted there.
//!
//! `programs NAME [--kernel 6.12] [--arm ARM]... [--folder DIR] [--prove]` needs a `plimsoll` that is
//! built for release. Each arm is a boot of a small VM in virtual time, with Debian's own program on
//! its disk. What was measured is in DIR (`target/programs`) and is not measured again; the
//! recording is there too. `--prove` also lets a kernel perform the recording.

mod ask;
mod measure;
mod program;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use plimsoll_lab::vm::Stock;

use program::{ARMS, Arm, PROGRAMS, Program};

/// What is asked for.
struct Wanted {
    program: &'static Program,
    kernel: String,
    arms: Vec<&'static Arm>,
    folder: PathBuf,
    proves: bool,
}

fn main() -> Result<()> {
    let wanted = Wanted::parse(std::env::args().skip(1))?;
    let stock =
        Stock::named(&wanted.kernel).context("no such kernel; 6.1 and 6.12 are modelled")?;
    let measured = measure::Measured::new(&wanted, stock)?;
    let recording = measured.recording()?;
    println!("program kernel arm: measured, predicted, error; read in MB, written in MB, s");
    for arm in &wanted.arms {
        let own = measured.run(arm)?;
        let predicted = ask::predict(&recording, arm, &wanted.kernel)?;
        let line = format!("{} {} {}", wanted.program.name, wanted.kernel, arm.name);
        println!("{line}: predicted {}", own.beside(&predicted));
        if wanted.proves {
            let proven = ask::prove(&recording, arm, stock)?;
            println!("{line}: proven {}", own.beside(&proven));
        }
    }
    Ok(())
}

impl Wanted {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let name = arguments.next().unwrap_or_default();
        let names: Vec<&str> = PROGRAMS.iter().map(|it| it.name).collect();
        let program = PROGRAMS.iter().find(|it| it.name == name);
        let mut wanted = Self {
            program: program.with_context(|| format!("name one of {}", names.join(", ")))?,
            kernel: "6.12".to_owned(),
            arms: Vec::new(),
            folder: testkit::checkout("target/programs"),
            proves: false,
        };
        while let Some(option) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{option} needs a value"))
            };
            match option.as_str() {
                "--kernel" => wanted.kernel = value()?,
                "--arm" => wanted.arms.push(Arm::named(&value()?)?),
                "--folder" => wanted.folder = value()?.into(),
                "--prove" => wanted.proves = true,
                _ => bail!("no option {option}; there are --kernel, --arm, --folder, --prove"),
            }
        }
        if wanted.arms.is_empty() {
            wanted.arms = ARMS.iter().collect();
        }
        Ok(wanted)
    }
}
