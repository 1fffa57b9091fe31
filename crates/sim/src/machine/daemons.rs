//! What the daemons of the machine look at: the kernel's files.

use guard::daemons::Host;
use mm::meminfo::Meminfo;
use mm::units::{Kib, Nanos};
use mm::vmstat::Vmstat;
use mm::zoneinfo::Zoneinfo;

use crate::machine::system::System;

impl System<'_> {
    /// The machine as a daemon sees it now: guests are the processes with mergeable memory.
    pub(crate) fn host(&self, now: Nanos) -> Host {
        let memory = &self.memory;
        let (vmstat, zoneinfo) = self.recorder.vmstat_and_zoneinfo(memory);
        let guests = self.tasks.iter();
        let guests = guests.filter(|task| memory.ksm.is_merging(task.entity));
        let resident = guests.map(|task| task.rss + task.own.kernel_pages).sum();
        Host {
            at: now,
            meminfo: Meminfo::parse(&self.recorder.meminfo(memory)).unwrap_or_default(),
            vmstat: Vmstat::parse(&vmstat).unwrap_or_default(),
            zoneinfo: Zoneinfo::parse(&zoneinfo).unwrap_or_default(),
            scale_factor: self.setting("vm.watermark_scale_factor").unwrap_or(10),
            guests: Kib(memory.cpu.real(resident).0 * 4),
        }
    }
}
