//! The JSON of a machine. Core types carry no JSON of their own; this is the shape at the edge.

use scenario::machine::{Machine, SwapBacking};
use serde::{Deserialize, Serialize};

/// A machine as a record tells it: bytes, nanoseconds, and bytes a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MachineView {
    /// RAM.
    pub memory: u64,
    /// CPUs.
    pub cpus: u32,
    /// NUMA nodes.
    pub nodes: u32,
    /// Disks.
    pub disks: Vec<DiskView>,
    /// Swap devices: what each is made of, and its size.
    pub swaps: Vec<(String, u64)>,
    /// Files made beforehand: name, disk, size.
    pub files: Vec<(String, String, u64)>,
}

/// A disk of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DiskView {
    /// Its name.
    pub name: String,
    /// Capacity.
    pub size: u64,
    /// Reading.
    pub read_bandwidth: u64,
    /// Writing.
    pub write_bandwidth: u64,
    /// Of each request.
    pub latency: u64,
    /// Of a request out of order, beyond the latency.
    pub seek: u64,
    /// Served at a time.
    pub channels: u32,
    /// Queued at a time.
    pub queue_depth: u32,
    /// Whether it rotates.
    pub rotational: bool,
}

impl MachineView {
    /// The view of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let swap = |backing: &SwapBacking| match backing {
            SwapBacking::Disk(disk) => format!("disk {disk}"),
            SwapBacking::Zram { ratio_milli } => format!("zram {ratio_milli}/1000"),
        };
        let swaps = machine.swaps.iter().map(|s| (swap(&s.backing), s.size.0));
        let files = machine
            .files
            .iter()
            .map(|f| (f.name.clone(), f.disk.clone(), f.size.0));
        Self {
            memory: machine.memory.0,
            cpus: machine.cpus,
            nodes: machine.nodes,
            disks: machine.disks.iter().map(DiskView::of).collect(),
            swaps: swaps.collect(),
            files: files.collect(),
        }
    }
}

impl DiskView {
    fn of(disk: &scenario::machine::Disk) -> Self {
        Self {
            name: disk.name.clone(),
            size: disk.size.0,
            read_bandwidth: disk.read_bandwidth.0,
            write_bandwidth: disk.write_bandwidth.0,
            latency: disk.latency.0,
            seek: disk.seek.0,
            channels: disk.channels,
            queue_depth: disk.queue_depth,
            rotational: disk.rotational,
        }
    }
}
