//! Files that act when they are written.

use crate::lint::fix::Fix;
use crate::lint::rule::{Answer, Said};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// The file, what a write does at boot, and what it does later.
const ACTIONS: [[&str; 3]; 3] = [
    [
        "vm.drop_caches",
        "drops the page cache once, at boot when there is none",
        "drops the page cache, and everything has to be read again",
    ],
    [
        "vm.compact_memory",
        "compacts all zones once",
        "compacts all zones",
    ],
    [
        "vm.stat_refresh",
        "adds up the counters of all CPUs once",
        "adds up the counters of all CPUs",
    ],
];

/// An action, written down as if it were a setting.
pub(in crate::lint) fn as_setting(setting: &Setting, _: &Scope<'_>) -> Answer {
    let action = ACTIONS.iter().find(|action| action[0] == setting.name);
    let Some([_, does, again]) = action.filter(|_| setting.by != Writer::Live) else {
        return Ok(None);
    };
    let name = &setting.name;
    let said = Said::from(match setting.by {
        Writer::Script => format!("a write to {name} {again}, each time this runs"),
        _ => format!("a write to {name} {does}; it sets nothing"),
    });
    Ok(Some(match setting.by {
        Writer::Sysctl | Writer::Tmpfiles => said.fixed(Fix::Remove { line: setting.line }),
        _ => said,
    }))
}
