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
