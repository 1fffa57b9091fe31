//! Daemons that an administrator runs: each decides by what the kernel's files say.

use guard::ksmtuned::Host;
use mm::meminfo::Meminfo;
use mm::units::Kib;
use mm::workload::Daemon;

use crate::error::Error;
use crate::machine::recorder::Recorder;
use crate::machine::state::Daemons;
use crate::machine::tasks::Tasks;
use crate::machine::tunables::Tunables;
use crate::mm::parts::Memory;

impl Daemons {
    /// Lets a daemon decide and writes what it decides.
    pub(crate) fn decide(
        &mut self,
        daemon: Daemon,
        memory: &mut Memory,
        tunables: &mut Tunables,
        recorder: &Recorder,
        tasks: &Tasks<'_>,
    ) -> Result<(), Error> {
        let settings = match daemon {
            Daemon::Ksmtuned => self.ksmtuned.decide(host(memory, recorder, tasks)),
        };
        let mut settings = settings.iter();
        settings.try_for_each(|setting| tunables.write(setting, memory))
    }
}

/// The machine as ksmtuned sees it: the guests are the processes with mergeable memory.
fn host(memory: &Memory, recorder: &Recorder, tasks: &Tasks<'_>) -> Host {
    let text = recorder.meminfo(memory);
    let meminfo = Meminfo::parse(&text).unwrap_or_default();
    let guests = tasks.iter();
    let guests = guests.filter(|task| memory.ksm.is_merging(task.entity));
    let resident = guests.map(|task| task.rss + task.own.kernel_pages).sum();
    Host::of(&meminfo, Kib(memory.cpu.real(resident).0 * 4))
}
