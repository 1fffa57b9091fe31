//! Kernel objects: slab as a whole, and one cache that holds most of it.

use crate::fact::{Fact, Missing, or_unsaid};
use crate::share::Share;
use mm::units::{Bytes, Kib};

use super::capacity::part_of;
use super::facts::Looked;
use super::finding::{Answer, Said, Severity, Sure};
use crate::tools::{Slab, slab_caches};

/// From here on slab is worth a word where nobody knows of how much memory: a GiB.
const WORTH: Kib = Kib(1 << 20);

/// A cache is the story where it has more than half of all slab, and at least this much or this
/// percentage of memory.
const LARGE: Bytes = Bytes(256 << 20);
const MUCH: u64 = 15;

/// An amount, with its share where MemTotal is told; `None` where it is less than that share, or
/// less than [`WORTH`] where it is not told.
fn much(looked: &Looked<'_>, part: Kib, percent: u64) -> Option<String> {
    let Ok(total) = looked.total() else {
        return (part >= WORTH).then(|| part.bytes().to_string());
    };
    let share = Share::of(part.0, total.0)?;
    (share.percent() >= percent).then(|| format!("{} ({share})", part.bytes()))
}

/// Kernel objects that cannot be reclaimed hold much: a leak looks like this.
pub(super) fn unreclaimable(looked: &Looked<'_>) -> Answer {
    let slab = looked.amount("SUnreclaim")?;
    Ok(much(looked, slab, 15).map(|held| {
        Said::new(
            Severity::Warning,
            format!("Kernel objects that stay hold {held}."),
            "SUnreclaim: slab caches without a shrinker; growth without end is a leak",
            "sudo slabtop -o -s c | head -15",
        )
        .not("drop_caches, swap, killing processes: what stays is the kernel's")
    }))
}

/// Caches of inodes and names hold much; they shrink.
pub(super) fn reclaimable(looked: &Looked<'_>) -> Answer {
    let slab = looked.amount("SReclaimable")?;
    Ok(much(looked, slab, 25).map(|held| {
        Said::new(
            Severity::Note,
            format!("Caches of inodes and names hold {held}. They shrink when memory is short."),
            "SReclaimable: dentries, inodes and the like; whoever walks many files fills them, \
             and MemAvailable counts them as available",
            "sudo slabtop -o -s c | head -15",
        )
        .not("killing processes: it is cache, and it is given back")
    }))
}

/// One cache has most of all slab.
pub(super) fn one_cache(looked: &Looked<'_>) -> Answer {
    let (caches, all) = caches(looked)?;
    let Some(cache) = caches.iter().max_by_key(|cache| cache.bytes) else {
        return Ok(None);
    };
    let most = Share::of(cache.bytes.0, all.0).is_some_and(|share| share.percent() > 50);
    let total = looked.total().ok();
    let share = total.and_then(|total| Share::of(cache.bytes.0, total.bytes().0));
    let much = cache.bytes >= LARGE || share.is_some_and(|share| share.percent() >= MUCH);
    if !most || !much {
        return Ok(None);
    }
    let used = cache.used.and_then(|used| Share::of(used, 100));
    let in_use = used.map(|share| format!(", {share} of it in use"));
    let (severity, why, next) = match is_shrunk(&cache.name) {
        true => (
            Severity::Note,
            SHRINKS,
            "sudo slabtop -o -s c | head -15".to_owned(),
        ),
        false => (Severity::Warning, STAYS, traced(&cache.name)),
    };
    let what = format!(
        "The slab cache {} holds {} of all slab{}{}.",
        cache.name,
        part_of(cache.bytes, Some(all)),
        in_use.as_deref().unwrap_or(""),
        or_unsaid(negative(looked, &cache.name))
    );
    let said = Said::new(severity, what, why, next);
    Ok(Some(match severity {
        Severity::Note => said.not("a reboot: it shrinks when memory is short"),
        _ => said
            .not("drop_caches: a cache without a shrinker stays")
            .unsure(
                Sure::Likely,
                "sudo slabtop -o -s c | head -15; sleep 600; !!",
            ),
    }))
}

const SHRINKS: &str = "the cache has a shrinker: reclaim gives its unused objects back; it grows \
                       with every file that is looked for or opened";
const STAYS: &str = "the cache has no shrinker: what is in use stays; a cache that grows without \
                     end is a leak of whoever allocates it";

/// Who allocates the objects of a cache.
fn traced(name: &str) -> String {
    format!("sudo cat /sys/kernel/debug/slab/{name}/alloc_traces | head (slab_debug=U at boot)")
}

/// Whether reclaim shrinks the cache: those of names and inodes.
fn is_shrunk(name: &str) -> bool {
    let kinds = [
        "dentry",
        "inode",
        "radix_tree_node",
        "xa_node",
        "buffer_head",
        "-rcl-",
    ];
    kinds.iter().any(|kind| name.contains(kind)) || name.ends_with("_t") && name.contains("dnode")
}

/// How many dentries are of names that do not exist, where dentry-state is there (5.0 on).
fn negative(looked: &Looked<'_>, name: &str) -> Option<String> {
    let text = looked
        .file("proc/sys/fs/dentry-state")
        .filter(|_| name == "dentry")?;
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let (all, unused) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let negative = numbers.nth(2)?.ok().filter(|&count| count <= unused)?;
    Some(format!(
        "; {negative} of {all} dentries are negative: names that were looked for and do not exist"
    ))
}

/// The caches that are listed, and all slab: by a report's table, slabinfo or slabtop.
fn caches(looked: &Looked<'_>) -> Fact<(Vec<Slab>, Bytes)> {
    if let Some(listed) = slab_caches(looked) {
        return Ok(listed);
    }
    const NEEDS: Missing = Missing("/proc/slabinfo");
    let report = looked.report().map_err(|_| NEEDS)?;
    let table = &report.slabs.unreclaimable;
    let all = looked.amount("SUnreclaim").map_err(|_| NEEDS)?;
    if table.is_empty() {
        return Err(NEEDS);
    }
    let cache = |cache: &mm::kernel_log::Cache| Slab {
        name: cache.name.clone(),
        bytes: cache.total.bytes(),
        used: Share::of(cache.used.0, cache.total.0).map(Share::percent),
    };
    Ok((table.iter().map(cache).collect(), all.bytes()))
}
