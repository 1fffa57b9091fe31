//! The kernel's command line: `sysctl.KEY=` (since 5.8), huge pages, zswap.
//!
//! It is that of the running kernel, `proc/cmdline`; the next boot has the same where nobody
//! changes the boot loader.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::catalogue::{folder, path_of};

use crate::load::{Fate, Load, Source, Write};
use crate::origin::Origin;
use crate::tree::{Found, Tree};

/// Where the command line is in a tree.
pub const PATH: &str = "proc/cmdline";

/// A parameter that sets one file.
struct Plain {
    parameter: &'static str,
    path: &'static str,
    /// What a value of the parameter is in the file, where that differs.
    names: &'static [(&'static str, &'static str)],
}

const fn plain(
    parameter: &'static str,
    path: &'static str,
    names: &'static [(&'static str, &'static str)],
) -> Plain {
    Plain {
        parameter,
        path,
        names,
    }
}

const PLAIN: &[Plain] = &[
    plain("transparent_hugepage", path_of("thp.enabled"), &[]),
    plain(
        "transparent_hugepage_shmem",
        path_of("thp.shmem_enabled"),
        &[],
    ),
    plain(
        "numa_balancing",
        "proc/sys/kernel/numa_balancing",
        &[("enable", "1"), ("disable", "0")],
    ),
];

/// What the command line sets.
#[must_use]
pub fn load(tree: &Tree) -> Load {
    let Found::File { text, .. } = tree.find(PATH) else {
        return Load::default();
    };
    let origin = Origin::new(PATH, 1);
    let mut size = None;
    let mut writes = Vec::new();
    for word in words(text).iter().take_while(|word| *word != "--") {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if key == "hugepagesz" {
            size = kib(value);
        }
        if let Some((path, value)) = setting(key, value, size) {
            writes.push(Write::new(path, value, origin.clone()));
        }
    }
    let read = Source {
        path: PATH.to_owned(),
        fate: Fate::Read(None),
    };
    Load {
        writes,
        lost: Vec::new(),
        sources: [read].into(),
    }
}

/// The file that a parameter sets, and the value. `size` is that of huge pages, in KiB, where one
/// stands before.
fn setting(key: &str, value: &str, size: Option<u64>) -> Option<(String, String)> {
    // The kernel takes dashes for underscores in the names of parameters.
    let name = key.replace('-', "_");
    if let Some(key) = key
        .strip_prefix("sysctl.")
        .or_else(|| key.strip_prefix("sysctl/"))
    {
        return Some((
            ["proc/sys/", &key.replace('.', "/")].concat(),
            value.to_owned(),
        ));
    }
    if let Some(parameter) = name.strip_prefix("zswap.") {
        return Some((format!("{}/{parameter}", folder::ZSWAP), value.to_owned()));
    }
    if name == "hugepages" {
        let path =
            size.map(|size| format!("{}/hugepages-{size}kB/nr_hugepages", folder::HUGEPAGES));
        let path = path.unwrap_or_else(|| path_of("vm.nr_hugepages").to_owned());
        return Some((path, value.to_owned()));
    }
    let plain = PLAIN.iter().find(|plain| plain.parameter == name)?;
    let known = plain.names.iter().find(|(name, _)| *name == value);
    let value = known.map_or(value, |(_, value)| *value);
    Some((plain.path.to_owned(), value.to_owned()))
}

/// The words of a command line; blanks within double quotes belong to a word.
fn words(text: &str) -> Vec<String> {
    let mut words = [String::new()].to_vec();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_ascii_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().expect("one word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A size such as `2M` in KiB.
fn kib(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let digits = text.trim_end_matches(['K', 'k', 'M', 'm', 'G', 'g']);
    let number: u64 = digits.parse().ok()?;
    let scale = match unit {
        'K' | 'k' => 1,
        'M' | 'm' => 1 << 10,
        'G' | 'g' => 1 << 20,
        _ => return Some(number >> 10),
    };
    number.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;

    #[test]
    fn parameters_become_files() {
        let text = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 sysctl.vm.swappiness=10 \
                    hugepages=8 hugepagesz=1G hugepages=4 \"zswap.enabled=1\" \
                    transparent-hugepage=madvise numa_balancing=disable quiet -- hugepages=9\n";
        let load = load(&tree_of(&[(PATH, text)]));
        let shown = |write: &Write| format!("{}={}", write.path, write.value);
        let writes: Vec<String> = load.writes.iter().map(shown).collect();
        assert_eq!(
            writes,
            [
                "proc/sys/vm/swappiness=10",
                "proc/sys/vm/nr_hugepages=8",
                "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages=4",
                "sys/module/zswap/parameters/enabled=1",
                "sys/kernel/mm/transparent_hugepage/enabled=madvise",
                "proc/sys/kernel/numa_balancing=0",
            ]
        );
    }
}
