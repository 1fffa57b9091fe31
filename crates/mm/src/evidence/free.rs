//! What `free` prints, as a part of `/proc/meminfo` where its numbers are exact.
//!
//! `total`, `free`, `shared` and `available` are items of meminfo, and so are `buffers` and
//! `cached` of the table before procps 3.3.10. The later `buff/cache` is a sum with SReclaimable
//! and is left out, as is the line `-/+ buffers/cache`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// The unit in which `free` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes: `-b`.
    Bytes,
    /// Kibibytes: without an option, or `-k`.
    Kib,
    /// A unit that drops digits: `-m`, `-g`, `-h`.
    Rounded,
    /// No heading says which.
    Unknown,
}

/// Columns and the items of meminfo that they are, in the row `Mem:`.
const MEMORY: &[(&str, &str)] = &[
    ("total", "MemTotal"),
    ("free", "MemFree"),
    ("shared", "Shmem"),
    ("buffers", "Buffers"),
    ("cached", "Cached"),
    ("available", "MemAvailable"),
];

/// The same of the row `Swap:`.
const SWAP: &[(&str, &str)] = &[("total", "SwapTotal"), ("free", "SwapFree")];

/// The part of `/proc/meminfo` that the table holds.
///
/// `None` where its numbers are not exact. Without a heading kibibytes are taken where every number
/// of the table is a multiple of 4, as whole pages are, and at least one needs it.
#[must_use]
pub fn meminfo(text: &str, unit: Unit) -> Option<String> {
    let unit = match unit {
        Unit::Unknown => inferred(text)?,
        unit => unit,
    };
    let columns: Vec<&str> = text.lines().next()?.split_ascii_whitespace().collect();
    let mut items = String::new();
    for line in text.lines().skip(1) {
        let Some((row, values)) = line.trim().split_once(':') else {
            continue;
        };
        let names = match row {
            "Mem" => MEMORY,
            "Swap" => SWAP,
            _ => continue,
        };
        for (column, value) in columns.iter().zip(values.split_ascii_whitespace()) {
            let Some((_, item)) = names.iter().find(|(name, _)| name == column) else {
                continue;
            };
            let kib = kib(value, unit)?;
            let _ = writeln!(items, "{item}: {kib} kB");
        }
    }
    (!items.is_empty()).then_some(items)
}

fn kib(value: &str, unit: Unit) -> Option<u64> {
    let value: u64 = value.parse().ok()?;
    match unit {
        Unit::Bytes => value.is_multiple_of(1024).then_some(value / 1024),
        Unit::Kib => Some(value),
        Unit::Rounded | Unit::Unknown => None,
    }
}

/// The unit that the numbers force: counts of whole pages are multiples of 4 KiB, and six that are
/// so by chance in another unit are one in 4^6.
fn inferred(text: &str) -> Option<Unit> {
    let rows = text.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut numbers = Vec::new();
    for word in rows.flat_map(|(_, values)| values.split_ascii_whitespace()) {
        numbers.push(word.parse::<u64>().ok()?);
    }
    let telling = numbers.iter().filter(|&&number| number > 0).count();
    let multiples =
        |of: u64| telling >= 6 && numbers.iter().all(|number| number.is_multiple_of(of));
    match () {
        () if multiples(4096) => Some(Unit::Bytes),
        () if multiples(4) => Some(Unit::Kib),
        () => None,
    }
}
