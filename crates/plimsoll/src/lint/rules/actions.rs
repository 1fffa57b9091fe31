//! Files that act when they are written.

use crate::lint::fix::Fix;
use crate::lint::rule::{Answer, Said};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

const ACTIONS: [(&str, &str); 3] = [
    (
        "vm.drop_caches",
        "drops the page cache once, at boot when there is none",
    ),
    ("vm.compact_memory", "compacts all zones once"),
    ("vm.stat_refresh", "adds up the counters of all CPUs once"),
];

/// An action, written down as if it were a setting.
pub(in crate::lint) fn as_setting(setting: &Setting, _: &Scope<'_>) -> Answer {
    let action = ACTIONS.iter().find(|(name, _)| *name == setting.name);
    let Some((_, does)) = action.filter(|_| setting.by != Writer::Live) else {
        return Ok(None);
    };
    let said = Said::from(format!(
        "a write to {} {does}; it sets nothing",
        setting.name
    ));
    Ok(Some(match setting.by {
        Writer::Sysctl | Writer::Tmpfiles => said.fixed(Fix::Remove { line: setting.line }),
        _ => said,
    }))
}
