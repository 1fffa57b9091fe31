//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

const USAGE: &str = "\
causes [--make] [--judge] [--seeds A..B] [--cause NAME] [--kernel K] [--folder DIR]
       [--plimsoll PROGRAM] [--show DIR] [--sample DIR] [--accept]

--make    makes in VMs what is not there yet; --judge asks inspect; without either, both
--accept  writes what was measured to causes/measured.tsv, which else must not be better
--seeds   what these seeds draw, in place of every cause as it usually is
--cause   one cause; with --seeds, with the sizes of each seed
--kernel  one kernel
--folder  where the runs lie, in place of the user's cache
--show    writes the forms of the runs into a folder
--sample  writes a run of each cause into a folder, the kernels in turn";

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Options {
    make: bool,
    judge: bool,
    accept: bool,
    seeds: Option<(u64, u64)>,
    pub(crate) cause: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) plimsoll: Option<PathBuf>,
    pub(crate) show: Option<PathBuf>,
    pub(crate) sample: Option<PathBuf>,
}

impl Options {
    /// # Errors
    /// An argument that is none of them.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} needs a value"))
            };
            match word.as_str() {
                "--make" => options.make = true,
                "--judge" => options.judge = true,
                "--accept" => options.accept = true,
                "--help" => bail!("{USAGE}"),
                "--seeds" => options.seeds = Some(range(&value()?)?),
                "--cause" => options.cause = Some(value()?),
                "--kernel" => options.kernel = Some(value()?),
                "--folder" => options.folder = Some(value()?.into()),
                "--plimsoll" => options.plimsoll = Some(value()?.into()),
                "--sample" => options.sample = Some(value()?.into()),
                "--show" => options.show = Some(value()?.into()),
                _ => bail!("no option \"{word}\"\n\n{USAGE}"),
            }
        }
        Ok(options)
    }

    pub(crate) fn makes(&self) -> bool {
        self.make || !self.judge && !self.writes()
    }

    pub(crate) fn judges(&self) -> bool {
        self.judge || !self.make && !self.writes()
    }

    /// Whether what is measured may be written.
    pub(crate) fn accepts(&self) -> bool {
        self.accept
    }

    /// Whether all is judged that a kernel has in `causes/measured.tsv`.
    pub(crate) fn is_whole(&self) -> bool {
        self.cause.is_none() && self.seeds.is_none() && self.folder.is_none()
    }

    fn writes(&self) -> bool {
        self.show.is_some() || self.sample.is_some()
    }

    /// Seed 0, or those that were named.
    pub(crate) fn seeds(&self) -> RangeInclusive<u64> {
        self.seeds.map_or(0..=0, |(from, to)| from..=to)
    }
}

/// `A..B`, both included, or one number.
fn range(text: &str) -> Result<(u64, u64)> {
    let number = |text: &str| {
        let number = text.parse::<u64>();
        number.with_context(|| format!("--seeds: \"{text}\" is no number"))
    };
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    Ok((number(from)?, number(to)?))
}
