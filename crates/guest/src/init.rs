//! The life of PID 1.

use std::fmt::Display;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use rustix::mm::{Advice, MlockAllFlags};

use crate::cgroups::make_cgroups;
use crate::error::Error;
use crate::mapping::Mapping;
use crate::orders::{ORDERS, Orders};
use crate::outbox;
use crate::place::Place;
use crate::recorded::{self, RECORDING};
use crate::recorder::{Recorder, report};
use crate::tracing::Tracing;
use crate::{clock, mount, settings, supervisor, tracing};

/// A file as large as the program falls short of the room that a VM has for it.
const ROOM: &str = "/plimsoll/room";

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
    let mut traced = None;
    if let Err(error) = run(&mut place, &mut recorder, &mut traced) {
        recorder.error(&error.to_string());
        recorder.abandon();
    }
    outbox::send(&recorder, traced.as_ref());
    outbox::power_off()
}

/// Everything, step by step.
fn run(
    place: &mut Place,
    recorder: &mut Recorder,
    traced: &mut Option<Tracing>,
) -> Result<(), Error> {
    let Orders {
        clock,
        mut scenario,
    } = Orders::take()?;
    let recorded = recorded::take().map_err(|why| Error::new(RECORDING, why))?;
    scenario.recorded = Arc::new(recorded);
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
    let _room = hold_room()?;
    stay_in_memory(place)?;
    if let Some(orders) = tracing::take()? {
        *traced = Some(Tracing::begin(place, &orders)?);
    }
    let performed = supervisor::perform(&scenario, place, &prepared, recorder);
    traced.as_ref().map_or(Ok(()), Tracing::end)?;
    performed
}

/// Locks what fills the program's room: its pages must be as fixed as the program's own.
fn hold_room() -> Result<Option<Mapping>, Error> {
    let failed = |why: &dyn Display| Error::new(ROOM, why);
    let file = File::options().read(true).write(true).open(ROOM);
    let file = file.map_err(|error| failed(&error))?;
    let length = file.metadata().map_err(|error| failed(&error))?.len();
    if length == 0 {
        return Ok(None);
    }
    let room = Mapping::file(file.as_fd(), length as usize).map_err(|errno| failed(&errno))?;
    let held = room
        .advise(Advice::LinuxDontFork)
        .and_then(|()| room.lock());
    held.map_err(|errno| failed(&errno))?;
    Ok(Some(room))
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
            outbox::send(&recorder, None);
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
