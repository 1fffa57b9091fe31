//! A deterministic model of the kernel's memory management.
//!
//! [`run`] takes a scenario and a calibration and yields a capture: the same files, in the kernel's
//! own words, that a real kernel under the same scenario hands back. Time is virtual; the same
//! inputs give the same bytes on every machine. The crate knows no clock and no I/O.
//!
//! The modules are laid out as the kernel's `mm/` is. What is modelled, approximated and left out
//! is listed in `docs/model.md`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod access;
mod advice;
mod bio;
mod boost;
mod boot;
mod buddy;
mod buffer;
mod cgroups;
mod check;
mod direct;
mod disk;
mod diskstats;
mod error;
mod exec;
mod fair;
mod fallback;
mod fault;
mod filemap;
mod flush;
mod folio;
mod folio_batch;
mod hugetlb;
mod interrupt;
mod ksm;
mod ksmd;
mod kswapd;
mod lives;
mod lru;
mod lru_gen;
mod lruvec;
mod mapped;
mod memcontrol;

mod memory;
mod mglru;
mod mlock;
mod numa;
mod objects;
mod observer;
mod oom;
mod own;
mod page_alloc;
mod page_io;
mod pcp;
mod pieces;
mod placing;
mod policy;
mod procfs;
mod psi;
mod readahead;
mod recorder;
pub mod replay;
mod rmap;
mod rmqueue;
mod roles;
mod rules;
pub mod sampling;
mod scan_control;
mod sched;
mod shadow_nodes;
mod shrink;
mod slab;
mod support;
mod swap;
mod swap_in;
mod swap_state;
mod system;
mod task;
mod timer;
mod tunables;
mod vmscan;
mod vmstat;
mod wbt;
mod workingset;
mod write;
mod writeback;

pub use error::Error;

use mm::calibration::Calibration;
use mm::capture::Capture;
use mm::scenario::Scenario;

/// Runs `scenario` on a machine that behaves as `calibration` says.
///
/// # Errors
/// What the scenario asks for that the model has no mechanism for, a machine it cannot boot, or a
/// run that does not end.
pub fn run(scenario: &Scenario, calibration: &Calibration) -> Result<Capture, Error> {
    run_sampled(scenario, calibration, 1)
}

/// Runs `scenario` with each simulated page standing for `scale` real ones, a power of two up to
/// [`sampling::LARGEST`]; the capture is that of the real machine, to the sampling's error.
///
/// # Errors
/// As [`run`], and what sampling does not cover.
pub fn run_sampled(
    scenario: &Scenario,
    calibration: &Calibration,
    scale: u64,
) -> Result<Capture, Error> {
    support::check(scenario)?;
    let scenario = sampling::miniature(scenario, scale)?;
    let mut boot = boot::state(&calibration.boots, &scenario.machine)?;
    boot.uptime = scenario.begins(boot.ready);
    let costs = sampling::costs(&calibration.costs.on(&scenario.machine), scale);
    let mut system = system::System::new(&scenario, &costs, &boot, scale)?;
    system.run()?;
    Ok(system.into_capture())
}
