//! What of the page cache is charged to each control group.

use mm::page_cache::Group;
use mm::units::Bytes;

use crate::Root;

/// Where groups of memory are: of the first version, and of the second.
const V1: &str = "sys/fs/cgroup/memory";
const V2: &str = "sys/fs/cgroup";

/// Groups that are looked at.
const MOST: usize = 4096;

/// The group that a process's memory is charged to, from `/proc/PID/cgroup`.
pub(super) fn of(text: &str) -> Option<String> {
    let path = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        Some((controllers.to_owned(), path.to_owned()))
    };
    let all: Vec<(String, String)> = text.lines().filter_map(path).collect();
    let with = |name: &str| all.iter().find(|it| it.0.split(',').any(|it| it == name));
    with("memory").or_else(|| with("")).map(|it| it.1.clone())
}

/// What each group holds by itself, largest first.
pub(super) fn read(root: &Root) -> Vec<Group> {
    let (top, below_too) = match root.is_file(&format!("{V1}/memory.stat")) {
        true => (V1, false),
        false => (V2, true),
    };
    let mut tree = Tree {
        root,
        below_too,
        left: MOST,
        groups: vec![],
    };
    tree.walk(top, "");
    let mut groups = tree.groups;
    groups.retain(|it| it.cached.0 + it.shared_memory.0 > 0);
    groups.sort_by_key(|it| std::cmp::Reverse(it.cached));
    groups
}

struct Tree<'a> {
    root: &'a Root,
    /// Whether what a group counts contains what those below it count.
    below_too: bool,
    left: usize,
    groups: Vec<Group>,
}

impl Tree<'_> {
    /// What a group and those below it hold together: files and shared memory.
    fn walk(&mut self, folder: &str, path: &str) -> Option<[u64; 2]> {
        self.left = self.left.checked_sub(1)?;
        let mut below = [0, 0];
        for name in self.root.directories(folder) {
            let both = self.walk(&format!("{folder}/{name}"), &format!("{path}/{name}"));
            below = std::array::from_fn(|at| below[at] + both.unwrap_or_default()[at]);
        }
        let stat = self.root.read(&format!("{folder}/memory.stat")).ok();
        let Some(all) = stat.as_deref().and_then(counted) else {
            return Some(below);
        };
        let below = if self.below_too { below } else { [0, 0] };
        let [file, shared] = std::array::from_fn(|at| all[at].saturating_sub(below[at]));
        self.groups.push(Group {
            path: if path.is_empty() {
                "/".to_owned()
            } else {
                path.to_owned()
            },
            cached: Bytes(file.saturating_sub(shared)),
            shared_memory: Bytes(shared),
        });
        Some(all)
    }
}

/// Page cache with shared memory, and shared memory, in bytes.
fn counted(stat: &str) -> Option<[u64; 2]> {
    let item = |name: &str| {
        let line = stat
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line?.trim().parse::<u64>().ok()
    };
    Some([
        item("file").or_else(|| item("cache"))?,
        item("shmem").unwrap_or(0),
    ])
}
