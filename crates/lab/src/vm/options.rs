//! What kind of VM.

use std::path::PathBuf;
use std::time::Duration;

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
        }
    }
}
