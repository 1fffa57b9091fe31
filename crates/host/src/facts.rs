//! What must be known about the machine besides its kernel files: page size, clock, rights, and
//! whether it is a container or a VM.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mm::meminfo::Meminfo;
use mm::notes::{Facts, Place, Platform, Reader};
use mm::units::{Bytes, Nanos, PageSize};

use crate::Root;

/// Inode numbers of the namespaces that the kernel boots with (fixed since Linux 3.8).
const FIRST_NAMESPACES: [(&str, &str); 2] =
    [("pid", "pid:[4026531836]"), ("user", "user:[4026531837]")];

/// `X86_FEATURE_HYPERVISOR`, bit 31 of word 4, as a modalias writes it.
const HYPERVISOR: &str = "009F";

/// `MemAvailable`; `None` where it cannot be read.
#[must_use]
pub fn available(root: &Root) -> Option<Bytes> {
    let text = root.read("proc/meminfo").ok()?;
    let available = Meminfo::parse(&text).ok()?.mem_available?;
    Some(Bytes(available.0.saturating_mul(1024)))
}

/// The boot clock: nanoseconds since boot, sleep included.
#[must_use]
pub fn since_boot() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(seconds * Nanos::SECOND.0 + nanos)
}

/// The wall clock: the time since 1970 (UTC).
#[must_use]
pub fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// The kernel's description of its own types (BTF), of some megabytes.
///
/// # Errors
/// What the system says; `NotFound` where the kernel was built without.
pub fn kernel_types(root: &Root) -> std::io::Result<Vec<u8>> {
    fs::read(root.join("sys/kernel/btf/vmlinux"))
}

/// Whether the reader stands in a container: its process or user namespace is not the first one.
///
/// Where the namespaces cannot be read the answer is [`Place::Machine`].
#[must_use]
pub fn place(root: &Root) -> Place {
    let first = |(name, first): &(&str, &str)| {
        let link = fs::read_link(root.join(&format!("proc/self/ns/{name}")));
        link.map_or(true, |target| target.as_os_str() == *first)
    };
    if FIRST_NAMESPACES.iter().all(first) {
        Place::Machine
    } else {
        Place::Container
    }
}

/// Looks at the machine of a root.
#[must_use]
pub fn read(root: &Root) -> Facts {
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(0);
    Facts {
        page: PageSize::new(page).unwrap_or_default(),
        reader: reader(),
        platform: platform(root),
        place: place(root),
        recursive_protection: recursive_protection(root),
    }
}

fn reader() -> Reader {
    if rustix::process::geteuid().is_root() {
        Reader::Root
    } else {
        Reader::User
    }
}

/// The option of the mount at `/sys/fs/cgroup`: the other mounts of a machine are its own affair.
fn recursive_protection(root: &Root) -> Option<bool> {
    let mounts = root.look("proc/self/mounts").ok()?;
    let mut options = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let v2 = words.next() == Some("/sys/fs/cgroup") && words.next() == Some("cgroup2");
        words.next().filter(|_| v2)
    });
    let mut options = options.next()?.split(',');
    Some(options.any(|option| option == "memory_recursiveprot"))
}

/// A hypervisor shows itself in the CPU's features (x86), the device tree (arm64) or /sys (Xen).
fn platform(root: &Root) -> Platform {
    let in_tree = root.is_directory("proc/device-tree/hypervisor");
    if in_features(root) || in_tree || root.is_file("sys/hypervisor/type") {
        Platform::Vm
    } else {
        Platform::Hardware
    }
}

/// Whether the CPU has the feature "runs under a hypervisor": its number in the list of features
/// that modules are loaded by, or its name in cpuinfo where there is no such list (x86 before 3.4).
fn in_features(root: &Root) -> bool {
    if let Ok(modalias) = root.look("sys/devices/system/cpu/modalias") {
        return modalias
            .trim_end()
            .split(',')
            .any(|feature| feature == HYPERVISOR);
    }
    let cpuinfo = root.look("proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let flags = flags.unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "hypervisor")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::testing::{opened, put};
    use std::os::unix::fs::symlink;

    #[test]
    fn another_process_namespace_is_a_container() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        assert_eq!(place(&root), Place::Machine);
        std::fs::create_dir_all(root.join("proc/self/ns")).expect("directories");
        symlink("user:[4026531837]", root.join("proc/self/ns/user")).expect("a link");
        assert_eq!(place(&root), Place::Machine);
        symlink("pid:[4026532517]", root.join("proc/self/ns/pid")).expect("a link");
        assert_eq!(place(&root), Place::Container);
    }

    #[test]
    fn a_vm_is_known_by_the_cpu_flags() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        std::fs::create_dir_all(root.join("proc")).expect("a directory");
        std::fs::write(root.join("proc/cpuinfo"), "flags\t\t: fpu vme\n").expect("a file");
        assert_eq!(platform(&root), Platform::Hardware);
        std::fs::write(root.join("proc/cpuinfo"), "flags\t: fpu hypervisor\n").expect("a file");
        assert_eq!(platform(&root), Platform::Vm);
        opened();
        for (features, platform) in [
            (
                "cpu:type:x86,ven0000fam0006mod003A:feature:,0000,009F\n",
                Platform::Vm,
            ),
            (
                "cpu:type:x86,ven0000fam0006mod003A:feature:,0000,009E,\n",
                Platform::Hardware,
            ),
        ] {
            put(&root, "sys/devices/system/cpu/modalias", features);
            assert_eq!(super::platform(&root), platform, "{features}");
        }
        let opened = opened();
        assert!(
            !opened.contains("proc/cpuinfo"),
            "reading it would wake CPUs"
        );
    }

    #[test]
    fn the_mount_says_whether_protection_is_shared() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::new(directory.path());
        std::fs::create_dir_all(root.join("proc/self")).expect("a directory");
        let with = |mounts: &str| {
            std::fs::write(root.join("proc/self/mounts"), mounts).expect("a file");
            recursive_protection(&root)
        };
        let unified = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate,memory_recursiveprot 0 0\n";
        assert_eq!(with(unified), Some(true));
        assert_eq!(
            with("none /sys/fs/cgroup cgroup2 rw,relatime 0 0\n"),
            Some(false)
        );
        assert_eq!(
            with("cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"),
            None
        );
        assert_eq!(with(""), None);
    }

    #[test]
    fn the_boot_clock_runs() {
        let before = since_boot();
        assert!(before > Nanos::ZERO);
        assert!(since_boot() >= before);
    }
}
