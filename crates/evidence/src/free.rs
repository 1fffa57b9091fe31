//! What `free` prints, as a part of `/proc/meminfo` where its numbers tell MiB or less.
//!
//! `total`, `free`, `shared` and `available` are items of meminfo, and so are `buffers` and
//! `cached` of the table before procps 3.3.10. The later `buff/cache` is a sum with SReclaimable
//! and is left out, as is the line `-/+ buffers/cache`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use mm::text::LARGEST_AMOUNT;

/// The unit in which `free` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes: `-b`.
    Bytes,
    /// Kibibytes: without an option, or `-k`.
    Kib,
    /// Mebibytes, rounded down: `-m`.
    Mib,
    /// A unit that drops too many digits, or stands behind each number: `-g`, `-h`.
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
/// `None` where its numbers have no unit that is known. Those of `-h` have one behind each, and are
/// rounded to three digits, which is enough to say what is full. Without a heading kibibytes are
/// taken where every number of the table is a multiple of 4, as whole pages are, and at least one
/// needs it.
#[must_use]
pub fn meminfo(text: &str, unit: Unit) -> Option<String> {
    let unit = match unit {
        Unit::Unknown if text.split_ascii_whitespace().any(has_unit) => Unit::Rounded,
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

/// The part of meminfo that the head of `top` has: `KiB Mem : 938748 total, 46416 free, …`,
/// `MiB Swap: …, 55.7 avail Mem`, and of an older one `Mem: 8149440k total, … 160088k buffers`.
pub(super) fn by_top(text: &str) -> Option<String> {
    let mut items = String::new();
    for line in text.lines().take(MOST_OF_HEAD) {
        let Some((name, values)) = line.split_once(':') else {
            continue;
        };
        let mut names = name.split_ascii_whitespace().rev();
        let names = match (names.next(), names.next()) {
            (Some("Mem"), unit) => (["MemTotal", "MemFree"], unit),
            (Some("Swap"), unit) => (["SwapTotal", "SwapFree"], unit),
            _ => continue,
        };
        let ([total, free], unit) = names;
        let mut number = None;
        for word in values.split_ascii_whitespace() {
            let plain = word.trim_end_matches([',', '.']);
            let item = match plain {
                "total" => total,
                "free" => free,
                "avail" => "MemAvailable",
                "buffers" => "Buffers",
                "cached" => "Cached",
                _ => {
                    number = amount(plain, unit);
                    continue;
                }
            };
            if let Some(kib) = number.take() {
                let _ = writeln!(items, "{item}: {kib} kB");
            }
        }
    }
    (!items.is_empty()).then_some(items)
}

/// The part of meminfo that the head of `atop` has: `MEM | tot 1.9G | free 101.7M | cache …`. Its
/// columns are the beginnings of `free`'s.
pub(super) fn by_atop(text: &str) -> Option<String> {
    let mut items = String::new();
    for (head, names) in [("MEM", MEMORY), ("SWP", SWAP)] {
        let line = text
            .lines()
            .rev()
            .find(|line| line.trim().starts_with(head));
        let parts = line.into_iter().flat_map(|line| line.split('|'));
        for (name, value) in parts.filter_map(|part| part.trim().split_once(' ')) {
            let item = names.iter().find(|(known, _)| known.starts_with(name));
            if let Some(((_, item), kib)) = item.zip(rounded(value.trim())) {
                let _ = writeln!(items, "{item}: {kib} kB");
            }
        }
    }
    (!items.is_empty()).then_some(items)
}

/// Lines among which the head of `top` is.
const MOST_OF_HEAD: usize = 8;

/// A number of `top` in KiB, in the unit before its line or behind it.
fn amount(word: &str, unit: Option<&str>) -> Option<u64> {
    let number = word.trim_end_matches(['k', 'M', 'G', 'm', 'g']);
    let scale = match unit.unwrap_or(&word[number.len()..]) {
        "k" | "KiB" => 1.0,
        "m" | "M" | "MiB" => 1024.0,
        "g" | "G" | "GiB" => 1024.0 * 1024.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    let kib = number * scale;
    (kib >= 0.0 && kib < LARGEST_AMOUNT as f64).then_some(kib as u64)
}

/// Whether a word is a number with a unit behind it, as `free -h` prints them.
fn has_unit(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.ends_with(|c: char| c.is_ascii_alphabetic())
}

/// A number of `free -h` in KiB: `312Mi`, `9.8G`, `0B`. Of `--si` it is 2 to 10 % too large.
pub(super) fn rounded(value: &str) -> Option<u64> {
    let end = value.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = value.split_at(end);
    let number: f64 = number.parse().ok()?;
    let scale = match unit.chars().next()? {
        'B' => 1.0 / 1024.0,
        'K' => 1.0,
        'M' => 1024.0,
        'G' => 1024.0 * 1024.0,
        'T' => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let kib = number * scale;
    (kib.is_finite() && kib >= 0.0 && kib < LARGEST_AMOUNT as f64).then_some(kib as u64)
}

fn kib(value: &str, unit: Unit) -> Option<u64> {
    if has_unit(value) {
        return rounded(value);
    }
    let value: u64 = value.parse().ok()?;
    match unit {
        Unit::Bytes => value.is_multiple_of(1024).then_some(value / 1024),
        Unit::Kib => Some(value),
        Unit::Mib => value.checked_mul(1024).filter(|&kib| kib < LARGEST_AMOUNT),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounded_numbers_of_free_h_say_what_is_full() {
        let text = "               total        used        free      shared  buff/cache   available\n\
                    Mem:            15Gi       9.8Gi       312Mi       1.2Gi       5.4Gi       4.2Gi\n\
                    Swap:          2.0Gi       2.0Gi         0B\n";
        let items = meminfo(text, Unit::Unknown).expect("units stand behind the numbers");
        assert!(items.contains("MemTotal: 15728640 kB\n"), "{items}");
        assert!(items.contains("MemFree: 319488 kB\n"), "{items}");
        assert!(items.contains("SwapFree: 0 kB\n"), "{items}");
        assert_eq!(
            meminfo(&text.replace("312Mi", "312Xi"), Unit::Rounded),
            None
        );
    }

    #[test]
    fn the_head_of_top_has_a_part_of_meminfo() {
        let rows = [
            "KiB Mem :   938748 total,    46416 free,   839752 used,    52580 buff/cache\n\
             KiB Swap:        0 total,        0 free,        0 used.    57068 avail Mem\n",
            "MiB Mem :    916.7 total,     45.3 free\nMiB Swap: 0.0 total, 0.0 free. 55.7 avail Mem",
        ];
        let items = rows.map(|text| by_top(text).expect("a head"));
        assert_eq!(
            items[0],
            "MemTotal: 938748 kB\nMemFree: 46416 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n\
             MemAvailable: 57068 kB\n"
        );
        assert!(
            items[1].starts_with("MemTotal: 938700 kB\nMemFree: 46387 kB\n"),
            "{}",
            items[1]
        );
        let old = "Mem:    48168M total, 48015M used,   152M free,  173M buffers\n\
                   Swap:   99331M total, 10290M used, 89041M free, 2086M cached\n";
        assert_eq!(
            by_top(old).as_deref(),
            Some(
                "MemTotal: 49324032 kB\nMemFree: 155648 kB\nBuffers: 177152 kB\n\
                 SwapTotal: 101714944 kB\nSwapFree: 91177984 kB\nCached: 2136064 kB\n"
            )
        );
        assert_eq!(by_top("Mem: 7983 total, 2673 free\n"), None);
    }

    #[test]
    fn the_head_of_atop_has_a_part_of_meminfo() {
        let text = "ATOP - h 2018/03/31\nMEM | tot 2.0G | free 100.0M | cache 1.0M | shmem 1.0M |\n\
                    SWP | tot 1.0G | free 1.0G | | vmcom 2.0G | vmlim 4.0G |\n";
        assert_eq!(
            by_atop(text).as_deref(),
            Some(
                "MemTotal: 2097152 kB\nMemFree: 102400 kB\nCached: 1024 kB\n\
                 SwapTotal: 1048576 kB\nSwapFree: 1048576 kB\n"
            )
        );
        assert_eq!(by_atop("ATOP - h\nPRC | sys 0.47s |\n"), None);
    }

    #[test]
    fn numbers_without_a_unit_are_not_guessed() {
        let text =
            "             total       used       free\nMem:          7983       5310       2673\n";
        assert_eq!(meminfo(text, Unit::Rounded), None);
        assert_eq!(meminfo(text, Unit::Unknown), None);
        let mib = meminfo(text, Unit::Mib).expect("-m says the unit");
        assert_eq!(mib, "MemTotal: 8174592 kB\nMemFree: 2737152 kB\n");
    }
}
