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

/// What a group has beside the page cache that can be reclaimed: anonymous memory, that of tmpfs
/// and the kernel's; `None` where it is not told.
#[must_use]
pub fn used(root: &Root, group: &str) -> Option<Bytes> {
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
    let [cache, shmem] = match memcg.is_v1 {
        true => ["total_cache", "total_shmem"],
        false => ["file", "shmem"],
    };
    let cache = stat.get(cache)?.saturating_sub(stat.get(shmem)?);
    Some(Bytes(memcg.current?.0.saturating_sub(cache)))
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
mod tests {
    use super::*;
    use crate::root::testing::{put, root};
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;

    fn names(groups: &Groups) -> BTreeSet<&str> {
        let paths = groups.files.keys();
        paths.filter_map(|path| mm::memcg::group_of(path)).collect()
    }

    const CONTROLLERS: (&str, &str) = ("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");

    #[test]
    fn groups_that_bind_memory_are_read_with_those_above_and_the_others_are_counted() {
        let (_directory, root) = root(&[
            CONTROLLERS,
            ("proc/self/cgroup", "0::/user/me\n"),
            ("sys/fs/cgroup/memory.stat", "anon 1\n"),
            ("sys/fs/cgroup/user/me/memory.max", "max\n"),
            ("sys/fs/cgroup/user/other/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.low", "0\n"),
            ("sys/fs/cgroup/a/db/memory.low", "4096\n"),
            ("sys/fs/cgroup/a/web/memory.events", "oom_kill 1\n"),
            ("sys/fs/cgroup/a/batch/memory.current", "9\n"),
        ]);
        let groups = read(&root);
        let expected = BTreeSet::from(["", "user/me", "a", "a/db", "a/web"]);
        assert_eq!(names(&groups), expected);
        let note = groups.note().expect("two are left out");
        assert_eq!(note, "unbound\t2\nbound\t0\nunvisited\t0\n");
    }

    #[test]
    fn the_largest_groups_are_read_bound_or_not() {
        let (_directory, root) = root(&[
            CONTROLLERS,
            ("sys/fs/cgroup/a/memory.current", "10\n"),
            ("sys/fs/cgroup/a/b/memory.current", "9\n"),
            ("sys/fs/cgroup/a/b/memory.stat", "anon 9\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/c/memory.current", "8\n"),
        ]);
        let files = largest(&root, 2);
        let paths: Vec<&str> = files.keys().map(String::as_str).collect();
        let expected = ["a/b/memory.current", "a/b/memory.stat", "a/memory.current"];
        assert_eq!(paths, expected.map(|path| format!("sys/fs/cgroup/{path}")));
    }

    #[test]
    fn a_group_whose_name_is_no_text_is_counted_and_the_others_are_read() {
        let (_directory, root) = root(&[CONTROLLERS, ("sys/fs/cgroup/a/memory.max", "4096\n")]);
        let name = std::ffi::OsStr::from_bytes(b"\xff");
        fs::create_dir(root.join("sys/fs/cgroup/a").join(name)).expect("a directory");
        let groups = read(&root);
        assert!(names(&groups).contains("a"));
        let note = groups.note().expect("one is left out");
        assert!(note.ends_with("unvisited\t1\n"), "{note}");
    }

    #[test]
    fn groups_of_v1_are_found_by_their_own_files() {
        let (_directory, root) = root(&[
            ("proc/self/cgroup", "4:memory:/me\n0::/\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "4096\n"),
            (
                "sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            (
                "sys/fs/cgroup/memory/c/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ]);
        let groups = read(&root);
        let expected = BTreeSet::from(["memory", "memory/a", "memory/a/b"]);
        assert_eq!(names(&groups), expected);
        assert!(
            groups
                .note()
                .is_some_and(|note| note.starts_with("unbound\t1\n"))
        );
    }

    #[test]
    fn a_task_is_charged_to_the_group_of_the_memory_controller() {
        let (_directory, root) = root(&[
            (
                "proc/5/cgroup",
                "2:cpu,memory:/a\n1:name=systemd:/x\n0::/\n",
            ),
            ("proc/6/cgroup", "1:name=systemd:/x\n0::/b.slice/c:d\n"),
            ("proc/7/cgroup", "0::/../x\n"),
        ]);
        let group = |thread| of(&root, thread);
        assert_eq!(group(5).as_deref(), Some("a"));
        assert_eq!(group(6).as_deref(), Some("b.slice/c:d"));
        assert_eq!((group(7), group(8)), (None, None));
    }

    #[test]
    fn what_a_group_has_beside_the_cache_has_tmpfs_in_it() {
        let (_directory, root) = root(&[
            CONTROLLERS,
            ("sys/fs/cgroup/a/memory.current", "10000\n"),
            (
                "sys/fs/cgroup/a/memory.stat",
                "anon 2000\nfile 7000\nshmem 1000\n",
            ),
        ]);
        assert_eq!(used(&root, "a"), Some(Bytes(4000)));
        assert_eq!(used(&root, "b"), None);
    }

    #[test]
    fn a_machine_with_thousands_of_groups_gives_a_bounded_capture() {
        let (_directory, root) = root(&[CONTROLLERS]);
        for index in 0..VISITED {
            put(
                &root,
                &format!("sys/fs/cgroup/g{index}/memory.max"),
                "4096\n",
            );
        }
        let groups = read(&root);
        assert_eq!(names(&groups).len(), KEPT);
        let (bound, unvisited) = (VISITED - KEPT - 1, 1);
        let note = format!("unbound\t0\nbound\t{bound}\nunvisited\t{unvisited}\n");
        assert_eq!(groups.note(), Some(note));
    }

    #[test]
    fn files_that_may_not_be_read_are_noted_but_not_all_of_them() {
        let (_directory, root) = root(&[CONTROLLERS]);
        for index in 0..9 {
            let group = format!("sys/fs/cgroup/g{index}");
            put(&root, &format!("{group}/memory.max"), "4096\n");
            // A directory in a file's place is refused to every reader, the administrator too.
            fs::create_dir(root.join(&format!("{group}/memory.current"))).expect("a directory");
        }
        let groups = read(&root);
        assert_eq!(groups.refused.len(), REFUSALS + 1);
        assert_eq!(groups.refused[REFUSALS].0, "sys/fs/cgroup");
        assert!(groups.refused[REFUSALS].1.starts_with("5 further files"));
    }

    #[test]
    fn a_group_that_is_gone_leaves_no_trace() {
        let (_directory, root) = root(&[CONTROLLERS, ("proc/self/cgroup", "0::/gone/../x\n")]);
        let gone = root.join("sys/fs/cgroup/gone");
        fs::create_dir(&gone).expect("a directory");
        fs::set_permissions(&gone, fs::Permissions::from_mode(0o000)).expect("permissions");
        let groups = read(&root);
        assert!(groups.files.is_empty() && groups.refused.is_empty());
        let nodev = io::Error::from_raw_os_error(19);
        assert!(is_gone(&nodev) && !is_gone(&io::Error::from_raw_os_error(13)));
    }
}
