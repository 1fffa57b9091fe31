//! Daemons that an administrator runs: each decides by what the kernel's files say.

use mm::meminfo::Meminfo;
use mm::policy::{Host, Policy};
use mm::units::Kib;

use crate::error::Error;
use crate::machine::system::System;

impl System<'_> {
    /// Lets a daemon decide and writes what it decides.
    pub(crate) fn decide(&mut self, policy: Policy) -> Result<(), Error> {
        let settings = match policy {
            Policy::Ksmtuned => {
                let host = self.host();
                self.daemons.ksmtuned.decide(host)
            }
        };
        let mut settings = settings.iter();
        settings.try_for_each(|setting| self.tunables.write(setting, &mut self.memory))
    }

    /// The machine as ksmtuned sees it: the guests are the processes with mergeable memory.
    fn host(&self) -> Host {
        let text = self.recorder.meminfo(&self.memory);
        let meminfo = Meminfo::parse(&text).unwrap_or_default();
        let tasks = self.tasks.iter().flatten();
        let guests = tasks.filter(|task| self.memory.ksm.is_merging(task.entity));
        let resident = guests.map(|task| task.rss + task.own.kernel_pages).sum();
        Host::of(&meminfo, Kib(self.memory.cpu.real(resident).0 * 4))
    }
}
