//! What each device has to write, how fast it writes, and how long that takes.
//!
//! debugfs has the kernel's own figures for each device. Where it is hidden, `/proc/diskstats` says
//! how fast the devices wrote over the interval, but not who holds what.

use std::cmp::Reverse;

use crate::fact::or_unsaid;
use crate::share::percent;
use mm::bdi::{DEBUGFS, Stats};
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

use super::load_line::{Level, Mark};
use super::page::Page;
use super::unreadable::way_out;
use super::wrote::Wrote;

/// Devices that are shown: those that hold most.
const SHOWN: usize = 16;

/// What waits for the devices.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Flush {
    /// `debugfs`, or `diskstats` for what can be said without it.
    source: &'static str,
    /// Why debugfs says nothing, and the way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Until all is written, the devices side by side; by diskstats at least so long.
    seconds: Option<f64>,
    devices: Vec<DeviceFlush>,
}

/// One device.
#[derive(Debug, JsonSchema, Serialize)]
struct DeviceFlush {
    device: String,
    #[serde(flatten)]
    held: Option<Held>,
    #[serde(flatten)]
    wrote: Option<Wrote>,
}

/// The kernel's figures of one device.
#[derive(Debug, PartialEq, JsonSchema, Serialize)]
struct Held {
    dirty_bytes: u64,
    writeback_bytes: u64,
    /// Its part of the dirty threshold of the whole machine.
    part_bytes: u64,
    threshold_bytes: u64,
    /// What the kernel thinks it writes; `None` where it has no idea.
    #[schemars(extend("type" = ["null", "integer"]))]
    bandwidth_bytes_per_second: Option<u64>,
    /// Whether that was measured.
    bandwidth_measured: bool,
    #[schemars(extend("type" = ["null", "number"]))]
    flush_seconds: Option<f64>,
    /// The same by what it wrote over the interval, which it was busy all through.
    #[serde(skip_serializing_if = "Option::is_none")]
    flush_seconds_by_interval: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excess: Option<Excess>,
}

/// How a device holds more than it should of what all may hold.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum Excess {
    /// It holds twice its part or more while writers are slowed.
    AbovePart,
    /// It takes longer to write than the age at which all should be written.
    BeyondExpiry,
}

/// What a device that holds much is judged by.
#[derive(Debug)]
struct Rules {
    /// Whether all that is dirty or being written is so much that writers are slowed.
    throttled: bool,
    /// Seconds after which dirty pages should be written, if ever.
    expiry: Option<f64>,
}

impl Flush {
    /// What the last snapshot says, and what was written since the first; `note` says what could
    /// not be read. `None` where nothing is known.
    pub(crate) fn of(first: &Snapshot, last: &Snapshot, note: &str) -> Option<Self> {
        let flush = match last.writeback.is_empty() {
            false => Self::by_debugfs(first, last),
            true => Self::by_diskstats(first, last, note),
        };
        (!flush.devices.is_empty() || flush.reason.is_some()).then_some(flush)
    }

    fn by_debugfs(first: &Snapshot, last: &Snapshot) -> Self {
        let used = |stats: &Stats| {
            [stats.written, stats.held()]
                .iter()
                .flatten()
                .any(|kib| kib.0 > 0)
        };
        let used = last.writeback.iter().filter(|(_, stats)| used(stats));
        let mut used: Vec<_> = used.collect();
        used.sort_by_key(|(_, stats)| Reverse(stats.held()));
        let rules = Rules::of(last);
        let devices = used.into_iter().take(SHOWN).map(|(bdi, stats)| {
            let device = name(last, bdi);
            let wrote = Wrote::of(first, last, &device);
            DeviceFlush {
                held: Held::of(stats, wrote, &rules),
                wrote,
                device,
            }
        });
        let devices: Vec<DeviceFlush> = devices.collect();
        let held = devices.iter().filter_map(|device| device.held.as_ref());
        let times = held
            .filter(|held| held.bytes() > 0)
            .map(|held| held.flush_seconds);
        Self {
            source: "debugfs",
            reason: None,
            seconds: times
                .clone()
                .all(|time| time.is_some())
                .then(|| times.flatten().fold(0.0, f64::max)),
            devices,
        }
    }

    fn by_diskstats(first: &Snapshot, last: &Snapshot, note: &str) -> Self {
        let reason = note
            .lines()
            .find_map(|line| line.strip_prefix(DEBUGFS)?.split_once('\t'));
        let devices = last.bdi.keys().filter_map(|device| {
            let wrote = Wrote::of(first, last, device)?;
            (wrote.wrote_bytes_per_second > 0.0).then(|| DeviceFlush {
                device: device.clone(),
                held: None,
                wrote: Some(wrote),
            })
        });
        let devices: Vec<DeviceFlush> = devices.take(SHOWN).collect();
        let paces = devices.iter().filter_map(|device| device.wrote?.pace());
        let pace: f64 = paces.sum();
        let held = last.unwritten().filter(|_| pace > 0.0);
        Self {
            source: "diskstats",
            reason: reason.map(|(_, reason)| format!("{reason}{}", way_out(reason))),
            seconds: held.map(|held| held.bytes(last.page).0 as f64 / pace),
            devices,
        }
    }

    /// The device that holds most, and how much.
    pub(crate) fn fullest(&self) -> Option<(&str, Bytes)> {
        let held = |device: &'_ DeviceFlush| Some(Bytes(device.held.as_ref()?.bytes()));
        let all = self.devices.iter();
        let told = all.filter_map(|device| Some((device.device.as_str(), held(device)?)));
        told.filter(|&(_, held)| held > Bytes::ZERO)
            .max_by_key(|&(_, held)| held)
    }

    /// The device whose flush takes longest by what it wrote or was measured to write, with what it
    /// holds and the seconds.
    pub(crate) fn longest(&self) -> Option<(&str, Bytes, f64)> {
        let told = self.devices.iter().filter_map(|device| {
            let held = device.held.as_ref()?;
            let measured = held.flush_seconds.filter(|_| held.bandwidth_measured);
            let seconds = held.flush_seconds_by_interval.or(measured)?;
            Some((device.device.as_str(), Bytes(held.bytes()), seconds))
        });
        told.max_by(|a, b| a.2.total_cmp(&b.2))
    }

    /// Writes the table and what is to say about it.
    pub(crate) fn write(&self, page: &mut Page) {
        if !self.devices.is_empty() {
            self.write_table(page);
        }
        if let Some(text) = self.hidden() {
            page.paragraph(2, &text);
        }
        let time = self.seconds.filter(|&seconds| seconds >= 0.05).map(span);
        match (time, self.source) {
            (Some(time), "debugfs") => page.paragraph(2, &format!("All is written in {time}.")),
            (Some(time), _) => page.paragraph(
                2,
                &format!("All is written in {time} or more, by how fast they wrote while busy."),
            ),
            (None, _) => {}
        }
        let remarks = self.devices.iter().flat_map(DeviceFlush::remarks);
        remarks.for_each(|remark| page.paragraph(2, &remark));
    }

    /// Why it is not known what each device holds, where it is not.
    pub(crate) fn hidden(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        Some(format!("What each device holds is in debugfs: {reason}."))
    }

    /// What each device holds of its part, and how fast it writes.
    pub(crate) fn levels(&self) -> impl Iterator<Item = Level> {
        self.devices.iter().map(DeviceFlush::level)
    }

    fn write_table(&self, page: &mut Page) {
        line(
            page,
            "device",
            [
                "wrote",
                "can write",
                "dirty",
                "writeback",
                "its part",
                "flush",
            ],
        );
        for device in &self.devices {
            device.write(page);
        }
    }
}

impl DeviceFlush {
    fn write(&self, page: &mut Page) {
        let wrote = self
            .wrote
            .map(|wrote| rate(wrote.wrote_bytes_per_second as u64));
        let wrote = or_unsaid(wrote);
        let held = self.held.as_ref();
        let [bandwidth, dirty, writeback, part, flush] =
            held.map_or_else(Default::default, Held::columns);
        let cells = [wrote, bandwidth, dirty, writeback, part, flush];
        line(page, &self.device, cells.each_ref().map(String::as_str));
    }

    fn level(&self) -> Level {
        let held = self.held.as_ref();
        let part = held.map(|held| Mark {
            name: "part",
            at: held.part_bytes,
            amount: Bytes(held.part_bytes).to_string(),
        });
        let holds = held.map(|held| format!("{} held", Bytes(held.bytes())));
        let wrote = self.wrote.map(|wrote| wrote.wrote_bytes_per_second as u64);
        let wrote = wrote.map(|bytes| format!("wrote {}", rate(bytes)));
        let flush = held.filter(|held| held.bytes() > 0);
        let flush = flush.and_then(|held| held.flush_seconds_by_interval.or(held.flush_seconds));
        let flush = flush.map(|seconds| format!("flush {}", span(seconds)));
        let says: Vec<String> = [holds, wrote, flush].into_iter().flatten().collect();
        let at = held.map(Held::bytes);
        let is_pressing = held.is_some_and(|held| held.excess.is_some());
        Level::new(&self.device, at, part.into_iter().collect()).says(says.join(", "), is_pressing)
    }

    /// What the reader should know of it, in a sentence each.
    fn remarks(&self) -> impl Iterator<Item = String> {
        let held = self.held.as_ref().filter(|held| held.bytes() > 0);
        let remarks = held.map(|held| [self.estimate(held), self.excess(held)]);
        remarks.into_iter().flatten().flatten()
    }

    /// Where the kernel's estimate is not to be relied on.
    fn estimate(&self, held: &Held) -> Option<String> {
        let device = &self.device;
        if !held.bandwidth_measured {
            let text = format!("{device} was not measured yet: the kernel goes by a first guess.");
            return Some(text);
        }
        let (flush, seen) = (held.flush_seconds?, held.flush_seconds_by_interval?);
        (seen > 2.0 * flush).then(|| {
            let seen = span(seen);
            format!("{device} was busy throughout: at what it wrote its flush takes {seen}.")
        })
    }

    /// Where it holds more than it should.
    fn excess(&self, held: &Held) -> Option<String> {
        let share = percent(held.bytes(), held.threshold_bytes);
        let how = match held.excess? {
            Excess::AbovePart => {
                let part = percent(held.part_bytes, held.threshold_bytes);
                format!("and {part} is its part: writers to other devices wait for it")
            }
            Excess::BeyondExpiry => format!(
                "{} of its writing, which is beyond vm.dirty_expire_centisecs",
                span(held.flush_seconds?)
            ),
        };
        Some(format!(
            "{} holds {share} of what all may hold, {how}. Bound it by its max_ratio (since Linux \
             6.2 by max_bytes and strict_limit).",
            self.device
        ))
    }
}

impl Held {
    /// From the kernel's figures.
    fn of(stats: &Stats, wrote: Option<Wrote>, rules: &Rules) -> Option<Self> {
        let held = stats.held()?;
        let bandwidth = stats.bandwidth.filter(|bandwidth| bandwidth.0 > 0);
        let flush = stats.time_for(held).map(Nanos::seconds);
        let bytes = |kib: Option<Kib>| kib.map(|kib| kib.bytes().0);
        Some(Self {
            dirty_bytes: bytes(stats.reclaimable)?,
            writeback_bytes: bytes(stats.writeback)?,
            part_bytes: bytes(stats.part)?,
            threshold_bytes: bytes(stats.threshold)?,
            bandwidth_bytes_per_second: bytes(bandwidth),
            bandwidth_measured: stats.is_measured() && bandwidth.is_some(),
            flush_seconds: flush,
            flush_seconds_by_interval: wrote.and_then(|wrote| wrote.time_for(held)),
            excess: rules.broken_by(stats, flush),
        })
    }

    fn bytes(&self) -> u64 {
        self.dirty_bytes.saturating_add(self.writeback_bytes)
    }

    /// Bandwidth, dirty, writeback, part, flush.
    fn columns(&self) -> [String; 5] {
        [
            or_unsaid(self.bandwidth_bytes_per_second.map(rate)),
            Bytes(self.dirty_bytes).to_string(),
            Bytes(self.writeback_bytes).to_string(),
            percent(self.part_bytes, self.threshold_bytes),
            or_unsaid(self.flush_seconds.map(span)),
        ]
    }
}

impl Rules {
    fn of(snapshot: &Snapshot) -> Self {
        let held = snapshot.unwritten();
        let expiry = snapshot.number("vm.dirty_expire_centisecs");
        Self {
            throttled: held
                .zip(snapshot.thresholds())
                .is_some_and(|(held, limits)| held > limits.freerun()),
            expiry: expiry
                .filter(|&centisecs| centisecs > 0)
                .map(|centisecs| centisecs as f64 / 100.0),
        }
    }

    /// By a device that holds a quarter of the limit or more.
    fn broken_by(&self, stats: &Stats, flush: Option<f64>) -> Option<Excess> {
        let (held, part, threshold) = (stats.held()?.0, stats.part?.0, stats.threshold?.0);
        let beyond = flush
            .zip(self.expiry)
            .is_some_and(|(flush, expiry)| flush > expiry);
        match () {
            () if held == 0 || held < threshold / 4 => None,
            () if self.throttled && held / 2 >= part => Some(Excess::AbovePart),
            () => beyond.then_some(Excess::BeyondExpiry),
        }
    }
}

/// The block device's name, or the kernel's for what has none.
fn name(snapshot: &Snapshot, bdi: &str) -> String {
    let disks = snapshot.diskstats.iter().flat_map(|stats| &stats.disks);
    let mut names = disks
        .filter(|disk| disk.number == bdi)
        .map(|disk| &disk.name);
    names.next().map_or(bdi, String::as_str).to_owned()
}

fn line(page: &mut Page, name: &str, cells: [&str; 6]) {
    let [wrote, bandwidth, dirty, writeback, part, flush] = cells;
    page.line(format!(
        "  {name:<14}{wrote:>12}{bandwidth:>12}{dirty:>11}{writeback:>11}{part:>9}{flush:>9}"
    ));
}

fn rate(bytes: u64) -> String {
    format!("{}/s", Bytes(bytes))
}

fn span(seconds: f64) -> String {
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

#[cfg(test)]
mod tests;
