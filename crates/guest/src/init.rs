//! The life of PID 1.

use std::path::Path;

use rustix::mm::MlockAllFlags;

use crate::cgroups::make_cgroups;
use crate::error::Error;
use crate::orders::{ORDERS, Orders};
use crate::outbox;
use crate::place::Place;
use crate::recorder::{Recorder, report};
use crate::{clock, mount, settings, supervisor};

/// Whether this process is the first of a VM that a bench booted, and not of a container.
#[must_use]
pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new(ORDERS).exists()
}

/// The life of PID 1: performs what the bench ordered, hands back the capture, and switches the
/// machine off.
///
/// Whatever happens, a panic included, it ends in power-off, and what went wrong is on the console
/// and in the last frame.
pub fn init() -> ! {
    power_off_on_panic();
    let mut place = Place::default();
    let mut recorder = Recorder::new(&place);
    if let Err(error) = run(&mut place, &mut recorder) {
        recorder.error(&error.to_string());
        recorder.abandon();
    }
    outbox::send(&recorder);
    outbox::power_off()
}

/// Everything, step by step.
fn run(place: &mut Place, recorder: &mut Recorder) -> Result<(), Error> {
    let Orders { clock, scenario } = Orders::take()?;
    mount::kernel_files()?;
    mount::modules()?;
    recorder.disks = clock::monotonic();
    mount::disks(&scenario.machine, clock, place)?;
    mount::swap(&scenario.machine, place)?;
    make_cgroups(place, &scenario.workload.cgroups, recorder)?;
    recorder.watch(&scenario.workload);
    let prepared = settings::prepare(&scenario, place, recorder)?;
    if recorder.is_unavailable() {
        recorder.abandon();
        return Ok(());
    }
    stay_in_memory(place)?;
    supervisor::perform(&scenario, place, &prepared, recorder)
}

/// The observer must not be killed, swapped out, or be slow for want of its own pages.
fn stay_in_memory(place: &Place) -> Result<(), Error> {
    settings::oom_score_adj(place, -1000).map_err(|why| Error::new("OOM score", why.text))?;
    rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
        .map_err(Error::on("mlockall"))
}

/// A panic of PID 1 would be one of the kernel, with nothing said. In a process of the workload it
/// ends that process only.
fn power_off_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        if std::process::id() == 1 {
            let mut recorder = Recorder::new(&Place::default());
            recorder.error(&one_line(panic));
            recorder.abandon();
            outbox::send(&recorder);
            outbox::power_off();
        }
        report(&one_line(panic));
    }));
}

/// A panic's message and place.
fn one_line(panic: &std::panic::PanicHookInfo<'_>) -> String {
    let text = panic.to_string();
    text.lines().collect::<Vec<_>>().join(" ")
}
