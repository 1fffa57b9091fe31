//! Control groups that are at their limit, or whose protection does not hold.

use look::fact::or_unsaid;
use mm::hierarchy::Protection;
use mm::memcg::{Limit, Memcg};
use mm::units::Bytes;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};

const NEXT: &str = "plimsoll inspect --section control-groups";

/// Processes were killed at the limit of a group.
pub(super) fn out_of_memory(looked: &Looked<'_>) -> Answer {
    let kills = |group: &Memcg| group.event("oom_kill").filter(|&kills| kills > 0);
    let killed = looked
        .groups()?
        .filter(|(name, _)| !name.is_empty())
        .filter_map(|(name, group)| Some((name, group, kills(group)?)));
    // A parent counts the kills of its children: the deepest of those with most is named.
    let most = killed.max_by_key(|&(name, _, kills)| (kills, name.matches('/').count()));
    Ok(most.map(|(name, group, kills)| {
        let limit = group.max.and_then(Limit::bytes);
        let limit = limit.map(|limit| format!(" (limit {limit})"));
        let (name, limit) = (shown(name), limit.as_deref().unwrap_or(""));
        Said::new(
            Severity::Warning,
            format!("Processes killed for memory in {name}{limit} since it was made: {kills}."),
            "oom_kill in memory.events: at memory.max nothing of the group could be reclaimed, or \
             the machine itself ran out",
            "dmesg | plimsoll inspect -",
        )
    }))
}

/// A group's name for a sentence.
fn shown(name: &str) -> String {
    match name {
        UNNAMED => "the group of these files".to_owned(),
        name => format!("/{name}"),
    }
}

/// What a group is called whose files were pasted without a path.
const UNNAMED: &str = "unnamed";

/// A group uses all that it may, and has hit its limit.
pub(super) fn at_the_limit(looked: &Looked<'_>) -> Answer {
    let full = |(name, group): (&str, &Memcg)| {
        let (used, limit) = (group.current?, group.max?.bytes()?);
        let near = used.0 >= limit.0 - limit.0 / 50 && limit > Bytes::ZERO;
        let hits = group.event("max").or(group.failures)?;
        let refused = group.event("oom").is_none_or(|refused| refused > 0);
        (near && hits > 0).then(|| (name.to_owned(), used, limit, hits, (cache(group), refused)))
    };
    let all = looked.groups()?.filter_map(full);
    let most = all.max_by_key(|&(_, _, _, hits, _)| hits);
    Ok(most.map(|(name, used, limit, hits, (cache, refused))| {
        // A group that reads or writes files is at its limit as long as there is one.
        let severity = match cache {
            Some(cache) if cache.0 >= used.0 / 2 && !refused => Severity::Note,
            _ => Severity::Warning,
        };
        let cache = cache.map(|cache| format!(" {cache} of it is page cache, which can go."));
        Said::new(
            severity,
            format!(
                "{} is at its limit: {used} of {limit}; it was hit {hits} times.{}",
                shown(&name),
                cache.as_deref().unwrap_or("")
            ),
            "at memory.max each charge reclaims from the group first, page cache included",
            NEXT,
        )
        .not("more RAM for the machine: the group's limit refuses")
    }))
}

/// The page cache of a group, without what is shared.
fn cache(group: &Memcg) -> Option<Bytes> {
    let stat = group.stat.as_ref()?;
    let names = ["file", "cache", "total_cache"];
    let file = names.iter().find_map(|name| stat.get(name))?;
    let shmem = ["shmem", "total_shmem"]
        .iter()
        .find_map(|name| stat.get(name));
    Some(Bytes(
        shmem.map_or(file, |shmem| file.saturating_sub(shmem)),
    ))
}

/// How often a group was throttled at `memory.high` from which on that is a story.
const OFTEN: u64 = 1000;

/// Stalls of a group, in hundredths of a percent of 5 min, from which on they cost.
const STALLED: u32 = 1000;

/// A group is held at `memory.high`: its tasks sleep and reclaim, and are never killed.
pub(super) fn at_high(looked: &Looked<'_>) -> Answer {
    let held = |(name, group): (&str, &Memcg)| {
        let throttled = group.event("high").filter(|&times| times > 0)?;
        let full = group.pressure.and_then(|pressure| pressure.full);
        let stalls = full.map(|full| full.avg10.max(full.avg300));
        let high = group.high.and_then(Limit::bytes);
        let above = group.current.zip(high);
        let near = above.map(|(used, high)| used.0 >= high.0 - high.0 / 50);
        let costs = stalls.is_some_and(|stalls| stalls >= STALLED);
        let often = near != Some(false) && stalls.is_none() && throttled >= OFTEN;
        let is_held = near == Some(true) && throttled >= OFTEN || near != Some(false) && costs;
        (is_held || often).then(|| (name.to_owned(), throttled, stalls, above))
    };
    let all = looked.groups()?.filter_map(held);
    let most = all.max_by_key(|&(_, throttled, stalls, _)| (stalls, throttled));
    Ok(most.map(|(name, throttled, stalls, above)| {
        let used = above.map(|(used, high)| format!(": {used} of {high}"));
        let stalls = stalls.map(|stalls| {
            let percent = f64::from(stalls) / 100.0;
            format!("; all its tasks waited for memory {percent:.0} % of the time")
        });
        let stalls = or_unsaid(stalls);
        let is_certain = above.is_some() || !stalls.is_empty();
        let said = Said::new(
            Severity::Critical,
            format!(
                "{} is held at memory.high{}, throttled {throttled} times{}.",
                shown(&name),
                used.as_deref().unwrap_or(""),
                stalls
            ),
            "above memory.high each charge reclaims from the group and then sleeps; nothing is \
             killed, so that a group of anonymous memory without swap stands still",
            "systemctl set-property UNIT MemoryHigh=infinity, or a higher value",
        )
        .not("memory.max higher: the group does not get that far");
        match is_certain {
            true => said,
            false => said.unsure(
                Sure::Likely,
                "cd /sys/fs/cgroup/GROUP && grep . memory.current memory.high memory.pressure",
            ),
        }
    }))
}

/// A protection is set, and a group above takes it away.
pub(super) fn protection_taken(looked: &Looked<'_>) -> Answer {
    let tree = looked.snapshot().hierarchy();
    let names = looked.groups()?.map(|(name, _)| name);
    let taken = names.flat_map(|name| Protection::ALL.map(|protection| (name, protection)));
    let mut taken = taken.filter_map(|(name, protection)| {
        let held = tree.held(name, protection)?;
        let taker = held.taken_by?;
        Some((name, protection, held.setting, held.effective, taker))
    });
    Ok(taken
        .next()
        .map(|(name, protection, setting, effective, taker)| {
            let file = protection.file();
            Said::new(
            Severity::Warning,
            format!(
                "{file} = {setting} of /{name} protects {effective}: /{} has {} for claims of {}.",
                taker.group, taker.has, taker.claimed
            ),
            format!("a group's {file} counts for no more than its share of its parent's"),
            NEXT,
        )
        .not("a higher value of the same group: the parent's is the bound")
        }))
}
