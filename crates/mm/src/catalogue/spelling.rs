//! The spellings of a tunable that people use: paths, sysctl keys with dots or slashes, boot
//! parameters, properties of systemd, and bare names.

use alloc::string::String;
use alloc::vec::Vec;

use super::names::{all, of_devices, whole};
use super::tunable::Tunable;
use super::{Named, Of, Scope, named};
use crate::suggest;
use crate::text::shown;

/// Why a key names no tunable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No tunable has this name.
    #[error("{key}: no such tunable{}", meant(suggestion.as_deref()))]
    Unknown {
        /// The key, cut to 60 characters.
        key: String,
        /// The tunable that may have been meant.
        suggestion: Option<String>,
    },
    /// Several tunables have it.
    #[error(
        "{key}: several tunables have this name; say {}",
        alternatives(candidates)
    )]
    Ambiguous {
        /// The key.
        key: String,
        /// Their names, in the order of the catalogue.
        candidates: Vec<&'static str>,
    },
    /// It shows what the kernel does or did.
    #[error("{key}: shows what the kernel did; it cannot be set")]
    Counter {
        /// The key.
        key: String,
    },
}

/// Other names of a whole key: the switch of a subsystem by the subsystem's name, parameters of the
/// boot loader, properties of systemd's units.
const KEYS: &[(&str, &str)] = &[
    ("transparent_hugepage", "thp.enabled"),
    ("thp", "thp.enabled"),
    ("transparent_hugepage_shmem", "thp.shmem_enabled"),
    ("lru_gen", "lru_gen.enabled"),
    ("mglru", "lru_gen.enabled"),
    ("ksm", "ksm.run"),
    ("zswap", "zswap.enabled"),
    ("hugepages", "vm.nr_hugepages"),
    ("MemoryMin", "memory.min"),
    ("MemoryLow", "memory.low"),
    ("MemoryHigh", "memory.high"),
    ("MemoryMax", "memory.max"),
    ("MemoryLimit", "memory.max"),
    ("MemorySwapMax", "memory.swap.max"),
    ("MemoryZSwapMax", "memory.zswap.max"),
    ("MemoryZSwapWriteback", "memory.zswap.writeback"),
];

/// Other names of the first part of a key.
const GROUPS: &[(&str, &str)] = &[
    ("transparent_hugepage", "thp"),
    ("hugepage", "thp"),
    ("mglru", "lru_gen"),
];

/// Characters from which a part of a name may tell which one is meant.
const PART: usize = 4;

/// Files beside the tunables that cannot be set.
const COUNTERS: &[(&str, &[&str])] = &[
    (
        "ksm",
        &[
            "full_scans",
            "general_profit",
            "ksm_zero_pages",
            "pages_scanned",
            "pages_shared",
            "pages_sharing",
            "pages_skipped",
            "pages_unshared",
            "pages_volatile",
            "stable_node_chains",
            "stable_node_dups",
        ],
    ),
    ("khugepaged", &["full_scans", "pages_collapsed"]),
    ("transparent_hugepage", &["hpage_pmd_size"]),
    (
        "memory",
        &[
            "current",
            "events",
            "failcnt",
            "peak",
            "stat",
            "usage_in_bytes",
        ],
    ),
];

/// The tunable that a key means, in whatever spelling: `vm.swappiness`, `vm/swappiness`,
/// `/proc/sys/vm/swappiness`, `sysctl.vm.swappiness`, `swappiness`; `ksm/run`, `mglru.min_ttl_ms`,
/// `/sys/class/bdi/8:0/max_ratio`, `system.slice/memory.high`, `MemoryHigh`.
///
/// # Errors
/// A [`KeyError`]: the name is not known, or several tunables have it.
pub fn resolve(key: &str) -> Result<Named<'_>, KeyError> {
    let bare = bare(key);
    looked_up(key).map_err(|several| match several.as_slice() {
        [] if is_counter(bare) => KeyError::Counter { key: shown(key) },
        [] => KeyError::Unknown {
            key: shown(key),
            suggestion: below_sys(bare)
                .map(|it| it.name.into())
                .or_else(|| nearest(bare)),
        },
        several => KeyError::Ambiguous {
            key: shown(key),
            candidates: several.iter().map(|tunable| tunable.name).collect(),
        },
    })
}

/// The tunable that a key means, or those that it may mean: several, or none.
fn looked_up(key: &str) -> Result<Named<'_>, Vec<&'static Tunable>> {
    let bare = bare(key);
    let is_path = key.trim().trim_start_matches("sysctl.").starts_with('/');
    let alias = || renamed(bare).and_then(by_name);
    let found = named(bare)
        .or_else(alias)
        .or_else(|| by_path(bare, is_path));
    found.map_or_else(
        || match by_tail(bare).as_slice() {
            [one] => Ok(one.of_each()),
            several => Err(several.to_vec()),
        },
        Ok,
    )
}

/// A key without what only says where it stands.
fn bare(key: &str) -> &str {
    let key = key.trim();
    key.strip_prefix("sysctl.").unwrap_or(key).trim_matches('/')
}

/// The switch below `/sys` that a key below `vm.` takes for one of `/proc/sys`, in the singular or
/// the plural: `vm.transparent_hugepages`, `vm.ksm.run`. `None` where it is one of `/proc/sys`.
#[must_use]
pub fn below_sys(key: &str) -> Option<&'static Tunable> {
    let bare = key.strip_prefix("vm.").filter(|_| named(key).is_none())?;
    let meant = |bare: &str| {
        let found = looked_up(bare).ok()?.tunable;
        let is_switch = found.scope() == Scope::Machine && found.path.starts_with("sys/");
        is_switch.then_some(found)
    };
    meant(bare).or_else(|| meant(bare.strip_suffix('s')?))
}

/// The name of the tunable that may have been meant by one that does not exist: one written as a
/// path, one without its group, or one with a slip of the pen.
#[must_use]
pub fn nearest(name: &str) -> Option<String> {
    if let Some(rest) = name.strip_prefix("bdi.") {
        let (device, file) = rest
            .rsplit_once('.')
            .unwrap_or((Scope::Device.placeholder(), rest));
        let file = suggest::nearest(file, of_devices().map(Tunable::kernel_name))?;
        return Some(alloc::format!("bdi.{device}.{file}"));
    }
    let bare = name.trim().trim_matches('/');
    let exact = by_path(bare, true).map(|named| named.tunable);
    let exact = exact.or_else(|| by_tail(bare).first().copied());
    exact
        .or_else(|| misspelt(bare))
        .map(|tunable| tunable.name.into())
}

/// The tunable of which the name, or else the file, is the nearest.
fn misspelt(bare: &str) -> Option<&'static Tunable> {
    let file = bare.rsplit('/').next().unwrap_or(bare);
    let full = suggest::nearest(&bare.replace('/', "."), whole().map(|tunable| tunable.name));
    let full = full.and_then(|full| whole().find(|tunable| tunable.name == full));
    let by_file = || {
        let tail = suggest::nearest(file, whole().map(Tunable::kernel_name))?;
        whole().find(|tunable| tunable.kernel_name() == tail)
    };
    full.or_else(by_file).or_else(|| only_one_with(bare))
}

/// The tunable whose name alone holds this part.
fn only_one_with(part: &str) -> Option<&'static Tunable> {
    let mut with = whole().filter(|tunable| part.len() >= PART && tunable.name.contains(part));
    let first = with.next()?;
    with.next().is_none().then_some(first)
}

/// A tunable by the name of its row, whatever it is set for.
fn by_name(name: &str) -> Option<Named<'static>> {
    let found = whole().find(|tunable| tunable.name == name);
    found.map(Tunable::of_each)
}

fn renamed(key: &str) -> Option<&'static str> {
    KEYS.iter()
        .find(|(alias, _)| *alias == key)
        .map(|(_, name)| *name)
}

/// The tunable of a path: a whole one, or the end of one from the name of a folder on.
fn by_path(path: &str, is_whole: bool) -> Option<Named<'_>> {
    let machine = all().find(|tunable| tunable.path == path);
    machine.map(Tunable::of_each).or_else(|| {
        let patterns = whole().filter(|tunable| tunable.scope() != Scope::Machine);
        let mut found = patterns.filter_map(|tunable| tunable.one_at(path, is_whole));
        found.next()
    })
}

/// The tunables of which the name ends in this one, those of the machine before others.
fn by_tail(key: &str) -> Vec<&'static Tunable> {
    let parts: Vec<&str> = match key.contains('/') {
        true => key.split('/').collect(),
        false => key.split('.').collect(),
    };
    let ends = |whole: &str, separator: char| {
        let mut whole = whole.rsplit(separator);
        let mut parts = parts.iter().rev();
        parts.all(|&part| {
            whole
                .next()
                .is_some_and(|own| own == part || is_alias(part, own))
        })
    };
    let fits = |tunable: &&Tunable| ends(tunable.path, '/') || ends(tunable.name, '.');
    let machine: Vec<_> = all().filter(fits).collect();
    match machine.is_empty() {
        false => machine,
        true => whole().filter(fits_each(key)).collect(),
    }
}

/// Whether a key names a tunable of devices, sizes or groups without saying whose: by the kernel's
/// name, with the group before it or without.
fn fits_each(key: &str) -> impl Fn(&&'static Tunable) -> bool {
    let dotted = key.replace('/', ".");
    move |tunable| {
        let own = tunable
            .name
            .split('.')
            .filter(|part| *part != tunable.scope().placeholder());
        let own: Vec<&str> = own.collect();
        let own = own.join(".");
        own == dotted || own.split_once('.').is_some_and(|(_, file)| file == dotted)
    }
}

fn is_alias(part: &str, own: &str) -> bool {
    GROUPS.contains(&(part, own))
}

fn is_counter(key: &str) -> bool {
    let (folder, name) = key.rsplit_once(['/', '.']).unwrap_or(("", key));
    let mut lists = COUNTERS.iter();
    lists.any(|(own, names)| names.contains(&name) && (folder.is_empty() || folder.ends_with(own)))
}

impl Tunable {
    /// It, of whomever.
    pub(super) fn of_each(&'static self) -> Named<'static> {
        let of = match self.scope() {
            Scope::Machine => Of::Machine,
            _ => Of::Each,
        };
        Named { tunable: self, of }
    }

    /// The one of its scope that a path means, from `/` or from the name of a folder on.
    fn one_at<'a>(&'static self, path: &'a str, is_whole: bool) -> Option<Named<'a>> {
        let place = self.scope().placeholder();
        let mut folders = self.folders().into_iter();
        let one = folders.find_map(|pattern| {
            let (before, after) = pattern.split_once(place)?;
            let rest = path.strip_suffix(after)?;
            let one = ends(before).find_map(|before| rest.strip_prefix(before));
            // A group is named without its folder too.
            let bare = (!is_whole && self.scope() == Scope::Group).then_some(rest);
            one.or(bare)
        })?;
        self.of_this(one)
    }

    /// The patterns of its paths.
    fn folders(&self) -> Vec<String> {
        let name = self.kernel_name();
        let others: &[&str] = match self.scope() {
            Scope::Device if name == "read_ahead_kb" => &[
                "sys/class/bdi/DEVICE",
                "sys/devices/virtual/bdi/DEVICE",
                "sys/block/DEVICE/queue",
            ],
            Scope::Device => &["sys/class/bdi/DEVICE", "sys/devices/virtual/bdi/DEVICE"],
            _ => &[],
        };
        let others = others
            .iter()
            .map(|folder| alloc::format!("{folder}/{name}"));
        core::iter::once(String::from(self.path))
            .chain(others)
            .collect()
    }
}

/// A folder's path, and its ends: `sys/block/`, `block/`.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    let folders = path.trim_end_matches('/').matches('/').count();
    core::iter::successors(Some(path), |path| {
        path.split_once('/').map(|(_, rest)| rest)
    })
    .take(folders + 1)
}

fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => String::from(*one),
        [first @ .., last] => alloc::format!("{} or {last}", first.join(", ")),
    }
}

pub(super) fn meant(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| alloc::format!("; did you mean {name}?"))
}

#[cfg(test)]
mod tests;
