//! Calibrating a bench: micro-measurements and the state after boot.
//!
//! Small studies, those of the folder `calibration`, run on the bench as any other does. A cost is
//! arithmetic on the durations of its labelled steps and on kswapd's CPU time; no study's result
//! enters. `docs/calibration.md` has the equations.

mod draw;
mod elementary;
mod error;
mod figures;
mod ksm;
mod mapped;
mod read;
mod reclaim;
mod sleep;
mod swap;
mod write;

use std::collections::BTreeMap;
use std::iter;

use mm::capture::{Capture, Frame};
use mm::units::{Bytes, Nanos};
use mm::zoneinfo::{PATH as ZONEINFO, Zoneinfo};
use scenario::Scenario;
use scenario::calibration::{Boot, Calibration, Costs, USERS_LISTS_USED_UP};
use scenario::outcome::{BOOT as BOOT_NOTE, moment};

use answer::bench::{Bench, BenchError, Progress, Run};
use figures::Figures;
use study::Study;

pub use error::CalibrateError;

const COSTS: &str = include_str!("../../../calibration/costs.toml");
const MAPPED: &str = include_str!("../../../calibration/mapped.toml");
const READ: &str = include_str!("../../../calibration/read.toml");
const SLOWPATH: &str = include_str!("../../../calibration/slowpath.toml");
const SWAP: &str = include_str!("../../../calibration/swap.toml");
const WRITE: &str = include_str!("../../../calibration/write.toml");
const FLUSH: &str = include_str!("../../../calibration/flush.toml");
const KSM: &str = include_str!("../../../calibration/ksm.toml");
const COMPANY: &str = include_str!("../../../calibration/company.toml");
const BOOT: &str = include_str!("../../../calibration/boot.toml");

/// The seed of all runs: the one by which the bench holds no pages.
const SEED: u64 = 0;

/// The memory that `BOOT` names, to be replaced by each size.
const BOOT_MEMORY: &str = "memory = \"512 MiB\"";

/// Sizes of RAM whose state after boot is recorded, in MiB: the founding study's among them.
pub const SIZES: [u64; 11] = [
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 3840, 8192, 16384,
];

/// Measures the costs and the states after boot of the sizes, in MiB.
///
/// # Errors
/// A run failed, or lacks a figure.
pub fn calibrate(
    bench: &dyn Bench,
    sizes: &[u64],
    progress: &mut dyn FnMut(Progress),
) -> Result<Calibration, CalibrateError> {
    progress(Progress::Stage("measures the costs".to_owned()));
    let costs = costs(bench, progress)?;
    let mut boots = Vec::new();
    for &mib in sizes {
        progress(Progress::Stage(format!("boots with {mib} MiB")));
        boots.push(boot(bench, mib, progress)?);
    }
    let (kernel, bench) = (bench.kernel(), bench.describe());
    Ok(Calibration {
        kernel,
        bench,
        costs,
        boots,
        text_kept: Bytes(0),
    })
}

fn costs(bench: &dyn Bench, progress: &mut dyn FnMut(Progress)) -> Result<Costs, CalibrateError> {
    let mut costs = elementary::costs(
        &Figures::new(run(bench, COSTS, "stock", progress)?)?,
        &Figures::new(run(bench, sleep::STUDY, "stock", progress)?)?,
        &Figures::new(run(bench, SLOWPATH, "stock", progress)?)?,
    )?;
    progress(Progress::Stage("measures the costs of reclaim".to_owned()));
    reclaim::costs(
        &mut costs,
        &Figures::new(run(bench, reclaim::STUDY, "stock", progress)?)?,
        &Figures::new(run(bench, reclaim::PASS, "stock", progress)?)?,
        &Figures::new(run(bench, &reclaim::pass_with_disks(), "stock", progress)?)?,
    )?;
    if let Some(capture) = where_there(bench, reclaim::STUDY, "generations", progress)? {
        reclaim::generations(&mut costs, &Figures::new(capture)?)?;
    }
    read::costs(
        &mut costs,
        &Figures::new(run(bench, READ, "stock", progress)?)?,
    )?;
    draw::costs(
        &mut costs,
        &Figures::new(run(bench, draw::STUDY, "stock", progress)?)?,
    )?;
    progress(Progress::Stage("measures the costs of swap".to_owned()));
    let reclaim = swap_costs(bench, &mut costs, progress)?;
    if let Some(capture) = where_there(bench, SWAP, "generations", progress)? {
        swap::generations(&mut costs, &Figures::new(capture)?)?;
    }
    mapped::costs(
        &mut costs,
        &Figures::new(run(bench, MAPPED, &reclaim.arm("stock"), progress)?)?,
    )?;
    progress(Progress::Stage("measures the costs of writing".to_owned()));
    write::costs(
        &mut costs,
        &Figures::new(run(bench, WRITE, "stock", progress)?)?,
        &Figures::new(run(bench, FLUSH, "stock", progress)?)?,
    )?;
    progress(Progress::Stage("measures the costs of merging".to_owned()));
    if let Some(capture) = where_there(bench, KSM, "stock", progress)? {
        let figures = Figures::new(capture)?;
        ksm::merging(&mut costs, &figures, &bench.kernel())?;
        ksm::observing(&mut costs, &figures)?;
        let alone = Figures::new(run(bench, COMPANY, "one", progress)?)?;
        let nine = Figures::new(run(bench, COMPANY, "nine", progress)?)?;
        ksm::watching(&mut costs, &alone, &nine)?;
        ksm::going_on(&mut costs, &alone, &nine)?;
    }
    if let Some(capture) = where_there(bench, KSM, "smart scan", progress)? {
        ksm::skipping(&mut costs, &Figures::new(capture)?)?;
    }
    Ok(costs)
}

/// How a control group is reclaimed.
#[derive(Clone, Copy, Debug)]
enum Reclaim {
    /// As `memory.reclaim` asks.
    Asked,
    /// By a limit that is lowered: kernels until 5.18 cannot be asked.
    ByLimit,
}

impl Reclaim {
    /// The arm that does it so.
    fn arm(self, name: &str) -> String {
        match self {
            Self::Asked => name.to_owned(),
            Self::ByLimit => format!("{name} by limit"),
        }
    }
}

/// What swap costs, and how this kernel's groups are reclaimed.
fn swap_costs(
    bench: &dyn Bench,
    costs: &mut Costs,
    progress: &mut dyn FnMut(Progress),
) -> Result<Reclaim, CalibrateError> {
    let mut reclaim = Reclaim::Asked;
    let mut disk = run(bench, SWAP, "disk", progress)?;
    if is_unavailable(&disk) {
        reclaim = Reclaim::ByLimit;
        disk = run(bench, SWAP, &reclaim.arm("disk"), progress)?;
    }
    let disk = Figures::new(disk)?;
    swap::disk(costs, &disk)?;
    if let Some(capture) = where_there(bench, SWAP, &reclaim.arm("zram"), progress)? {
        let zram = Figures::new(capture)?;
        swap::zram(costs, &zram)?;
        swap::noise(costs, &zram, &disk)?;
    }
    Ok(reclaim)
}

/// Runs an arm of a study that needs what a kernel may lack: zram, MGLRU, samepage merging. Without
/// it nothing can use what it costs either.
fn where_there(
    bench: &dyn Bench,
    study: &str,
    arm: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Capture>, CalibrateError> {
    match run(bench, study, arm, progress) {
        // The guest says so where it finds that the kernel lacks something, and performs nothing.
        Ok(capture) => Ok(Some(capture).filter(|it| !is_unavailable(it))),
        Err(CalibrateError::Bench(BenchError::Failed(why) | BenchError::Unavailable(why))) => {
            progress(Progress::Stage(format!(
                "leaves the costs of {arm} at 0: {why}"
            )));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_unavailable(capture: &Capture) -> bool {
    let mut frames = capture.frames.iter();
    frames.any(|frame| frame.file(scenario::outcome::UNAVAILABLE).is_some())
}

fn run(
    bench: &dyn Bench,
    text: &str,
    arm: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<Capture, CalibrateError> {
    let run = Run {
        scenario: &scenario(text, arm)?,
    };
    Ok(bench.run(run, progress)?)
}

fn scenario(text: &str, arm: &str) -> Result<Scenario, CalibrateError> {
    let missing = |why: String| CalibrateError::Missing(why);
    let study = Study::parse(text, "calibration").map_err(|e| missing(e.to_string()))?;
    study
        .scenario(arm, SEED)
        .map_err(|e| missing(e.to_string()))
}

fn boot(
    bench: &dyn Bench,
    mib: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<Boot, CalibrateError> {
    let text = BOOT.replace(BOOT_MEMORY, &format!("memory = \"{mib} MiB\""));
    let capture = run(bench, &text, "stock", progress)?;
    let idle = capture.labelled("idle");
    let frame = idle.ok_or_else(|| CalibrateError::Missing("snapshot \"idle\"".to_owned()))?;
    let [ready, ticks, disks] = moments(&capture)?;
    Ok(Boot {
        memory: Bytes(mib << 20),
        ready,
        ticks,
        disks,
        // No file shows it: a kernel probe does (docs/calibration.md, "After boot").
        dirty_limit: None,
        capture: Capture {
            frames: iter::once(kept(frame)).chain(used_up(&capture)).collect(),
        },
    })
}

/// What is on the per-CPU lists when users have taken all that is for them: of the moments while
/// they touched memory, the one with the fewest pages there.
fn used_up(capture: &Capture) -> Option<Frame> {
    let frames = capture.frames.iter();
    let touched = frames.filter(|frame| frame.label.as_deref() == Some("touched"));
    let listed = touched.filter_map(|frame| {
        let text = frame.file(ZONEINFO)?;
        let zones = Zoneinfo::parse(text).ok()?.zones;
        let highest = zones.iter().rfind(|zone| zone.is_populated())?;
        let counts = highest.pagesets.iter().map(|set| set.count);
        Some((counts.sum::<u64>(), frame, text))
    });
    let (_, frame, text) = listed.min_by_key(|(count, ..)| *count)?;
    Some(Frame {
        at: frame.at,
        label: Some(USERS_LISTS_USED_UP.to_owned()),
        files: BTreeMap::from([(ZONEINFO.to_owned(), text.to_owned())]),
    })
}

/// The files that a model starts from; the rest of a snapshot says nothing about a boot.
fn kept(frame: &Frame) -> Frame {
    let mut kept = frame.clone();
    kept.files.retain(|path, _| {
        !path.starts_with("plimsoll/") && !path.starts_with("proc/kswapd") && path != "proc/uptime"
    });
    kept
}

/// When the machine was ready, when its ticks began, and when its disks came.
fn moments(capture: &Capture) -> Result<[Nanos; 3], CalibrateError> {
    let note = capture
        .frames
        .last()
        .and_then(|frame| frame.file(BOOT_NOTE));
    let of = |name: &str| {
        let found = note.and_then(|note| moment(note, name));
        found.ok_or_else(|| CalibrateError::Missing(format!("\"{name}\" in {BOOT_NOTE}")))
    };
    Ok([of("ready")?, of("ticks")?, of("disks")?])
}
