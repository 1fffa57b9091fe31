//! Control groups that are at their limit, or whose protection does not hold.

use mm::hierarchy::Protection;
use mm::memcg::{Limit, Memcg};
use mm::units::Bytes;

use super::finding::{Finding, Looked, Severity};

const NEXT: &str = "plimsoll inspect --section control-groups";

/// Processes were killed at the limit of a group.
pub(super) fn out_of_memory(looked: &Looked<'_>) -> Option<Finding> {
    let groups = looked.snapshot.memcgs.iter();
    let killed = groups.filter(|(name, group)| !name.is_empty() && group.event("oom_kill") > 0);
    // A parent counts the kills of its children: the deepest of those with most is named.
    let (name, group) =
        killed.max_by_key(|(name, group)| (group.event("oom_kill"), name.matches('/').count()))?;
    let limit = group.max.and_then(Limit::bytes);
    let limit = limit.map_or_else(String::new, |limit| format!(" (limit {limit})"));
    Some(Finding {
        id: "group_oom_kill",
        severity: Severity::Warning,
        what: format!(
            "Processes killed for memory in /{name}{limit} since it was made: {}.",
            group.event("oom_kill")
        ),
        rule: "oom_kill in memory.events: at memory.max nothing of the group could be reclaimed, \
               or the machine itself ran out"
            .to_owned(),
        next: "dmesg | plimsoll inspect -".to_owned(),
    })
}

/// A group uses all that it may, and has hit its limit.
pub(super) fn at_the_limit(looked: &Looked<'_>) -> Option<Finding> {
    let full = |(name, group): (&String, &Memcg)| {
        let (used, limit) = (group.current?, group.max?.bytes()?);
        let near = used.0 >= limit.0 - limit.0 / 50 && limit > Bytes::ZERO;
        let hits = group.event("max").max(group.failures.unwrap_or(0));
        (near && hits > 0).then(|| (name.clone(), used, limit, hits))
    };
    let all = looked.snapshot.memcgs.iter().filter_map(full);
    let (name, used, limit, hits) = all.max_by_key(|&(_, _, _, hits)| hits)?;
    Some(Finding {
        id: "group_at_limit",
        severity: Severity::Warning,
        what: format!("/{name} is at its limit: {used} of {limit}; it was hit {hits} times."),
        rule: "at memory.max each charge reclaims from the group first, page cache included"
            .to_owned(),
        next: NEXT.to_owned(),
    })
}

/// A protection is set, and a group above takes it away.
pub(super) fn protection_taken(looked: &Looked<'_>) -> Option<Finding> {
    let tree = looked.snapshot.hierarchy();
    let names = looked.snapshot.memcgs.keys();
    let taken = names.flat_map(|name| Protection::ALL.map(|protection| (name, protection)));
    let mut taken = taken.filter_map(|(name, protection)| {
        let held = tree.held(name, protection)?;
        let taker = held.taken_by?;
        Some((name, protection, held.setting, held.effective, taker))
    });
    let (name, protection, setting, effective, taker) = taken.next()?;
    let file = protection.file();
    Some(Finding {
        id: "protection_taken",
        severity: Severity::Warning,
        what: format!(
            "{file} = {setting} of /{name} protects {effective}: /{} has {} for claims of {}.",
            taker.group, taker.has, taker.claimed
        ),
        rule: format!("a group's {file} counts for no more than its share of its parent's"),
        next: NEXT.to_owned(),
    })
}
