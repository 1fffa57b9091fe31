//! What decides which pages reclaim takes, and how much there is of each.

use crate::share::percent;
use mm::meminfo::Meminfo;
use mm::units::{Bytes, Kib};

use super::super::value::Values;
use super::row::Row;
use crate::explain::looked::Looked;
use crate::swap::effect;

fn row(
    looked: Looked<'_>,
    name: &str,
    pick: fn(&Meminfo) -> Option<Kib>,
    about: &str,
) -> Option<Row> {
    let amount = pick(looked.snapshot.meminfo.as_ref()?)?;
    Some(Row::amount(name, amount.bytes(), about))
}

/// What the value does on this machine, and the swap that it is about.
pub(super) fn swappiness(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let snapshot = looked.snapshot;
    let number = values.value.as_deref().and_then(|value| value.parse().ok());
    let what = number.map(|number| Row::word("effect here", "", effect(snapshot, number)));
    let areas = snapshot.swaps.iter().flat_map(|swaps| &swaps.areas);
    let areas = areas.map(|area| {
        let about = format!("{} used, priority {}", area.used, area.priority);
        Row::amount(format!("swap on {}", area.path), area.size.bytes(), about)
    });
    let anonymous = row(looked, "anonymous memory", |meminfo| meminfo.anon_pages, "");
    let file = row(
        looked,
        "page cache",
        |meminfo| meminfo.cached,
        "tmpfs among it",
    );
    what.into_iter()
        .chain(areas)
        .chain(anonymous)
        .chain(file)
        .collect()
}

/// The pages of one swap-in.
pub(super) fn read_ahead(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let exponent = values
        .value
        .as_deref()
        .and_then(|value| value.parse::<u32>().ok());
    let pages = exponent.and_then(|exponent| 1_u64.checked_shl(exponent));
    let bytes = pages.map(|pages| Bytes(pages.saturating_mul(looked.snapshot.page.bytes())));
    let row = bytes.map(|bytes| Row::amount("a swap-in reads up to", bytes, ""));
    row.into_iter().collect()
}

/// What lies compressed in memory.
pub(super) fn zswap(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let stored = row(
        looked,
        "stored in zswap",
        |meminfo| meminfo.get("Zswapped"),
        "before compression",
    );
    let pool = row(looked, "its pool takes", |meminfo| meminfo.get("Zswap"), "");
    let worth = values.value.as_deref().and_then(|value| {
        let most = looked.snapshot.worth(looked.named.tunable.name, value)?;
        Some(Row::amount("the pool takes at most", most, ""))
    });
    let off = looked
        .snapshot
        .tunable("zswap.enabled")
        .filter(|value| *value == "N");
    let off = off.map(|_| Row::word("zswap", "off", "none of its tunables does anything"));
    off.into_iter()
        .chain(worth)
        .chain(stored)
        .chain(pool)
        .collect()
}

/// The caches that vfs_cache_pressure is about.
pub(super) fn slab(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let about = "inodes among it";
    let slab = row(
        looked,
        "reclaimable slab",
        |meminfo| meminfo.sreclaimable,
        about,
    );
    slab.into_iter().collect()
}

/// What a write to drop_caches would drop.
pub(super) fn caches(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let cache = row(
        looked,
        "page cache",
        |meminfo| Some(meminfo.cached?.saturating_sub(meminfo.shmem?)),
        "1 and 3 drop what is clean of it",
    );
    cache.into_iter().chain(slab(looked, values)).collect()
}

/// How many nodes there are to choose from.
pub(super) fn nodes(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let info = looked.snapshot.zoneinfo.as_ref();
    let nodes = info.map(|info| Row::word("nodes", info.nodes.len(), ""));
    nodes.into_iter().collect()
}

/// Whether the generations are on.
pub(super) fn generations(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let snapshot = looked.snapshot;
    let on = snapshot.lru_gen.enabled.map(|enabled| {
        let (word, about) = match enabled.core() {
            true => ("on", ""),
            false => (
                "off",
                "the two lists of the classic LRU decide, and min_ttl_ms does nothing",
            ),
        };
        Row::word("the multi-generation LRU", word, about)
    });
    let anonymous = row(looked, "anonymous memory", |meminfo| meminfo.anon_pages, "");
    let free = snapshot.meminfo.as_ref().and_then(|meminfo| {
        let (swap, total) = (meminfo.swap_free?.bytes(), meminfo.swap_total?.bytes());
        let about = format!("{} of it", percent(swap.0, total.0));
        Some(Row::amount("free swap", swap, about))
    });
    on.into_iter().chain(anonymous).chain(free).collect()
}
