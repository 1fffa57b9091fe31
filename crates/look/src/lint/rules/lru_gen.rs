//! The multi-generation LRU's protection of a working set.

use mm::catalogue;

use crate::lint::rule::{Answer, when};
use crate::lint::scope::Scope;
use crate::lint::setting::Setting;

/// From this on the working set of many seconds has to fit into memory.
const LONG: u64 = 5000;

/// The OOM killer comes where the working set of many seconds does not fit.
pub(in crate::lint) fn ttl_long(setting: &Setting, _: &Scope<'_>) -> Answer {
    let milliseconds = setting.number().unwrap_or(0);
    when(milliseconds >= LONG, || {
        format!(
            "the OOM killer is called as soon as what was used in the last {} s does not fit \
             into memory",
            milliseconds as f64 / 1000.0
        )
    })
}

/// The lists are the classic ones.
pub(in crate::lint) fn ttl_dead(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.number().unwrap_or(0) == 0 {
        return Ok(None);
    }
    let enabled = scope.value("lru_gen.enabled")?;
    let tunable = catalogue::find("lru_gen.enabled");
    let off = tunable.is_some_and(|tunable| tunable.means_same(&enabled, "0"));
    when(off, || "lru_gen is off, so nothing reads it".to_owned())
}
