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

pub use bench::state::Cpus;
pub use error::Error;

use ::mm::capture::Capture;
use ::scenario::Scenario;
use ::scenario::calibration::Calibration;
use ::scenario::traced::Traced;
use bench::state::Bench;
use machine::system::System;

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
    run_on(Cpus::Whole, scenario, calibration, scale)
}

/// As [`run_sampled`], on CPUs of either kind.
///
/// # Errors
/// As [`run_sampled`].
pub fn run_on(
    cpus: Cpus,
    scenario: &Scenario,
    calibration: &Calibration,
    scale: u64,
) -> Result<Capture, Error> {
    let looks = Looks::Measures(cpus);
    simulate(scenario, calibration, scale, looks, |system| {
        system.recorder.into_capture()
    })
}

/// As [`run_on`], and what each task met besides; the capture is the same.
///
/// # Errors
/// As [`run_sampled`].
pub fn run_traced(
    cpus: Cpus,
    scenario: &Scenario,
    calibration: &Calibration,
    scale: u64,
) -> Result<(Capture, Traced), Error> {
    let looks = Looks::Traces(cpus);
    simulate(scenario, calibration, scale, looks, |system| {
        system.into_traced()
    })
}

/// Runs `scenario` on a machine where nobody measures: without the bench's own pages, its
/// supervisor and the time that its looks take.
///
/// # Errors
/// As [`run`].
pub fn run_unmeasured(scenario: &Scenario, calibration: &Calibration) -> Result<Capture, Error> {
    simulate(scenario, calibration, 1, Looks::None, |system| {
        system.recorder.into_capture()
    })
}

/// How closely a run is looked at, and on which CPUs who looks compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    None,
    Measures(Cpus),
    Traces(Cpus),
}

/// Steps that a run takes: decisions of the scheduler, and what tasks do between two looks at the
/// clock. A run's cost hangs on them, and no clock is needed to bound it.
///
/// # Errors
/// As [`run`].
pub fn steps(cpus: Cpus, scenario: &Scenario, calibration: &Calibration) -> Result<u64, Error> {
    simulate(scenario, calibration, 1, Looks::Measures(cpus), |system| {
        system.steps
    })
}

fn simulate<T>(
    scenario: &Scenario,
    calibration: &Calibration,
    scale: u64,
    looks: Looks,
    take: impl FnOnce(System<'_>) -> T,
) -> Result<T, Error> {
    machine::refusals::check(scenario)?;
    let costs = calibration.costs.on(&scenario.machine);
    let scenario = sampling::miniature(scenario, scale, &costs)?;
    let mut boot = mm::mm_init::state(&calibration.boots, &scenario.machine)?;
    boot.uptime = scenario.begins(boot.ready);
    let costs = sampling::costs(&costs, scale);
    let measured = match looks {
        Looks::None => None,
        Looks::Measures(cpus) | Looks::Traces(cpus) => Some(cpus),
    };
    let bench = Bench::new(measured, calibration, &scenario.machine, &costs);
    let mut system = System::new(&scenario, &costs, &boot, scale, bench)?;
    if matches!(looks, Looks::Traces(_)) {
        let tap = bench::tap::Tap::new(&system.scheduler, &system.tasks);
        system.tap = Some(tap);
    }
    system.run()?;
    Ok(take(system))
}
