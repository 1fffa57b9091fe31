//! Control groups: which are read, and what of each.
//!
//! A machine may have thousands. Read are the reader's own and those above it, those with a limit,
//! a protection or a kill, and the groups above these; how many were left out is noted. Groups come
//! and go while they are read: what is gone leaves no trace. Who asks for the largest gets those
//! instead, bound or not, with what they use and what was reclaimed from them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

use mm::hierarchy::ancestors;
use mm::memcg::Memcg;
use mm::units::Bytes;

use crate::Root;

/// Groups that are looked at.
const VISITED: usize = 2048;

/// Groups with a limit or a protection whose files are kept.
const KEPT: usize = 128;

/// Levels of the reader's own group and those above.
const LEVELS: usize = 16;

/// Files that may not be read and are noted one by one.
const REFUSALS: usize = 4;

/// A hierarchy with the memory controller.
struct Hierarchy {
    /// Where it is mounted.
    mount: &'static str,
    /// What `proc/PID/cgroup` calls it.
    controller: &'static str,
    /// Files that say whether a group is bound.
    probes: &'static [&'static str],
    /// The other files that are kept.
    others: &'static [&'static str],
    /// The file that says how much a group uses.
    usage: &'static str,
    /// The files that say what became of its pages.
    moves: &'static [&'static str],
}

const V2: Hierarchy = Hierarchy {
    mount: "sys/fs/cgroup",
    controller: "",
    probes: &[
        "memory.min",
        "memory.low",
        "memory.high",
        "memory.max",
        "memory.swap.max",
        "memory.zswap.max",
        "memory.events",
    ],
    others: &[
        "memory.current",
        "memory.peak",
        "memory.swap.current",
        "memory.zswap.current",
        "memory.stat",
        "memory.pressure",
        "pids.max",
        "pids.events",
    ],
    usage: "memory.current",
    moves: &["memory.stat", "memory.pressure", "memory.events"],
};

const V1: Hierarchy = Hierarchy {
    mount: "sys/fs/cgroup/memory",
    controller: "memory",
    probes: &[
        "memory.limit_in_bytes",
        "memory.soft_limit_in_bytes",
        "memory.memsw.limit_in_bytes",
        "memory.oom_control",
    ],
    others: &[
        "memory.usage_in_bytes",
        "memory.max_usage_in_bytes",
        "memory.failcnt",
        "memory.swappiness",
        "memory.stat",
    ],
    usage: "memory.usage_in_bytes",
    moves: &["memory.stat"],
};

/// The groups of a hierarchy, looked at from the root down.
#[derive(Debug, Default)]
struct Walk {
    /// Those with a limit, a protection or a kill, the highest first.
    bound: Vec<String>,
    visited: usize,
    /// Those that would be in `bound` too.
    too_many: usize,
    /// Those whose names are not UTF-8: a user may give any to groups of its own.
    unnamed: usize,
    unvisited: usize,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Files by path.
    pub(crate) files: BTreeMap<String, String>,
    /// Files that may not be read, with the system's reason.
    pub(crate) refused: Vec<(String, String)>,
    refusals: usize,
    unbound: usize,
    bound: usize,
    unvisited: usize,
}

/// The control group of a thread or process to which its memory is charged, by its path without the
/// leading slash, which is empty for the root; `None` where it ended, or that lies outside of what
/// is seen here.
#[must_use]
pub fn of(root: &Root, thread: u32) -> Option<String> {
    let text = root.read(&format!("proc/{thread}/cgroup")).ok()?;
    // Where version 1 has the memory controller, version 2 has not.
    V1.group_in(&text).or_else(|| V2.group_in(&text))
}

/// What a group has beside the page cache that can be reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// All of it: anonymous memory, that of tmpfs and the kernel's.
    pub all: Bytes,
    /// What of it is anonymous.
    pub anonymous: Bytes,
}

/// What a group and those below it have beside the page cache; `None` where it is not told.
#[must_use]
pub fn used(root: &Root, group: &str) -> Option<Used> {
    let hierarchy = [V2, V1].into_iter().find(|it| it.has_memory(root))?;
    let mut memcg = Memcg::default();
    for file in hierarchy.others {
        let path = format!("{}/{file}", hierarchy.directory(group));
        if let Ok(text) = root.look(&path) {
            // What is malformed is not told.
            let _ = memcg.read(&path, &text);
        }
    }
    let stat = memcg.stat?;
    let [cache, shmem, anonymous] = match memcg.is_v1 {
        true => ["total_cache", "total_shmem", "total_rss"],
        false => ["file", "shmem", "anon"],
    };
    let cache = stat.get(cache)?.saturating_sub(stat.get(shmem)?);
    let all = memcg.current?.0.saturating_sub(cache);
    Some(Used {
        all: Bytes(all),
        anonymous: Bytes(stat.get(anonymous).unwrap_or(0).min(all)),
    })
}

/// Reads the control groups of both versions.
pub(crate) fn read(root: &Root) -> Groups {
    let mut groups = Groups::default();
    for hierarchy in [V2, V1] {
        groups.hierarchy(root, &hierarchy);
    }
    if let Some(more) = groups
        .refusals
        .checked_sub(REFUSALS)
        .filter(|&more| more > 0)
    {
        let path = "sys/fs/cgroup".to_owned();
        let reason = format!("{more} further files of control groups may not be read");
        groups.refused.push((path, reason));
    }
    groups
}

/// The files of the groups that use most memory, this many at most: what each uses, and what became
/// of its pages. Beyond 2048 groups none is looked at.
pub(crate) fn largest(root: &Root, count: usize) -> BTreeMap<String, String> {
    let mut all = Vec::new();
    for hierarchy in [&V2, &V1] {
        Walk::each(root, hierarchy, |group| {
            let directory = hierarchy.directory(group);
            let path = format!("{directory}/{}", hierarchy.usage);
            if let Ok(text) = root.look(&path)
                && let Ok(bytes) = text.trim().parse::<u64>()
            {
                all.push((bytes, directory, path, text, hierarchy.moves));
            }
        });
    }
    all.sort_by_key(|(bytes, ..)| Reverse(*bytes));
    let mut files = BTreeMap::new();
    for (_, directory, path, text, moves) in all.into_iter().take(count) {
        files.insert(path, text);
        let paths = moves.iter().map(|file| format!("{directory}/{file}"));
        files.extend(paths.filter_map(|path| root.look(&path).ok().map(|text| (path, text))));
    }
    files
}

impl Groups {
    /// The note of what was left out; `None` where nothing was.
    pub(crate) fn note(&self) -> Option<String> {
        let Self {
            unbound,
            bound,
            unvisited,
            ..
        } = self;
        let any = unbound + bound + unvisited > 0;
        any.then(|| format!("unbound\t{unbound}\nbound\t{bound}\nunvisited\t{unvisited}\n"))
    }

    fn hierarchy(&mut self, root: &Root, hierarchy: &Hierarchy) {
        let walk = Walk::over(root, hierarchy);
        let mut kept = with_those_above(&hierarchy.own_group(root));
        kept.extend(walk.bound.iter().flat_map(|group| with_those_above(group)));
        for group in &kept {
            let directory = hierarchy.directory(group);
            for file in hierarchy.probes.iter().chain(hierarchy.others) {
                let path = format!("{directory}/{file}");
                if let Some(text) = self.file(root, &path) {
                    self.files.insert(path, text);
                }
            }
        }
        let there = |group: &&String| root.is_directory(&hierarchy.directory(group));
        let there = kept.iter().filter(there).count();
        self.unbound += walk.visited.saturating_sub(there + walk.too_many);
        self.bound += walk.too_many;
        self.unvisited += walk.unvisited;
    }

    /// A file of a group that is kept; nothing where the group or the file is gone.
    fn file(&mut self, root: &Root, path: &str) -> Option<String> {
        let error = match root.look(path) {
            Ok(text) => return Some(text),
            Err(error) => error,
        };
        if is_gone(&error) {
            return None;
        }
        self.refusals += 1;
        if self.refusals <= REFUSALS {
            let reason = crate::root::reason(&error);
            self.refused.push((path.to_owned(), reason));
        }
        None
    }
}

impl Walk {
    fn over(root: &Root, hierarchy: &Hierarchy) -> Self {
        let (mut bound, mut too_many) = (Vec::new(), 0);
        let walk = Self::each(root, hierarchy, |group| {
            match hierarchy.binds(root, group) {
                true if bound.len() < KEPT => bound.push(group.to_owned()),
                true => too_many += 1,
                false => {}
            }
        });
        Self {
            bound,
            too_many,
            ..walk
        }
    }

    /// Shows each group that is looked at, the highest first, and counts them.
    fn each(root: &Root, hierarchy: &Hierarchy, mut show: impl FnMut(&str)) -> Self {
        let (mut walk, mut queue) = (Self::default(), VecDeque::new());
        if hierarchy.has_memory(root) {
            queue.push_back(String::new());
        }
        while walk.visited < VISITED {
            let Some(group) = queue.pop_front() else {
                break;
            };
            walk.visited += 1;
            let (below, others) = root.directories_counted(&hierarchy.directory(&group));
            walk.unnamed += others;
            let path = |name| match group.as_str() {
                "" => name,
                group => format!("{group}/{name}"),
            };
            queue.extend(below.into_iter().map(path));
            show(&group);
        }
        walk.unvisited = queue.len() + walk.unnamed;
        walk
    }
}

impl Hierarchy {
    /// The reader's own group, where it lies below what is mounted.
    fn own_group(&self, root: &Root) -> String {
        let membership = root.look("proc/self/cgroup").unwrap_or_default();
        self.group_in(&membership).unwrap_or_default()
    }

    /// The group of a task in this hierarchy, where it lies below what is mounted.
    fn group_in(&self, membership: &str) -> Option<String> {
        let mut lines = membership.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        });
        let is_ours = |controllers: &str| controllers.split(',').any(|it| it == self.controller);
        let (_, path) = lines.find(|(controllers, _)| is_ours(controllers))?;
        let group = path.strip_prefix('/')?;
        let is_outside = group.split('/').any(|name| name == "..");
        (!is_outside).then(|| group.to_owned())
    }

    /// Whether a group has a limit, a protection or a kill.
    fn binds(&self, root: &Root, group: &str) -> bool {
        let directory = self.directory(group);
        let mut memcg = Memcg::default();
        for file in self.probes {
            let path = format!("{directory}/{file}");
            if let Ok(text) = root.look(&path) {
                // What is malformed is for the reader of the capture to say.
                let _ = memcg.read(&path, &text);
            }
        }
        memcg.is_bound() || memcg.event("oom_kill").is_some_and(|kills| kills > 0)
    }

    fn directory(&self, group: &str) -> String {
        match group {
            "" => self.mount.to_owned(),
            group => format!("{}/{group}", self.mount),
        }
    }

    /// Whether this hierarchy has the memory controller: of v2 the root lists it, v1 has its own
    /// mount.
    fn has_memory(&self, root: &Root) -> bool {
        let controllers = root.look(&format!("{}/cgroup.controllers", self.mount));
        match controllers {
            Ok(controllers) => controllers.split_whitespace().any(|name| name == "memory"),
            Err(_) => root.is_file(&format!("{}/memory.limit_in_bytes", self.mount)),
        }
    }
}

/// The group and those above it, the root included.
fn with_those_above(group: &str) -> BTreeSet<String> {
    let group = group.trim_matches('/');
    let mut groups: BTreeSet<String> = ancestors(group).take(LEVELS).map(str::to_owned).collect();
    groups.insert(group.to_owned());
    groups
}

/// A group that was removed has no files, or files without a device.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error())
}

#[cfg(test)]
mod tests;
