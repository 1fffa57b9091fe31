//! What a machine reads from disks while it is recorded.

use host::Root;
use mm::diskstats::{self, Diskstats};
use mm::units::{Bytes, Nanos};
use mm::vmstat::{self, Vmstat};

/// What the machine has read from disks since it booted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FromDisks {
    /// `pgpgin`.
    pub(super) bytes: Bytes,
    /// Of all disks and their parts.
    pub(super) requests: u64,
    /// How long these took together.
    pub(super) time: Nanos,
    /// What these read.
    pub(super) read: Bytes,
}

/// Of fewer requests no average is told.
const LEAST: u64 = 100;

impl FromDisks {
    /// Two files, and no more: it is read while the machine is looked at.
    pub(super) fn now(root: &Root) -> Self {
        let text = |path| root.look(path).unwrap_or_default();
        let vmstat = Vmstat::parse(&text(vmstat::PATH)).ok();
        let kilobytes = vmstat.and_then(|it| it.get("pgpgin")).unwrap_or(0);
        let disks = Diskstats::parse(&text(diskstats::PATH)).ok();
        let none = Self {
            bytes: Bytes(kilobytes.saturating_mul(1024)),
            ..Self::default()
        };
        let disks = disks.iter().flat_map(|it| &it.disks);
        disks.fold(none, |sum, disk| Self {
            requests: sum.requests.saturating_add(disk.reads),
            time: Nanos(sum.time.0.saturating_add(disk.read_time.0)),
            read: Bytes(sum.read.0.saturating_add(disk.read.0)),
            ..sum
        })
    }

    /// Whether no disk that rotates could have read that: a virtual disk often says that it does.
    /// One that answers within a tenth of a rotation does not, nor one that hands over 250 MB/s.
    pub(super) fn is_no_rotation(&self) -> bool {
        const OF_ROTATION: Nanos = Nanos(833_000);
        const FASTEST: u64 = 250;
        let is_swift = |(time, _): (Nanos, Bytes)| {
            time < OF_ROTATION || self.read.0 / FASTEST > self.time.0 / 1000
        };
        self.request().is_some_and(is_swift)
    }

    /// How long a request took on average, and its bytes.
    pub(super) fn request(&self) -> Option<(Nanos, Bytes)> {
        let of_one = |sum: u64| sum / self.requests.max(1);
        let is_told = self.requests >= LEAST;
        is_told.then(|| (Nanos(of_one(self.time.0)), Bytes(of_one(self.read.0))))
    }

    pub(super) fn since(self, before: &Self) -> Self {
        Self {
            bytes: Bytes(self.bytes.0.saturating_sub(before.bytes.0)),
            requests: self.requests.saturating_sub(before.requests),
            time: Nanos(self.time.0.saturating_sub(before.time.0)),
            read: Bytes(self.read.0.saturating_sub(before.read.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_fast_to_rotate_does_not() {
        let seen = |requests, millis: u64, mebibytes: u64| FromDisks {
            requests,
            time: Nanos(millis * 1_000_000),
            read: Bytes(mebibytes << 20),
            ..FromDisks::default()
        };
        assert!(
            seen(102, 394, 200).is_no_rotation(),
            "533 MB/s in requests of 2 MiB"
        );
        assert!(seen(1000, 500, 4).is_no_rotation(), "0.5 ms a request");
        assert!(!seen(1000, 9000, 4).is_no_rotation(), "9 ms a request");
        assert!(!seen(100, 1400, 200).is_no_rotation(), "150 MB/s in order");
        assert!(!seen(99, 1, 1).is_no_rotation(), "too few to tell");
    }
}
