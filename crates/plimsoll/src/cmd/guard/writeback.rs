//! The policy `writeback` on a machine: which devices it would bound, and what it sees.

use guard::sample::{Counts, Disk};
use guard::{Figures, config};
use mm::diskstats::{self, Diskstats};
use mm::formula::mul_div;
use mm::units::{Bytes, Nanos};
use mm::vmstat;
use schemars::JsonSchema;
use serde::Serialize;

use super::machine::Machine;
use super::shared::{before, stands_down};

/// Devices that are named in a line at most.
const NAMED: usize = 8;

/// How much may be dirty.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Writeback {
    pub(super) flush_within_ms: u64,
    /// What may be dirty on the machine.
    pub(super) threshold_bytes: Option<u64>,
    /// What a device may have until it is measured, where it is held strictly.
    pub(super) unmeasured_bytes: u64,
    pub(super) devices: Vec<Device>,
}

/// A device with limits of its own.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Device {
    pub(super) name: String,
    /// The kernel can hold it at its own limit, however little is dirty elsewhere.
    pub(super) is_strict: bool,
    /// What it may have dirty now; `None` where that is as much as the machine may.
    pub(super) limit_bytes: Option<u64>,
}

impl Writeback {
    pub(super) fn of(
        config: config::Writeback,
        machine: &Machine<'_>,
        problems: &mut Vec<String>,
    ) -> Self {
        let threshold = threshold(machine);
        let devices = devices(machine, threshold);
        if devices.is_empty() && matches!(machine, Machine::This(_)) {
            problems.push(
                "writeback does nothing: no disk has a /sys/block/NAME/bdi: leave [writeback] out"
                    .to_owned(),
            );
        }
        Self {
            flush_within_ms: config.flush_within.0 / Nanos::MILLI.0,
            threshold_bytes: threshold.map(|it| it.0),
            unmeasured_bytes: guard::UNMEASURED.0,
            devices,
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let within = Nanos(self.flush_within_ms.saturating_mul(Nanos::MILLI.0));
        let of = |can: bool| {
            let devices = self.devices.iter();
            let devices = devices.filter(move |device| device.is_strict == can);
            names(devices.map(|device| device.name.as_str()))
        };
        if let Some(strict) = of(true) {
            let first = Bytes(self.unmeasured_bytes);
            lines.push(format!(
                "bounds {strict}: {first} dirty until a device is measured, then what it writes in \
                 {within}; the kernel holds that strictly"
            ));
        }
        if let Some(loose) = of(false) {
            lines.push(format!(
                "bounds {loose} while it writes slowly, to what it writes in {within}; here the \
                 kernel cannot hold a device strictly (Linux 6.2 can), so vm.dirty_bytes is \
                 lowered for all"
            ));
        }
        if self.devices.is_empty() {
            lines.push("no device is known that has limits of its own".to_owned());
        }
        if let Some(threshold) = self.threshold_bytes {
            let threshold = Bytes(threshold);
            lines.push(format!("the machine may have {threshold} dirty now"));
        }
        let limited = self.devices.iter();
        lines.extend(limited.filter_map(|device| {
            let (name, limit) = (&device.name, Bytes(device.limit_bytes?));
            Some(format!(
                "{name} has a limit of {limit} already, to which it goes back when the guard ends"
            ))
        }));
        lines
    }
}

/// What it sees now.
pub(super) fn explained(figures: &Figures, machine: &Machine<'_>) -> Vec<String> {
    let mut told = Vec::new();
    let all = threshold(machine).unwrap_or_default();
    told.push(format!("The machine may have {all} dirty."));
    let mut free = Vec::new();
    for device in devices(machine, Some(all)) {
        let is_held = figures.of("setting_held").any(|it| {
            let name = it.label("tunable").strip_prefix("bdi.");
            let name = name.and_then(|name| name.rsplit_once('.'));
            name.is_some_and(|(name, _)| name == device.name)
        });
        let (name, limit) = (device.name, device.limit_bytes.map_or(all, Bytes));
        match is_held {
            true => told.push(format!("{name} may have {limit}: set by the guard.")),
            false => free.push(name),
        }
    }
    told.extend(
        names(free.iter().map(String::as_str))
            .map(|names| format!("Not bounded by the guard: {names}.")),
    );
    for tunable in ["vm.dirty_bytes", "vm.dirty_background_bytes"] {
        told.extend(before(figures, tunable).map(|before| {
            format!("{tunable} is set while a slow device writes; it goes back to {before}.")
        }));
    }
    if stands_down(figures, "writeback") {
        told.push(
            "A limit is left alone, because somebody else wrote it since the guard did.".to_owned(),
        );
    }
    told
}

/// The devices that the policy looks at.
fn devices(machine: &Machine<'_>, threshold: Option<Bytes>) -> Vec<Device> {
    let text = machine.file(diskstats::PATH).unwrap_or_default();
    let stats = Diskstats::parse(&text).unwrap_or_default().disks;
    let disks = stats.into_iter();
    let disks = disks.filter_map(|stats| Disk::of(stats, |path| machine.number(path)));
    let device = |disk: Disk| Device {
        name: disk.name,
        is_strict: disk.is_strict.is_some(),
        limit_bytes: threshold.and_then(|all| Some(limit(disk.share, all)?.0)),
    };
    disks.map(device).collect()
}

fn threshold(machine: &Machine<'_>) -> Option<Bytes> {
    let threshold = Counts::of(&machine.file(vmstat::PATH)?).threshold;
    (threshold > Bytes::ZERO).then_some(threshold)
}

/// The bytes of a share of the threshold; `None` where it is all.
fn limit(share: u64, threshold: Bytes) -> Option<Bytes> {
    let limit = mul_div(threshold.0, share, Disk::WHOLE);
    (share < Disk::WHOLE).then_some(Bytes(limit))
}

/// Some names in a line; `None` where there are none.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> Option<String> {
    let all: Vec<&str> = all.collect();
    let (some, more) = all.split_at(all.len().min(NAMED));
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!some.is_empty()).then(|| format!("{}{more}", some.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::machine::tests::root;
    use super::*;

    /// 1 GiB.
    const VMSTAT: (&str, &str) = ("proc/vmstat", "nr_dirty_threshold 262144\n");
    const DISKS: (&str, &str) = (
        "proc/diskstats",
        "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n8 1 sda1 1 0 8 1 1 0 8 1 0 1 1\n\
         8 16 sdb 1 0 8 1 1 0 8 1 0 1 1\n254 0 zram0 1 0 8 1 1 0 8 1 0 1 1\n",
    );
    const FILES: [(&str, &str); 5] = [
        ("sys/block/sda/bdi/max_ratio", "100\n"),
        ("sys/block/sda/bdi/max_ratio_fine", "1000000\n"),
        ("sys/block/sda/bdi/strict_limit", "0\n"),
        ("sys/block/sdb/bdi/max_ratio", "25\n"),
        ("sys/block/zram0/bdi/max_ratio", "100\n"),
    ];

    /// What is told of a machine of these files, and the problems.
    fn checked(files: &[(&str, &str)]) -> (Writeback, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let machine = Machine::This(root(&folder, files));
        let mut problems = Vec::new();
        let told = Writeback::of(
            config::Writeback {
                flush_within: Nanos(2 * Nanos::SECOND.0),
            },
            &machine,
            &mut problems,
        );
        (told, problems)
    }

    #[test]
    fn a_device_is_told_with_how_the_kernel_holds_it_and_the_limit_that_it_has() {
        let files = [&[VMSTAT, DISKS][..], &FILES].concat();
        let (writeback, problems) = checked(&files);
        assert_eq!(problems, Vec::<String>::new());
        let devices = writeback.devices.iter();
        let devices = devices.map(|it| (it.name.as_str(), it.is_strict, it.limit_bytes));
        let expected = [("sda", true, None), ("sdb", false, Some(256 << 20))];
        assert_eq!(devices.collect::<Vec<_>>(), expected);
        let lines = writeback.lines().join("; ");
        for expected in [
            "bounds sda: 8 MiB dirty until",
            "in 2.00 s",
            "bounds sdb while",
            "1 GiB dirty now",
            "sdb has a limit of 256 MiB",
        ] {
            assert!(lines.contains(expected), "{expected}: {lines}");
        }
        let none = checked(&[VMSTAT, DISKS]).1;
        assert!(none[0].contains("leave [writeback] out"), "{none:?}");
    }

    #[test]
    fn many_devices_are_a_number() {
        let all: Vec<String> = (0..20).map(|at| format!("sd{at}")).collect();
        let told = names(all.iter().map(String::as_str)).expect("names");
        assert!(told.ends_with("sd7 and 12 more"), "{told}");
        assert_eq!(names(std::iter::empty()), None);
    }

    #[test]
    fn what_is_held_is_explained_in_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = root(&folder, &[&[VMSTAT, DISKS][..], &FILES].concat());
        let mut figures = Figures::default();
        let labels = [("tunable", "bdi.sdb.max_ratio"), ("before", "100")];
        figures.add("setting_held", &labels, 1);
        figures.add("policy_standing_down", &[("policy", "writeback")], 1);
        let told = explained(&figures, &Machine::This(root));
        let expected = [
            "The machine may have 1 GiB dirty.",
            "sdb may have 256 MiB: set by the guard.",
            "Not bounded by the guard: sda.",
            "A limit is left alone, because somebody else wrote it since the guard did.",
        ];
        assert_eq!(told, expected);
    }
}
