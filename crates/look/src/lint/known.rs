//! Which keys below `vm.` there are and were, beside those of the catalogue: names alone, from
//! Documentation/admin-guide/sysctl/vm.rst and the patches that distributions carry.

use std::sync::LazyLock;

use mm::catalogue::{self, Kernels};
use mm::suggest;

/// Keys of kernels that run today and that are not in the catalogue.
const ALIVE: &[&str] = &[
    "vm.nr_trim_pages",
    "vm.vdso_enabled",
    // By patches.
    "vm.pagecache_limit_ratio",
];

/// A key that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The key.
    pub name: &'static str,
    /// The first release that is without it.
    pub since: (u32, u32),
    /// What became of it.
    pub why: &'static str,
}

const fn gone(name: &'static str, since: (u32, u32), why: &'static str) -> Gone {
    Gone { name, since, why }
}

/// Keys that were before any kernel of the catalogue, and what became of them.
pub const GONE: &[Gone] = &[
    gone(
        "vm.bdflush",
        (2, 6),
        "2.4 set its flush daemon with it; the dirty limits came in its place",
    ),
    gone("vm.buffermem", (2, 6), "a limit of buffers in 2.2"),
    gone(
        "vm.freepages",
        (2, 6),
        "the free-page marks of 2.2; vm.min_free_kbytes sets them now",
    ),
    gone("vm.inactive_clean_percent", (2, 6), "a vendor's 2.4"),
    gone(
        "vm.kswapd",
        (2, 6),
        "how much kswapd of 2.4 freed at a time",
    ),
    gone(
        "vm.max-readahead",
        (2, 6),
        "read-ahead is set for each device: /sys/block/DEVICE/queue/read_ahead_kb",
    ),
    gone(
        "vm.min-readahead",
        (2, 6),
        "read-ahead is set for each device: /sys/block/DEVICE/queue/read_ahead_kb",
    ),
    gone(
        "vm.pagecache",
        (2, 6),
        "a limit of the page cache in 2.2 and a vendor's 2.4",
    ),
    gone(
        "vm.pagetable_cache",
        (2, 6),
        "page tables kept for each CPU in 2.4",
    ),
    gone(
        "vm.lower_zone_protection",
        (3, 0),
        "vm.lowmem_reserve_ratio came in its place",
    ),
    gone(
        "vm.nr_pdflush_threads",
        (3, 6),
        "pdflush went in 2.6.32, each device has a flusher of its own",
    ),
    gone("vm.swap_token_timeout", (3, 5), "swap tokens went"),
    gone(
        "vm.scan_unevictable_pages",
        (3, 18),
        "it did nothing long before",
    ),
];

/// A key that is gone, of the catalogue's and of those before them.
pub fn gone_key(name: &str) -> Option<Gone> {
    let tunable = catalogue::find(name);
    let of_catalogue = tunable.and_then(|tunable| match tunable.kernels {
        Kernels::Mainline {
            until: Some(since), ..
        } => Some(gone(tunable.name, since, tunable.effect)),
        _ => None,
    });
    of_catalogue.or_else(|| GONE.iter().find(|gone| gone.name == name).copied())
}

/// Whether a kernel has a key, or had it once.
fn is_known(name: &str) -> bool {
    let gone = || GONE.iter().any(|gone| gone.name == name);
    catalogue::find(name).is_some() || ALIVE.contains(&name) || gone()
}

/// Whether a name is one below `vm.` that no kernel has or had; a pattern is none, nor is a switch
/// of `/sys`.
pub fn is_strange(name: &str) -> bool {
    let plain = name.starts_with("vm.") && !name.contains(['*', '?', '[', '{', '$', '%']);
    plain && !is_known(name) && catalogue::below_sys(name).is_none()
}

/// A key, and by how many edits another one differs from it.
pub type Meant = (&'static str, usize);

/// The key that may have been meant by one that no kernel has.
pub fn meant(name: &str) -> Option<Meant> {
    let bare = name.strip_prefix("vm.")?;
    let bares = there().iter().filter_map(|name| name.strip_prefix("vm."));
    let as_long = bares.filter(|other| other.len().abs_diff(bare.len()) <= bare.len() / 3);
    let near = suggest::nearest(bare, as_long)?;
    let is_near = |name: &&&'static str| name.strip_prefix("vm.") == Some(near);
    let full = there().iter().find(is_near)?;
    Some((full, suggest::distance(name, full)))
}

/// The keys below `vm.` that there are today.
fn there() -> &'static [&'static str] {
    static THERE: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let of_catalogue = catalogue::all().map(|tunable| tunable.name);
        let there = of_catalogue.filter(|name| gone_key(name).is_none());
        let below_vm = there.filter(|name| name.starts_with("vm."));
        below_vm.chain(ALIVE.iter().copied()).collect()
    });
    &THERE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_both_alive_and_gone_or_named_twice() {
        for gone in GONE {
            let known = catalogue::find(gone.name).is_some() || ALIVE.contains(&gone.name);
            assert!(!known, "{}", gone.name);
        }
        for name in ALIVE {
            assert!(
                catalogue::find(name).is_none(),
                "{name} is in the catalogue"
            );
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_near_a_key_and_another_vendors_key_is_not() {
        assert_eq!(meant("vm.swapiness"), Some(("vm.swappiness", 1)));
        assert_eq!(
            meant("vm.dirty_backgroud_ratio"),
            Some(("vm.dirty_background_ratio", 1))
        );
        assert_eq!(meant("vm.max_map_counts"), Some(("vm.max_map_count", 1)));
        assert_eq!(meant("vm.teapot"), None);
    }
}
