//! The output of `sadf -j`, read element by element, so that a text that is cut off loses no more
//! than its last.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::{Builder, Item, Series, Source, Span, halve_steals, pages_to_kib};

/// One moment of the text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Statistics {
    timestamp: Option<Stamp>,
    paging: Option<Paging>,
    memory: Option<Memory>,
    swap_pages: Option<SwapPages>,
    queue: Option<Queue>,
    psi: Option<Psi>,
}

#[derive(Debug, Deserialize)]
struct Stamp {
    date: Option<String>,
    time: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Paging {
    pgpgin: Option<f64>,
    pgpgout: Option<f64>,
    fault: Option<f64>,
    majflt: Option<f64>,
    pgfree: Option<f64>,
    pgscank: Option<f64>,
    pgscand: Option<f64>,
    pgsteal: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Memory {
    memfree: Option<f64>,
    avail: Option<f64>,
    buffers: Option<f64>,
    cached: Option<f64>,
    active: Option<f64>,
    inactive: Option<f64>,
    dirty: Option<f64>,
    anonpg: Option<f64>,
    slab: Option<f64>,
    swpused: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct SwapPages {
    pswpin: Option<f64>,
    pswpout: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Queue {
    runq_sz: Option<f64>,
    blocked: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Psi {
    psi_mem: Option<Shares>,
    psi_io: Option<Shares>,
}

#[derive(Debug, Deserialize)]
struct Shares {
    some_avg: Option<f64>,
    full_avg: Option<f64>,
}

/// A value, what it is, and sysstat's name for it.
type Value = (Item, &'static str, Option<f64>);

/// The series of this text; `None` where it has no element with a known number.
pub(super) fn parse(text: &str) -> Option<Series> {
    let mut builder = Builder::default();
    let mut cut = false;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("\"statistics\"") {
        let list = after.trim_start_matches([':', ' ', '\t', '\r', '\n', '[']);
        (rest, cut) = elements(list, &mut builder);
    }
    if cut {
        builder.note("The text is cut off or damaged: what stands before it is read.".to_owned());
    }
    pages_to_kib(&mut builder);
    halve_steals(&mut builder);
    builder.finish(Source::Sadf, release(text))
}

/// Takes elements of a list up to its end; what follows, and whether it broke off.
fn elements<'a>(list: &'a str, builder: &mut Builder) -> (&'a str, bool) {
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t', '\r', '\n']);
        if rest.starts_with(']') {
            return (rest, false);
        }
        let mut read = serde_json::Deserializer::from_str(rest).into_iter::<Statistics>();
        let Some(Ok(element)) = read.next() else {
            return (rest, true);
        };
        rest = &rest[read.byte_offset()..];
        take(element, builder);
    }
}

fn take(element: Statistics, builder: &mut Builder) {
    let time = element.timestamp.as_ref().and_then(|stamp| {
        let date = stamp.date.as_deref().map(|date| format!("{date} "));
        Some(date.unwrap_or_default() + stamp.time.as_deref()?)
    });
    let values = element.values();
    if values.iter().all(|(.., value)| value.is_none()) {
        return;
    }
    let Some(row) = builder.row(time, Span::Interval) else {
        return;
    };
    for (item, name, value) in values {
        if let Some(value) = value.filter(|value| value.is_finite() && *value >= 0.0) {
            builder.set(row, item, name, value);
        }
    }
}

impl Statistics {
    fn values(&self) -> Vec<Value> {
        let mut values = Vec::new();
        values.extend(self.paging.iter().flat_map(Paging::values));
        values.extend(self.memory.iter().flat_map(Memory::values));
        if let Some(swap) = &self.swap_pages {
            values.push((Item::SwapIn, "pswpin", swap.pswpin));
            values.push((Item::SwapOut, "pswpout", swap.pswpout));
        }
        if let Some(queue) = &self.queue {
            values.push((Item::Running, "runq-sz", queue.runq_sz));
            values.push((Item::Blocked, "blocked", queue.blocked));
        }
        if let Some(Psi { psi_mem, psi_io }) = &self.psi {
            let memory = psi_mem.as_ref();
            let some = memory.and_then(|shares| shares.some_avg);
            let full = memory.and_then(|shares| shares.full_avg);
            let io = psi_io.as_ref().and_then(|shares| shares.some_avg);
            values.push((Item::MemorySome, "psi-mem some_avg", some));
            values.push((Item::MemoryFull, "psi-mem full_avg", full));
            values.push((Item::IoSome, "psi-io some_avg", io));
        }
        values
    }
}

impl Paging {
    fn values(&self) -> [Value; 8] {
        [
            (Item::PageIn, "pgpgin", self.pgpgin),
            (Item::PageOut, "pgpgout", self.pgpgout),
            (Item::Faults, "fault", self.fault),
            (Item::MajorFaults, "majflt", self.majflt),
            (Item::Freed, "pgfree", self.pgfree),
            (Item::ScanKswapd, "pgscank", self.pgscank),
            (Item::ScanDirect, "pgscand", self.pgscand),
            (Item::Steal, "pgsteal", self.pgsteal),
        ]
    }
}

impl Memory {
    fn values(&self) -> [Value; 10] {
        [
            (Item::Free, "memfree", self.memfree),
            (Item::Available, "avail", self.avail),
            (Item::Buffers, "buffers", self.buffers),
            (Item::Cached, "cached", self.cached),
            (Item::Active, "active", self.active),
            (Item::Inactive, "inactive", self.inactive),
            (Item::Dirty, "dirty", self.dirty),
            (Item::Anonymous, "anonpg", self.anonpg),
            (Item::Slab, "slab", self.slab),
            (Item::SwapUsed, "swpused", self.swpused),
        ]
    }
}

/// The kernel's release.
fn release(text: &str) -> Option<String> {
    let (_, after) = text.split_once("\"release\"")?;
    let value = after
        .trim_start_matches([':', ' ', '\t'])
        .strip_prefix('"')?;
    value.split_once('"').map(|(release, _)| release.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::SAR;
    use super::*;

    const RECORDED: &str = include_str!("../../../../fixtures/series/sadf.json");

    #[test]
    fn it_says_what_sar_says_of_the_same_file() {
        let read = parse(RECORDED).expect("a series");
        let sar = include_str!("../../../../fixtures/series/sar.txt");
        let sar = Series::parse(SAR, sar).expect("tables");
        assert_eq!(read.release, sar.release);
        for item in [
            Item::Free,
            Item::Available,
            Item::SwapIn,
            Item::SwapUsed,
            Item::ScanDirect,
            Item::Steal,
            Item::MajorFaults,
        ] {
            assert_eq!(read.summary(item), sar.summary(item), "{item:?}");
        }
        assert!(
            read.summary(Item::MemorySome)
                .is_some_and(|some| some.max > 10.0)
        );
    }

    #[test]
    fn a_text_that_is_cut_off_loses_its_last_element() {
        let whole = parse(RECORDED).expect("a series");
        let end = RECORDED.rfind("\"timestamp\"").expect("the last element");
        let cut = parse(&RECORDED[..end + 40]).expect("a series");
        assert_eq!(cut.rows.len() + 1, whole.rows.len());
        assert!(cut.notes.iter().any(|note| note.contains("cut off")));
        assert!(!whole.notes.iter().any(|note| note.contains("cut off")));
    }

    #[test]
    fn nests_and_other_texts_are_none() {
        let deep = format!("{{\"statistics\": [{}", "[".repeat(100_000));
        for other in [
            "",
            "{}",
            "\"statistics\"",
            &deep,
            "{\"statistics\": [1, 2]}",
        ] {
            assert!(parse(other).is_none());
        }
    }
}
