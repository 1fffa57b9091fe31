//! Huge pages that are set aside, and transparent ones.

use mm::units::Bytes;

use crate::fact::Missing;
use crate::lint::rule::{Answer, when};
use crate::lint::scope::Scope;
use crate::lint::setting::Setting;
use crate::share::percent;

/// Programs that take snapshots of their memory by fork: Redis and Valkey.
const FORKERS: [&str; 4] = [
    "usr/bin/redis-server",
    "etc/redis",
    "usr/bin/valkey-server",
    "etc/valkey",
];

/// What a pool takes, and all memory.
fn pool(setting: &Setting, scope: &Scope<'_>) -> Result<Option<[Bytes; 2]>, Missing> {
    let Some(pages) = setting.number().filter(|&pages| pages > 0) else {
        return Ok(None);
    };
    let (size, memory) = (scope.machine.huge_page()?, scope.machine.memory()?);
    Ok(Some([Bytes(pages.saturating_mul(size.0)), memory]))
}

/// More than memory holds.
pub(in crate::lint) fn beyond(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some([pool, memory]) = pool(setting, scope)? else {
        return Ok(None);
    };
    when(pool.0 >= memory.0 / 100 * 95, || {
        format!(
            "{} huge pages are {pool}, {} of the {memory} of memory: the kernel sets aside what it \
             can get and leaves nothing to others",
            setting.value,
            percent(pool.0, memory.0)
        )
    })
}

/// Most of memory.
pub(in crate::lint) fn share(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some([pool, memory]) = pool(setting, scope)? else {
        return Ok(None);
    };
    let most = pool.0 >= memory.0 / 4 * 3 && pool.0 < memory.0 / 100 * 95;
    when(most, || {
        format!(
            "{pool}, {} of memory, can be had by users of hugetlb alone; {} is left for all others",
            percent(pool.0, memory.0),
            memory.saturating_sub(pool)
        )
    })
}

/// Every fault may wait for compaction.
pub(in crate::lint) fn defrag_always(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.value == "always", || {
        "every fault that could have a huge page reclaims and compacts for it, and waits".to_owned()
    })
}

/// A program that forks copies 2 MiB for each page that is written.
pub(in crate::lint) fn always_fork(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.value != "always" {
        return Ok(None);
    }
    let needs = "whether a program that forks for its snapshots is installed";
    let found = scope.has(&FORKERS, needs)?.map(|path| {
        let what = "after each fork a write to any page of its data copies a whole huge page";
        format!("/{path} is here: {what}").into()
    });
    Ok(found)
}
