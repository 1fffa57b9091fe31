//! Changing this machine: what is asked for, the plan that is shown first, the timer that takes a
//! change back, and what is told of changes. The verbs are in `cmd`; what decides is in `change`.

pub(crate) mod asked;
pub(crate) mod native;
pub(crate) mod plan;
pub(crate) mod settle;
pub(crate) mod timer;
pub(crate) mod told;

use std::time::Duration;

use anyhow::bail;
use mm::units::Nanos;

/// A time as people read it.
pub(crate) fn said(time: Nanos) -> String {
    let seconds = time.0.div_ceil(Nanos::SECOND.0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// The time in the machine's unit.
pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Whoever writes must be the administrator, outside of a container.
pub(crate) fn check_place(root: &host::Root, verb: &str) -> anyhow::Result<()> {
    host::changes::may_change(root)?;
    if !rustix::process::geteuid().is_root() {
        bail!("{verb} writes to this machine: run it as root (plimsoll status needs no root)");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_the_unit_that_fits() {
        assert_eq!(said(nanos(Duration::from_secs(90))), "90 s");
        assert_eq!(said(nanos(Duration::from_secs(600))), "10 min");
    }
}
