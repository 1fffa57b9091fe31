//! What a systemd unit has in memory: the files that its processes have mapped.

use std::collections::BTreeSet;

use mm::maps;
use rustix::fs::FileType;

use crate::mounts::{Found, Local};
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
/// order of their names; none while it does not run, or where the system does not let us look. A
/// process's name for a file means the same file here where that has the same number.
#[must_use]
pub fn mapped_files(root: &Root, unit: &str, local: &Local) -> Vec<Found> {
    let mut files = BTreeSet::new();
    for pid in processes::all(root) {
        if !is_of(root, unit, pid) {
            continue;
        }
        let path = format!("proc/{pid}/maps");
        let mappings = root.read(&path).ok();
        let mappings = mappings.and_then(|text| maps::parse(&path, &text).ok());
        let mappings = mappings.into_iter().flatten();
        files.extend(mappings.map(|mapping| (mapping.name, mapping.inode)));
    }
    let here = files.into_iter().filter_map(|(name, inode)| {
        let found = local.find(&root.join(name.strip_prefix('/')?)).ok()?;
        (found.kind() == FileType::RegularFile && found.inode() == inode).then_some(found)
    });
    here.collect()
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
    use crate::root::testing::{put, root};
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_unit_stands_for_what_its_processes_have_mapped() {
        let (_directory, root) = root(&[
            ("proc/7/cgroup", "0::/system.slice/ssh.service\n"),
            (
                "proc/8/cgroup",
                "1:name=systemd:/system.slice/ssh.service/x\n0::/\n",
            ),
            ("proc/9/cgroup", "0::/system.slice/notssh.service\n"),
            ("proc/10/cgroup", "0::/system.slice/ssh.service\n"),
            ("usr/sbin/sshd", "here"),
            ("usr/lib/libc.so.6", "here"),
            ("usr/bin/other", "here"),
            ("usr/bin/contained", "here"),
        ]);
        let mapped = |name: &str| {
            let inode = fs::metadata(root.join(name)).expect("there").ino();
            format!("55d0a000-55d0b000 r-xp 00000000 08:01 {inode} /{name}\n")
        };
        let none = "7f00c000-7f00d000 rw-p 00000000 00:00 0 \n\
                    7ffc0000-7ffc1000 rw-p 00000000 00:00 0 [stack]\n";
        let maps = mapped("usr/sbin/sshd") + &mapped("usr/lib/libc.so.6") + none;
        // In a container the same name means another file.
        let contained = "55d0a000-55d0b000 r-xp 00000000 08:01 1 /usr/bin/contained\n".to_owned();
        for (pid, maps) in [
            (7, maps.as_str()),
            (8, &maps),
            (9, &mapped("usr/bin/other")),
            (10, &contained),
        ] {
            put(&root, &format!("proc/{pid}/maps"), maps);
        }
        let local = Local::now().expect("/");
        let files = |unit| {
            let files = mapped_files(&root, unit, &local).into_iter();
            files
                .map(|file| file.path().expect("a path"))
                .collect::<Vec<_>>()
        };
        let expected = ["usr/lib/libc.so.6", "usr/sbin/sshd"].map(|name| root.join(name));
        assert_eq!(files("ssh.service"), expected);
        assert!(files("none.service").is_empty() && files("").is_empty());
        let of_user = "/user.slice/user-7.slice/user@7.service/app.slice/ssh.service";
        assert!(!has("ssh.service", of_user) && has("user@7.service", of_user));
        assert!(has("user.slice", of_user) && !has("", of_user));
        assert_eq!(named("unit:ssh.service"), Some("ssh.service"));
        assert_eq!(named("/unit:ssh.service"), None);
    }
}
