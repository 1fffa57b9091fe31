//! Which kernel file or text of configuration a name means, and what of a machine is worth keeping.

use alloc::format;
use alloc::string::{String, ToString};

use super::groups;
use mm::catalogue::{self, folder, path_of};

/// Files below `proc` that a frame keeps.
const PROC: &[&str] = &[
    "meminfo",
    "vmstat",
    "zoneinfo",
    "buddyinfo",
    "pagetypeinfo",
    "swaps",
    "diskstats",
    "stat",
    "uptime",
    "loadavg",
    "cmdline",
    "version",
    "slabinfo",
    "cgroups",
    "mounts",
    "partitions",
];

/// Folders of configuration, below the root of a machine.
const CONFIGURATION: &[&str] = &[
    "etc/sysctl.conf",
    "etc/sysctl.d/",
    "usr/lib/sysctl.d/",
    "lib/sysctl.d/",
    "run/sysctl.d/",
    "usr/local/lib/sysctl.d/",
    "etc/tmpfiles.d/",
    "usr/lib/tmpfiles.d/",
    "run/tmpfiles.d/",
    "etc/udev/rules.d/",
    "usr/lib/udev/rules.d/",
    "etc/tuned/",
    "usr/lib/tuned/",
    "usr/share/tuned/",
    "etc/default/grub",
    "etc/fstab",
    "etc/systemd/zram-generator.conf",
    "etc/systemd/system.conf",
    "etc/systemd/oomd.conf",
    "etc/default/earlyoom",
    "etc/default/zramswap",
    "etc/saptune/",
    "etc/sapconf/",
    "etc/security/limits.conf",
    "boot/config-",
    "etc/ksmtuned.conf",
    "etc/rc.local",
];

/// Folders below `sys` of which a frame keeps files.
const SYS: &[&str] = &[
    "sys/kernel/mm/",
    "sys/fs/cgroup/",
    "sys/block/",
    "sys/class/bdi/",
    "sys/devices/system/node/",
    "sys/devices/virtual/bdi/",
    "sys/module/zswap/",
    "sys/kernel/debug/bdi/",
    "sys/kernel/debug/lru_gen",
    "sys/kernel/debug/extfrag",
    "sys/kernel/debug/zswap/",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/present",
];

/// Folders below `proc/sys` of which a frame keeps files, beside that of `vm`.
const SETTINGS: &[&str] = &["proc/sys/kernel/", "proc/sys/fs/"];

/// Names that tell whose machine it is; never kept.
const PRIVATE: &[&str] = &["proc/sys/kernel/hostname", "proc/sys/kernel/domainname"];

/// Files that act when they are read on a live machine and say nothing in a saved one.
const ACTING: &[&str] = &[
    path_of("vm.compact_memory"),
    path_of("vm.drop_caches"),
    path_of("vm.stat_refresh"),
];

/// The part of a name before a machine's `proc`, `sys` or the like, and from there on.
///
/// `sosreport-x/proc/meminfo` is `("sosreport-x", "proc/meminfo")`. `None` where the name has no
/// such folder, or the file is not one that a frame keeps.
#[must_use]
pub fn known(name: &str) -> Option<(&str, &str)> {
    let (tree, path) = starts(name)
        .map(|at| (name[..at].trim_matches('/'), &name[at..]))
        .find(|(_, path)| is_kept(path))?;
    Some((tree, path))
}

/// Offsets of a name at which a folder's name begins.
fn starts(name: &str) -> impl Iterator<Item = usize> + '_ {
    let behind = name.match_indices('/').map(|(at, _)| at + 1);
    core::iter::once(0).chain(behind)
}

/// Whether a path is a kernel file or a text of configuration that a frame keeps.
#[must_use]
pub fn is_kept(path: &str) -> bool {
    if path.ends_with('/') || PRIVATE.contains(&path) || ACTING.contains(&path) {
        return false;
    }
    let below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let proc = path.strip_prefix("proc/").is_some_and(|file| {
        PROC.contains(&file) || file.starts_with("pressure/") || is_of_process(file)
    });
    proc || folder::holds(folder::VM, path) || below(SETTINGS) || below(SYS) || below(CONFIGURATION)
}

/// Whether a path is a text of configuration.
#[must_use]
pub fn is_configuration(path: &str) -> bool {
    CONFIGURATION.iter().any(|folder| path.starts_with(folder))
}

/// Whether a path's file is one value, or one line of them.
#[must_use]
pub fn is_setting(path: &str) -> bool {
    let folders = [
        "proc/sys/",
        "sys/kernel/mm/",
        "sys/block/",
        "sys/class/bdi/",
        "sys/module/",
    ];
    folders.iter().any(|folder| path.starts_with(folder))
}

fn is_of_process(file: &str) -> bool {
    let Some((process, file)) = file.split_once('/') else {
        return false;
    };
    let own = process == "self" || process.bytes().all(|byte| byte.is_ascii_digit());
    let files = [
        "smaps",
        "smaps_rollup",
        "status",
        "stat",
        "cgroup",
        "oom_score",
        "oom_score_adj",
    ];
    own && !process.is_empty() && files.contains(&file)
}

/// The path that a word of a command or a heading means: `/proc/meminfo`, and what sos makes of it,
/// `.proc.meminfo`.
#[must_use]
pub fn named(word: &str) -> Option<String> {
    let word = word.trim_matches(|c| "\"'`:,;*()".contains(c));
    let dotted = [".proc.", ".sys."]
        .iter()
        .any(|start| word.starts_with(start));
    let path = match dotted {
        true => word.replace('.', "/"),
        false => word.to_string(),
    };
    let path = path.strip_prefix('/').unwrap_or(&path);
    is_kept(path)
        .then(|| path.to_string())
        .or_else(|| groups::relative(word))
}

/// The file of a tunable that a bare name means: `swappiness`, `vm.swappiness`, `meminfo`.
#[must_use]
pub fn bare(name: &str) -> Option<String> {
    let name = name.strip_suffix(".txt").unwrap_or(name);
    if PROC.contains(&name) {
        return Some(format!("proc/{name}"));
    }
    let tunable = |tunable: &&catalogue::Tunable| {
        let own = tunable.name.split_once('.').map(|(_, own)| own);
        folder::holds(folder::VM, tunable.path) && (tunable.name == name || own == Some(name))
    };
    catalogue::all()
        .filter(|tunable| is_kept(tunable.path))
        .find(tunable)
        .map(|tunable| tunable.path.to_string())
}

/// The file of a key of `sysctl`; `None` for a key whose file is not kept.
#[must_use]
pub fn of_key(key: &str) -> Option<String> {
    let path = match key.contains('/') {
        // A dot within a name is written as a slash.
        true => key
            .chars()
            .map(|c| match c {
                '.' => '/',
                '/' => '.',
                c => c,
            })
            .collect(),
        false => key.replace('.', "/"),
    };
    let path = format!("proc/sys/{path}");
    is_kept(&path).then_some(path)
}
