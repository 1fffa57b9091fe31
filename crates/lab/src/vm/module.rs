//! Kernel modules that the guest loads, in their order.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use mm::units::{Bytes, Nanos};
use scenario::machine::{Disk, Machine, SwapBacking};

use super::failed::failed;
use super::kernel::Kernel;
use super::qemu::Timing;
use super::source::{self, Source};
use super::{outbox, tools};
use answer::bench::{BenchError, Progress};

/// No module is larger when it is unpacked.
const MOST_BYTES: u64 = 64 << 20;

/// A module that may be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// File name in the guest: `mq-deadline.ko`.
    pub name: String,
    path: PathBuf,
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

/// What the guest may need, where the kernel has it as a module. A kernel without its modules at
/// hand is taken to have all of it built in.
///
/// # Errors
/// Those of reading the modules.
pub(super) fn of_the_kernel(kernel: &Kernel, timing: Timing) -> Result<Vec<Module>, BenchError> {
    let Some(directory) = &kernel.modules else {
        return Ok(Vec::new());
    };
    let mut wanted = vec![
        ("mq-deadline", Purpose::Machine),
        ("ext4", Purpose::Machine),
    ];
    wanted.push(("crc32c_generic", Purpose::Machine));
    if let Timing::Wall(_) = timing {
        wanted.extend(["virtio_pci", "virtio_blk"].map(|name| (name, Purpose::Machine)));
    }
    wanted.extend(["zram", "lzo-rle"].map(|name| (name, Purpose::Zram)));
    let files = files(&directory.join("kernel"))?;
    let mut modules = Vec::new();
    for (name, purpose) in wanted {
        add(&mut modules, &files, &normal(name), purpose)?;
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
    if let Some(directory) = &kernel.modules {
        let files = files(&directory.join("kernel"))?;
        add(&mut modules, &files, &normal(name), Purpose::Machine)?;
    }
    Ok(modules)
}

/// The modules for one machine.
pub(super) fn wanted_by<'a>(
    modules: &'a [Module],
    machine: &Machine,
) -> impl Iterator<Item = &'a Module> {
    let is_zram = |swap: &scenario::machine::Swap| matches!(swap.backing, SwapBacking::Zram { .. });
    let zram = machine.swaps.iter().any(is_zram);
    modules
        .iter()
        .filter(move |module| zram || module.purpose != Purpose::Zram)
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
    let path = source.built(kernel, cache, progress)?;
    Ok(Module {
        name: plain_name(&path),
        path,
        purpose,
    })
}

impl Module {
    /// The module as the kernel loads it, not compressed.
    pub(super) fn content(&self) -> Result<Vec<u8>, BenchError> {
        let bytes = fs::read(&self.path).map_err(|error| failed(&self.path, &error))?;
        let pipe = |program, package| {
            let mut command = Command::new(tools::find(program, package)?);
            tools::run_with_input(command.arg("-dc"), &bytes)
        };
        match self
            .path
            .extension()
            .and_then(|extension| extension.to_str())
        {
            Some("xz") => pipe("xz", "xz-utils"),
            Some("zst") => pipe("zstd", "zstd"),
            Some("gz") => {
                let mut plain = Vec::new();
                let read = flate2::read::GzDecoder::new(&bytes[..])
                    .take(MOST_BYTES)
                    .read_to_end(&mut plain);
                match read.map_err(|error| failed(&self.path, &error))? as u64 {
                    MOST_BYTES => {
                        let error = io::Error::other("too large for a kernel module");
                        Err(failed(&self.path, &error))
                    }
                    _ => Ok(plain),
                }
            }
            _ => Ok(bytes),
        }
    }

    /// Its line of `modules.order`: the name, then the parameters.
    pub(super) fn order_line(&self, machine: &Machine) -> String {
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

/// Adds a module behind those it depends on; one that is not there is built in.
fn add(
    modules: &mut Vec<Module>,
    files: &BTreeMap<String, PathBuf>,
    name: &str,
    purpose: Purpose,
) -> Result<(), BenchError> {
    let Some(path) = files.get(name) else {
        return Ok(());
    };
    if modules.iter().any(|module| &module.path == path) {
        return Ok(());
    }
    let module = Module {
        name: plain_name(path),
        path: path.clone(),
        purpose,
    };
    for dependency in dependencies(&module.content()?) {
        add(modules, files, &normal(&dependency), purpose)?;
    }
    modules.push(module);
    Ok(())
}

/// The modules in a tree by their normal names.
fn files(directory: &Path) -> Result<BTreeMap<String, PathBuf>, BenchError> {
    let mut files = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| failed(&directory, &error))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            } else if let Some(name) = plain_name(&path).strip_suffix(".ko") {
                files.insert(normal(name), path);
            }
        }
    }
    Ok(files)
}

/// The kernel takes `-` and `_` in a module's name for the same.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// The file's name without the ending of a compression.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.split_once(".ko") {
        Some((stem, _)) => format!("{stem}.ko"),
        None => name.into_owned(),
    }
}

/// The names in a module's own note of what it depends on, `depends=a,b`.
fn dependencies(module: &[u8]) -> Vec<String> {
    let mark = b"\0depends=";
    let Some(at) = module.windows(mark.len()).position(|window| window == mark) else {
        return Vec::new();
    };
    let list = module[at + mark.len()..]
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    let list = String::from_utf8_lossy(list);
    list.split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::qemu::Accelerator;

    fn kernel(root: &Path) -> Kernel {
        let modules = root.join("lib/modules/6.1");
        let block = modules.join("kernel/drivers");
        fs::create_dir_all(&block).unwrap();
        let module = |name: &str, depends: &str| {
            let text = format!("\x7fELF\0license=GPL\0depends={depends}\0name=x\0");
            fs::write(block.join(name), text).unwrap();
        };
        module("virtio_blk.ko", "virtio,virtio_ring");
        module("virtio_pci.ko", "virtio_ring");
        module("virtio_ring.ko", "virtio");
        module("virtio.ko", "");
        module("mq-deadline.ko", "");
        module("zram.ko", "zs-malloc");
        module("zs_malloc.ko", "");
        let image = root.join("boot/vmlinuz");
        Kernel {
            release: "6.1".into(),
            build: String::new(),
            image,
            modules: Some(modules),
            headers: None,
        }
    }

    fn machine(swaps: Vec<scenario::machine::Swap>) -> Machine {
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

    #[test]
    fn a_module_comes_after_those_it_depends_on() {
        let root = tempfile::tempdir().unwrap();
        let kernel = kernel(root.path());
        let wall = Timing::Wall(Accelerator::Tcg);
        let modules = of_the_kernel(&kernel, wall).unwrap();
        let names = |machine: &Machine| {
            let modules = wanted_by(&modules, machine);
            modules
                .map(|module| module.name.clone())
                .collect::<Vec<_>>()
        };
        let order = [
            "mq-deadline.ko",
            "virtio.ko",
            "virtio_ring.ko",
            "virtio_pci.ko",
            "virtio_blk.ko",
        ];
        assert_eq!(names(&machine(vec![])), order);
        let backing = SwapBacking::Zram { ratio_milli: 3000 };
        let zram = scenario::machine::Swap {
            backing,
            size: Bytes::MIB,
        };
        assert_eq!(
            names(&machine(vec![zram]))[5..],
            ["zs_malloc.ko", "zram.ko"]
        );
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

    #[test]
    fn compressed_modules_are_unpacked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.ko.gz");
        let mut file = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut file, b"content").unwrap();
        fs::write(&path, file.finish().unwrap()).unwrap();
        let name = plain_name(&path);
        let module = Module {
            name,
            path,
            purpose: Purpose::Machine,
        };
        assert_eq!(module.name, "a.ko");
        assert_eq!(module.content().unwrap(), b"content");
    }
}
