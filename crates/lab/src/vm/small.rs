//! A small Linux in a VM: busybox, one script, and what else is put there.
//!
//! For what needs a kernel and no system around it: nothing but the script uses memory, so what it
//! does stands out in every file of the kernel's. What the script writes to `/dev/ttyS1` is handed
//! back. Time is virtual, as in the other VMs.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mm::units::Bytes;
use scenario::machine::{Disk, FileSystem, Machine};

use super::failed::failed;
use super::initramfs::Archive;
use super::kernel::{self, Kernel};
use super::module::{self, Module};
use super::options::{Clock, VmOptions};
use super::qemu::{self, Timing};
use super::source::Source;
use super::{Release, cache, image, interrupt, packages, process, tools};
use answer::bench::{BenchError, Progress};

/// Mounts what programs need, loads the modules and becomes the script.
const INIT: &str = "\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read module parameters; do
    insmod /plimsoll/modules/$module $parameters
done < /plimsoll/modules.order
stty -F /dev/ttyS1 raw -echo
sh /plimsoll/script > /dev/console 2>&1 < /dev/null
echo o > /proc/sysrq-trigger
sleep 60
";

/// One life of a machine.
#[derive(Clone, Debug)]
pub struct Life {
    /// Its memory, spread evenly over the nodes.
    pub memory: Bytes,
    /// Its NUMA nodes.
    pub nodes: u32,
    /// Its disks, `/dev/pda` and so on.
    pub disks: Vec<Disk>,
    /// What is on the first of them; each of the others has an empty ext4.
    pub images: Vec<Image>,
    /// Words for the kernel's command line.
    pub parameters: Vec<String>,
    /// Further arguments of QEMU.
    pub devices: Vec<String>,
    /// Modules of the kernel's that are loaded, by name; one that is built in needs no loading.
    pub modules: Vec<String>,
    /// Files by path without the leading slash, with their permissions.
    pub files: Vec<(String, u32, Vec<u8>)>,
    /// What it does, for busybox's shell.
    pub script: String,
}

/// What is on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Made by [`Small::image`].
    pub path: PathBuf,
    /// What becomes of what is written to it.
    pub writes: Writes,
}

/// What becomes of what is written to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// The next life sees it.
    Kept,
    /// It goes with the machine.
    Lost,
}

/// A machine that can be given lives.
#[derive(Debug)]
pub struct Small {
    kernel: Kernel,
    modules: Vec<Module>,
    busybox: Vec<u8>,
    qemu: PathBuf,
    cache: PathBuf,
    deadline: Duration,
}

impl Small {
    /// Finds or fetches the kernel, and builds the disk module for it.
    ///
    /// # Errors
    /// What is missing on this machine and the way out, in one line.
    pub fn new(
        options: &VmOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BenchError> {
        interrupt::listen();
        let qemu = tools::find("qemu-system-x86_64", "qemu-system-x86")?;
        let cache = cache::directory(options.cache.as_deref())?;
        let kernel = kernel::resolve(options, &cache, progress)?;
        let mut modules = module::of_the_kernel(&kernel, Clock::Virtual)?;
        modules.push(module::disk(&kernel, &cache, progress)?);
        Ok(Self {
            busybox: busybox(progress)?,
            kernel,
            modules,
            qemu,
            cache,
            deadline: options.deadline,
        })
    }

    /// The kernel's release, as `uname -r` prints it.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.kernel.release
    }

    /// Makes the image of a disk: an ext4 with what lies in `directory`.
    ///
    /// # Errors
    /// That mke2fs is missing or refuses, or those of the files.
    pub fn image(&self, disk: &Disk, directory: &Path, path: &Path) -> Result<(), BenchError> {
        image::of_directory(disk, directory, path)
    }

    /// A module of one file, built for this kernel unless it was before.
    ///
    /// # Errors
    /// That the kernel's headers or the compiler are missing, or what the compiler said.
    pub fn module(
        &self,
        source: &Source<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<u8>, BenchError> {
        Ok(module::ours(source, &self.kernel, &self.cache, progress)?.content)
    }

    /// Boots, runs the script, and hands back what it wrote to `/dev/ttyS1`.
    ///
    /// # Errors
    /// That the kernel panicked, or that the machine did not end within the deadline; with the line
    /// of the console that tells most.
    pub fn live(
        &self,
        life: &Life,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<u8>, BenchError> {
        let machine = machine(life);
        qemu::check(&machine, Timing::Virtual)?;
        let directory = cache::run_directory(&self.cache)?;
        let at = |name: &str| directory.path().join(name);
        let (initramfs, console, port) = (at("initramfs"), at("console"), at("port"));
        let archive = self.archive(life, &machine)?;
        fs::write(&initramfs, archive).map_err(|error| failed(&initramfs, &error))?;
        File::create(&port).map_err(|error| failed(&port, &error))?;
        let images = images(life, &machine, directory.path())?;
        let scripted = qemu::Scripted {
            kernel: &self.kernel.image,
            initramfs: &initramfs,
            console: &console,
            port: &port,
            command_line: &command_line(life),
        };
        let mut arguments = scripted.arguments(&machine);
        for (index, (disk, image)) in machine.disks.iter().zip(&images).enumerate() {
            let size = disk.size.0.next_power_of_two();
            let share = match image.writes {
                Writes::Kept => "on",
                Writes::Lost => "off",
            };
            arguments.extend(qemu::shared_memory(index, &image.path, size, share));
        }
        arguments.extend(life.devices.iter().cloned());
        let guest = process::Guest {
            program: &self.qemu,
            arguments: &arguments,
            directory: directory.path(),
            console: &console,
            deadline: self.deadline,
        };
        let end = process::run(&guest, progress)?;
        match end.is_orderly() {
            true => fs::read(&port).map_err(|error| failed(&port, &error)),
            false => Err(BenchError::Failed(end.without_outcome())),
        }
    }

    fn archive(&self, life: &Life, machine: &Machine) -> Result<Vec<u8>, BenchError> {
        let mut archive = Archive::new();
        archive.skeleton();
        archive.directory("bin", 0o755);
        archive.program("bin/busybox", &self.busybox);
        archive.program("init", INIT.as_bytes());
        archive.file("plimsoll/script", life.script.as_bytes());
        for (path, mode, content) in &life.files {
            archive.parents(path);
            archive.file_with(path, *mode, content);
        }
        let mut modules = self.modules.clone();
        for name in &life.modules {
            modules.extend(module::if_modular(&self.kernel, name)?);
        }
        module::pack(&modules, machine, &mut archive);
        Ok(archive.finish())
    }
}

/// Those of the life, and empty ones for the disks behind.
fn images(life: &Life, machine: &Machine, directory: &Path) -> Result<Vec<Image>, BenchError> {
    let empty = Machine {
        disks: machine.disks[life.images.len()..].to_vec(),
        ..machine.clone()
    };
    let made = image::make_all(&empty, None, directory)?;
    let made = made.into_iter().map(|path| Image {
        path,
        writes: Writes::Lost,
    });
    Ok(life.images.iter().cloned().chain(made).collect())
}

/// Debian's busybox that needs no library.
fn busybox(progress: &mut dyn FnMut(Progress)) -> Result<Vec<u8>, BenchError> {
    let package = packages::package(Release::Debian12, "busybox-static", progress)?;
    let dpkg = tools::find("dpkg-deb", "dpkg")?;
    let tar = tools::run_with_input(Command::new(dpkg).args(["--fsys-tarfile", "-"]), &package)?;
    let missing = || BenchError::Failed("busybox-static has no busybox".into());
    let mut archive = tar::Archive::new(&tar[..]);
    let entries = archive.entries().map_err(|_| missing())?;
    for mut entry in entries.flatten() {
        let mut bytes = Vec::new();
        if entry.path_bytes().ends_with(b"bin/busybox") && entry.read_to_end(&mut bytes).is_ok() {
            return Ok(bytes);
        }
    }
    Err(missing())
}

fn command_line(life: &Life) -> String {
    let words = life.parameters.iter().map(String::as_str);
    let line = qemu::kernel_command_line(Timing::Virtual, 1);
    [line.as_str()]
        .into_iter()
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

fn machine(life: &Life) -> Machine {
    Machine {
        memory: life.memory,
        cpus: 1,
        nodes: life.nodes,
        disks: life.disks.clone(),
        swaps: vec![],
        files: vec![],
        costs: vec![],
        file_system: FileSystem::Ext4,
        recorded_on: None,
        available: None,
    }
}
