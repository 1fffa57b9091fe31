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
}

impl FromDisks {
    /// Two files, and no more: it is read while the machine is looked at.
    pub(super) fn now(root: &Root) -> Self {
        let text = |path| root.look(path).unwrap_or_default();
        let vmstat = Vmstat::parse(&text(vmstat::PATH)).ok();
        let kilobytes = vmstat.and_then(|it| it.get("pgpgin")).unwrap_or(0);
        let disks = Diskstats::parse(&text(diskstats::PATH)).ok();
        let disks = disks.iter().flat_map(|it| &it.disks);
        let (requests, time) = disks.fold((0_u64, 0_u64), |(requests, time), disk| {
            let longer = time.saturating_add(disk.read_time.0);
            (requests.saturating_add(disk.reads), longer)
        });
        Self {
            bytes: Bytes(kilobytes.saturating_mul(1024)),
            requests,
            time: Nanos(time),
        }
    }

    pub(super) fn since(self, before: &Self) -> Self {
        Self {
            bytes: Bytes(self.bytes.0.saturating_sub(before.bytes.0)),
            requests: self.requests.saturating_sub(before.requests),
            time: Nanos(self.time.0.saturating_sub(before.time.0)),
        }
    }
}
