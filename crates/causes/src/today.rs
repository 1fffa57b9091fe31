//! The names of findings that have an older one.
//!
//! A finding that has a name of [`mm::findings::NAMES`] is taken as it is.

use serde_json::Value;

/// Older names.
const OLD: &[(&str, &str)] = &[
    ("available_low", "available-low"),
    ("commit_limit", "commit-limit"),
    ("free_is_cma", "free-is-cma"),
    ("group_at_limit", "group-limit"),
    ("group_oom_kill", "group-kills-counted"),
    ("huge_pages_idle", "huge-pages-idle"),
    ("memory_pressure", "memory-pressure"),
    ("merging_at_a_loss", "ksm-at-loss"),
    ("min_free_raised", "min-free-raised"),
    ("node_below_low", "node-below-low"),
    ("oom_kill", "oom-kills-counted"),
    ("page_tables", "page-tables-large"),
    ("protection_taken", "protection-taken"),
    ("shared_memory", "shared-memory-large"),
    ("slab_unreclaimable", "slab-unreclaimable-large"),
    ("swap_full", "swap-full"),
    ("swap_thrashing", "thrashing-anonymous-pages"),
    ("watermark_boost", "watermark-boost"),
    ("working_set_lost", "thrashing-file-pages"),
    ("writers_throttled", "writers-throttled"),
    ("zone_reclaim", "zone-reclaim"),
];

/// The name of a finding.
pub(crate) fn name(finding: &Value, view: &Value) -> String {
    if let Some(name) = finding["name"].as_str() {
        return name.to_owned();
    }
    let id = finding["id"].as_str().unwrap_or_default();
    let old = OLD.iter().find(|(old, _)| *old == id);
    match (old, id) {
        (Some((_, name)), _) => (*name).to_owned(),
        (None, "kernel_log") => of_a_log(&view["kernel_log"]).to_owned(),
        (None, "timeline") => of_a_series(finding["what"].as_str().unwrap_or_default()).to_owned(),
        (None, id) => id.to_owned(),
    }
}

/// What a kernel log's report concludes.
fn of_a_log(log: &Value) -> &'static str {
    let refused = log["refusals"][0].as_str().unwrap_or_default();
    let text = |key: &str| log[key].as_str().unwrap_or_default();
    match (text("event"), text("whose"), refused) {
        ("oom_kill", "control_group", _) => "group-limit",
        ("oom_kill", "cpuset", _) => "oom-cpuset",
        ("oom_kill", "memory_policy", _) => "oom-policy",
        ("oom_kill", "sysrq", _) => "oom-sysrq",
        ("oom_kill", "min_ttl_ms", _) => "oom-min-ttl",
        ("oom_kill", "page_fault", _) => "oom-page-fault",
        ("oom_kill", "unknown", _) | ("oom_kill", _, "not_seen" | "not_in_the_log") => {
            "oom-unexplained"
        }
        ("oom_kill", _, "fragmented") => "oom-fragmented",
        ("oom_kill", _, "higher_zones" | "lowmem_reserve") => "oom-low-zone",
        ("oom_kill", ..) => "oom-machine",
        ("allocation_failure", ..) if log["request"]["may_wait"] == false => {
            "allocation-failed-atomic"
        }
        ("allocation_failure", _, "fragmented") => "allocation-failed-order",
        ("allocation_failure" | "allocation_stall", ..) => "allocation-failed",
        ("overcommit_refusal", ..) => "overcommit-refused",
        ("user_space_kill", ..) => "kill-by-user-space",
        ("cma_failure", ..) => "cma-failed",
        ("container_oom_killed", ..) => "kill-of-container",
        _ => "task-stuck",
    }
}

/// What a series shows, by its sentence.
fn of_a_series(what: &str) -> &'static str {
    const SENTENCES: &[(&str, &str)] = &[
        ("swap", "thrashing-anonymous-pages"),
        ("refault", "thrashing-file-pages"),
        ("kswapd", "kswapd-endless"),
        ("reclaim", "direct-reclaim"),
    ];
    let found = SENTENCES.iter().find(|(word, _)| what.contains(word));
    found.map_or("memory-pressure", |(_, name)| name)
}
