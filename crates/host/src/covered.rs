//! Mounts that lie over kernel files that we read: a container's own meminfo, a tmpfs over `/sys`.

use std::fmt::Write as _;

use mm::mountinfo;

use crate::Root;

/// What we read: a mount at one of these, above or below it covers something of it.
const READ: [&str; 11] = [
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/zoneinfo",
    "/proc/buddyinfo",
    "/proc/swaps",
    "/proc/stat",
    "/proc/uptime",
    "/proc/pressure",
    "/proc/sys",
    "/sys/kernel/mm",
    "/sys/block",
];

/// File systems that show the kernel's own files wherever they are mounted.
const KERNELS_OWN: [&str; 12] = [
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "bpf",
    "pstore",
    "binfmt_misc",
    "autofs",
];

/// The note's text; `None` where nothing that we read is covered.
#[must_use]
pub fn note(root: &Root) -> Option<String> {
    let mounts = root.look("proc/self/mountinfo").ok()?;
    let mut text = String::new();
    for mount in mountinfo::parse(mounts.as_bytes()) {
        let kind = String::from_utf8_lossy(mount.kind);
        let path = String::from_utf8_lossy(&mount.point).replace(char::is_control, "?");
        if !KERNELS_OWN.contains(&&*kind) && READ.iter().any(|read| touches(&path, read)) {
            let _ = writeln!(text, "{}\t{kind}", path.trim_start_matches('/'));
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Whether a mount at `path` covers `read`, what lies in it, or what it lies in.
fn touches(path: &str, read: &str) -> bool {
    let below = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    path != "/" && (below(path, read) || below(read, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::root;

    fn covered(mounts: &str) -> Option<String> {
        let (_directory, root) = root(&[("proc/self/mountinfo", mounts)]);
        note(&root)
    }

    #[test]
    fn a_plain_machine_has_nothing_covered() {
        let mounts = "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
                      23 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n\
                      31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                      27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                      33 22 0:30 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n";
        assert_eq!(covered(mounts), None);
    }

    #[test]
    fn lxcfs_a_masked_folder_and_a_tmpfs_over_sys_are_named() {
        let mounts = "40 22 0:45 /proc/meminfo /proc/meminfo rw master:9 - fuse.lxcfs lxcfs rw\n\
                      41 22 0:46 / /proc/sys/vm ro - tmpfs tmpfs ro\n\
                      42 22 0:47 / /sys rw shared:1 - tmpfs tmpfs rw\n\
                      43 22 0:48 / /proc/kcore rw - tmpfs tmpfs rw\n";
        let expected = "proc/meminfo\tfuse.lxcfs\nproc/sys/vm\ttmpfs\nsys\ttmpfs\n";
        assert_eq!(covered(mounts).as_deref(), Some(expected));
    }

    #[test]
    fn cut_lines_are_passed_over() {
        assert_eq!(covered("40 22 0:45 / /proc/meminfo\n\n - \n"), None);
    }
}
