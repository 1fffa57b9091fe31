//! What is drawn: a tunable that is there, and a text for it. What the kernel takes it for does no
//! harm in the second in which it stands.

use std::fmt;
use std::fs;

use mm::catalogue::{DefaultRule, Named, Values};
use mm::prng::Prng;

/// A setting as it is typed.
pub(crate) struct Word {
    name: String,
    text: String,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.text)
    }
}

/// The range that is drawn from, where the kernel's own would harm others on this machine.
pub(crate) const BOUNDS: &[(&str, u64, u64)] = &[
    ("vm.min_free_kbytes", 60_000, 90_000),
    ("vm.watermark_scale_factor", 5, 40),
    ("vm.percpu_pagelist_high_fraction", 0, 100),
    ("vm.overcommit_memory", 0, 1),
    ("vm.panic_on_oom", 0, 0),
    ("vm.max_map_count", 65_530, 100_000),
    ("vm.memfd_noexec", 0, 1),
    ("vm.numa_stat", 1, 1),
    ("vm.memory_failure_recovery", 1, 1),
    ("vm.dirty_ratio", 10, 40),
    ("vm.dirty_background_ratio", 5, 20),
    ("vm.dirty_bytes", 64 << 20, 1 << 30),
    ("vm.dirty_background_bytes", 32 << 20, 1 << 30),
    ("vm.nr_hugepages", 0, 8),
    ("vm.nr_hugepages_mempolicy", 0, 8),
    ("vm.nr_overcommit_hugepages", 0, 8),
    ("vm.mmap_rnd_bits", 28, 32),
    ("vm.mmap_rnd_compat_bits", 8, 16),
    ("vm.mmap_min_addr", 4096, 65_536),
    ("vm.legacy_va_layout", 0, 0),
    ("lru_gen.min_ttl_ms", 0, 100),
    ("hugetlb.hugepages-1048576kB.nr_hugepages", 0, 1),
    ("hugetlb.hugepages-2048kB.nr_hugepages", 0, 8),
];

/// Texts that no file takes, or that are no number: each must be refused and harm nothing.
const NONSENSE: [&str; 14] = [
    "",
    " ",
    "-1",
    "-0x1",
    "99999999999999999999999",
    "18446744073709551616",
    "0x",
    "089",
    "1e3",
    "1.5",
    "ten",
    "1;2",
    "[always]",
    "0b1",
];

/// A setting of one of these tunables.
pub(crate) fn draw(random: &mut Prng, tunables: &[Named<'static>]) -> Word {
    let named = *pick(random, tunables);
    let text = match random.below(6) {
        0 => (*pick(random, &NONSENSE)).to_owned(),
        _ => value(random, named),
    };
    let name = spelt_name(random, named);
    Word { name, text }
}

fn spelt_name(random: &mut Prng, named: Named<'_>) -> String {
    match random.below(3) {
        0 => format!("/{}", named.path()),
        _ => named.to_string(),
    }
}

fn value(random: &mut Prng, named: Named<'_>) -> String {
    match named.tunable.values {
        Values::Integer { min, max } => {
            let number = number(random, named, min, max);
            spelt(random, number)
        }
        Values::Integers => {
            let numbers = [0; 5].map(|_: u64| (128 + random.below(256)).to_string());
            numbers[..1 + usize::try_from(random.below(5)).expect("small")].join(" ")
        }
        Values::Bits { all } => random.below(all + 1).to_string(),
        Values::Words(words) => (*pick(random, words)).to_owned(),
        Values::Truth(_) => (*pick(
            random,
            &["Y", "n", "1", "0", "on", "off", "true", "TRUE", "f"],
        ))
        .to_owned(),
        Values::Word | Values::Limit => (*pick(random, &["lzo", "zstd", "no such"])).to_owned(),
    }
}

/// Near the value of now or the default, or anywhere in the range where that harms nobody.
fn number(random: &mut Prng, named: Named<'_>, min: u64, max: u64) -> u64 {
    let name = named.to_string();
    let bounds = BOUNDS.iter().find(|(bounded, ..)| *bounded == name);
    let (least, most) = bounds.map_or((min, max), |(_, least, most)| (*least, *most));
    let now = fs::read_to_string(format!("/{}", named.path())).unwrap_or_default();
    let default = match named.tunable.default {
        DefaultRule::Fixed(text) => text.parse().unwrap_or(least),
        _ => now.trim().parse().unwrap_or(least),
    };
    let drawn = match random.below(4) {
        0 => default.saturating_add(1 + random.below(9)),
        1 => default.saturating_sub(1 + random.below(9)),
        2 => least,
        _ if most - least < 1 << 20 => least + random.below(most - least + 1),
        _ => default.saturating_add(random.below(1 << 10)),
    };
    drawn.clamp(least, most)
}

/// A number as people and attackers write it.
fn spelt(random: &mut Prng, number: u64) -> String {
    match random.below(9) {
        0 => format!("0{number:o}"),
        1 => format!("{number:#x}"),
        2 => format!("{number:#X}"),
        3 => format!(" {number}"),
        4 => format!("{number} "),
        5 => format!("+{number}"),
        6 => format!("{number} # {number}"),
        _ => number.to_string(),
    }
}

fn pick<'a, T>(random: &mut Prng, from: &'a [T]) -> &'a T {
    let at = random.below(from.len() as u64);
    &from[usize::try_from(at).expect("an index")]
}
