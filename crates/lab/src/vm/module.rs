//! Kernel modules that the guest loads, in their order.

mod tree;

use std::io::{self, Read as _};
use std::path::Path;

use files::named;
use mm::elf;
use mm::units::{Bytes, Nanos};
use scenario::machine::{Disk, Machine, Swap, SwapBacking};
use unpack::packed::{self, Left};

use super::failed::failed;
use super::initramfs::Archive;
use super::kernel::Kernel;
use super::options::Clock;
use super::outbox;
use super::source::{self, Source};
use answer::bench::{BenchError, Progress};
use tree::{Tree, plain_name};

/// No module is larger, packed or unpacked.
const MOST_BYTES: u64 = 64 << 20;

/// The ELF type of what is still to be linked, as a module is.
const RELOCATABLE: [u8; 2] = [1, 0];

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
pub(super) fn of_the_kernel(kernel: &Kernel, clock: Clock) -> Result<Vec<Module>, BenchError> {
    let Some(tree) = Tree::of(kernel)? else {
        return Ok(Vec::new());
    };
    let mut wanted = vec![
        ("mq-deadline", Purpose::Machine, Need::IfThere),
        ("ext4", Purpose::Machine, Need::Always),
        // ext4 asks for it when a disk is mounted, so it does not stand in its dependencies.
        ("crc32c_generic", Purpose::Machine, Need::IfThere),
    ];
    if clock == Clock::Wall {
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
        let bytes = named::read(path, MOST_BYTES).map_err(|error| failed(path, &error))?;
        let content = plain(&bytes).map_err(|error| error.to_string());
        let content = content.and_then(|content| fit(&content).map(|()| content));
        let content = content.map_err(|why| {
            let path = path.display();
            BenchError::Failed(format!("{path}: {why}; install the kernel's modules again"))
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

/// Refuses what no kernel for x86-64 would load.
fn fit(content: &[u8]) -> Result<(), String> {
    if elf::sections_end(content).is_none_or(|end| end > content.len() as u64) {
        return Err("not a whole kernel module".into());
    }
    match elf::is_x86_64(content) && content[16..18] == RELOCATABLE {
        true => Ok(()),
        false => Err("not a kernel module for x86-64".into()),
    }
}

/// The module behind its compression, if there is one.
fn plain(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let (mut whole, _) = packed::open(Box::new(bytes), &Left::of(MOST_BYTES))?;
    let mut plain = Vec::new();
    whole.read_to_end(&mut plain)?;
    Ok(plain)
}

#[cfg(test)]
mod tests;
