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

mod bench;
mod block;
mod error;
mod fs;
mod machine;
mod mm;
pub mod replay;
mod rules;
pub mod sampling;
mod sched;

pub use error::Error;

use ::mm::capture::Capture;
use ::scenario::Scenario;
use ::scenario::calibration::Calibration;
use ::scenario::traced::Traced;

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
    simulate(scenario, calibration, scale, Looks::Measures).map(|(capture, _)| capture)
}

/// As [`run_sampled`], and what each task met besides; the capture is the same.
///
/// # Errors
/// As [`run_sampled`].
pub fn run_traced(
    scenario: &Scenario,
    calibration: &Calibration,
    scale: u64,
) -> Result<(Capture, Traced), Error> {
    simulate(scenario, calibration, scale, Looks::Traces)
}

/// Runs `scenario` on a machine where nobody measures: without the bench's own pages, its
/// supervisor and the time that its looks take.
///
/// # Errors
/// As [`run`].
pub fn run_unmeasured(scenario: &Scenario, calibration: &Calibration) -> Result<Capture, Error> {
    simulate(scenario, calibration, 1, Looks::None).map(|(capture, _)| capture)
}

/// How closely a run is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    None,
    Measures,
    Traces,
}

fn simulate(
    scenario: &Scenario,
    calibration: &Calibration,
    scale: u64,
    looks: Looks,
) -> Result<(Capture, Traced), Error> {
    machine::refusals::check(scenario)?;
    let costs = calibration.costs.on(&scenario.machine);
    let scenario = sampling::miniature(scenario, scale, &costs)?;
    let mut boot = mm::mm_init::state(&calibration.boots, &scenario.machine)?;
    boot.uptime = scenario.begins(boot.ready);
    let costs = sampling::costs(&costs, scale);
    let measured = looks != Looks::None;
    let bench = bench::state::Bench::new(measured, calibration, &scenario.machine, &costs);
    let mut system = machine::system::System::new(&scenario, &costs, &boot, scale, bench)?;
    if looks == Looks::Traces {
        let tap = bench::tap::Tap::new(&system.scheduler, &system.tasks);
        system.tap = Some(tap);
    }
    system.run()?;
    Ok(system.into_capture())
}
