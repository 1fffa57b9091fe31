//! How much address space is promised.

use mm::units::{Bytes, Kib};

use crate::fact::Missing;
use crate::lint::rule::{Answer, when};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

const RESERVE: &str = "vm.admin_reserve_kbytes";
const PAIR: [&str; 2] = ["vm.overcommit_ratio", "vm.overcommit_kbytes"];

/// The limit under mode 2 once these settings are written; the ratio counts with its default where
/// it is not known.
fn commit_limit(scope: &Scope<'_>) -> Result<Bytes, Missing> {
    let needs = Missing("MemTotal and SwapTotal");
    let after = scope.after().ok_or(needs)?;
    scope.machine.swap_size()?;
    let ratio = || mm::settings::Setting {
        tunable: "vm.overcommit_ratio".to_owned(),
        value: "50".to_owned(),
    };
    let limit = match PAIR.iter().any(|name| after.tunable(name).is_some()) {
        true => after.commit_limit(),
        false => after.after(&[ratio()]).commit_limit(),
    };
    limit.map(Kib::bytes).ok_or(needs)
}

/// More is promised already than nineteen twentieths of the limit, without what it keeps for
/// administrators (`__vm_enough_memory`).
pub(in crate::lint) fn committed(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.number() != Some(2) {
        return Ok(None);
    }
    let reserve = scope.after().and_then(|it| it.number(RESERVE)).map(Kib);
    let reserve = reserve.map_or(0, |kib| kib.bytes().0);
    let limit = Bytes(commit_limit(scope)?.0.saturating_sub(reserve));
    let meminfo = scope.machine.snapshot().and_then(|it| it.meminfo.as_ref());
    let committed = meminfo.and_then(|info| info.committed_as).map(Kib::bytes);
    let committed = committed.ok_or(Missing("Committed_AS"))?;
    when(committed.0 > limit.0 / 20 * 19, || {
        format!(
            "{committed} is promised now and the limit is {limit}: address space beyond it is \
             refused to every process, fork and exec among them"
        )
    })
}

/// The limit is far below memory, and nobody chose it.
pub(in crate::lint) fn default_ratio(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let is_chosen = PAIR.iter().any(|name| scope.standing(name).is_some());
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

/// Programs that reserve much address space and touch little of it, or that run such programs.
const RUNTIMES: [&str; 5] = [
    "usr/bin/containerd",
    "usr/bin/dockerd",
    "usr/bin/java",
    "usr/bin/kubelet",
    "usr/bin/podman",
];

/// Strict accounting beside programs that reserve much.
pub(in crate::lint) fn runtime(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.number() != Some(2) {
        return Ok(None);
    }
    let found = scope.has(&RUNTIMES, "whether containers or Java run here")?;
    let what = "what it runs may reserve far more address space than it touches, and all counts";
    Ok(found.map(|path| format!("/{path} is here: {what}").into()))
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
