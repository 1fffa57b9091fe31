//! Kernel samepage merging.

use crate::lint::rule::{Answer, when};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// The advisor sets it.
pub(in crate::lint) fn advisor_locks(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let old = scope
        .machine
        .release()
        .is_ok_and(|release| release.is_before(6, 8));
    if setting.by == Writer::Live || old {
        return Ok(None);
    }
    let mode = scope.value("ksm.advisor_mode")?;
    when(mode == "scan-time", || {
        "the advisor is on: the kernel refuses a write and sets it by itself".to_owned()
    })
}

/// Unmerging needs more than there is.
pub(in crate::lint) fn unmerge_kills(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let unmerges = setting.number() == Some(2) && setting.by != Writer::Live;
    if !unmerges {
        return Ok(None);
    }
    let (needs, available) = (scope.machine.merged()?, scope.machine.mem_available()?);
    when(needs.0 > available.0 / 10 * 9, || {
        format!(
            "unmerging needs the {needs} that merging saved, and {available} is available: \
             processes are killed"
        )
    })
}

/// ksmd never sleeps.
pub(in crate::lint) fn no_sleep(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.number() == Some(0), || {
        "ksmd does not sleep between its scans: it takes a whole CPU".to_owned()
    })
}

/// Nobody scans.
pub(in crate::lint) fn not_running(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.by == Writer::Live {
        return Ok(None);
    }
    let run = scope.number("ksm.run")?;
    when(run != 1, || {
        format!("ksm.run is {run}: nothing is scanned, so nothing reads it")
    })
}
