//! What a systemd unit has in memory: the files that its processes have mapped.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use mm::maps;

use crate::{Root, processes};

/// What stands before a unit's name where files are named.
const PREFIX: &str = "unit:";

/// The unit that a name stands for, as in `unit:sshd.service`.
#[must_use]
pub fn named(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// Whether a control group, by its path, is a unit's or below it. A unit of the system lies in
/// slices alone: what a user calls the same lies below that user's service.
#[must_use]
pub fn has(unit: &str, group: &str) -> bool {
    let mut parts = group.split('/').filter(|part| !part.is_empty());
    let outermost = parts.find(|part| !part.ends_with(".slice") || *part == unit);
    !unit.is_empty() && outermost == Some(unit)
}

/// The files that the processes of a unit have mapped, its programs and libraries among them, in
/// order of their names; none while it does not run, or where the system does not let us look.
#[must_use]
pub fn mapped_files(root: &Root, unit: &str) -> Vec<PathBuf> {
    let mut files = BTreeSet::new();
    for pid in processes::all(root) {
        if !is_of(root, unit, pid) {
            continue;
        }
        let path = format!("proc/{pid}/maps");
        let mappings = root.read(&path).ok();
        let mappings = mappings.and_then(|text| maps::parse(&path, &text).ok());
        let names = mappings.into_iter().flatten().map(|mapping| mapping.name);
        let here = names.filter(|name| is_here(root, pid, name));
        files.extend(here.map(PathBuf::from));
    }
    files.into_iter().collect()
}

/// Whether a process's name for a file, in its own mounts, means the same file here.
fn is_here(root: &Root, pid: u32, name: &str) -> bool {
    let Some(name) = name.strip_prefix('/') else {
        return false;
    };
    let inside = root.join(&format!("proc/{pid}/root")).join(name);
    let inside = fs::metadata(inside);
    let here = fs::symlink_metadata(root.join(name));
    let key = |file: fs::Metadata| (file.is_file(), file.dev(), file.ino());
    let (inside, here) = (inside.ok().map(key), here.ok().map(key));
    here.is_some_and(|(is_file, ..)| is_file) && inside == here
}

/// A line of `/proc/PID/cgroup` for each hierarchy.
fn is_of(root: &Root, unit: &str, pid: u32) -> bool {
    let text = root.read(&format!("proc/{pid}/cgroup")).unwrap_or_default();
    let mut paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.any(|path| has(unit, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::root;

    #[test]
    fn a_unit_stands_for_what_its_processes_have_mapped() {
        let maps = "55d0a000-55d0b000 r-xp 00000000 08:01 12 /usr/sbin/sshd\n\
                    7f00a000-7f00b000 r--p 00000000 08:01 13 /usr/lib/libc.so.6\n\
                    7f00c000-7f00d000 rw-p 00000000 00:00 0 \n\
                    7ffc0000-7ffc1000 rw-p 00000000 00:00 0 [stack]\n";
        let other = "55d0a000-55d0b000 r-xp 00000000 08:01 14 /usr/bin/other\n";
        let (_directory, root) = root(&[
            ("proc/7/cgroup", "0::/system.slice/ssh.service\n"),
            ("proc/7/maps", maps),
            (
                "proc/8/cgroup",
                "1:name=systemd:/system.slice/ssh.service/x\n0::/\n",
            ),
            ("proc/8/maps", maps),
            ("proc/9/cgroup", "0::/system.slice/notssh.service\n"),
            ("proc/9/maps", other),
            ("proc/10/cgroup", "0::/system.slice/ssh.service\n"),
            ("proc/10/maps", other),
            ("usr/sbin/sshd", "here"),
            ("usr/lib/libc.so.6", "here"),
            ("usr/bin/other", "here"),
            (concat!("proc/10/root", "/usr/bin/other"), "in a container"),
        ]);
        for pid in [7, 8, 9] {
            let link = root.join(&format!("proc/{pid}/root"));
            std::os::unix::fs::symlink(root.path(), link).expect("a link");
        }
        let expected = ["/usr/lib/libc.so.6", "/usr/sbin/sshd"].map(PathBuf::from);
        assert_eq!(mapped_files(&root, "ssh.service"), expected);
        assert!(mapped_files(&root, "none.service").is_empty());
        assert!(mapped_files(&root, "").is_empty());
        let of_user = "/user.slice/user-7.slice/user@7.service/app.slice/ssh.service";
        assert!(!has("ssh.service", of_user) && has("user@7.service", of_user));
        assert!(has("user.slice", of_user) && !has("", of_user));
        assert_eq!(named("unit:ssh.service"), Some("ssh.service"));
        assert_eq!(named("/unit:ssh.service"), None);
    }
}
