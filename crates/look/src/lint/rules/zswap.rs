//! zswap, and what lies behind it.

use mm::catalogue;

use crate::lint::machine::Swap;
use crate::lint::rule::{Answer, when};
use crate::lint::scope::Scope;
use crate::lint::setting::Setting;

fn is_on(setting: &Setting) -> bool {
    let tunable = catalogue::find("zswap.enabled");
    tunable.is_some_and(|tunable| tunable.means_same(&setting.value, "Y"))
}

/// Pages are compressed twice.
pub(in crate::lint) fn on_zram(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if !is_on(setting) {
        return Ok(None);
    }
    let twice = scope.machine.swap()? == Swap::Zram;
    when(twice, || {
        "all swap is zram: zswap keeps pages from it that it would hold as well, and both take \
         memory"
            .to_owned()
    })
}

/// Nothing is swapped out.
pub(in crate::lint) fn without_swap(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if !is_on(setting) {
        return Ok(None);
    }
    let none = scope.machine.swap()? == Swap::None;
    when(none, || {
        "there is no swap space, so nothing comes to zswap".to_owned()
    })
}
