//! A frame's text, parsed: the state of a machine at one moment.
//!
//! Every file is optional, and a file that cannot be read does not lose the others: its error is
//! kept beside them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::bdi::{self, Bdi};
use crate::buddyinfo::{self, Buddyinfo};
use crate::capture::Frame;
use crate::catalogue::{self, folder};
use crate::diskstats::{self, Diskstats};
use crate::inode_nr;
use crate::kernel_log::{self, Report};
use crate::ksm::{self, Ksm};
use crate::lru_gen::{self, Enabled, Generation};
use crate::memcg::{self, Memcg};
use crate::meminfo::{self, Meminfo};
use crate::notes::{FACTS, UNREADABLE};
use crate::pagetypeinfo::{self, Pagetypeinfo};
use crate::process::KsmStat;
use crate::psi::Psi;
use crate::stat::{self, CpuTimes};
use crate::swaps::{self, Swaps};
use crate::text::{ParseError, number};
use crate::thp::{self, Thp};
use crate::units::{Nanos, PageSize};
use crate::vmstat::{self, Vmstat};
use crate::zoneinfo::{self, Zoneinfo};
use crate::zram::{self, Zram};

/// The state of a machine at one moment. What the frame did not hold is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// When it was read.
    pub at: Nanos,
    /// Its name.
    pub label: Option<String>,
    /// The kernel's release, as `uname -r` prints it.
    pub release: Option<String>,
    /// The size of a base page; see [`Snapshot::page_source`].
    pub page: PageSize,
    /// Where the page size is known from.
    pub page_source: PageSource,
    /// Whether a live machine was read, so that what is missing is missing there: the frame says
    /// what could not be read, or who read it. Of a paste nothing follows from absence.
    pub is_live: bool,
    /// Whether the frame has any file below `/sys/kernel/mm`.
    pub has_sys_mm: bool,
    /// Whether boosts of zones were found in the marks of a kernel that does not print them.
    pub hidden_boost: bool,
    /// `/proc/meminfo`.
    pub meminfo: Option<Meminfo>,
    /// `/proc/vmstat`.
    pub vmstat: Option<Vmstat>,
    /// `/proc/zoneinfo`.
    pub zoneinfo: Option<Zoneinfo>,
    /// `/proc/buddyinfo`.
    pub buddyinfo: Option<Buddyinfo>,
    /// `/proc/pagetypeinfo`.
    pub pagetypeinfo: Option<Pagetypeinfo>,
    /// `/proc/swaps`.
    pub swaps: Option<Swaps>,
    /// `/proc/diskstats`.
    pub diskstats: Option<Diskstats>,
    /// Inodes that something uses, by `/proc/sys/fs/inode-nr`.
    pub inodes_in_use: Option<u64>,
    /// `/proc/stat`, the sum over all CPUs.
    pub cpu: Option<CpuTimes>,
    /// `/proc/pressure`.
    pub pressure: Pressure,
    /// `/sys/kernel/mm/transparent_hugepage`.
    pub thp: Option<Thp>,
    /// `/sys/kernel/mm/hugepages`: the pools, by the size of a page in KiB.
    pub pools: BTreeMap<u64, Pool>,
    /// `/sys/kernel/mm/ksm`.
    pub ksm: Option<Ksm>,
    /// What samepage merging does for each process that the capture names.
    pub ksm_stats: BTreeMap<String, KsmStat>,
    /// `/sys/kernel/mm/lru_gen`.
    pub lru_gen: LruGen,
    /// What bounds the devices' parts of the dirty limits, by name.
    pub bdi: BTreeMap<String, Bdi>,
    /// What the backing devices hold, by the kernel's names for them: `254:0`, `btrfs-1`.
    pub writeback: BTreeMap<String, bdi::Stats>,
    /// The zram devices, by name.
    pub zram: BTreeMap<String, Zram>,
    /// Whether protection that children do not claim is shared among them: the mount option
    /// `memory_recursiveprot` of cgroup v2.
    pub recursive_protection: Option<bool>,
    /// The control groups, by path below the mount; v1 groups begin with the controller's mount.
    pub memcgs: BTreeMap<String, Memcg>,
    /// The values of the catalogue's tunables, by name, as they would be written.
    pub tunables: BTreeMap<&'static str, String>,
    /// A kernel log's report of an OOM kill or of an allocation that failed.
    pub report: Option<Report>,
    /// The files that could not be read.
    pub errors: Vec<ParseError>,
}

/// Where the page size is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageSource {
    /// Nowhere: 4 KiB are assumed.
    #[default]
    Assumed,
    /// The numbers force it.
    Inferred,
    /// The note of facts tells it.
    Told,
}

/// A pool of huge pages. What was not read is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Huge pages (`nr_hugepages`).
    pub all: u64,
    /// Of them, those that nobody uses (`free_hugepages`).
    pub free: u64,
    /// Of the free ones, those that are promised (`resv_hugepages`).
    pub promised: u64,
}

/// Stalls for each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// For memory.
    pub memory: Option<Psi>,
    /// For I/O.
    pub io: Option<Psi>,
    /// For a CPU.
    pub cpu: Option<Psi>,
}

/// The state of the multi-generation LRU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LruGen {
    /// What is switched on; `None` on kernels without it.
    pub enabled: Option<Enabled>,
    /// How long a working set is kept.
    pub min_ttl: Option<Nanos>,
    /// The table in debugfs.
    pub generations: Vec<Generation>,
}

impl Snapshot {
    /// Parses a frame. Never fails: what cannot be read is in [`Snapshot::errors`].
    #[must_use]
    pub fn parse(frame: &Frame) -> Self {
        let mut snapshot = Self {
            at: frame.at,
            label: frame.label.clone(),
            ..Self::default()
        };
        for (path, text) in &frame.files {
            if let Err(error) = snapshot.read(path, text) {
                snapshot.errors.push(error);
            }
        }
        for tunable in catalogue::all() {
            if let Some(text) = frame.file(tunable.path) {
                let value = tunable.value_in(text);
                snapshot.tunables.insert(tunable.name, value);
            }
        }
        snapshot.has_sys_mm = frame
            .files
            .keys()
            .any(|path| path.starts_with("sys/kernel/mm/"));
        snapshot.is_live |= frame.file(UNREADABLE).is_some();
        if let (Some(report), Some(release)) = (&mut snapshot.report, &snapshot.release) {
            report.told_release(release);
        }
        snapshot.infer_page_size();
        snapshot.find_hidden_boosts();
        snapshot
    }

    /// The value of a tunable, by the catalogue's name, as it would be written.
    #[must_use]
    pub fn tunable(&self, name: &str) -> Option<&str> {
        self.tunables.get(name).map(String::as_str)
    }

    /// The value of a tunable that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.tunable(name)?.parse().ok()
    }

    /// An item of `/proc/vmstat`.
    #[must_use]
    pub fn vmstat(&self, item: &str) -> Option<u64> {
        self.vmstat.as_ref()?.get(item)
    }

    fn read(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        match path {
            meminfo::PATH => {
                let (meminfo, error) = Meminfo::read(text);
                self.meminfo = meminfo;
                self.errors.extend(error);
            }
            vmstat::PATH => {
                let (vmstat, error) = Vmstat::read(text);
                self.vmstat = vmstat;
                self.errors.extend(error);
            }
            zoneinfo::PATH => self.read_zoneinfo(text)?,
            buddyinfo::PATH => self.buddyinfo = Some(Buddyinfo::parse(text)?),
            pagetypeinfo::PATH => self.pagetypeinfo = Some(Pagetypeinfo::parse(text)?),
            swaps::PATH => self.swaps = Some(Swaps::parse(text)?),
            diskstats::PATH => self.diskstats = Some(Diskstats::parse(text)?),
            stat::PATH => self.cpu = Some(CpuTimes::parse(text)?),
            "proc/pressure/memory" => self.pressure.memory = Some(Psi::parse(path, text)?),
            "proc/pressure/io" => self.pressure.io = Some(Psi::parse(path, text)?),
            "proc/pressure/cpu" => self.pressure.cpu = Some(Psi::parse(path, text)?),
            "proc/sys/kernel/osrelease" => self.release = Some(text.trim_ascii().into()),
            lru_gen::ENABLED => self.lru_gen.enabled = Some(Enabled::parse(text)?),
            lru_gen::MIN_TTL_MS => self.lru_gen.min_ttl = Some(lru_gen::parse_min_ttl(text)?),
            lru_gen::TABLE => self.lru_gen.generations = lru_gen::parse_table(text)?,
            inode_nr::PATH => self.inodes_in_use = Some(inode_nr::parse_in_use(text)?),
            FACTS => self.read_facts(text)?,
            kernel_log::PATH => self.read_report(text),
            _ => self.read_folder(path, text)?,
        }
        Ok(())
    }

    /// A report tells the release and the size of a page, unless files that come later do.
    fn read_report(&mut self, text: &str) {
        self.report = Report::parse(text);
        if let Some(report) = &self.report {
            self.release.clone_from(&report.release);
            self.page = report.page;
            if report.page_told {
                self.page_source = PageSource::Inferred;
            }
        }
    }

    fn read_facts(&mut self, text: &str) -> Result<(), ParseError> {
        let recursive = fact(text, "memory_recursiveprot");
        self.recursive_protection = recursive.map(|(value, _)| value == "yes");
        self.is_live |= fact(text, "reader").is_some();
        if let Some(page) = page_size(text)? {
            self.page = page;
            self.page_source = PageSource::Told;
        }
        Ok(())
    }

    fn read_zoneinfo(&mut self, text: &str) -> Result<(), ParseError> {
        let mut info = Zoneinfo::parse(text)?;
        self.errors.append(&mut info.left_out);
        self.zoneinfo = Some(info);
        Ok(())
    }

    /// A file of a pool: `2048kB/nr_hugepages`.
    fn read_pool(&mut self, path: &str, rest: &str, text: &str) -> Result<(), ParseError> {
        let Some((Ok(size), file)) = rest.split_once("kB/").map(|(size, f)| (size.parse(), f))
        else {
            return Ok(());
        };
        let pool = self.pools.entry(size).or_default();
        match file {
            "nr_hugepages" => pool.all = number(path, text)?,
            "free_hugepages" => pool.free = number(path, text)?,
            "resv_hugepages" => pool.promised = number(path, text)?,
            _ => {}
        }
        Ok(())
    }

    /// A file of a folder that is taken in as a whole.
    fn read_folder(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        if path.starts_with(thp::DIR) {
            return self.thp.get_or_insert_default().read(path, text);
        }
        let pool = path.strip_prefix(folder::HUGEPAGES);
        if let Some(rest) = pool.and_then(|pool| pool.strip_prefix("/hugepages-")) {
            return self.read_pool(path, rest, text);
        }
        if path.starts_with(ksm::DIR) {
            return self.ksm.get_or_insert_default().read(path, text);
        }
        if let Some(process) = ksm::process_of(path) {
            let stat = self.ksm_stats.entry(process.into()).or_default();
            return stat.read(path, text);
        }
        if let Some((device, _)) = bdi::device_of(path) {
            return self.bdi.entry(device.into()).or_default().read(path, text);
        }
        if let Some(device) = bdi::stats_of(path) {
            let stats = bdi::Stats::parse(path, text)?;
            self.writeback.insert(device.into(), stats);
            return Ok(());
        }
        if let Some((device, _)) = zram::device_of(path) {
            return self.zram.entry(device.into()).or_default().read(path, text);
        }
        if let Some(group) = memcg::group_of(path) {
            let memcg = self.memcgs.entry(group.into()).or_default();
            return memcg.read(path, text);
        }
        Ok(())
    }
}

/// The value of a fact, and the line it stands on.
fn fact<'a>(text: &'a str, key: &str) -> Option<(&'a str, usize)> {
    let mut facts = text.lines().zip(1..);
    facts.find_map(|(fact, line)| {
        let (name, value) = fact.split_once('\t')?;
        (name == key).then_some((value.trim_ascii(), line))
    })
}

/// The page size that the note of facts tells.
fn page_size(text: &str) -> Result<Option<PageSize>, ParseError> {
    let Some((size, line)) = fact(text, "page_size") else {
        return Ok(None);
    };
    let page = size.parse().ok().and_then(PageSize::new);
    page.map(Some).ok_or_else(|| {
        ParseError::new(
            FACTS,
            line,
            "page_size",
            "a power of two from 4096 to 65536",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kib;

    fn frame(files: &[(&str, &str)]) -> Frame {
        let files = files.iter().map(|&(path, text)| (path.into(), text.into()));
        Frame {
            at: Nanos(7),
            label: Some("idle".into()),
            files: files.collect(),
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_does_not_lose_the_others() {
        let snapshot = Snapshot::parse(&frame(&[
            ("proc/meminfo", "MemTotal: 8 kB\n"),
            ("proc/vmstat", "pgfault many\n"),
            ("sys/kernel/mm/ksm/pages_sharing", "5\n"),
            ("sys/kernel/mm/ksm/run", "yes\n"),
            ("proc/pressure/memory", "nonsense"),
        ]));
        let meminfo = snapshot.meminfo.as_ref().expect("meminfo");
        assert_eq!(meminfo.mem_total, Some(Kib(8)));
        assert_eq!(snapshot.vmstat, None);
        let ksm = snapshot.ksm.as_ref().expect("ksm");
        assert_eq!(
            (ksm.numbers.pages_sharing, ksm.numbers.run),
            (Some(5), None)
        );
        let files: Vec<_> = snapshot.errors.iter().map(|e| e.file.as_str()).collect();
        assert_eq!(
            files,
            [
                "proc/pressure/memory",
                "proc/vmstat",
                "sys/kernel/mm/ksm/run"
            ]
        );
    }

    #[test]
    fn tunables_are_found_by_the_catalogues_names() {
        let snapshot = Snapshot::parse(&frame(&[
            ("proc/sys/vm/swappiness", "60\n"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "[always] madvise never\n",
            ),
            ("sys/kernel/mm/lru_gen/enabled", "0x0007\n"),
        ]));
        assert_eq!(snapshot.number("vm.swappiness"), Some(60));
        assert_eq!(snapshot.tunable("thp.enabled"), Some("always"));
        assert_eq!(snapshot.lru_gen.enabled, Some(Enabled(7)));
        assert_eq!(snapshot.tunable("vm.dirty_ratio"), None);
        assert!(snapshot.errors.is_empty());
    }

    #[test]
    fn groups_and_facts_are_read() {
        let snapshot = Snapshot::parse(&frame(&[
            ("sys/fs/cgroup/a/memory.current", "4096"),
            ("sys/fs/cgroup/memory.stat", "anon 1"),
            (
                FACTS,
                "reader\troot\npage_size\t65536\nmemory_recursiveprot\tyes\n",
            ),
            ("sys/block/zram1/disksize", "4096\n"),
        ]));
        assert_eq!(snapshot.recursive_protection, Some(true));
        assert!(snapshot.zram.keys().eq(["zram1"]));
        assert!(snapshot.memcgs.keys().eq(["", "a"]));
        assert_eq!(snapshot.page.bytes(), 65536);
        assert_eq!(
            (snapshot.at, snapshot.label.as_deref()),
            (Nanos(7), Some("idle"))
        );
    }

    #[test]
    fn the_page_size_is_told_or_forced_by_the_numbers_or_assumed() {
        let source = |files: &[(&str, &str)]| {
            let snapshot = Snapshot::parse(&frame(files));
            (snapshot.page.kib(), snapshot.page_source)
        };
        let meminfo = (
            "proc/meminfo",
            "MemTotal: 8000000 kB\nMemFree: 4000000 kB\n",
        );
        let vmstat = ("proc/vmstat", "nr_free_pages 62600\n");
        assert_eq!(source(&[meminfo]), (4, PageSource::Assumed));
        assert_eq!(source(&[meminfo, vmstat]), (64, PageSource::Inferred));
        let told = (FACTS, "page_size\t16384\n");
        assert_eq!(source(&[meminfo, vmstat, told]), (16, PageSource::Told));
    }

    #[test]
    fn pools_of_huge_pages_are_read_by_size() {
        let pool = |file: &str| alloc::format!("sys/kernel/mm/hugepages/hugepages-{file}");
        let (all, free) = (
            pool("1048576kB/nr_hugepages"),
            pool("1048576kB/free_hugepages"),
        );
        let snapshot = Snapshot::parse(&frame(&[(&all, "16\n"), (&free, "4\n")]));
        let read = Pool {
            all: 16,
            free: 4,
            promised: 0,
        };
        assert_eq!(snapshot.pools.get(&1_048_576), Some(&read));
        assert!(snapshot.has_sys_mm && !snapshot.is_live);
    }

    #[test]
    fn an_empty_frame_is_an_empty_snapshot() {
        assert_eq!(Snapshot::parse(&Frame::default()), Snapshot::default());
    }
}
