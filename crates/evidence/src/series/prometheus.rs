//! A dump of node_exporter, turned back into the kernel's files that it was read from.
//!
//! The exporter multiplies kB to bytes, sums no counter and keeps the kernel's names, so most
//! comes back exactly. What does not is said in [`NOTE`]: pressure has totals only; zones have
//! marks and sizes only, with the boost in the marks; a counter above 2^53 has lost its last
//! digits.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::word::unquoted;
use mm::text::LARGEST_AMOUNT;
use mm::units::Nanos;

/// Path of the note of what the conversion lost, a sentence a line. A frame that has it has no
/// averages of pressure.
pub const NOTE: &str = "plimsoll/tools/node_exporter";

/// Most lines that a file is given: a kernel's file has a few hundred.
const MOST_LINES: usize = 4096;

/// A line "NAME{LABELS} VALUE [TIME]".
#[derive(Clone, Copy, Debug)]
struct Sample<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl<'a> Sample<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim_ascii();
        if !line.starts_with("node_") {
            return None;
        }
        let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
        let (name, rest) = line.split_at(end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => rest.split_at(rest.rfind('}')?),
            None => ("", rest),
        };
        let rest = rest.strip_prefix('}').unwrap_or(rest);
        let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
        // A prefix that nothing follows names nothing.
        let is_whole = value.is_finite() && !name.ends_with('_');
        is_whole.then_some(Self {
            name,
            labels,
            value,
        })
    }

    /// The value of a label; escapes are not undone.
    fn label(&self, key: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        while let Some((name, after)) = rest.split_once("=\"") {
            let end = after.find('"')?;
            if name.trim_matches([',', ' ']) == key {
                return Some(&after[..end]);
            }
            rest = &after[end + 1..];
        }
        None
    }

    fn count(&self) -> Option<u64> {
        (self.value >= 0.0).then_some(self.value as u64)
    }
}

/// A zone of which numbers were seen.
#[derive(Debug, Default)]
struct Zone {
    name: String,
    /// Its numbers, by the kernel's names.
    marks: BTreeMap<&'static str, u64>,
    /// Its lowmem reserve, by the index of the zone that is asked for.
    reserves: BTreeMap<u32, u64>,
}

/// The zones, by node and by their place in it.
type Zones = BTreeMap<(u32, u32), Zone>;

/// What is kept while the dump is read.
#[derive(Debug, Default)]
struct Files {
    meminfo: String,
    vmstat: String,
    lines: usize,
    pressure: BTreeMap<&'static str, [Option<u64>; 2]>,
    zones: Zones,
    swaps: BTreeMap<String, [u64; 3]>,
    release: Option<String>,
    clock: [Option<f64>; 2],
    inexact: bool,
    repeated: usize,
    seen: BTreeSet<String>,
}

/// The kernel's files that a dump of node_exporter was made of, by path, and [`NOTE`]; `None`
/// where the text is no such dump. Of several dumps in one text the first is taken.
#[must_use]
pub fn node_exporter(text: &str) -> Option<Vec<(String, String)>> {
    let mut files = Files::default();
    let samples = text
        .split('\n')
        .filter_map(|line| Sample::of(unquoted(line)));
    samples.for_each(|sample| files.take(sample));
    let note = files.note();
    let written = files.write();
    (!written.is_empty()).then(|| {
        let note = core::iter::once((NOTE.to_string(), note));
        written.into_iter().chain(note).collect()
    })
}

/// When the dump was made, since boot; `None` where it does not say.
#[must_use]
pub fn scraped_at(text: &str) -> Option<Nanos> {
    let mut files = Files::default();
    let samples = text
        .split('\n')
        .filter_map(|line| Sample::of(unquoted(line)));
    let clocks = samples.filter(|sample| sample.labels.is_empty());
    clocks.for_each(|sample| files.clock(sample));
    files.up().map(|seconds| Nanos((seconds * 1e9) as u64))
}

impl Files {
    fn take(&mut self, sample: Sample<'_>) {
        if let Some(item) = sample.name.strip_prefix("node_memory_") {
            self.meminfo(item, sample);
        } else if let Some(item) = sample.name.strip_prefix("node_vmstat_") {
            self.vmstat(item, sample);
        } else if let Some(item) = sample.name.strip_prefix("node_pressure_") {
            self.pressure(item, sample);
        } else if let Some(item) = sample.name.strip_prefix("node_zoneinfo_") {
            self.zone(item, sample);
        } else if let Some(item) = sample.name.strip_prefix("node_swap_") {
            self.swap(item, sample);
        } else if sample.name == "node_uname_info" {
            self.release = sample.label("release").map(String::from);
        } else {
            self.clock(sample);
        }
    }

    /// Whether this line is the first of its name; counts the others.
    fn first(&mut self, name: &str) -> bool {
        let room = self.lines < MOST_LINES;
        let new = room && self.seen.insert(name.into());
        self.repeated += usize::from(!new);
        self.lines += usize::from(new);
        new
    }

    fn whole(&mut self, value: u64) -> u64 {
        self.inexact |= value > 1 << 53;
        value
    }

    /// `Active_anon_bytes` is "Active(anon)" in kB; the counts of huge pages have no unit. Before
    /// node_exporter 0.16 no name ended with its unit.
    fn meminfo(&mut self, item: &str, sample: Sample<'_>) {
        let (Some(count), true) = (sample.count(), sample.labels.is_empty()) else {
            return;
        };
        let item = item.strip_suffix("_bytes").unwrap_or(item);
        if !self.first(sample.name) {
            return;
        }
        let name = match item.split_once('_') {
            Some((lru @ ("Active" | "Inactive"), kind)) => format!("{lru}({kind})"),
            _ => item.to_string(),
        };
        let (amount, unit) = match item.starts_with("HugePages_") {
            true => (count, ""),
            false => (count / 1024, " kB"),
        };
        let amount = amount.min(LARGEST_AMOUNT);
        let line = writeln!(self.meminfo, "{name}: {amount}{unit}");
        debug_assert!(line.is_ok(), "a string takes all");
    }

    fn vmstat(&mut self, item: &str, sample: Sample<'_>) {
        if let (Some(count), true) = (sample.count(), self.first(sample.name)) {
            let count = self.whole(count);
            let _ = writeln!(self.vmstat, "{item} {count}");
        }
    }

    /// `memory_waiting_seconds_total` is some, `memory_stalled_seconds_total` is full.
    fn pressure(&mut self, item: &str, sample: Sample<'_>) {
        const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];
        let Some((resource, kind)) = item.split_once('_') else {
            return;
        };
        let line = match kind {
            "waiting_seconds_total" => 0,
            "stalled_seconds_total" => 1,
            _ => return,
        };
        let micros = (sample.value.max(0.0) * 1e6 + 0.5) as u64;
        if let Some(resource) = RESOURCES.into_iter().find(|known| *known == resource) {
            self.pressure.entry(resource).or_default()[line].get_or_insert(micros);
        }
    }

    fn zone(&mut self, item: &str, sample: Sample<'_>) {
        const ITEMS: [(&str, &str); 7] = [
            ("nr_free_pages", "free"),
            ("min_pages", "min"),
            ("low_pages", "low"),
            ("high_pages", "high"),
            ("spanned_pages", "spanned"),
            ("present_pages", "present"),
            ("managed_pages", "managed"),
        ];
        let zone = || {
            let node: u32 = sample.label("node")?.parse().ok()?;
            Some((
                node,
                sample.label("zone")?,
                sample.count()?.min(LARGEST_AMOUNT),
            ))
        };
        let Some((node, name, pages)) = zone() else {
            return;
        };
        let Some(rank) = rank(name) else { return };
        if self.zones.len() >= MOST_LINES {
            return;
        }
        let zone = self.zones.entry((node, rank)).or_default();
        zone.name = name.into();
        if let Some((_, mark)) = ITEMS.iter().find(|(metric, _)| *metric == item) {
            zone.marks.entry(mark).or_insert(pages);
        } else if let Some(index) = reserve(item) {
            zone.reserves.entry(index).or_insert(pages);
        }
    }

    /// `node_swap_size_bytes`, `node_swap_used_bytes` and `node_swap_priority` of each device.
    fn swap(&mut self, item: &str, sample: Sample<'_>) {
        let at = match item {
            "size_bytes" => 0,
            "used_bytes" => 1,
            "priority" => 2,
            _ => return,
        };
        let (Some(device), true) = (sample.label("device"), self.swaps.len() < 64) else {
            return;
        };
        let kind = sample.label("swap_type").unwrap_or("partition");
        let entry = self.swaps.entry(format!("{device}\t{kind}")).or_default();
        entry[at] = match at {
            2 => (sample.value as i64).cast_unsigned(),
            _ => sample.count().unwrap_or(0) / 1024,
        };
    }

    fn clock(&mut self, sample: Sample<'_>) {
        match sample.name {
            "node_boot_time_seconds" | "node_boot_time" => self.clock[0] = Some(sample.value),
            "node_time_seconds" | "node_time" => self.clock[1] = Some(sample.value),
            _ => {}
        }
    }

    fn up(&self) -> Option<f64> {
        let up = self.clock[1]? - self.clock[0]?;
        (up > 0.0 && up < 1e10).then_some(up)
    }

    fn note(&self) -> String {
        let mut note = String::from("Converted from a dump of node_exporter.\n");
        if !self.pressure.is_empty() {
            note.push_str("Pressure has totals only: its averages are not exported.\n");
        }
        if !self.zones.is_empty() {
            note.push_str(
                "Zones have sizes, marks and reserves only; a boost is not exported: it is in the \
                 marks.\n",
            );
        }
        if self.inexact {
            note.push_str("Counters above 2^53 have lost their last digits.\n");
        }
        if self.repeated > 0 {
            note.push_str("Lines repeat: the first dump of the text is taken.\n");
        }
        note
    }

    fn write(self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let mut add = |path: &str, text: String| {
            if !text.is_empty() {
                files.push((path.to_string(), text));
            }
        };
        for (resource, lines) in &self.pressure {
            add(&format!("proc/pressure/{resource}"), pressure_text(lines));
        }
        add("proc/zoneinfo", zoneinfo_text(&self.zones));
        add("proc/swaps", swaps_text(&self.swaps));
        let up = self.up().map(|up| format!("{up:.2} 0.00\n"));
        let known = !self.meminfo.is_empty() || !self.vmstat.is_empty();
        add("proc/meminfo", self.meminfo);
        add("proc/vmstat", self.vmstat);
        if let Some(release) = self.release {
            add("proc/sys/kernel/osrelease", format!("{release}\n"));
        }
        add("proc/uptime", up.filter(|_| known).unwrap_or_default());
        files
    }
}

/// The index of `protection_N`.
fn reserve(item: &str) -> Option<u32> {
    let index = item.strip_prefix("protection_")?.parse().ok()?;
    (index < 16).then_some(index)
}

/// The place of a zone in a node, lowest first.
fn rank(zone: &str) -> Option<u32> {
    let zones = ["DMA", "DMA32", "Normal", "HighMem", "Movable", "Device"];
    let at = zones.iter().position(|known| *known == zone)?;
    u32::try_from(at).ok()
}

fn pressure_text(lines: &[Option<u64>; 2]) -> String {
    let mut text = String::new();
    for (word, micros) in ["some", "full"].iter().zip(lines) {
        if let Some(micros) = micros {
            let averages = "avg10=0.00 avg60=0.00 avg300=0.00";
            let _ = writeln!(text, "{word} {averages} total={micros}");
        }
    }
    text
}

/// Zones in the shape of the kernel's file; those that lack a number are left out.
fn zoneinfo_text(zones: &Zones) -> String {
    let mut text = String::new();
    for ((node, _), zone) in zones {
        let name = &zone.name;
        let mark = |name: &str| {
            let free_of_empty = (name == "free").then_some(0);
            zone.marks.get(name).copied().or(free_of_empty)
        };
        let names = [
            "free", "min", "low", "high", "spanned", "present", "managed",
        ];
        let Some(values) = names
            .iter()
            .map(|name| mark(name))
            .collect::<Option<Vec<u64>>>()
        else {
            continue;
        };
        let _ = writeln!(
            text,
            "Node {node}, zone {name:>8}\n  pages free     {}",
            values[0]
        );
        for (name, value) in names.iter().zip(&values).skip(1) {
            let _ = writeln!(text, "        {name:<8} {value}");
        }
        let list: Vec<String> = zone.reserves.values().map(u64::to_string).collect();
        if !list.is_empty() {
            let _ = writeln!(text, "        protection: ({})", list.join(", "));
        }
    }
    text
}

fn swaps_text(swaps: &BTreeMap<String, [u64; 3]>) -> String {
    if swaps.is_empty() {
        return String::new();
    }
    let mut text = String::from("Filename\tType\tSize\tUsed\tPriority\n");
    for (device, [size, used, priority]) in swaps {
        let _ = writeln!(text, "{device}\t{size}\t{used}\t{}", priority.cast_signed());
    }
    text
}

#[cfg(test)]
mod tests;
