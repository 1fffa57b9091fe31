//! How much address space is promised.

use mm::units::{Bytes, Kib};

use crate::lint::rule::{Answer, Missing, when};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// The limit under mode 2: swap, and a part of the memory that is not in pools of huge pages
/// (`vm_commit_limit`).
fn commit_limit(scope: &Scope<'_>) -> Result<Bytes, Missing> {
    let meminfo = scope.machine.snapshot().and_then(|it| it.meminfo.as_ref());
    let pools = meminfo.and_then(|info| info.hugetlb).unwrap_or_default();
    let memory = scope.machine.memory()?.saturating_sub(pools.bytes());
    let kbytes = scope.number("vm.overcommit_kbytes").unwrap_or(0);
    let part = match kbytes {
        0 => {
            let ratio = scope.number("vm.overcommit_ratio").unwrap_or(50);
            Bytes((memory.0 / 100).saturating_mul(ratio))
        }
        kbytes => Kib(kbytes).bytes(),
    };
    Ok(part.saturating_add(scope.machine.swap_size()?))
}

/// More is promised already than the limit.
pub(in crate::lint) fn committed(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.number() != Some(2) {
        return Ok(None);
    }
    let limit = commit_limit(scope)?;
    let meminfo = scope.machine.snapshot().and_then(|it| it.meminfo.as_ref());
    let committed = meminfo.and_then(|info| info.committed_as).map(Kib::bytes);
    let committed = committed.ok_or(Missing("Committed_AS"))?;
    when(committed > limit, || {
        format!(
            "{committed} is promised now and the limit is {limit}: every further allocation of \
             address space fails, fork and exec among them"
        )
    })
}

/// The limit is far below memory, and nobody chose it.
pub(in crate::lint) fn default_ratio(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let chosen = ["vm.overcommit_ratio", "vm.overcommit_kbytes"];
    let is_chosen = chosen.iter().any(|name| scope.standing(name).is_some());
    if setting.number() != Some(2) || is_chosen {
        return Ok(None);
    }
    let (limit, memory) = (commit_limit(scope)?, scope.machine.memory()?);
    when(limit.0 < memory.0 / 5 * 4, || {
        format!(
            "processes may have {limit} of address space, of {memory} of memory: \
             vm.overcommit_ratio is left at its default"
        )
    })
}

/// A part of a limit that does not hold.
pub(in crate::lint) fn ratio_dead(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.by == Writer::Live {
        return Ok(None);
    }
    let mode = scope.number("vm.overcommit_memory")?;
    when(mode != 2, || {
        format!("vm.overcommit_memory is {mode}: the limit holds under mode 2 alone")
    })
}
