//! Swap that is compressed memory: full, or much of memory by itself.

use crate::fact::{Fact, Missing, or_unsaid};
use mm::quantity;
use mm::units::{Bytes, Kib};

use super::capacity::{by_available, is_full, of_total, share};
use super::facts::Looked;
use super::finding::{Answer, Said};

/// Whether all swap is on zram.
pub(super) fn is_all_swap(looked: &Looked<'_>) -> Fact<bool> {
    let swaps = looked.snapshot().swaps.as_ref();
    let areas = &swaps.ok_or(Missing("/proc/swaps"))?.areas;
    let on_zram = areas.iter().all(|area| area.path.contains("/zram"));
    Ok(on_zram && !areas.is_empty())
}

/// What `zramctl` prints of a device.
struct Listed {
    size: Kib,
    data: Kib,
    /// What it takes of memory.
    total: Kib,
    is_swap: bool,
}

/// The devices that `zramctl` lists.
fn listed(looked: &Looked<'_>) -> Vec<Listed> {
    let mut lines = looked.tool("zramctl").into_iter().flat_map(str::lines);
    let head: Vec<&str> = lines
        .next()
        .into_iter()
        .flat_map(str::split_whitespace)
        .collect();
    let device = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let of = |name| {
            words
                .get(head.iter().position(|column| *column == name)?)
                .copied()
        };
        let amount = |name| Some(Kib(quantity::size(of(name)?).ok()?.0 / 1024));
        Some(Listed {
            size: amount("DISKSIZE")?,
            data: amount("DATA")?,
            total: amount("TOTAL")?,
            is_swap: words.contains(&"[SWAP]"),
        })
    };
    lines.filter_map(device).collect()
}

/// Total and free of all swap, and whether it is on zram.
fn of_swap(looked: &Looked<'_>) -> Fact<(Kib, Kib, bool)> {
    let areas = || {
        let (total, free) = (looked.amount("SwapTotal")?, looked.amount("SwapFree")?);
        Ok((total, free, is_all_swap(looked)?))
    };
    let swap = listed(looked).into_iter().filter(|device| device.is_swap);
    let by_zramctl = swap.reduce(|a, b| Listed {
        size: a.size.saturating_add(b.size),
        data: a.data.saturating_add(b.data),
        ..a
    });
    areas().or_else(|missing| {
        let all = by_zramctl.ok_or(missing)?;
        Ok((all.size, Kib(all.size.0.saturating_sub(all.data.0)), true))
    })
}

/// Swap is all but full, and is memory itself.
pub(super) fn full(looked: &Looked<'_>) -> Answer {
    let (total, free, is_all_swap) = of_swap(looked)?;
    if !is_all_swap || !is_full(free, total) {
        return Ok(None);
    }
    let held = held(looked).ok();
    let held = held.map(|held| format!("; zram and zswap take {} of memory", held.bytes()));
    Ok(Some(
        Said::new(
            by_available(looked),
            format!(
                "Swap on zram is full: {} of {} is free{}.",
                free.bytes(),
                total.bytes(),
                or_unsaid(held)
            ),
            "pages that are swapped to zram are compressed and stay in memory; without a free slot \
             anonymous memory stays as it is",
            "zramctl; a larger disksize (systemd-zram-generator: zram-size=), or swap on a disk \
             with a lower priority",
        )
        .not("vm.swappiness: it chooses between page cache and swap, and swap takes no more"),
    ))
}

/// Percent of memory from which on what compressed swap takes is worth a word.
const MUCH: u64 = 15;

/// What is swapped takes much of memory.
pub(super) fn holds(looked: &Looked<'_>) -> Answer {
    let (held, total) = (held(looked)?, looked.total()?);
    if share(held, total).is_none_or(|share| share < MUCH) {
        return Ok(None);
    }
    Ok(Some(
        Said::new(
            by_available(looked),
            format!(
                "zram and zswap take {} for what they store.",
                of_total(held, Some(total))
            ),
            "mem_used_total in mm_stat, Zswap in meminfo: no line of meminfo has zram's, and more \
             swap than memory can hold compressed makes it short",
            "zramctl; cat /sys/block/zram*/mm_stat",
        )
        .not("looking for a leak in the kernel: what is swapped is there"),
    ))
}

/// What zram and zswap take of memory.
fn held(looked: &Looked<'_>) -> Fact<Kib> {
    const NEEDS: Missing = Missing("zram's mm_stat");
    let devices = looked.snapshot().zram.values();
    let used = devices.filter_map(|zram| zram.memory.map(|memory| memory.used));
    let zram = used.reduce(|a, b| Bytes(a.0.saturating_add(b.0)));
    let by_zramctl = || listed(looked).into_iter().map(|device| device.total);
    let zram = zram.map(|bytes| Kib(bytes.0 / 1024));
    let zram = zram.or_else(|| by_zramctl().reduce(Kib::saturating_add));
    let zswap = looked.amount("Zswap").ok();
    let pages = || Some(looked.bytes(looked.counter("nr_zspages").ok()?));
    let both = zram.into_iter().chain(zswap).reduce(Kib::saturating_add);
    // The allocator's own count has both, and no metadata.
    let pages = pages().map(|bytes| Kib(bytes.0 / 1024));
    let told = both.into_iter().chain(pages).max();
    // Swap that is not on zram holds nothing there.
    told.or_else(|| no_zram(looked).then_some(Kib::ZERO))
        .ok_or(NEEDS)
}

/// Whether the areas of swap are told and none is on zram.
fn no_zram(looked: &Looked<'_>) -> bool {
    let swaps = looked.snapshot().swaps.as_ref();
    swaps.is_some_and(|swaps| swaps.areas.iter().all(|area| !area.path.contains("/zram")))
}
