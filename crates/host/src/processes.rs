//! Which processes there are, and what each says of its memory.

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use mm::process::{KsmStat, Status};
use mm::text::one_line;
use mm::units::{Bytes, PageSize, Pages};

use crate::Root;
use crate::root::reason;

/// A process that has memory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The command's name.
    pub name: String,
    /// Its anonymous memory in RAM.
    pub rss_anon: Bytes,
    /// Its anonymous memory in swap.
    pub swap: Bytes,
    /// What KSM did for it; `None` on kernels that do not say.
    pub ksm: Option<KsmStat>,
}

/// Why there is nothing to look at in a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMemory {
    /// No process has the number.
    #[error("there is no such process")]
    Gone,
    /// It ended, and its parent did not ask for its exit code yet.
    #[error("it has ended and holds no memory any more (a zombie)")]
    Ended,
    /// It is one of the kernel's.
    #[error("it is a kernel thread and has no memory of its own")]
    KernelThread,
    /// The system does not let us look.
    #[error("{0}")]
    Refused(String),
}

/// Why a control group gives no processes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGroup {
    /// There is none of the name.
    #[error("no such control group; it is looked for below {0}")]
    Unknown(String),
    /// Nobody is in it or below it.
    #[error("there is no process in this control group or below it")]
    Empty,
    /// The system does not let us look.
    #[error("{0}")]
    Refused(String),
}

/// Where the memory controller's groups may be: v2, v2 beside v1, and v1.
const HIERARCHIES: [&str; 3] = [
    "sys/fs/cgroup",
    "sys/fs/cgroup/unified",
    "sys/fs/cgroup/memory",
];

/// Groups below the named one that are looked at.
const GROUPS: usize = 4096;

/// The numbers of all processes that can be seen, in ascending order.
#[must_use]
pub fn all(root: &Root) -> Vec<u32> {
    let names = root.directories("proc").into_iter();
    let mut pids: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Users of the system begin at 0, those of systemd's `DynamicUser=` at 61184, people at 1000
/// (`UID_MIN`).
const PEOPLE: u32 = 1000;
const DYNAMIC: std::ops::RangeInclusive<u32> = 61_184..=65_519;

/// Whether a user is one of the system: root, or one that services run as.
#[must_use]
pub fn is_of_system(uid: u32) -> bool {
    uid < PEOPLE || DYNAMIC.contains(&uid)
}

/// The name that the kernel has for a process (`/proc/PID/comm`) of the system. Others call their
/// processes as they like; `None` for theirs, and where it has ended.
#[must_use]
pub fn name_of_service(root: &Root, pid: u32) -> Option<String> {
    let owner = std::fs::metadata(root.join(&format!("proc/{pid}")))
        .ok()?
        .uid();
    let comm = root.read(&format!("proc/{pid}/comm")).ok()?;
    is_of_system(owner).then(|| comm.trim().to_owned())
}

/// The numbers of the system's processes of a name, in ascending order.
pub fn services(root: &Root, name: &str) -> impl Iterator<Item = u32> {
    let is_it = move |pid: &u32| name_of_service(root, *pid).is_some_and(|it| it == name);
    all(root).into_iter().filter(is_it)
}

/// When a process started, in ticks since boot: with its number that is nobody else's. `None` where
/// it has ended.
#[must_use]
pub fn started(root: &Root, pid: u32) -> Option<u64> {
    let stat = root.read(&format!("proc/{pid}/stat")).ok()?;
    // The name is in brackets, and may hold whatever it likes.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}

/// The processes of a control group and of the groups below it, in ascending order. `group` is its
/// path from the root of the hierarchy, as in `/proc/PID/cgroup`, or as it is mounted.
///
/// # Errors
/// Where there is no such group, it may not be read, or nobody is in it.
pub fn of_group(root: &Root, group: &str) -> Result<Vec<u32>, NoGroup> {
    let group = group.trim_matches('/');
    let group = group.strip_prefix("sys/fs/cgroup").unwrap_or(group);
    let group = group.trim_matches('/');
    let candidates = HIERARCHIES.map(|mount| format!("{mount}/{group}"));
    let known = |path: &&String| root.is_file(&format!("{path}/cgroup.procs"));
    let outside = group.split('/').any(|part| part == "..");
    let found = candidates.iter().find(known).filter(|_| !outside);
    let Some(top) = found else {
        return Err(NoGroup::Unknown("/sys/fs/cgroup".to_owned()));
    };
    let mut pids = Vec::new();
    let mut groups = vec![top.trim_end_matches('/').to_owned()];
    let mut at = 0;
    while at < groups.len() && at < GROUPS {
        let path = groups[at].clone();
        match root.read(&format!("{path}/cgroup.procs")) {
            Ok(text) => pids.extend(text.lines().filter_map(|line| line.parse::<u32>().ok())),
            Err(error) if at == 0 => return Err(NoGroup::Refused(reason(&error))),
            // A group below that is removed just now has no processes.
            Err(_) => {}
        }
        let below = root.directories(&path).into_iter();
        groups.extend(below.map(|name| format!("{path}/{name}")));
        at += 1;
    }
    pids.sort_unstable();
    pids.dedup();
    match pids.is_empty() {
        true => Err(NoGroup::Empty),
        false => Ok(pids),
    }
}

/// What every process has resident, as `ps -e -o pid,rss,comm` lists it: for the screen of whoever
/// asks, and no capture. `page` is the size of a page.
#[must_use]
pub fn table(root: &Root, page: PageSize) -> String {
    let mut table = String::from("PID RSS COMMAND\n");
    for pid in all(root) {
        let resident = root.read(&format!("proc/{pid}/statm")).ok();
        let resident = resident.and_then(|text| text.split(' ').nth(1)?.parse().ok());
        let Some(resident) = resident.filter(|&pages| pages > 0) else {
            continue;
        };
        if let Ok(name) = root.read(&format!("proc/{pid}/comm")) {
            let kib = Pages(resident).bytes(page).0 / 1024;
            let name = one_line(name.trim_end_matches('\n'));
            // Writing to a string does not fail.
            _ = writeln!(table, "{pid} {kib} {name}");
        }
    }
    table
}

impl Process {
    /// Looks at one.
    ///
    /// # Errors
    /// Where it has no memory, or the system does not tell.
    pub fn read(root: &Root, pid: u32) -> Result<Self, NoMemory> {
        let path = format!("proc/{pid}/status");
        let text = root.read(&path).map_err(|error| no_memory(&error))?;
        let status = Status::parse(&path, &text);
        let status = status.map_err(|error| NoMemory::Refused(error.to_string()))?;
        let rss_anon = match (status.rss_anon, status.state) {
            (Some(bytes), _) => bytes,
            (None, Some('Z' | 'X')) => return Err(NoMemory::Ended),
            (None, _) => return Err(NoMemory::KernelThread),
        };
        let path = format!("proc/{pid}/ksm_stat");
        let ksm = root.read(&path).ok();
        Ok(Self {
            pid,
            name: status.name,
            rss_anon,
            swap: status.swap,
            ksm: ksm.and_then(|text| KsmStat::parse(&path, &text).ok()),
        })
    }
}

fn no_memory(error: &io::Error) -> NoMemory {
    if is_gone(error) {
        NoMemory::Gone
    } else {
        NoMemory::Refused(reason(error))
    }
}

/// Whether an error says that the process has ended: it has no files any more, or ended while one
/// was read.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    let ended = error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
    ended || error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::root;

    #[test]
    fn a_process_a_thread_of_the_kernel_and_a_zombie_are_told_apart() {
        let (_directory, root) = root(&[
            (
                "proc/7/status",
                "Name:\tdb\nState:\tS (sleeping)\nRssAnon:\t8 kB\n",
            ),
            ("proc/7/ksm_stat", "ksm_merging_pages 3\n"),
            ("proc/2/status", "Name:\tkthreadd\nState:\tS (sleeping)\n"),
            ("proc/9/status", "Name:\tgone\nState:\tZ (zombie)\n"),
            ("proc/11/status", "Name:\todd\nRssAnon:\tx kB\n"),
            ("proc/sys/vm/swappiness", "60\n"),
        ]);
        assert_eq!(all(&root), [2, 7, 9, 11]);
        let process = Process::read(&root, 7).expect("a process");
        assert_eq!(
            (process.name.as_str(), process.rss_anon),
            ("db", Bytes(8 << 10))
        );
        let merging = process.ksm.and_then(|ksm| ksm.numbers.merging_pages);
        assert_eq!(merging, Some(3));
        assert_eq!(Process::read(&root, 2), Err(NoMemory::KernelThread));
        assert_eq!(Process::read(&root, 9), Err(NoMemory::Ended));
        assert_eq!(Process::read(&root, 8), Err(NoMemory::Gone));
        assert!(matches!(
            Process::read(&root, 11),
            Err(NoMemory::Refused(_))
        ));
    }

    #[test]
    fn a_process_is_known_by_its_number_and_when_it_started() {
        let stat = |state: &str| format!("7 (a) Z) {state} {}55 9\n", "1 ".repeat(18));
        let (_directory, root) = root(&[
            ("proc/7/stat", &stat("S")),
            ("proc/8/stat", &stat("Z")),
            ("proc/9/stat", "9 (a) S 1\n"),
        ]);
        assert_eq!(
            [7, 8, 9, 10].map(|pid| started(&root, pid)),
            [Some(55), None, None, None]
        );
        assert!(started(&Root::default(), std::process::id()).is_some());
    }

    #[test]
    fn a_group_stands_for_those_below_it_in_whichever_hierarchy() {
        let (_directory, root) = root(&[
            ("sys/fs/cgroup/a/cgroup.procs", "9\n"),
            ("sys/fs/cgroup/a/b/cgroup.procs", "7\n8\n"),
            ("sys/fs/cgroup/empty/cgroup.procs", ""),
            ("sys/fs/cgroup/memory/old/cgroup.procs", "5\n"),
        ]);
        for name in ["a", "/a", "/a/", "/sys/fs/cgroup/a"] {
            assert_eq!(of_group(&root, name), Ok(vec![7, 8, 9]), "{name}");
        }
        assert_eq!(of_group(&root, "/old"), Ok(vec![5]));
        assert_eq!(of_group(&root, "empty"), Err(NoGroup::Empty));
        for unknown in ["/c", "a/../a", "../../proc"] {
            let error = of_group(&root, unknown).expect_err(unknown);
            assert!(matches!(error, NoGroup::Unknown(_)), "{error}");
        }
    }
}
