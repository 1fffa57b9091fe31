//! The options that name another machine.

use std::path::Path;

use answer::machine::{Like, Memory, disk, memory, of_frame};
use anyhow::{Context as _, bail};
use host::Root;
use mm::capture::Capture;
use mm::quantity;
use mm::snapshot::Snapshot;
use study::{DiskKind, SwapAtHand};

/// The machine that a study is asked of, in place of its own.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Machine {
    /// Ask it of the machine in this evidence (a capture), or of `this` one: its memory, CPUs,
    /// swap, kind of disk, and the settings that differ from the kernel's defaults
    #[arg(long, value_name = "EVIDENCE|this")]
    like: Option<String>,
    /// Ask it of a machine with this much memory, as in 16G, 75%, half or double; the workload
    /// grows with it, unless it is a recording
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<Memory>,
    /// Ask it of a machine with that many CPUs
    #[arg(long, value_name = "N", value_parser = super::super::whole(1..=4096_u32))]
    cpus: Option<u32>,
    /// Ask it of a machine with such a disk
    #[arg(long, value_name = "KIND", value_parser = disk)]
    disk: Option<DiskKind>,
    /// Ask it of a machine with this much swap: 4G on its disk, zram:4G or none
    #[arg(long, value_name = "SWAP", value_parser = swap)]
    swap: Option<SwapAtHand>,
}

impl Machine {
    /// The machine that is asked for, with what its evidence says.
    pub(crate) fn read(&self) -> anyhow::Result<answer::machine::Machine> {
        let like = self.like.as_deref().map(|named| {
            let found = like(named);
            found.with_context(|| format!("--like {named}"))
        });
        Ok(answer::machine::Machine {
            like: like.transpose()?,
            memory: self.memory,
            cpus: self.cpus,
            disk: self.disk,
            swap: self.swap,
        })
    }
}

/// The machine in a piece of evidence, or this one.
fn like(named: &str) -> anyhow::Result<Like> {
    let capture = match named {
        "this" => Capture {
            frames: vec![host::read::full(
                &Root::default(),
                host::facts::since_boot(),
            )],
        },
        path => super::super::inspect::evidence::one(Path::new(path))?,
    };
    let mut frames = capture.frames.iter();
    let Some(frame) = frames.find(|frame| frame.file("proc/meminfo").is_some()) else {
        bail!("no /proc/meminfo in it, so no machine; `plimsoll inspect --save FILE` makes one");
    };
    let (at_hand, release) = of_frame(frame, &Snapshot::parse(frame));
    Ok(Like {
        named: named.to_owned(),
        at_hand,
        release,
    })
}

fn swap(text: &str) -> Result<SwapAtHand, String> {
    let size = |text: &str| quantity::size(text).ok().filter(|size| size.0 > 0);
    let swap = match text.strip_prefix("zram:") {
        _ if text == "none" => Some(SwapAtHand::None),
        Some(of_zram) => size(of_zram).map(SwapAtHand::Zram),
        None => size(text).map(SwapAtHand::Disk),
    };
    swap.ok_or_else(|| "give a size as in 4G, zram: and a size, or none".to_owned())
}
