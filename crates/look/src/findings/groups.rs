//! Control groups that are at their limit, or whose protection does not hold.

use crate::fact::{Fact, Missing, or_unsaid};
use crate::share::Share;
use mm::hierarchy::Protection;
use mm::memcg::{Limit, Memcg, MemoryStat};
use mm::units::Bytes;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};
use super::movement::{PAGES_PER_SECOND, weight};

const NEXT: &str = "plimsoll inspect --section control-groups";

/// Processes were killed at the limit of a group.
pub(super) fn out_of_memory(looked: &Looked<'_>) -> Answer {
    let kills = |group: &Memcg| group.event("oom_kill").filter(|&kills| kills > 0);
    let killed = looked
        .groups_telling(|group| group.events.is_some(), "memory.events")?
        .filter(|(name, _)| !name.is_empty())
        .filter_map(|(name, group)| Some((name, group, kills(group)?)));
    // A parent counts the kills of its children: the deepest of those with most is named.
    let most = killed.max_by_key(|&(name, _, kills)| (kills, name.matches('/').count()));
    Ok(most.map(|(name, group, kills)| {
        let limit = group.max.and_then(Limit::bytes);
        let limit = or_unsaid(limit.map(|limit| format!(" (limit {limit})")));
        let hits = group.event("max").filter(|&hits| hits > 0);
        let hits = or_unsaid(hits.map(|hits| format!("; a limit was hit {hits} times")));
        let name = shown(name);
        Said::new(
            Severity::Warning,
            format!(
                "Processes killed for memory in {name}{limit} since it was made: {kills}{hits}."
            ),
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
        let (used, limit) = (used(group)?, limit(group)?);
        let near = used.0 >= limit.0 - limit.0 / 50 && limit > Bytes::ZERO;
        let hits = group.event("max").or(group.failures);
        let refused = group
            .event("oom")
            .map_or(hits.is_some(), |refused| refused > 0);
        let found = (name.to_owned(), used, limit, hits, (cache(group), refused));
        (near && hits != Some(0)).then_some(found)
    };
    let limited = |group: &Memcg| group.max.is_some() || limit(group).is_some();
    let all = looked.groups_telling(limited, "memory.max")?;
    let all = all.filter_map(full);
    let most = all.max_by_key(|&(_, _, _, hits, _)| hits);
    Ok(most.map(|(name, used, limit, hits, (cache, refused))| {
        // A group that reads or writes files is at its limit as long as there is one.
        let severity = match cache {
            Some(cache) if cache.0 >= used.0 / 2 && !refused => Severity::Note,
            _ => Severity::Warning,
        };
        let cache = cache.map(|cache| format!(" {cache} of it is page cache, which can go."));
        let hits = match hits {
            Some(hits) => format!("it was hit {hits} times"),
            None => "how often it was hit is not in this evidence".to_owned(),
        };
        Said::new(
            severity,
            format!(
                "{} is at its limit: {used} of {limit}; {hits}.{}",
                shown(&name),
                cache.as_deref().unwrap_or("")
            ),
            "at memory.max each charge reclaims from the group first, page cache included",
            NEXT,
        )
        .not("more RAM for the machine: the group's limit refuses")
    }))
}

/// What a group uses; of v1 at least what its `memory.stat` charges, which leaves out the kernel's.
fn used(group: &Memcg) -> Option<Bytes> {
    let charged = |stat: &MemoryStat| {
        let both = |names: [&str; 2]| Some(stat.get(names[0])?.saturating_add(stat.get(names[1])?));
        both(["total_rss", "total_cache"])
            .or_else(|| both(["rss", "cache"]))
            .map(Bytes)
    };
    group.current.or_else(|| charged(group.stat.as_ref()?))
}

/// The limit of a group, or of v1 the lowest up to its root.
fn limit(group: &Memcg) -> Option<Bytes> {
    let of_stat = || {
        let limit = group.stat.as_ref()?.get("hierarchical_memory_limit")?;
        Limit::parse("memory.stat", &limit.to_string()).ok()
    };
    group.max.or_else(of_stat)?.bytes()
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

/// A group has as many tasks as it may, and forks were refused.
pub(super) fn at_pids_limit(looked: &Looked<'_>) -> Answer {
    const NEEDS: Missing = Missing("pids.events");
    let mut told = looked
        .groups()?
        .filter_map(|(name, group)| Some((name, group, group.forks_refused?)))
        .peekable();
    told.peek().ok_or(NEEDS)?;
    // Since 6.12 a parent counts the refusals of its children: the deepest of those with most.
    let most = told.max_by_key(|&(name, _, refused)| (refused, name.matches('/').count()));
    let refused = most.filter(|&(.., refused)| refused > 0);
    Ok(refused.map(|(name, group, refused)| {
        let bound = group.pids_max.map(|bound| format!(" (pids.max {bound})"));
        Said::new(
            Severity::Warning,
            format!(
                "Forks were refused in {}{} since it was made: {refused}.",
                shown(name),
                or_unsaid(bound)
            ),
            "max in pids.events: a group with pids.max tasks gets EAGAIN from fork and clone, \
             threads included",
            format!("echo NEW > /sys/fs/cgroup/{name}/pids.max; systemd: TasksMax="),
        )
        .not("memory, ulimit -u, kernel.pid_max: the group's bound refused")
    }))
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
    let all = looked.groups_telling(|group| group.events.is_some(), "memory.events")?;
    let all = all.filter_map(held);
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
    let protected = |group: &Memcg| group.min.is_some() || group.low.is_some();
    let names = looked.groups_telling(protected, "memory.min")?;
    let names = names.map(|(name, _)| name);
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

/// Percent of memory from which on what is protected leaves others little.
const KEPT: u64 = 25;

/// A group reads back what was evicted, while another is protected from reclaim.
pub(super) fn protection_starves(looked: &Looked<'_>) -> Answer {
    let total = looked.total()?.bytes();
    let Some((owner, kept)) = protected(looked)? else {
        return Ok(None);
    };
    let (before, seconds) = looked.before()?;
    let rate = |name: &str, group: &Memcg| {
        let grown = refaults(group)?.checked_sub(refaults(before.memcgs.get(name)?)?)?;
        Some(grown as f64 / seconds)
    };
    let tree = looked.snapshot().hierarchy();
    let is_protected = |name: &str| {
        let held = |protection| tree.held(name, protection).map(|held| held.effective);
        let all = |protection| {
            held(protection)
                .into_iter()
                .chain([tree.given(name, protection)])
        };
        let mut all = Protection::ALL.into_iter().flat_map(all);
        all.any(|held| held > Bytes::ZERO)
    };
    // A group at its own limit reclaims for itself.
    let own = |group: &Memcg| group.event("max").is_some_and(|hits| hits > 0);
    let starved = looked.groups()?.filter(|(name, group)| {
        !name.is_empty() && !is_protected(name) && !own(group) && !group.is_v1
    });
    let rates = starved.filter_map(|(name, group)| Some((name, rate(name, group)?)));
    let most = rates.max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((name, rate)) = most.filter(|&(_, rate)| rate >= PAGES_PER_SECOND) else {
        return Ok(None);
    };
    let share = Share::of(kept.0, total.0).filter(|share| share.percent() >= KEPT);
    Ok(share.map(|share| {
        Said::new(
            weight(looked),
            format!(
                "/{name} reads {}/s again that were evicted, while memory.min and memory.low keep \
                 {kept} ({share}) for /{owner}.",
                looked.bytes(rate as u64)
            ),
            "reclaim passes a group over that uses less than its protection, and takes from the \
             others first",
            "a lower memory.low of what is protected, or one for what starves",
        )
        .not("vm.swappiness, drop_caches: what is protected stays")
    }))
}

/// The group with most that is protected and used, and how much that is: of a tree the deepest.
fn protected<'a>(looked: &Looked<'a>) -> Fact<Option<(&'a str, Bytes)>> {
    let tree = looked.snapshot().hierarchy();
    let kept = |name: &str, group: &Memcg| {
        let held = |protection| tree.held(name, protection).map(|held| held.effective);
        let most = Protection::ALL.into_iter().filter_map(held).max()?;
        Some(most.min(group.current?))
    };
    let groups = looked.groups()?;
    let kept = groups.filter_map(|(name, group)| Some((name, kept(name, group)?)));
    let kept = kept.filter(|(name, _)| !name.is_empty());
    Ok(kept.max_by_key(|&(name, kept)| (kept.0 >> 20, name.matches('/').count())))
}

/// File pages of a group that came back after their eviction.
fn refaults(group: &Memcg) -> Option<u64> {
    group.stat.as_ref()?.workingset_refault_file
}
