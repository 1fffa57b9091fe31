//! Daemons that an administrator runs: each decides by what the kernel's files say.

use guard::daemons::Host;
use mm::meminfo::Meminfo;
use mm::units::{Kib, Nanos};
use mm::vmstat::Vmstat;
use mm::zoneinfo::Zoneinfo;
use scenario::workload::Daemon;

use crate::error::Error;
use crate::machine::system::System;

impl System<'_> {
    /// Lets a daemon decide and writes what it decides.
    pub(crate) fn decide(&mut self, daemon: Daemon, now: Nanos) -> Result<(), Error> {
        let settings = self.daemons.decide(daemon, &self.host(now));
        let mut settings = settings.iter();
        settings.try_for_each(|setting| self.tunables.write(setting, &mut self.memory))
    }

    /// The machine as a daemon sees it now: guests are the processes with mergeable memory.
    fn host(&self, now: Nanos) -> Host {
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
            scale_factor: self.scale_factor(),
            guests: Kib(memory.cpu.real(resident).0 * 4),
        }
    }
}
