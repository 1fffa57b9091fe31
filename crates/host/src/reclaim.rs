//! Which ways this kernel offers to reclaim file pages on request, found out without reclaiming.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use crate::Root;

/// Where cgroup v2 is mounted: alone, or beside v1.
const HIERARCHIES: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];
/// A control group's file (5.19).
const GROUPS: &str = "memory.reclaim";
/// The folder of the machine's nodes, whose `reclaim` files are of 6.17.
const NODES: &str = "sys/devices/system/node";

/// How a kernel's `memory.reclaim` may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// There is no such file.
    None,
    /// It takes `swappiness=` (6.11), so that applications are left alone.
    FilesOnly,
    /// It does not.
    Plain,
    /// It is there; only root finds out what it takes.
    Unknown,
}

/// The folder of the control groups that may have memory: cgroup v2's.
#[must_use]
pub fn hierarchy(root: &Root) -> Option<&'static str> {
    let mut places = HIERARCHIES.into_iter();
    places.find(|place| root.join(&format!("{place}/cgroup.controllers")).exists())
}

/// The way of a group, by its path below the hierarchy; the root group's is `""`.
#[must_use]
pub fn of_group(root: &Root, group: &str) -> Way {
    let Some(place) = hierarchy(root) else {
        return Way::None;
    };
    let folder = root.join(place).join(group.trim_matches('/'));
    asked(&folder.join(GROUPS))
}

/// Whether every node of the machine has a file of its own.
#[must_use]
pub fn has_nodes(root: &Root) -> bool {
    let names = root.names(NODES);
    let is_node = |name: &&String| {
        let number = name.strip_prefix("node");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut nodes = names.iter().filter(is_node).peekable();
    let has_file = |name: &String| root.join(&format!("{NODES}/{name}/reclaim")).exists();
    nodes.peek().is_some() && nodes.all(has_file)
}

/// Asks for no bytes at all: the kernel reads the words and reclaims nothing.
fn asked(file: &Path) -> Way {
    let opened = fs::OpenOptions::new().write(true).open(file);
    match opened.and_then(|mut file| file.write(b"0 swappiness=0")) {
        Ok(_) => Way::FilesOnly,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Way::None,
            io::ErrorKind::InvalidInput => Way::Plain,
            _ => Way::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_found_by_its_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        let write = |path: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        };
        assert_eq!((hierarchy(&root), of_group(&root, "")), (None, Way::None));
        assert!(!has_nodes(&root));
        write("sys/fs/cgroup/unified/cgroup.controllers");
        assert_eq!(of_group(&root, ""), Way::None);
        write("sys/fs/cgroup/unified/a/memory.reclaim");
        assert_eq!(of_group(&root, "/a/"), Way::FilesOnly);
        write("sys/devices/system/node/node0/reclaim");
        write("sys/devices/system/node/possible");
        assert!(has_nodes(&root));
        write("sys/devices/system/node/node1/cpulist");
        assert!(!has_nodes(&root));
    }
}
