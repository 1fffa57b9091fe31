//! Reclaim beside swappiness: caches of names, nodes, compaction, laptop mode.

use crate::lint::rule::{Answer, when};
use crate::lint::scope::Scope;
use crate::lint::setting::Setting;

/// At this many percent of the usual rate, or less, names and inodes stay five times as long.
const FEW: f64 = 20.0;

/// The pressure in hundredths: of `vm.vfs_cache_pressure_denom`, 100 where nobody set it (6.16).
fn pressure(setting: &Setting, scope: &Scope<'_>) -> Option<f64> {
    let denominator = scope
        .set("vm.vfs_cache_pressure_denom")
        .and_then(Setting::number);
    let number = setting.number()? as f64;
    Some(number * 100.0 / denominator.unwrap_or(100).max(1) as f64)
}

/// Names and inodes are never reclaimed.
pub(in crate::lint) fn vfs_zero(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.number() == Some(0), || {
        "directory entries and inodes are never reclaimed: a walk over many files ends in the OOM \
         killer"
            .to_owned()
    })
}

/// Names and inodes are hardly reclaimed.
pub(in crate::lint) fn vfs_low(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let pressure = pressure(setting, scope).unwrap_or(100.0);
    when(pressure > 0.0 && pressure <= FEW, || {
        format!(
            "directory entries and inodes are reclaimed at {pressure} % of the usual rate: a \
             backup that walks all files can fill memory with them"
        )
    })
}

/// Reclaim looks for more names and inodes than there are.
pub(in crate::lint) fn vfs_high(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let pressure = pressure(setting, scope).unwrap_or(100.0);
    when(pressure >= 500.0, || {
        format!(
            "reclaim looks for {} times the directory entries and inodes that there are, under \
             their locks",
            pressure / 100.0
        )
    })
}

/// A node drops its own page cache before it takes memory of another.
pub(in crate::lint) fn zone_reclaim(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some(mode) = setting.number().filter(|&mode| mode != 0) else {
        return Ok(None);
    };
    let nodes = scope.machine.nodes().ok();
    when(nodes != Some(1), || {
        let nodes = nodes.map_or_else(
            || "each node".to_owned(),
            |nodes| format!("each of {nodes} nodes"),
        );
        format!(
            "mode {mode}: {nodes} drops its own page cache before it takes free memory of another"
        )
    })
}

/// There is one node.
pub(in crate::lint) fn zone_reclaim_dead(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.number().unwrap_or(0) == 0 {
        return Ok(None);
    }
    let one = scope.machine.nodes()? == 1;
    when(one, || "there is one node, so it does nothing".to_owned())
}

/// A kernel that takes the value and does nothing.
pub(in crate::lint) fn laptop_mode(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.number().unwrap_or(0) == 0 {
        return Ok(None);
    }
    let release = scope.machine.release()?;
    when(release.is_since(7, 0), || {
        format!("Linux {release} does nothing with it: laptop mode was taken out in 7.0")
    })
}

/// Compaction in the background without end.
pub(in crate::lint) fn compaction_extreme(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.number() == Some(100), || {
        "at 100 compaction may run in the background all the time".to_owned()
    })
}
