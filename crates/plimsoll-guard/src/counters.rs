//! What the policies of a tick look at: counters, watermarks, devices and samepage merging. Each
//! file is kept open, and none is read for a policy that is off.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;

use guard::Config;
use guard::sample::{Counts, Disk, Merging, Watermarks, Writeback, Zone};
use host::{Root, processes, reason};
use mm::catalogue;
use mm::diskstats::{self, DiskStats, Diskstats};
use mm::ksm::{self, Ksm};
use mm::units::Nanos;
use mm::vmstat;
use mm::zoneinfo::{self, Zoneinfo};

use crate::hands::Pretended;
use crate::sampling;

/// More than `/proc/zoneinfo` has on a machine with a thousand CPUs and four nodes.
const LARGEST: usize = 8 << 20;
/// `vm.watermark_scale_factor` and `vm.dirty_bytes`, without the leading slash.
const FACTOR: &str = catalogue::path_of("vm.watermark_scale_factor");
const DIRTY: &str = catalogue::path_of("vm.dirty_bytes");
const KSMD: &str = "ksmd";
/// The service that starts and stops ksmd.
const KSMTUNED: &str = "ksmtuned";
/// The limits of devices that write nothing are read once in this time.
const LOOK_EVERY: Nanos = Nanos::SECOND;
/// Zones with less than this many times their low watermark free are read at each tick.
const NEAR: u64 = 4;
/// What is read of `/sys/kernel/mm/ksm`.
const MERGING: [&str; 6] = [
    "run",
    "pages_to_scan",
    "pages_sharing",
    "full_scans",
    "ksm_zero_pages",
    "advisor_mode",
];

/// The files, and what was read of them last.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    vmstat: Option<fs::File>,
    watermarks: Option<[fs::File; 2]>,
    writeback: Option<[fs::File; 2]>,
    merging: Option<MergingFiles>,
    buffer: Vec<u8>,
    seen: Seen,
}

/// What was read.
#[derive(Debug, Default)]
struct Seen {
    counts: Counts,
    scale_factor: u64,
    zones: Vec<Zone>,
    zones_at: Option<Nanos>,
    dirty_bytes: u64,
    disks: Vec<Disk>,
    /// When the devices' limits were read, and what all devices had written then.
    looked_at: Option<(Nanos, u64)>,
    merging: Option<Merging>,
}

/// The files of samepage merging.
#[derive(Debug)]
struct MergingFiles {
    folder: Vec<(String, fs::File)>,
    /// CPU time of ksmd, in nanoseconds.
    schedstat: fs::File,
    /// Whether ksmtuned ran when the guard began. One that comes later is noticed when it writes.
    is_tuned: bool,
}

impl Counters {
    /// Opens what the policies of a configuration need.
    ///
    /// # Errors
    /// One line: which file is missing.
    pub(crate) fn new(config: &Config) -> Result<Self, String> {
        let watermarks = config.watermarks.map(|_| ());
        let writeback = config.writeback.map(|_| ());
        let any = watermarks.or(writeback).or(config.ksm.map(|_| ()));
        Ok(Self {
            vmstat: any.map(|()| open(vmstat::PATH)).transpose()?,
            watermarks: watermarks
                .map(|()| both(FACTOR, zoneinfo::PATH))
                .transpose()?,
            writeback: writeback
                .map(|()| both(DIRTY, diskstats::PATH))
                .transpose()?,
            merging: config.ksm.map(|_| MergingFiles::open()).transpose()?,
            buffer: vec![0; 64 << 10],
            seen: Seen::default(),
        })
    }

    /// Reads them.
    ///
    /// # Errors
    /// One line: which file could not be read.
    pub(crate) fn refresh(&mut self, now: Nanos, pretended: &Pretended) -> Result<(), String> {
        if let Some(file) = &self.vmstat {
            let text = text(file, &mut self.buffer, vmstat::PATH)?;
            self.seen.counts = Counts::of(&text);
        }
        if let Some([factor, _]) = &self.watermarks {
            self.seen.scale_factor = number(factor, &mut self.buffer, FACTOR)?;
        }
        if let Some([_, zones]) = &self.watermarks
            && self.seen.zones_are_due(now)
        {
            // Its records are long.
            let text = text_by(sampling::fill, zones, &mut self.buffer, zoneinfo::PATH)?;
            let zoneinfo = Zoneinfo::parse(&text).map_err(|error| error.to_string())?;
            self.seen.zones = Zone::of(&zoneinfo);
        }
        if let Some([dirty, disks]) = &self.writeback {
            self.seen.dirty_bytes = number(dirty, &mut self.buffer, DIRTY)?;
            let text = text(disks, &mut self.buffer, diskstats::PATH)?;
            let stats = Diskstats::parse(&text).map_err(|error| error.to_string())?;
            self.seen.look_at(stats.disks, now);
        }
        if let Some(files) = &self.merging {
            self.seen.merging = files.read(&self.seen.counts, &mut self.buffer)?;
        }
        if !pretended.is_empty() {
            self.seen.pretend(pretended);
        }
        Ok(())
    }

    pub(crate) fn watermarks(&self) -> Option<Watermarks<'_>> {
        self.watermarks.as_ref().map(|_| Watermarks {
            scale_factor: self.seen.scale_factor,
            stalls: self.seen.counts.stalls,
            zones: &self.seen.zones,
        })
    }

    pub(crate) fn writeback(&self) -> Option<Writeback<'_>> {
        self.writeback.as_ref().map(|_| Writeback {
            threshold: self.seen.counts.threshold,
            dirty_bytes: self.seen.dirty_bytes,
            disks: &self.seen.disks,
        })
    }

    /// Something was set: what is kept of the devices is of before.
    pub(crate) fn forget(&mut self) {
        self.seen.looked_at = None;
    }

    pub(crate) fn merging(&self) -> Option<Merging> {
        self.seen.merging
    }
}

impl Seen {
    /// `/proc/zoneinfo` is long: far from its watermarks it is read once a second.
    fn zones_are_due(&mut self, now: Nanos) -> bool {
        let is_near = |zone: &Zone| zone.free.0 < zone.low.0.saturating_mul(NEAR);
        let is_old = |at: Nanos| now.saturating_sub(at) >= LOOK_EVERY;
        let is_due = self.zones.iter().any(is_near) || self.zones_at.is_none_or(is_old);
        if is_due {
            self.zones_at = Some(now);
        }
        is_due
    }

    /// Shows what would be set as if it were.
    fn pretend(&mut self, pretended: &Pretended) {
        let of = |tunable: &str, own: u64| *pretended.get(tunable).unwrap_or(&own);
        self.scale_factor = of("vm.watermark_scale_factor", self.scale_factor);
        self.dirty_bytes = of("vm.dirty_bytes", self.dirty_bytes);
        for disk in &mut self.disks {
            let percent = of(
                &format!("bdi.{}.max_ratio", disk.name),
                disk.share / Disk::PERCENT,
            );
            let own = match disk.is_strict {
                Some(_) => disk.share,
                None => percent.saturating_mul(Disk::PERCENT),
            };
            disk.share = of(&format!("bdi.{}.max_ratio_fine", disk.name), own);
        }
        if let Some(merging) = &mut self.merging {
            merging.run = of("ksm.run", merging.run);
            merging.pages_to_scan = of("ksm.pages_to_scan", merging.pages_to_scan);
        }
    }

    /// The devices, where something was written or their limits were not read for a while.
    fn look_at(&mut self, stats: Vec<DiskStats>, now: Nanos) {
        let written = stats
            .iter()
            .fold(0, |sum: u64, disk| sum.saturating_add(disk.written.0));
        let is_fresh =
            |(at, before): (Nanos, u64)| written == before && now.saturating_sub(at) < LOOK_EVERY;
        if !self.looked_at.is_some_and(is_fresh) {
            self.looked_at = Some((now, written));
            let disks = stats.into_iter();
            self.disks = disks.filter_map(|stats| Disk::of(stats, limit)).collect();
        }
    }
}

impl MergingFiles {
    fn open() -> Result<Self, String> {
        let entries = fs::read_dir(Path::new("/").join(ksm::DIR))
            .map_err(|error| format!("/{}: {}; turn off [ksm]", ksm::DIR, reason(&error)))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let files = names
            .filter(|name| MERGING.contains(&name.as_str()))
            .map(|name| {
                let path = ksm::path(&name);
                open(&path).map(|file| (path, file))
            });
        Ok(Self {
            folder: files.collect::<Result<_, _>>()?,
            schedstat: ksmd()?,
            is_tuned: processes::services(&Root::default(), KSMTUNED)
                .next()
                .is_some(),
        })
    }

    fn read(&self, counts: &Counts, buffer: &mut Vec<u8>) -> Result<Option<Merging>, String> {
        let mut ksm = Ksm::default();
        for (path, file) in &self.folder {
            let text = text(file, buffer, path)?;
            ksm.read(path, &text).map_err(|error| error.to_string())?;
        }
        let text = text(&self.schedstat, buffer, "proc/ksmd/schedstat")?;
        let ran = text
            .split_whitespace()
            .next()
            .and_then(|word| word.parse().ok());
        let merging = ran.and_then(|ran| Merging::of(&ksm, counts, Nanos(ran)));
        Ok(merging.map(|merging| Merging {
            is_theirs: merging.is_theirs || self.is_tuned,
            ..merging
        }))
    }
}

/// The kernel thread that merges: one that has no memory of its own.
fn ksmd() -> Result<fs::File, String> {
    let root = Root::default();
    let of_kernel = |pid: &u32| {
        let command = root.read(&format!("proc/{pid}/cmdline"));
        command.is_ok_and(|command| command.is_empty())
    };
    let pid = processes::services(&root, KSMD).find(of_kernel);
    let pid = pid.ok_or("there is no ksmd; turn off [ksm]")?;
    open(&format!("proc/{pid}/schedstat"))
}

/// The number in a file, named below the root.
fn limit(path: &str) -> Option<u64> {
    let text = fs::read_to_string(Path::new("/").join(path)).ok()?;
    text.trim().parse().ok()
}

fn both(one: &str, other: &str) -> Result<[fs::File; 2], String> {
    Ok([open(one)?, open(other)?])
}

fn open(path: &str) -> Result<fs::File, String> {
    let path = Path::new("/").join(path);
    fs::File::open(&path).map_err(|error| format!("{}: {}", path.display(), reason(&error)))
}

fn number(file: &fs::File, buffer: &mut Vec<u8>, path: &str) -> Result<u64, String> {
    let text = text(file, buffer, path)?;
    let number = text.trim().parse();
    number.map_err(|_| format!("/{path}: \"{}\" is no number", text.trim()))
}

/// The whole text of a file of lines.
fn text<'a>(file: &fs::File, buffer: &'a mut Vec<u8>, path: &str) -> Result<Cow<'a, str>, String> {
    text_by(sampling::fill_lines, file, buffer, path)
}

/// The whole text of a file, for which the buffer grows.
fn text_by<'a>(
    fill: impl Fn(&fs::File, &mut [u8]) -> io::Result<usize>,
    file: &fs::File,
    buffer: &'a mut Vec<u8>,
    path: &str,
) -> Result<Cow<'a, str>, String> {
    loop {
        let length = fill(file, buffer).map_err(|error| format!("/{path}: {}", reason(&error)))?;
        if length < buffer.len() || buffer.len() >= LARGEST {
            // The name of a device need not be text; the rest is read all the same.
            return Ok(String::from_utf8_lossy(&buffer[..length]));
        }
        buffer.resize(buffer.len() * 2, 0);
    }
}
