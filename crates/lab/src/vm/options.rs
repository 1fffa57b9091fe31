//! What kind of VM.

use std::path::PathBuf;
use std::time::Duration;

use mm::units::Bytes;
use scenario::machine::Machine;

use super::kernel::KernelChoice;

/// Whose time the guest's clock shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The guest's own: one nanosecond an instruction, of all CPUs together, the same in every run.
    #[default]
    Virtual,
    /// The host's: KVM where it works, else QEMU's TCG; as noisy as the host is busy.
    Wall,
}

/// What kind of VM.
#[derive(Clone, Debug)]
pub struct VmOptions {
    /// The kernel to boot.
    pub kernel: KernelChoice,
    /// Its modules (`…/lib/modules/RELEASE`) where they are not found beside the image.
    pub modules: Option<PathBuf>,
    /// Whose time the guest's clock shows.
    pub clock: Clock,
    /// The CPUs of the machine that has most, from 1; more than one in virtual time want a QEMU
    /// that is new enough.
    pub cpus: u32,
    /// Time of the host after which a VM that has not ended counts as hung.
    pub deadline: Duration,
    /// The static `plimsoll` that becomes the guest's `/init`; `None` is the running one.
    pub binary: Option<PathBuf>,
    /// Where fetched kernels and built modules are kept; `None` is `plimsoll` in the user's cache.
    pub cache: Option<PathBuf>,
    /// The tracepoints that are to be counted, if any.
    pub traced: Option<Tracepoints>,
}

/// Tracepoints of the kernel, whose events are kept while a workload runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracepoints {
    /// As in `vmscan:mm_vmscan_throttled`, with a `?` behind it where the kernel may lack it.
    pub events: Vec<String>,
    /// The kernel's buffer, of all CPUs; the VM has as much more memory. The oldest events stay.
    pub buffer: Bytes,
}

impl Tracepoints {
    /// The most that a buffer has: as text it is at most five times as long, which has to fit into
    /// the outbox.
    pub const MOST: Bytes = Bytes(12 << 20);

    /// What the guest is told of them (`guest::tracing` says the form).
    pub(super) fn orders(&self) -> String {
        let events = self.events.iter().map(|event| format!("{event}\n"));
        let head = format!("{}\n", self.buffer.0 >> 10);
        [head].into_iter().chain(events).collect()
    }

    /// What a machine has with the buffer: as much more, the same for each node.
    pub(super) fn machine(&self, machine: &Machine) -> Machine {
        let unit = u64::from(machine.nodes.max(1)) << 20;
        Machine {
            memory: machine.memory + Bytes(self.buffer.0.next_multiple_of(unit)),
            ..machine.clone()
        }
    }
}

impl Default for VmOptions {
    fn default() -> Self {
        Self {
            kernel: KernelChoice::default(),
            modules: None,
            clock: Clock::default(),
            cpus: 1,
            deadline: Duration::from_secs(3600),
            binary: None,
            cache: None,
            traced: None,
        }
    }
}
