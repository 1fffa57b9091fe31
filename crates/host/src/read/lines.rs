//! Which kernel files tell how far memory is from its lines.

use mm::capture::Frame;
use mm::catalogue::{folder, path_of};
use mm::notes::FACTS;
use mm::units::Nanos;

use super::{BLOCK_DEVICES, RELEASE, Reading};
use crate::{Root, facts, groups};

/// The files that tell where memory stands.
const LINES: [&str; 4] = ["proc/meminfo", "proc/vmstat", "proc/zoneinfo", RELEASE];

/// The settings that say where its lines are.
const LINES_SET: [&str; 7] = [
    path_of("vm.dirty_background_bytes"),
    path_of("vm.dirty_background_ratio"),
    path_of("vm.dirty_bytes"),
    path_of("vm.dirty_ratio"),
    path_of("vm.highmem_is_dirtyable"),
    path_of("vm.min_free_kbytes"),
    path_of("vm.watermark_scale_factor"),
];

/// The files that tell who waits, what the devices wrote, and for how long the machine is up.
const MOVING: [&str; 5] = [
    "proc/pressure/memory",
    "proc/pressure/io",
    "proc/pressure/cpu",
    "proc/diskstats",
    "proc/uptime",
];

/// Reads what tells how far memory is from its lines, and the control groups that use most of it,
/// this many at most; cheap enough for every second.
#[must_use]
pub fn lines(root: &Root, at: Nanos, groups: usize) -> Frame {
    let mut reading = Reading::new(root, at);
    LINES.iter().for_each(|path| reading.want(path));
    LINES_SET.iter().for_each(|path| reading.try_file(path));
    reading.directory(folder::LRU_GEN);
    reading.generations();
    reading.frame.files.extend(groups::largest(root, groups));
    reading.note(FACTS, facts::read(root).to_text());
    reading.finish()
}

/// Reads the same, who waits, and what waits to be written to each device.
#[must_use]
pub fn moving(root: &Root, at: Nanos, groups: usize) -> Frame {
    let mut reading = Reading::new(root, at);
    reading.frame = lines(root, at, groups);
    MOVING.iter().for_each(|path| reading.try_file(path));
    let devices = reading.with_data();
    for name in devices.iter().take(BLOCK_DEVICES) {
        reading.try_file(&format!("sys/block/{name}/bdi/max_ratio"));
    }
    reading.backing_devices(&devices);
    reading.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::snapshot::Snapshot;

    #[test]
    fn the_lines_are_those_of_a_whole_snapshot() {
        let root = Root::default();
        let at = crate::facts::since_boot();
        let parsed = |frame: &Frame| Snapshot::parse(frame);
        let (lines, whole) = (
            parsed(&lines(&root, at, 20)),
            parsed(&super::super::full(&root, at)),
        );
        let marks = |snapshot: &Snapshot| {
            let zones = snapshot.zoneinfo.iter().flat_map(|info| info.populated());
            zones.map(|zone| zone.unboosted()).collect::<Vec<_>>()
        };
        assert_eq!(marks(&lines), marks(&whole));
        assert!(lines.thresholds().is_some() == whole.thresholds().is_some());
        assert_eq!((lines.page, lines.is_live), (whole.page, whole.is_live));
    }
}
