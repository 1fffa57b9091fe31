//! Kernel modules that the guest loads, in their order.

mod tree;

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use mm::elf;
use mm::units::{Bytes, Nanos};
use scenario::machine::{Disk, Machine, Swap, SwapBacking};
use unpack::packed::{self, Left};

use super::failed::failed;
use super::initramfs::Archive;
use super::kernel::Kernel;
use super::outbox;
use super::qemu::Timing;
use super::source::{self, Source};
use answer::bench::{BenchError, Progress};
use tree::{Tree, plain_name};

/// No module is larger when it is unpacked.
const MOST_BYTES: u64 = 64 << 20;

/// A module that may be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// File name in the guest: `mq-deadline.ko`.
    pub name: String,
    /// As the kernel loads it, not compressed.
    pub content: Vec<u8>,
    purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Every machine needs it.
    Machine,
    /// Machines with compressed swap need it.
    Zram,
    /// It is the disk module, which needs parameters.
    Disks,
}

/// Whether a kernel may lack it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Always,
    IfThere,
}

/// What the guest may need, where the kernel has it as a module. A kernel without its modules at
/// hand is taken to have all of it built in.
///
/// # Errors
/// Those of reading the modules, and that the kernel lacks a driver that every machine needs.
pub(super) fn of_the_kernel(kernel: &Kernel, timing: Timing) -> Result<Vec<Module>, BenchError> {
    let Some(tree) = Tree::of(kernel)? else {
        return Ok(Vec::new());
    };
    let mut wanted = vec![
        ("mq-deadline", Purpose::Machine, Need::IfThere),
        ("ext4", Purpose::Machine, Need::Always),
        // ext4 asks for it when a disk is mounted, so it does not stand in its dependencies.
        ("crc32c_generic", Purpose::Machine, Need::IfThere),
    ];
    if let Timing::Wall(_) = timing {
        let disks = ["virtio_pci", "virtio_blk"];
        wanted.extend(disks.map(|name| (name, Purpose::Machine, Need::Always)));
    }
    wanted.extend(["zram", "lzo-rle"].map(|name| (name, Purpose::Zram, Need::IfThere)));
    let mut modules = Vec::new();
    for (name, purpose, need) in wanted {
        if need == Need::Always || tree.has(name) {
            tree.add(name, purpose, &[], &mut modules)?;
        }
    }
    Ok(modules)
}

/// A module of the kernel's by its name, behind those it depends on.
///
/// # Errors
/// That the kernel has no such module.
pub(super) fn named(kernel: &Kernel, name: &str) -> Result<Vec<Module>, BenchError> {
    match if_modular(kernel, name)? {
        modules if modules.is_empty() => Err(BenchError::Failed(format!(
            "Linux {}: no module {name}",
            kernel.release
        ))),
        modules => Ok(modules),
    }
}

/// The same of what may be built in: then there is none.
///
/// # Errors
/// Those of reading the modules.
pub(super) fn if_modular(kernel: &Kernel, name: &str) -> Result<Vec<Module>, BenchError> {
    let mut modules = Vec::new();
    if let Some(tree) = Tree::of(kernel)?.filter(|tree| tree.has(name)) {
        tree.add(name, Purpose::Machine, &[], &mut modules)?;
    }
    Ok(modules)
}

/// Refuses a machine whose swap the kernel has no driver for.
///
/// # Errors
/// What the kernel lacks, and the way out.
pub(super) fn check(
    kernel: &Kernel,
    modules: &[Module],
    machine: &Machine,
) -> Result<(), BenchError> {
    let has = || modules.iter().any(|module| module.purpose == Purpose::Zram);
    match Tree::of(kernel)? {
        Some(tree) if has_zram(machine) && !has() => tree.built_in("zram"),
        _ => Ok(()),
    }
}

fn has_zram(machine: &Machine) -> bool {
    let is_zram = |swap: &Swap| matches!(swap.backing, SwapBacking::Zram { .. });
    machine.swaps.iter().any(is_zram)
}

/// Packs the modules for one machine, and in which order they are loaded.
pub(super) fn pack<'a>(
    modules: impl IntoIterator<Item = &'a Module>,
    machine: &Machine,
    archive: &mut Archive,
) {
    let mut order = String::new();
    let wanted = |module: &&Module| has_zram(machine) || module.purpose != Purpose::Zram;
    for module in modules.into_iter().filter(wanted) {
        module.pack(archive);
        order += &module.order_line(machine);
    }
    archive.file("plimsoll/modules.order", order.as_bytes());
}

/// The disk module for this kernel, built unless it was built before.
///
/// # Errors
/// That the kernel's headers or the compiler are missing, or what the compiler said.
pub(super) fn disk(
    kernel: &Kernel,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Module, BenchError> {
    built(&source::DISK, Purpose::Disks, kernel, cache, progress)
}

/// A module of ours that needs no parameters, built unless it was built before.
///
/// # Errors
/// As for [`disk`].
pub(super) fn ours(
    source: &Source<'_>,
    kernel: &Kernel,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Module, BenchError> {
    built(source, Purpose::Machine, kernel, cache, progress)
}

fn built(
    source: &Source<'_>,
    purpose: Purpose,
    kernel: &Kernel,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Module, BenchError> {
    Module::read(&source.built(kernel, cache, progress)?, purpose)
}

impl Module {
    /// Reads and unpacks it.
    fn read(path: &Path, purpose: Purpose) -> Result<Self, BenchError> {
        let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
        let whole = plain(&bytes).and_then(|content| match elf::sections_end(&content) {
            Some(end) if end <= content.len() as u64 => Ok(content),
            _ => Err(io::Error::other("not a whole kernel module")),
        });
        let content = whole.map_err(|error| {
            let path = path.display();
            BenchError::Failed(format!(
                "{path}: {error}; install the kernel's modules again"
            ))
        })?;
        Ok(Self {
            name: plain_name(path),
            content,
            purpose,
        })
    }

    /// Packs it for the guest.
    pub(super) fn pack(&self, archive: &mut Archive) {
        archive.file(&format!("plimsoll/modules/{}", self.name), &self.content);
    }

    /// Its line of `modules.order`: the name, then the parameters.
    fn order_line(&self, machine: &Machine) -> String {
        match self.purpose {
            Purpose::Disks => format!("{} {}\n", self.name, parameters(&machine.disks)),
            Purpose::Machine | Purpose::Zram => format!("{}\n", self.name),
        }
    }
}

/// The disk module's parameters: a value per disk and one for the outbox, which is instantaneous.
fn parameters(disks: &[Disk]) -> String {
    let list = |name: &str, of: &dyn Fn(&Disk) -> String| {
        let outbox = Disk {
            name: String::new(),
            size: Bytes(outbox::SIZE),
            read_bandwidth: Bytes(0),
            write_bandwidth: Bytes(0),
            latency: Nanos(0),
            seek: Nanos(0),
            channels: 1,
            queue_depth: 64,
            rotational: false,
        };
        let values: Vec<String> = disks.iter().chain([&outbox]).map(of).collect();
        format!("{name}={}", values.join(","))
    };
    let number = |name: &str, of: fn(&Disk) -> u64| list(name, &|disk| of(disk).to_string());
    [
        number("size", |disk| disk.size.0),
        number("latency", |disk| disk.latency.0),
        number("seek", |disk| disk.seek.0),
        number("read_rate", |disk| disk.read_bandwidth.0),
        number("write_rate", |disk| disk.write_bandwidth.0),
        number("channels", |disk| disk.channels.into()),
        number("depth", |disk| disk.queue_depth.into()),
        number("rotational", |disk| disk.rotational.into()),
    ]
    .join(" ")
}

/// The module behind its compression, if there is one.
fn plain(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let (mut whole, _) = packed::open(Box::new(bytes), &Left::of(MOST_BYTES))?;
    let mut plain = Vec::new();
    whole.read_to_end(&mut plain)?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::qemu::Accelerator;

    /// A module as far as it is looked at: its section table would lie at its end.
    fn elf(depends: &str, release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let notes = format!("\0license=GPL\0depends={depends}\0vermagic={release} SMP\0");
        bytes.extend_from_slice(notes.as_bytes());
        let length = bytes.len() as u64;
        bytes[40..48].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn put(kernel: &Kernel, name: &str, content: &[u8]) {
        let folder = kernel.modules.as_ref().expect("its folder");
        fs::write(folder.join("kernel/drivers").join(name), content).unwrap();
    }

    fn kernel(root: &Path) -> Kernel {
        let modules = root.join("lib/modules/6.1");
        fs::create_dir_all(modules.join("kernel/drivers")).unwrap();
        let built_in = "kernel/fs/ext4/ext4.ko\nkernel/crypto/crc16.ko\n";
        fs::write(modules.join("modules.builtin"), built_in).unwrap();
        let kernel = Kernel {
            release: "6.1".into(),
            build: String::new(),
            image: root.join("boot/vmlinuz"),
            modules: Some(modules),
            headers: None,
        };
        for (name, depends) in [
            ("virtio_blk.ko", "virtio,virtio_ring"),
            ("virtio_pci.ko", "virtio_ring"),
            ("virtio_ring.ko", "virtio"),
            ("virtio.ko", "crc16"),
            ("mq-deadline.ko", ""),
            ("zram.ko", "zs-malloc"),
            ("zs_malloc.ko", ""),
        ] {
            put(&kernel, name, &elf(depends, "6.1"));
        }
        kernel
    }

    const WALL: Timing = Timing::Wall(Accelerator::Tcg);

    /// Why a kernel is refused whose module `virtio` is this file.
    fn refused(name: &str, content: &[u8]) -> String {
        let root = tempfile::tempdir().unwrap();
        let kernel = kernel(root.path());
        let folder = kernel.modules.clone().expect("its folder");
        fs::remove_file(folder.join("kernel/drivers/virtio.ko")).unwrap();
        put(&kernel, name, content);
        let error = of_the_kernel(&kernel, WALL).unwrap_err().to_string();
        error.replace(&folder.display().to_string(), "DIR")
    }

    fn zram() -> Swap {
        Swap {
            backing: SwapBacking::Zram { ratio_milli: 3000 },
            size: Bytes::MIB,
        }
    }

    fn machine(swaps: Vec<Swap>) -> Machine {
        let disk = Disk {
            name: "disk".into(),
            size: Bytes(4 << 30),
            read_bandwidth: Bytes(118_000_000),
            write_bandwidth: Bytes(100_000_000),
            latency: Nanos(100_000),
            seek: Nanos(8_000_000),
            channels: 2,
            queue_depth: 8,
            rotational: true,
        };
        Machine {
            memory: Bytes::GIB,
            cpus: 1,
            nodes: 1,
            disks: vec![disk],
            swaps,
            files: vec![],
            costs: vec![],
            file_system: scenario::machine::FileSystem::Ext4,
            recorded_on: None,
            available: None,
        }
    }

    /// What the guest is told, in its order.
    fn order(modules: &[Module], machine: &Machine) -> Vec<String> {
        let mut archive = Archive::new();
        pack(modules, machine, &mut archive);
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        let (_, order) = text.split_once("plimsoll/modules.order\0").unwrap();
        let lines = order.trim_start_matches('\0').lines();
        let lines = lines.take_while(|line| line.ends_with(".ko"));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_module_comes_after_those_it_depends_on() {
        let root = tempfile::tempdir().unwrap();
        let modules = of_the_kernel(&kernel(root.path()), WALL).unwrap();
        let expected = [
            "mq-deadline.ko",
            "virtio.ko",
            "virtio_ring.ko",
            "virtio_pci.ko",
            "virtio_blk.ko",
        ];
        assert_eq!(order(&modules, &machine(vec![])), expected);
        let with_zram = order(&modules, &machine(vec![zram()]));
        assert_eq!(with_zram[5..], ["zs_malloc.ko", "zram.ko"]);
    }

    #[test]
    fn what_a_kernel_lacks_is_said_with_the_way_out() {
        let root = tempfile::tempdir().unwrap();
        let kernel = kernel(root.path());
        let folder = kernel.modules.clone().expect("its folder");
        let lacks = |name: &str| {
            format!(
                "Linux 6.1 has no {name}, neither built in nor in {}: install the rest of its \
                 modules or give another kernel to --kernel",
                folder.display()
            )
        };
        fs::remove_file(folder.join("kernel/drivers/zram.ko")).unwrap();
        let modules = of_the_kernel(&kernel, WALL).unwrap();
        let swaps = machine(vec![zram()]);
        let error = check(&kernel, &modules, &swaps).unwrap_err().to_string();
        assert_eq!(error, lacks("zram"));
        check(&kernel, &modules, &machine(vec![])).unwrap();
        fs::remove_file(folder.join("kernel/drivers/virtio_ring.ko")).unwrap();
        let error = of_the_kernel(&kernel, WALL).unwrap_err().to_string();
        assert_eq!(error, lacks("virtio_ring"));
        of_the_kernel(&kernel, Timing::Virtual).unwrap();
        fs::remove_file(folder.join("modules.builtin")).unwrap();
        of_the_kernel(&kernel, WALL).unwrap();
    }

    #[test]
    fn a_module_that_cannot_be_loaded_is_refused_before_a_vm_boots() {
        assert_eq!(
            refused("virtio.ko", &elf("", "6.12")),
            "DIR/kernel/drivers/virtio.ko: a module of Linux 6.12, and the kernel is Linux 6.1: \
             give the folder of its own to --modules"
        );
        assert_eq!(
            refused("virtio.ko", &elf("virtio_pci", "6.1")),
            "DIR/kernel/drivers/virtio_pci.ko: it needs itself, by way of virtio_pci, virtio_ring, \
             virtio; install the kernel's modules again"
        );
        let whole = elf("", "6.1");
        for length in 0..whole.len() {
            let error = refused("virtio.ko", &whole[..length]);
            assert_eq!(
                error,
                "DIR/kernel/drivers/virtio.ko: not a whole kernel module; install the kernel's \
                 modules again"
            );
        }
    }

    #[test]
    fn a_kernel_without_modules_needs_none() {
        let mut kernel = kernel(tempfile::tempdir().unwrap().path());
        kernel.modules = None;
        assert_eq!(of_the_kernel(&kernel, Timing::Virtual).unwrap(), []);
    }

    #[test]
    fn the_outbox_is_the_last_disk_and_costs_nothing() {
        expect_test::expect![[r#"size=4294967296,67108864 latency=100000,0 seek=8000000,0 read_rate=118000000,0 write_rate=100000000,0 channels=2,1 depth=8,64 rotational=1,0"#]]
            .assert_eq(&parameters(&machine(vec![]).disks));
    }

    const COMPRESSED: [(&str, &[u8]); 3] = [
        ("virtio.ko.gz", include_bytes!("module/fixtures/a.ko.gz")),
        ("virtio.ko.xz", include_bytes!("module/fixtures/a.ko.xz")),
        ("virtio.ko.zst", include_bytes!("module/fixtures/a.ko.zst")),
    ];

    #[test]
    fn compressed_modules_are_unpacked() {
        for (name, bytes) in COMPRESSED {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join(name);
            fs::write(&path, bytes).unwrap();
            let module = Module::read(&path, Purpose::Machine).unwrap();
            assert_eq!(module.name, "virtio.ko");
            assert_eq!(module.content, elf("", "6.1"), "{name}");
        }
    }

    #[test]
    fn a_compressed_module_cut_short_is_refused() {
        for (name, bytes) in COMPRESSED {
            for length in 0..bytes.len() - 8 {
                let error = refused(name, &bytes[..length]);
                let begin = format!("DIR/kernel/drivers/{name}: ");
                assert!(error.starts_with(&begin), "{length}: {error}");
                assert!(!error.contains('\n'), "{error}");
            }
        }
    }
}
