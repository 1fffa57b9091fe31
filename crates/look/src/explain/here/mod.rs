//! What a value comes to on this machine: in bytes a zone, a device or a group, in seconds, in
//! pages
//! a second.

mod dirty;
mod groups;
mod marks;
mod merging;
mod promise;
mod reclaim;
mod row;

use super::looked::Looked;
use super::value::Values;

pub(crate) use row::Row;

/// What a kind of tunables comes to.
type Of = fn(Looked<'_>, &Values) -> Vec<Row>;

/// Tunables by the beginning of their name, the section of `inspect` that shows more, and what they
/// come to. The first that fits counts.
const TABLE: &[(&[&str], &str, Of)] = &[
    (
        &["vm.min_free_kbytes", "vm.watermark_scale_factor"],
        "zones",
        marks::marks,
    ),
    (&["vm.watermark_boost_factor"], "zones", marks::boost),
    (&["vm.lowmem_reserve_ratio"], "zones", marks::reserves),
    (
        &["vm.dirty_background_", "vm.dirty_ratio", "vm.dirty_bytes"],
        "dirty",
        dirty::thresholds,
    ),
    (&["vm.dirty", "vm.laptop_mode"], "dirty", dirty::held),
    (&["bdi."], "dirty", dirty::devices),
    (&["vm.swappiness"], "swap", reclaim::swappiness),
    (&["vm.page-cluster"], "swap", reclaim::read_ahead),
    (&["zswap."], "swap", reclaim::zswap),
    (&["vm.vfs_cache_pressure"], "memory", reclaim::slab),
    (&["vm.drop_caches"], "memory", reclaim::caches),
    (
        &[
            "vm.zone_reclaim_mode",
            "vm.min_unmapped_ratio",
            "vm.min_slab_ratio",
            "numa.",
        ],
        "zones",
        reclaim::nodes,
    ),
    (&["lru_gen."], "lru", reclaim::generations),
    (
        &["vm.overcommit_", "vm.admin_reserve", "vm.user_reserve"],
        "memory",
        promise::commit,
    ),
    (
        &["vm.nr_hugepages", "vm.nr_overcommit_hugepages", "hugetlb."],
        "huge-pages",
        promise::pool,
    ),
    (&["thp.", "khugepaged."], "huge-pages", promise::huge_pages),
    (&["ksm."], "ksm", merging::merging),
    (&["memory."], "control-groups", groups::groups),
];

fn entry(name: &str) -> Option<&'static (&'static [&'static str], &'static str, Of)> {
    let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    TABLE.iter().find(|(names, ..)| begins(names))
}

/// What it comes to; nothing where that says no more than the value.
pub(crate) fn rows(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let entry = entry(looked.named.tunable.name).into_iter();
    entry.flat_map(|(_, _, of)| of(looked, values)).collect()
}

/// The section of `inspect` that shows more of it.
pub(crate) fn section(name: &str) -> Option<&'static str> {
    entry(name).map(|(_, section, _)| *section)
}
