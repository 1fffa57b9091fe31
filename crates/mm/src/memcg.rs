//! Control groups' memory files, cgroup v2 and, where its files differ, v1.

use core::convert::identity;
use core::fmt;

use crate::items::{Items, named_numbers};
use crate::psi::Psi;
use crate::text::{ParseError, lines, number};
use crate::units::Bytes;

/// A limit or a protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// None, or all: the file says `max`.
    Max,
    /// So many bytes.
    Bytes(Bytes),
}

/// Files by which a group of v1 is known.
const V1_NAMES: [&str; 2] = ["memory.usage_in_bytes", "memory.limit_in_bytes"];

named_numbers!(
    /// `memory.stat`: bytes for amounts, events for the rest. Names that only v1 has (`cache`,
    /// `rss`, `total_*`) are found in [`MemoryStat::other`].
    MemoryStat(u64, identity) {
        /// Anonymous memory, in bytes.
        anon = "anon",
        /// Page cache, shmem included, in bytes.
        file = "file",
        /// Kernel memory, in bytes.
        kernel = "kernel",
        /// tmpfs and shared anonymous memory, in bytes.
        shmem = "shmem",
        /// Mapped file pages, in bytes.
        file_mapped = "file_mapped",
        /// Dirty file pages, in bytes.
        file_dirty = "file_dirty",
        /// File pages under writeback, in bytes.
        file_writeback = "file_writeback",
        /// In memory and in swap, in bytes.
        swapcached = "swapcached",
        /// Inactive list of anonymous pages, in bytes.
        inactive_anon = "inactive_anon",
        /// Active list of anonymous pages, in bytes.
        active_anon = "active_anon",
        /// Inactive list of file pages, in bytes.
        inactive_file = "inactive_file",
        /// Active list of file pages, in bytes.
        active_file = "active_file",
        /// Pages that reclaim passes over, in bytes.
        unevictable = "unevictable",
        /// Slab that can be reclaimed, in bytes.
        slab_reclaimable = "slab_reclaimable",
        /// Slab that cannot, in bytes.
        slab_unreclaimable = "slab_unreclaimable",
        /// Refaults of anonymous pages.
        workingset_refault_anon = "workingset_refault_anon",
        /// Refaults of file pages.
        workingset_refault_file = "workingset_refault_file",
        /// Refaulted anonymous pages that were activated at once.
        workingset_activate_anon = "workingset_activate_anon",
        /// Refaulted file pages that were activated at once.
        workingset_activate_file = "workingset_activate_file",
        /// Page faults.
        pgfault = "pgfault",
        /// Page faults that needed I/O.
        pgmajfault = "pgmajfault",
        /// Pages scanned.
        pgscan = "pgscan",
        /// Pages reclaimed.
        pgsteal = "pgsteal",
    }
);

/// The memory files of one control group. A field is `None` where the file is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memcg {
    /// A group of a v1 hierarchy, by the names of its files.
    pub is_v1: bool,
    /// `memory.current`, in v1 `memory.usage_in_bytes`.
    pub current: Option<Bytes>,
    /// `memory.peak`, in v1 `memory.max_usage_in_bytes`.
    pub peak: Option<Bytes>,
    /// `memory.min`: never reclaimed.
    pub min: Option<Limit>,
    /// `memory.low`: reclaimed only when nothing else is left.
    pub low: Option<Limit>,
    /// `memory.high`: above it the group is throttled and reclaimed.
    pub high: Option<Limit>,
    /// `memory.max`, in v1 `memory.limit_in_bytes`.
    pub max: Option<Limit>,
    /// `memory.soft_limit_in_bytes`; v1 only.
    pub soft_limit: Option<Limit>,
    /// `memory.memsw.limit_in_bytes`, of memory and swap together; v1 only.
    pub memsw_limit: Option<Limit>,
    /// How often the limit was hit: `memory.failcnt`; v1 only.
    pub failures: Option<u64>,
    /// `memory.swap.current`.
    pub swap_current: Option<Bytes>,
    /// `memory.swap.max`.
    pub swap_max: Option<Limit>,
    /// `memory.zswap.max`.
    pub zswap_max: Option<Limit>,
    /// `memory.swappiness`; v1 only.
    pub swappiness: Option<u64>,
    /// `memory.stat`.
    pub stat: Option<MemoryStat>,
    /// `memory.events`, in v1 `memory.oom_control`.
    pub events: Option<Items>,
    /// `memory.pressure`.
    pub pressure: Option<Psi>,
    /// `pids.max`: tasks that it may have; `None` where there is no such bound or the file is
    /// missing.
    pub pids_max: Option<u64>,
    /// How often a fork was refused for it: `max` in `pids.events`.
    pub forks_refused: Option<u64>,
}

impl Limit {
    /// From here on a limit of v1 is none: the largest number of bytes in whole pages.
    const V1_UNLIMITED: u64 = 0x7fff_ffff_ffff_0000;

    /// The bytes of a limit that is one.
    #[must_use]
    pub fn bytes(self) -> Option<Bytes> {
        match self {
            Self::Max => None,
            Self::Bytes(bytes) => Some(bytes),
        }
    }

    /// Reads a limit's text; `file` names it in errors.
    ///
    /// # Errors
    /// Where it is neither `max` nor a number of bytes.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        match text.trim_ascii() {
            "max" => Ok(Self::Max),
            digits => match digits.parse() {
                Ok(Self::V1_UNLIMITED..) => Ok(Self::Max),
                Ok(bytes) => Ok(Self::Bytes(Bytes(bytes))),
                Err(_) => Err(ParseError::new(
                    file,
                    1,
                    text,
                    "\"max\" or a number of bytes",
                )),
            },
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

impl MemoryStat {
    /// Reads the text of `memory.stat`; `file` names it in errors.
    ///
    /// # Errors
    /// The first line that is not "NAME NUMBER".
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut stat = Self::default();
        for line in lines(file, text) {
            let (item, value) = line.key_number()?;
            stat.set(item, value);
        }
        Ok(stat)
    }
}

impl Memcg {
    /// The number of an event of `memory.events`; `None` where it is not told.
    #[must_use]
    pub fn event(&self, name: &str) -> Option<u64> {
        self.events.as_ref()?.get(name)
    }

    /// Whether anything is set that bounds or protects its memory.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        let limits = [
            self.high,
            self.max,
            self.swap_max,
            self.zswap_max,
            self.soft_limit,
        ];
        let limited = |limit: &Option<Limit>| limit.is_some_and(|limit| limit != Limit::Max);
        self.is_protected() || limits.iter().any(limited) || limited(&self.memsw_limit)
    }

    /// Whether `memory.min` or `memory.low` is set.
    #[must_use]
    pub fn is_protected(&self) -> bool {
        let none = Some(Limit::Bytes(Bytes::ZERO));
        let set = |limit: Option<Limit>| limit.is_some() && limit != none;
        set(self.min) || set(self.low)
    }

    /// Takes in one of the group's files, by path or name; files that this parser does not know are
    /// passed over.
    ///
    /// # Errors
    /// Where the file does not hold what it should.
    pub fn read(&mut self, path: &str, text: &str) -> Result<(), ParseError> {
        let bytes = || number(path, text).map(Bytes).map(Some);
        let limit = || Limit::parse(path, text).map(Some);
        let name = path.rsplit('/').next().unwrap_or(path);
        self.is_v1 |= V1_NAMES.contains(&name);
        match name {
            "memory.current" | "memory.usage_in_bytes" => self.current = bytes()?,
            "memory.peak" | "memory.max_usage_in_bytes" => self.peak = bytes()?,
            "memory.min" => self.min = limit()?,
            "memory.low" => self.low = limit()?,
            "memory.high" => self.high = limit()?,
            "memory.max" | "memory.limit_in_bytes" => self.max = limit()?,
            "memory.soft_limit_in_bytes" => self.soft_limit = limit()?,
            "memory.swap.current" => self.swap_current = bytes()?,
            "memory.swap.max" => self.swap_max = limit()?,
            "memory.memsw.limit_in_bytes" => self.memsw_limit = limit()?,
            "memory.failcnt" => self.failures = Some(number(path, text)?),
            "memory.zswap.max" => self.zswap_max = limit()?,
            "memory.swappiness" => self.swappiness = Some(number(path, text)?),
            "memory.stat" => self.stat = Some(MemoryStat::parse(path, text)?),
            "memory.events" | "memory.oom_control" => self.events = Some(Items::parse(path, text)?),
            "memory.pressure" => self.pressure = Some(Psi::parse(path, text)?),
            "pids.max" if text.trim_ascii() != "max" => self.pids_max = Some(number(path, text)?),
            "pids.events" => self.forks_refused = Items::parse(path, text)?.get("max"),
            _ => {}
        }
        Ok(())
    }
}

/// The control group that a file belongs to: the part of its path between `sys/fs/cgroup/` and the
/// file's name, empty for the root; `None` for files of neither memory nor pids.
#[must_use]
pub fn group_of(path: &str) -> Option<&str> {
    let below = path.strip_prefix("sys/fs/cgroup/")?;
    let (group, name) = below.rsplit_once('/').unwrap_or(("", below));
    let ours = ["memory.", "pids."];
    ours.iter()
        .any(|controller| name.starts_with(controller))
        .then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Memcg {
        let mut memcg = Memcg::default();
        for (path, text) in files {
            memcg.read(path, text).expect("a file of the group");
        }
        memcg
    }

    #[test]
    fn a_v2_group_is_read() {
        let memcg = read(&[
            ("sys/fs/cgroup/db/memory.current", "4096\n"),
            ("sys/fs/cgroup/db/memory.max", "max\n"),
            ("sys/fs/cgroup/db/memory.low", "1073741824\n"),
            (
                "sys/fs/cgroup/db/memory.stat",
                "anon 1\nfile 2\nthp_fault_alloc 3\n",
            ),
            ("sys/fs/cgroup/db/memory.events", "low 0\noom_kill 2\n"),
            ("sys/fs/cgroup/db/cgroup.procs", "1\n"),
        ]);
        assert_eq!(memcg.current, Some(Bytes(4096)));
        assert_eq!(memcg.max, Some(Limit::Max));
        assert_eq!(memcg.low, Some(Limit::Bytes(Bytes::GIB)));
        let stat = memcg.stat.as_ref().expect("a stat");
        assert_eq!((stat.anon, stat.get("thp_fault_alloc")), (Some(1), Some(3)));
        assert_eq!(
            (memcg.event("oom_kill"), memcg.event("oom")),
            (Some(2), None)
        );
        assert!(memcg.is_bound() && memcg.is_protected() && !memcg.is_v1);
    }

    #[test]
    fn v1_names_mean_the_same() {
        let memcg = read(&[
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "8192"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712",
            ),
        ]);
        assert_eq!(
            (memcg.current, memcg.max),
            (Some(Bytes(8192)), Some(Limit::Max))
        );
        assert!(memcg.is_v1 && !memcg.is_bound());
        let limited = read(&[("memory/a/memory.memsw.limit_in_bytes", "4096")]);
        assert!(limited.is_bound());
    }

    #[test]
    fn a_file_belongs_to_the_group_in_its_path() {
        assert_eq!(group_of("sys/fs/cgroup/memory.stat"), Some(""));
        assert_eq!(group_of("sys/fs/cgroup/a/b/memory.max"), Some("a/b"));
        assert_eq!(group_of("sys/fs/cgroup/a/b/cpu.stat"), None);
        assert_eq!(group_of("proc/meminfo"), None);
    }

    #[test]
    fn a_limit_that_is_none_is_named() {
        let error = Limit::parse("memory.max", "lots\n").expect_err("no limit");
        assert_eq!(error.item, "lots");
    }
}
