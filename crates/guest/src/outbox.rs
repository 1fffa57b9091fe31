//! The way out: the capture, and what was traced, go to the last disk, and the machine goes off.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use rustix::system::{RebootCommand, reboot};

use crate::clock;
use crate::orders::Clock;
use crate::recorder::{Recorder, report};
use crate::tracing::Tracing;

/// What the outbox begins with; the length follows as a little-endian 64-bit number, then the text.
const MAGIC: &[u8; 8] = b"PLIMSOLL";

/// Writes the capture to the outbox. Where that fails, the console says so, after what went wrong
/// before: the bench shows its last line.
pub(crate) fn send(recorder: &Recorder, traced: Option<&Tracing>) {
    let sent = match last_disk() {
        Some(device) => {
            write(recorder, traced, &device).map_err(|error| format!("{device}: {error}"))
        }
        None => Err("no disk appeared".to_owned()),
    };
    if let Err(why) = sent {
        let first = recorder.first_error().unwrap_or("the run is over");
        report(&format!("{first}; and no outbox: {why}"));
    }
}

fn write(recorder: &Recorder, traced: Option<&Tracing>, device: &str) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::options().write(true).open(device)?);
    out.write_all(MAGIC)?;
    let more = traced.map_or(Ok(0), Tracing::length)?;
    out.write_all(&(recorder.length() + more).to_le_bytes())?;
    recorder.write_to(&mut out)?;
    if let Some(traced) = traced {
        traced.write_to(&mut out)?;
    }
    out.flush()?;
    out.get_ref().sync_all()
}

/// The outbox comes after the study's disks, of which there may be any number.
fn last_disk() -> Option<String> {
    let disks = |clock: Clock| (0..26).rev().map(move |index| clock.device(index));
    let mut all = disks(Clock::Virtual).chain(disks(Clock::Wall));
    all.find(|device| Path::new(device).exists())
}

/// Switches the machine off.
pub(crate) fn power_off() -> ! {
    for command in [RebootCommand::PowerOff, RebootCommand::Restart] {
        if let Err(errno) = reboot(command) {
            report(&format!("power off: {errno}"));
        }
    }
    loop {
        clock::sleep(mm::units::Nanos::SECOND);
    }
}
