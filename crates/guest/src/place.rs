//! Where a workload runs: in a VM of its own, or, for tests, below directories of this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use host::Root;
use mm::settings::Setting;
use mm::units::PageSize;
use scenario::Scenario;
use scenario::machine::SwapBacking;

/// Where a workload runs.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where the kernel's files lie.
    pub root: Root,
    /// The directory below which each disk is mounted, under its name.
    pub disks: PathBuf,
    /// What the kernel calls each disk, by the study's name; filled in when they are mounted.
    pub devices: BTreeMap<String, String>,
}

impl Default for Place {
    /// A VM's own.
    fn default() -> Self {
        Self {
            root: Root::default(),
            disks: PathBuf::from("/mnt"),
            devices: BTreeMap::new(),
        }
    }
}

impl Place {
    /// Where a disk is mounted.
    #[must_use]
    pub fn disk(&self, name: &str) -> PathBuf {
        self.disks.join(name)
    }

    /// A setting as this kernel's tunables are called; the study's own words for a disk that is not
    /// there.
    pub(crate) fn setting(&self, setting: &Setting) -> Setting {
        let renamed = setting.renamed(|disk| self.devices.get(disk).cloned());
        renamed.unwrap_or_else(|| setting.clone())
    }

    /// A control group's directory, below the root as a capture writes it.
    pub(crate) fn cgroup(path: &str) -> String {
        format!("sys/fs/cgroup/{path}")
    }
}

/// Bytes of each page that must not compress, so that zram reaches the ratio that the study asks
/// for; 0 without zram. The first zram's ratio holds for all.
pub(crate) fn noise(scenario: &Scenario) -> usize {
    let page = PageSize::FOUR_KIB.bytes();
    let ratio = scenario
        .machine
        .swaps
        .iter()
        .find_map(|swap| match swap.backing {
            SwapBacking::Zram { ratio_milli } => Some(u64::from(ratio_milli.max(1000))),
            SwapBacking::Disk(_) => None,
        });
    ratio.map_or(0, |ratio| (page * 1000 / ratio) as usize)
}
