//! What the policies that set tunables would do on a machine.

use guard::config;
use mm::catalogue;
use mm::diskstats::{self, Diskstats};
use mm::ksm::{self, Ksm};
use mm::units::{Bytes, PageSize, Pages};
use mm::vmstat;
use mm::zoneinfo::{self, Zoneinfo};
use serde::Serialize;

use super::checked::Machine;

/// `vm.watermark_scale_factor`.
const FACTOR: &str = catalogue::path_of("vm.watermark_scale_factor");

/// What the policy `watermarks` may do.
#[derive(Debug, Serialize)]
pub(super) struct Watermarks {
    /// In parts of 10 000; `None` where the machine does not tell.
    pub(super) scale_factor: Option<u64>,
    pub(super) most_scale_factor: u64,
    /// Between the min and high watermarks of all zones, now and at most.
    pub(super) gap_bytes: Option<u64>,
    pub(super) most_gap_bytes: Option<u64>,
}

/// What the policy `writeback` bounds.
#[derive(Debug, Serialize)]
pub(super) struct Writeback {
    pub(super) flush_within_ms: u64,
    pub(super) unmeasured_bytes: u64,
    /// What may be dirty on the machine; `None` where it does not tell.
    pub(super) threshold_bytes: Option<u64>,
    pub(super) devices: Vec<Device>,
}

/// A device with limits of its own.
#[derive(Debug, Serialize)]
pub(super) struct Device {
    pub(super) name: String,
    /// Whether the kernel can hold it however little is dirty elsewhere.
    pub(super) is_strict: bool,
}

/// What the policy `ksm` runs.
#[derive(Debug, Serialize)]
pub(super) struct Merging {
    /// Of a CPU, in thousandths.
    pub(super) most_cpu_thousandths: u32,
    /// For a second of CPU time.
    pub(super) least_gain_bytes: u64,
    /// `None` where the kernel has no samepage merging, or evidence does not say.
    pub(super) run: Option<u64>,
    pub(super) is_advised: bool,
}

pub(super) fn watermarks(config: &config::Watermarks, machine: &Machine<'_>) -> Watermarks {
    let most = guard::most_scale_factor(config);
    let text = machine.file(zoneinfo::PATH);
    let zones = text.and_then(|text| Zoneinfo::parse(&text).ok());
    let sum = |of: &dyn Fn(&zoneinfo::Zone) -> u64| {
        let pages = zones.as_ref()?.populated().map(of).sum();
        Some(Pages(pages).bytes(PageSize::FOUR_KIB).0)
    };
    Watermarks {
        scale_factor: machine
            .file(FACTOR)
            .and_then(|text| text.trim().parse().ok()),
        most_scale_factor: most,
        gap_bytes: sum(&|zone| zone.watermarks.high.0.saturating_sub(zone.watermarks.min.0)),
        // Two gaps, each of which is a part of the zone (`__setup_per_zone_wmarks`).
        most_gap_bytes: sum(&|zone| zone.managed.0 / 10_000 * most * 2),
    }
}

pub(super) fn writeback(config: &config::Writeback, machine: &Machine<'_>) -> Writeback {
    let counts = machine.file(vmstat::PATH);
    let counts = counts.map(|text| guard::sample::Counts::of(&text));
    let disks = machine.file(diskstats::PATH);
    let disks = disks.and_then(|text| Diskstats::parse(&text).ok());
    let disks = disks.unwrap_or_default().disks.into_iter();
    let device = |disk: diskstats::DiskStats| {
        let folder = format!("sys/block/{}/bdi", disk.name.replace('/', "!"));
        let has = |file: &str| machine.file(&format!("{folder}/{file}")).is_some();
        guard::sample::is_device(&disk.name).then_some(())?;
        has("max_ratio").then(|| Device {
            is_strict: has("strict_limit") && has("max_ratio_fine"),
            name: disk.name,
        })
    };
    Writeback {
        flush_within_ms: config.flush_within.0 / 1_000_000,
        unmeasured_bytes: guard::UNMEASURED.0,
        threshold_bytes: counts.map(|counts| counts.threshold.0),
        devices: disks.filter_map(device).collect(),
    }
}

pub(super) fn merging(
    config: &config::Ksm,
    machine: &Machine<'_>,
    problems: &mut Vec<String>,
) -> Merging {
    let mut ksm = Ksm::default();
    for file in ["run", "advisor_mode"] {
        let path = ksm::path(file);
        if let Some(text) = machine.file(&path) {
            ksm.read(&path, &text).ok();
        }
    }
    let is_advised = ksm
        .advisor_mode
        .is_some_and(|mode| mode.chosen() == "scan-time");
    if is_advised {
        problems.push(
            "ksm stands down: the kernel's advisor is on; write none to ksm.advisor_mode, or leave \
             [ksm] out"
                .to_owned(),
        );
    }
    if let (Machine::This(_), None) = (machine, ksm.numbers.run) {
        problems.push(format!(
            "ksm: this kernel has no /{}; leave [ksm] out",
            ksm::DIR
        ));
    }
    Merging {
        most_cpu_thousandths: config.most_cpu,
        least_gain_bytes: config.least_gain.0,
        run: ksm.numbers.run,
        is_advised,
    }
}

impl Watermarks {
    pub(super) fn lines(&self) -> Vec<String> {
        let now = self
            .scale_factor
            .map_or_else(String::new, |now| format!(", now {now}"));
        let mut lines = vec![format!(
            "raises vm.watermark_scale_factor while allocations wait for reclaim, to {} at \
             most{now}",
            self.most_scale_factor
        )];
        if let (Some(now), Some(most)) = (self.gap_bytes, self.most_gap_bytes) {
            lines.push(format!(
                "{} lie between the min and high watermarks now, {} at most: the page cache \
                 cannot have them",
                Bytes(now),
                Bytes(most.max(now))
            ));
        }
        lines
    }
}

impl Writeback {
    pub(super) fn lines(&self) -> Vec<String> {
        let seconds = self.flush_within_ms as f64 / 1000.0;
        let threshold = self.threshold_bytes.map_or_else(String::new, |bytes| {
            format!("; {} may be dirty on the machine", Bytes(bytes))
        });
        let mut lines = vec![format!(
            "allows each device to have dirty what it writes in {seconds} s, and {} until it is \
             measured{threshold}",
            Bytes(self.unmeasured_bytes)
        )];
        let names = |is_strict: bool| {
            let devices = self
                .devices
                .iter()
                .filter(|device| device.is_strict == is_strict);
            let names: Vec<&str> = devices.map(|device| device.name.as_str()).collect();
            names.join(", ")
        };
        let [held, others] = [true, false].map(names);
        if !held.is_empty() {
            lines.push(format!("holds strictly: {held}"));
        }
        if !others.is_empty() {
            lines.push(format!(
                "this kernel has no strict_limit (Linux 6.2 has), so vm.dirty_bytes comes down \
                 while a slow device writes: {others}"
            ));
        }
        lines
    }
}

impl Merging {
    pub(super) fn lines(&self) -> Vec<String> {
        let (whole, tenth) = (
            self.most_cpu_thousandths / 10,
            self.most_cpu_thousandths % 10,
        );
        let now = match self.run {
            Some(1) => "; it runs now",
            Some(_) => "; it stands now",
            None => "",
        };
        vec![format!(
            "runs ksmd for {whole}.{tenth} % of a CPU at most, while a second of that gains \
             {}{now}",
            Bytes(self.least_gain_bytes)
        )]
    }
}
