//! Which kernel files make a snapshot and which a sample.
//!
//! A file that is there and cannot be read is noted with the reason, as is one that every snapshot
//! should have and that is not there; what a kernel merely lacks elsewhere leaves no trace. Nothing
//! is read that may hold a secret (the kernel's command line, process names), and nothing that is
//! not in [`crate::looking::READABLE`]: looking changes nothing. A setting whose file acts when it
//! is read (`vm.lowmem_reserve_ratio`) is noted as left out.

mod lines;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use mm::bdi::DEBUGFS;
use mm::capture::Frame;
use mm::catalogue::{folder, path_of};
use mm::notes::{COVERED, FACTS, GROUPS, NOT_MOUNTED, UNREADABLE};
use mm::units::Nanos;

use crate::Root;
use crate::covered;
use crate::facts;
use crate::groups;
use crate::looking::{self, READING_ACTS};
use crate::root::reason;

pub use self::lines::{lines, moving};

/// The files of a periodic sample.
const SAMPLE: [&str; 3] = ["proc/meminfo", "proc/vmstat", "proc/pressure/memory"];

/// The files that every snapshot should have; their absence is noted.
const WANTED: [&str; 11] = [
    "proc/meminfo",
    "proc/vmstat",
    "proc/zoneinfo",
    "proc/buddyinfo",
    "proc/swaps",
    "proc/stat",
    "proc/pressure/memory",
    "proc/pressure/io",
    "proc/pressure/cpu",
    RELEASE,
    "proc/uptime",
];

/// Files that some kernels have.
const OPTIONAL: [&str; 9] = [
    "proc/diskstats",
    "proc/self/cgroup",
    "proc/sys/fs/inode-nr",
    "proc/sys/kernel/numa_balancing",
    "sys/devices/system/node/online",
    path_of("numa.demotion_enabled"),
    path_of("swap.vma_ra_enabled"),
    path_of("zswap.enabled"),
    path_of("zswap.max_pool_percent"),
];

/// Directories of which every file is read that may be.
const DIRECTORIES: [&str; 5] = [
    folder::VM,
    folder::KSM,
    folder::LRU_GEN,
    folder::THP,
    folder::KHUGEPAGED,
];

/// Facts of a block device, below `sys/block/NAME`.
const BLOCK: [&str; 9] = [
    "size",
    "queue/rotational",
    "queue/read_ahead_kb",
    "queue/nr_requests",
    "queue/scheduler",
    "queue/write_cache",
    "disksize",
    "mm_stat",
    "comp_algorithm",
];

/// Facts of a block device's share of the dirty limits, below `sys/block/NAME/bdi`.
const BDI: [&str; 8] = [
    "min_ratio",
    "min_ratio_fine",
    "max_ratio",
    "max_ratio_fine",
    "min_bytes",
    "max_bytes",
    "strict_limit",
    "read_ahead_kb",
];

/// Block devices beyond this number are left out, and noted: a storage server may have thousands.
const BLOCK_DEVICES: usize = 64;

/// Path of the kernel's release.
const RELEASE: &str = "proc/sys/kernel/osrelease";

/// Reads everything that a snapshot needs, and changes nothing on the machine.
///
/// Never fails: a machine of which nothing can be read gives a frame that says so.
#[must_use]
pub fn full(root: &Root, at: Nanos) -> Frame {
    Reading::full(root, at).finish()
}

/// Reads the same of a machine that is the reader's own, as the VM of a bench is, and then what
/// acts when it is read: the kernel computes its lowmem reserves again, as it did for every record.
#[must_use]
pub fn full_of_own(root: &Root, at: Nanos) -> Frame {
    let mut reading = Reading::full(root, at);
    for acting in looking::ACTING {
        if let Ok(text) = root.read(acting.path) {
            reading.unreadable.remove(acting.path);
            reading.note(acting.path, text);
        }
    }
    reading.finish()
}

/// Reads the few files that show movement; cheap enough for every tenth of a second.
#[must_use]
pub fn sample(root: &Root, at: Nanos) -> Frame {
    let mut reading = Reading::new(root, at);
    SAMPLE.iter().for_each(|path| reading.try_file(path));
    reading.finish()
}

struct Reading<'a> {
    root: &'a Root,
    frame: Frame,
    unreadable: BTreeMap<String, String>,
}

impl<'a> Reading<'a> {
    fn new(root: &'a Root, at: Nanos) -> Self {
        Self {
            root,
            frame: Frame {
                at,
                label: None,
                files: BTreeMap::new(),
            },
            unreadable: BTreeMap::new(),
        }
    }

    /// With everything that a snapshot needs.
    fn full(root: &'a Root, at: Nanos) -> Self {
        let mut reading = Self::new(root, at);
        WANTED.iter().for_each(|path| reading.want(path));
        OPTIONAL.iter().for_each(|path| reading.try_file(path));
        DIRECTORIES.iter().for_each(|path| reading.directory(path));
        reading.tunables();
        reading.huge_page_sizes();
        reading.block_devices();
        reading.generations();
        reading.control_groups();
        reading.note(FACTS, facts::read(root).to_text());
        if let Some(note) = covered::note(root) {
            reading.note(COVERED, note);
        }
        reading
    }

    /// Reads a file and notes where that fails for whatever reason.
    fn want(&mut self, path: &str) {
        match self.root.look(path) {
            Ok(text) => self.note(path, text),
            Err(error) => self.fail(path, reason(&error)),
        }
    }

    /// Reads a file that need not exist; one that acts when it is read is noted.
    fn try_file(&mut self, path: &str) {
        if looking::acts(path, self.frame.file(RELEASE).unwrap_or_default()).is_some() {
            if self.root.is_file(path) {
                self.fail(path, READING_ACTS.to_owned());
            }
            return;
        }
        match self.root.look(path) {
            Ok(text) => self.note(path, text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.fail(path, reason(&error)),
        }
    }

    /// The files of a directory that may be read, and the notes of those that act.
    fn directory(&mut self, directory: &str) {
        for name in self.root.names(directory) {
            let path = format!("{directory}/{name}");
            if looking::is_known(&path) && self.root.is_file(&path) {
                self.try_file(&path);
            }
        }
    }

    /// Every tunable of the catalogue that no directory had.
    fn tunables(&mut self) {
        let paths = mm::catalogue::all().map(|tunable| tunable.path);
        for path in paths.filter(|path| looking::is_known(path)) {
            if !self.frame.files.contains_key(path) {
                self.try_file(path);
            }
        }
    }

    /// The sizes of transparent huge pages (Linux 6.8), and the pools of reserved ones.
    fn huge_page_sizes(&mut self) {
        let thp = folder::THP;
        let sizes = self
            .root
            .names(thp)
            .into_iter()
            .filter(|name| name.starts_with("hugepages-"));
        for name in sizes {
            for file in ["enabled", "shmem_enabled"] {
                self.try_file(&format!("{thp}/{name}/{file}"));
            }
        }
        let pools = folder::HUGEPAGES;
        for name in self.root.names(pools) {
            for file in [
                "nr_hugepages",
                "nr_overcommit_hugepages",
                "free_hugepages",
                "resv_hugepages",
            ] {
                self.try_file(&format!("{pools}/{name}/{file}"));
            }
        }
    }

    fn block_devices(&mut self) {
        let devices = self.with_data();
        for name in devices.iter().take(BLOCK_DEVICES) {
            BLOCK
                .iter()
                .for_each(|file| self.try_file(&format!("sys/block/{name}/{file}")));
            BDI.iter()
                .for_each(|file| self.try_file(&format!("sys/block/{name}/bdi/{file}")));
        }
        if devices.len() > BLOCK_DEVICES {
            let more = devices.len() - BLOCK_DEVICES;
            self.fail(
                "sys/block",
                format!("{more} further block devices left out"),
            );
        }
        self.backing_devices(&devices);
    }

    /// The block devices that have a size.
    fn with_data(&self) -> Vec<String> {
        let names = self.root.names("sys/block").into_iter();
        names.filter(|name| self.has_data(name)).collect()
    }

    /// What waits to be written to each device: the block devices with data, and what NFS, FUSE or
    /// btrfs have in their place.
    fn backing_devices(&mut self, blocks: &[String]) {
        let others = self.other_backing_devices();
        for name in &others {
            BDI.iter()
                .for_each(|file| self.try_file(&format!("sys/class/bdi/{name}/{file}")));
        }
        let blocks = blocks.iter().take(BLOCK_DEVICES);
        let mut names: Vec<String> = blocks.filter_map(|name| self.number(name)).collect();
        names.extend(others);
        if names.is_empty() || !self.has_debugfs(DEBUGFS) {
            return;
        }
        for name in names {
            self.try_file(&format!("{DEBUGFS}/{name}/stats"));
        }
    }

    /// Backing devices whose name is no block device's number.
    fn other_backing_devices(&self) -> Vec<String> {
        let blocks = self.root.names("sys/block");
        let numbers: Vec<String> = blocks.iter().filter_map(|name| self.number(name)).collect();
        let names = self.root.names("sys/class/bdi").into_iter();
        let others = names.filter(|name| !numbers.contains(name));
        others.take(BLOCK_DEVICES).collect()
    }

    /// The major and minor number of a block device, `254:0`.
    fn number(&self, block: &str) -> Option<String> {
        let number = self.root.look(&format!("sys/block/{block}/dev")).ok()?;
        Some(number.trim().to_owned())
    }

    /// Whether a folder of debugfs can be looked into; where not, the reason is noted.
    fn has_debugfs(&mut self, folder: &str) -> bool {
        let Err(error) = self.root.look(folder) else {
            return false;
        };
        let missing = error.kind() == io::ErrorKind::NotFound;
        let reason = match error.kind() {
            io::ErrorKind::IsADirectory => return true,
            // Kernels that have debugfs have a place to mount it.
            _ if missing && self.root.is_directory("sys/kernel/debug") => NOT_MOUNTED.to_owned(),
            _ => reason(&error),
        };
        self.fail(folder, reason);
        false
    }

    /// Whether a block device has a size: unused loop and zram devices have none.
    fn has_data(&self, name: &str) -> bool {
        let size = self.root.look(&format!("sys/block/{name}/size"));
        size.is_ok_and(|size| size.trim() != "0")
    }

    /// The generations, where the kernel has them: debugfs is root's alone, and its refusal says
    /// nothing where there is no such file.
    fn generations(&mut self) {
        if self.frame.files.contains_key(mm::lru_gen::ENABLED) {
            self.try_file(mm::lru_gen::TABLE);
        }
    }

    /// Control groups; their names stay the machine's own.
    fn control_groups(&mut self) {
        let groups = groups::read(self.root);
        if let Some(note) = groups.note() {
            self.note(GROUPS, note);
        }
        for (path, reason) in groups.refused {
            self.fail(&path, reason);
        }
        self.frame.files.extend(groups.files);
    }

    fn note(&mut self, path: &str, text: String) {
        self.frame.files.insert(path.to_owned(), text);
    }

    fn fail(&mut self, path: &str, reason: String) {
        self.unreadable.insert(path.to_owned(), reason);
    }

    fn finish(mut self) -> Frame {
        if !self.unreadable.is_empty() {
            let mut text = String::new();
            for (path, reason) in &self.unreadable {
                let _ = writeln!(text, "{path}\t{reason}");
            }
            self.note(UNREADABLE, text);
        }
        self.frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::{put, root};

    #[test]
    fn what_is_there_is_read_and_what_is_wanted_is_missed() {
        let (_directory, root) = root(&[
            ("proc/meminfo", "MemTotal: 1 kB\n"),
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/vm/drop_caches", "0\n"),
            (
                "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
                "1\n",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
                "never\n",
            ),
        ]);
        let frame = full(&root, Nanos(7));
        assert_eq!(frame.at, Nanos(7));
        assert_eq!(frame.file("proc/meminfo"), Some("MemTotal: 1 kB\n"));
        assert_eq!(frame.file("proc/sys/vm/swappiness"), Some("60\n"));
        assert_eq!(frame.file("proc/sys/vm/drop_caches"), None);
        assert!(
            frame
                .files
                .keys()
                .any(|path| path.ends_with("khugepaged/defrag"))
        );
        assert!(
            frame
                .files
                .keys()
                .any(|path| path.ends_with("hugepages-64kB/enabled"))
        );
        let unreadable = frame.file(UNREADABLE).expect("most is missing");
        assert!(unreadable.contains("proc/zoneinfo\tNo such file or directory\n"));
        assert!(!unreadable.contains("diskstats"));
    }

    #[test]
    fn a_sample_is_small_and_never_complains_of_a_kernel_without_psi() {
        let (_directory, root) = root(&[("proc/meminfo", "a"), ("proc/zoneinfo", "b")]);
        let frame = sample(&root, Nanos::ZERO);
        assert_eq!(frame.files.keys().collect::<Vec<_>>(), ["proc/meminfo"]);
    }

    #[test]
    fn only_block_devices_with_data_are_read() {
        let (_directory, root) = root(&[
            ("sys/block/loop0/size", "0\n"),
            ("sys/block/loop0/queue/rotational", "1\n"),
            ("sys/block/vda/size", "8388608\n"),
            ("sys/block/vda/queue/rotational", "0\n"),
            ("sys/block/vda/bdi/max_ratio", "100\n"),
        ]);
        let frame = full(&root, Nanos::ZERO);
        assert_eq!(frame.file("sys/block/vda/bdi/max_ratio"), Some("100\n"));
        assert_eq!(frame.file("sys/block/loop0/queue/rotational"), None);
    }

    #[test]
    fn what_waits_for_a_device_is_read_where_debugfs_is_mounted() {
        let stats = "BdiWriteback: 8 kB\n";
        let (_directory, root) = root(&[
            ("sys/block/loop0/size", "0\n"),
            ("sys/block/loop0/dev", "7:0\n"),
            ("sys/block/vda/size", "8388608\n"),
            ("sys/block/vda/dev", "254:0\n"),
            ("sys/class/bdi/7:0/max_ratio", "100\n"),
            ("sys/class/bdi/254:0/max_ratio", "100\n"),
            ("sys/class/bdi/btrfs-1/max_ratio", "10\n"),
        ]);
        let unreadable = |frame: &Frame| frame.file(UNREADABLE).unwrap_or_default().to_owned();
        let hidden = full(&root, Nanos::ZERO);
        assert_eq!(hidden.file("sys/class/bdi/btrfs-1/max_ratio"), Some("10\n"));
        assert_eq!(hidden.file("sys/class/bdi/7:0/max_ratio"), None);
        assert!(unreadable(&hidden).contains("sys/kernel/debug/bdi\tNo such file or directory\n"));
        std::fs::create_dir_all(root.join("sys/kernel/debug")).expect("a directory");
        let unmounted = full(&root, Nanos::ZERO);
        assert!(unreadable(&unmounted).contains("sys/kernel/debug/bdi\tdebugfs is not mounted\n"));
        for name in ["7:0", "254:0", "btrfs-1"] {
            put(&root, &format!("sys/kernel/debug/bdi/{name}/stats"), stats);
        }
        let mounted = full(&root, Nanos::ZERO);
        let names = mounted
            .files
            .keys()
            .filter_map(|path| mm::bdi::stats_of(path));
        assert!(names.eq(["254:0", "btrfs-1"]));
        assert!(!unreadable(&mounted).contains("debug"));
    }

    #[test]
    fn the_own_control_group_and_those_above_are_read() {
        let (_directory, root) = root(&[
            ("proc/self/cgroup", "1:cpu:/x\n0::/a.slice/b.scope\n"),
            ("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n"),
            ("sys/fs/cgroup/a.slice/memory.high", "1073741824\n"),
            ("sys/fs/cgroup/memory.stat", "anon 0\n"),
            ("sys/fs/cgroup/other.slice/memory.max", "1\n"),
        ]);
        let frame = full(&root, Nanos::ZERO);
        let groups = frame
            .files
            .keys()
            .filter(|path| path.starts_with("sys/fs/cgroup"));
        assert_eq!(groups.count(), 3);
    }

    #[test]
    fn a_live_machine_gives_a_frame_that_survives_its_text() {
        let frame = full(&Root::default(), crate::facts::since_boot());
        assert!(
            frame
                .file("proc/meminfo")
                .is_some_and(|text| text.contains("MemTotal"))
        );
        assert!(frame.file("proc/cmdline").is_none());
        let capture = mm::capture::Capture {
            frames: vec![frame],
        };
        let text = capture.to_text();
        assert_eq!(mm::capture::Capture::parse(&text), Ok(capture));
    }
}
