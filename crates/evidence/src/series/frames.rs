//! The frames of a capture as a series: levels as they are, counters as rates between two frames.

use alloc::format;
use alloc::string::String;

use super::columns::{Series, Source, Span};
use super::{Builder, Item};
use mm::capture::Frame;
use mm::meminfo::{self, Meminfo};
use mm::psi::{Psi, Stall};
use mm::text::lines;
use mm::units::{Kib, Nanos, PageSize};
use mm::vmstat;

/// The items that counters of vmstat make, and the tool's name for each.
const COUNTED: [(Item, &str); 11] = [
    (Item::SwapIn, "pswpin"),
    (Item::SwapOut, "pswpout"),
    (Item::PageIn, "pgpgin"),
    (Item::PageOut, "pgpgout"),
    (Item::Faults, "pgfault"),
    (Item::MajorFaults, "pgmajfault"),
    (Item::ScanKswapd, "pgscan_kswapd"),
    (Item::ScanDirect, "pgscan_direct"),
    (Item::Steal, "pgsteal"),
    (Item::AllocStalls, "allocstall"),
    (Item::Refaults, "workingset_refault"),
];

/// The item's sums of counters, in the order of [`COUNTED`].
type Counters = [Option<u64>; COUNTED.len()];

/// What is taken of one frame.
#[derive(Debug, Default)]
struct Moment {
    at: Nanos,
    meminfo: Option<Meminfo>,
    counters: Counters,
    memory: Option<Psi>,
    io: Option<Psi>,
}

impl Moment {
    fn of(frame: &Frame) -> Self {
        let psi = |path| Psi::parse(path, frame.file(path)?).ok();
        let meminfo = frame.file(meminfo::PATH);
        Self {
            at: frame.at,
            meminfo: meminfo.and_then(|text| Meminfo::parse(text).ok()),
            counters: counters(frame.file(vmstat::PATH).unwrap_or_default()),
            memory: psi("proc/pressure/memory"),
            io: psi("proc/pressure/io"),
        }
    }

    fn is_empty(&self) -> bool {
        let counted = self.counters.iter().any(Option::is_some);
        self.meminfo.is_none() && !counted && self.memory.is_none()
    }

    fn counter(&self, item: Item) -> Option<u64> {
        let at = COUNTED.iter().position(|(counted, _)| *counted == item)?;
        self.counters[at]
    }
}

/// The counters of vmstat's text that make items.
fn counters(text: &str) -> Counters {
    let mut sums = Counters::default();
    for (counter, value) in lines(vmstat::PATH, text).filter_map(|line| line.key_number().ok()) {
        for (sum, (_, name)) in sums.iter_mut().zip(COUNTED) {
            if adds(counter, name) {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
        }
    }
    sums
}

/// Whether a counter adds to the item of this name. Before Linux 4.8 pages are counted for each
/// zone (`pgscan_kswapd_normal`); `pgsteal_anon` and `pgsteal_file` count the same pages again.
fn adds(counter: &str, name: &str) -> bool {
    match name {
        "pgsteal" => ["pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged"]
            .iter()
            .any(|begin| counter.starts_with(begin)),
        "pgscan_direct" => counter.starts_with(name) && counter != "pgscan_direct_throttle",
        "pgscan_kswapd" | "allocstall" | "workingset_refault" => counter.starts_with(name),
        _ => counter == name,
    }
}

/// The series that frames make, at this size of a page; `None` for fewer than two moments with
/// meminfo, vmstat or pressure.
#[must_use]
pub fn series(frames: &[Frame], page: PageSize) -> Option<Series> {
    let mut builder = Builder::default();
    let mut before: Option<Moment> = None;
    let (mut rows, mut restarts) = (0_usize, 0_usize);
    for frame in frames {
        let now = Moment::of(frame);
        if now.is_empty() {
            continue;
        }
        let Some(row) = builder.row(Some(time(frame)), Span::Interval) else {
            break;
        };
        rows += 1;
        levels(&mut builder, row, &now);
        match &before {
            Some(before) if back(before, &now) => restarts += 1,
            Some(before) => rates(&mut builder, row, [before, &now], page),
            None => {}
        }
        before = Some(now);
    }
    if restarts > 0 {
        builder.note(format!(
            "Time or counters go back, {restarts} times in all: no rates across it (a restart, \
             another machine, or frames out of order)."
        ));
    }
    builder.finish(Source::Frames, None).filter(|_| rows >= 2)
}

/// A frame's name, else its time in seconds.
fn time(frame: &Frame) -> String {
    let seconds = || format!("{:.1} s", frame.at.seconds());
    frame.label.clone().unwrap_or_else(seconds)
}

/// Whether a moment cannot follow the other of the same boot.
fn back(before: &Moment, now: &Moment) -> bool {
    let faults = before.counter(Item::Faults).zip(now.counter(Item::Faults));
    now.at <= before.at || faults.is_some_and(|(before, now)| now < before)
}

fn levels(builder: &mut Builder, row: usize, now: &Moment) {
    let Some(meminfo) = &now.meminfo else { return };
    let swap = meminfo.swap_total.zip(meminfo.swap_free);
    let used = swap.map(|(total, free)| Kib(total.0.saturating_sub(free.0)));
    let items: [(Item, &'static str, Option<Kib>); 9] = [
        (Item::Free, "MemFree", meminfo.mem_free),
        (Item::Available, "MemAvailable", meminfo.mem_available),
        (Item::Buffers, "Buffers", meminfo.buffers),
        (Item::Cached, "Cached", meminfo.cached),
        (Item::Active, "Active", meminfo.active),
        (Item::Inactive, "Inactive", meminfo.inactive),
        (Item::Anonymous, "AnonPages", meminfo.anon_pages),
        (Item::Dirty, "Dirty", meminfo.dirty),
        (Item::SwapUsed, "SwapTotal - SwapFree", used),
    ];
    for (item, name, value) in items {
        if let Some(value) = value {
            builder.set(row, item, name, value.0 as f64);
        }
    }
}

fn rates(builder: &mut Builder, row: usize, [before, now]: [&Moment; 2], page: PageSize) {
    let seconds = now.at.saturating_sub(before.at).seconds();
    for (item, name) in COUNTED {
        let pair = now.counter(item).zip(before.counter(item));
        let grown = pair.and_then(|(now, before)| now.checked_sub(before));
        if let Some(grown) = grown {
            let unit = match item {
                Item::SwapIn | Item::SwapOut => page.kib(),
                _ => 1,
            };
            builder.set(row, item, name, grown as f64 * unit as f64 / seconds);
        }
    }
    let (memory, io) = ((before.memory, now.memory), (before.io, now.io));
    let mut share = |item, name, (before, now): (Option<Psi>, Option<Psi>), pick: Pick| {
        if let Some((before, now)) = before.and_then(pick).zip(now.and_then(pick)) {
            let stalled = now.total.saturating_sub(before.total).seconds();
            builder.set(row, item, name, (stalled / seconds * 100.0).min(100.0));
        }
    };
    share(Item::MemorySome, "memory some", memory, |psi| psi.some);
    share(Item::MemoryFull, "memory full", memory, |psi| psi.full);
    share(Item::IoSome, "io some", io, |psi| psi.some);
}

/// One line of a pressure file.
type Pick = fn(Psi) -> Option<Stall>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Swapping;
    use mm::capture::Capture;

    fn recorded() -> Capture {
        let text = include_str!("../../../../fixtures/series/captures.txt");
        Capture::parse(text).expect("a capture")
    }

    #[test]
    fn counters_become_rates_and_levels_stay() {
        let series = series(&recorded().frames, PageSize::FOUR_KIB).expect("a series");
        assert_eq!(series.rows.len(), 16);
        assert_eq!(series.summary(Item::Free).map(|free| free.count), Some(16));
        assert_eq!(series.summary(Item::SwapOut).map(|out| out.count), Some(15));
        assert_ne!(series.swapping(), Some(Swapping::None));
        let reclaim = series.reclaim().expect("scans");
        assert!(reclaim.direct_rows > 0);
        assert!(
            reclaim.efficiency().is_some_and(|share| share < 0.5),
            "{reclaim:?}"
        );
        assert!(
            series
                .summary(Item::MemorySome)
                .is_some_and(|some| some.max > 10.0)
        );
    }

    #[test]
    fn a_restart_has_no_rates_across_it() {
        let mut frames = recorded().frames;
        frames.rotate_left(8);
        let series = series(&frames, PageSize::FOUR_KIB).expect("a series");
        assert_eq!(series.summary(Item::SwapOut).map(|out| out.count), Some(14));
        assert!(
            series
                .notes
                .iter()
                .any(|note| note.contains("go back, 1 times"))
        );
    }

    #[test]
    fn one_moment_and_frames_without_memory_are_none() {
        let frames = recorded().frames;
        assert_eq!(series(&frames[..1], PageSize::FOUR_KIB), None);
        assert_eq!(
            series(&[Frame::default(), Frame::default()], PageSize::FOUR_KIB),
            None
        );
    }
}
