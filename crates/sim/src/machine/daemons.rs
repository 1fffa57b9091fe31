//! Daemons that an administrator runs: each decides by what the kernel's files say.

use guard::daemons::Host;
use mm::meminfo::Meminfo;
use mm::units::{Kib, Nanos};
use mm::vmstat::Vmstat;
use mm::zoneinfo::Zoneinfo;
use scenario::workload::Daemon;

use crate::error::Error;
use crate::machine::recorder::Recorder;
use crate::machine::system::System;
use crate::machine::tasks::Tasks;
use crate::machine::tunables::Tunables;
use crate::mm::parts::Memory;

impl System<'_> {
    /// Lets a daemon decide and writes what it decides.
    pub(super) fn decide(&mut self, daemon: Daemon, now: Nanos) -> Result<(), Error> {
        let host = host(
            &self.memory,
            &self.recorder,
            &self.tasks,
            &self.tunables,
            now,
        );
        let settings = self.daemons.decide(daemon, &host);
        self.tunables.write_all(&settings, &mut self.memory)
    }
}

/// The machine as a daemon sees it now: guests are the processes with mergeable memory.
fn host(
    memory: &Memory,
    recorder: &Recorder,
    tasks: &Tasks<'_>,
    tunables: &Tunables,
    now: Nanos,
) -> Host {
    let (vmstat, zoneinfo) = recorder.vmstat_and_zoneinfo(memory);
    let guests = tasks.iter();
    let guests = guests.filter(|task| memory.ksm.is_merging(task.entity));
    let resident = guests.map(|task| task.rss + task.own.kernel_pages).sum();
    Host {
        at: now,
        meminfo: Meminfo::parse(&recorder.meminfo(memory)).unwrap_or_default(),
        vmstat: Vmstat::parse(&vmstat).unwrap_or_default(),
        zoneinfo: Zoneinfo::parse(&zoneinfo).unwrap_or_default(),
        scale_factor: tunables.scale_factor(),
        guests: Kib(memory.cpu.real(resident).0 * 4),
    }
}
