//! A kernel as a distribution has it: its drivers are modules, each compressed, below the root of a
//! host, beside them the image: Debian's kernel for any machine, laid out as Arch has its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use answer::bench::{Bench as _, BenchError};
use mm::snapshot::Snapshot;
use plimsoll_lab::vm::{Clock, KernelChoice, Release, VmOptions, package};
use scenario::outcome::Outcome;
use tempfile::TempDir;

use super::{SMALL, assert_marks_equal, bench, machine, moving, run, seconds, stock};

/// What is unpacked of the modules: those that a VM needs, and others beside them.
const UNPACKED: [&str; 8] = [
    "crypto",
    "drivers/block",
    "drivers/virtio",
    "fs/ext4",
    "fs/jbd2",
    "fs/mbcache",
    "lib",
    "mm",
];

/// The root of a host: `lib` is a link, and a module ends in `.ko.zst`.
struct Host {
    root: TempDir,
    release: String,
}

impl Host {
    fn new() -> Result<Self, BenchError> {
        let package = package(Release::Debian12, "linux-image-amd64", &mut machine::show)?;
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("usr/lib")).expect("a folder");
        symlink("usr/lib", root.path().join("lib")).expect("a link");
        let modules = unpack(&package, root.path());
        let packed = Command::new("zstd")
            .args(["-q", "--rm"])
            .args(modules)
            .status();
        assert!(packed.is_ok_and(|status| status.success()), "zstd");
        let image = fs::read_dir(root.path().join("boot"))
            .expect("a folder")
            .next();
        let image = image.expect("an image").expect("a file");
        let release = image.file_name().to_string_lossy().replace("vmlinuz-", "");
        let host = Self { root, release };
        fs::rename(image.path(), host.image()).expect("a file");
        Ok(host)
    }

    fn image(&self) -> PathBuf {
        let modules = format!("usr/lib/modules/{}", self.release);
        self.root.path().join(modules).join("vmlinuz")
    }
}

#[test]
fn a_hosts_own_kernel_loads_what_it_needs_and_its_numbers_are_recomputed() {
    let Some(host) = machine::unless_skipped(Host::new) else {
        return;
    };
    let options = VmOptions {
        kernel: KernelChoice::Image(host.image()),
        clock: Clock::Wall,
        ..stock("6.1")
    };
    let Some(bench) = bench(options) else {
        return;
    };
    assert_eq!(bench.kernel(), host.release);
    let arm = "[[machine.swap]]\nsize = \"64 MiB\"\nzram-ratio = 3\n\n[[arm]]\nsettings = { \
               \"vm.min_free_kbytes\" = 9000 }";
    let study = SMALL.replace("[[arm]]", arm);
    let capture = run(&bench, &study).unwrap();
    let snapshot = |label| Snapshot::parse(capture.labelled(label).expect("it was asked for"));
    let (idle, end) = (snapshot("idle"), snapshot("end"));
    let swap = idle.meminfo.as_ref().and_then(|it| it.swap_total);
    assert_eq!(
        swap.map(|it| it.0),
        Some((64 << 10) - 4),
        "zram's, without its header"
    );
    assert_marks_equal(&end, &host.release);
    assert!(
        moving(&idle).is_ok() || moving(&end).is_ok(),
        "{:?}",
        moving(&end)
    );
    let outcome = Outcome::from_capture(capture).unwrap();
    assert!(seconds(&outcome, "first read") > 0.4);
}

/// Unpacks the image and some of the modules, and hands back the paths of those.
fn unpack(package: &[u8], root: &Path) -> Vec<PathBuf> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), package).expect("a file");
    let mut dpkg = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(file.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("apt comes with it");
    let mut archive = tar::Archive::new(dpkg.stdout.take().expect("a pipe"));
    let mut modules = Vec::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").into_owned();
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        if !entry.header().entry_type().is_file() || !is_wanted(&path) {
            continue;
        }
        let target = root.join(&path);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        entry.unpack(&target).expect("a file");
        if target.extension().is_some_and(|end| end == "ko") {
            modules.push(target);
        }
    }
    assert!(dpkg.wait().expect("it ran").success());
    modules
}

fn is_wanted(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let module = path.split_once("/kernel/").map(|(_, module)| module);
    let wanted = |module: &str| UNPACKED.iter().any(|it| module.starts_with(it));
    path.starts_with("boot/vmlinuz-")
        || path.ends_with("modules.builtin")
        || module.is_some_and(wanted)
}
