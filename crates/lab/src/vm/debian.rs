//! A Debian with a real systemd in a VM, for tests of what is set while it boots and runs.
//!
//! The root is unpacked packages in memory; `/etc` and `/var/lib` can lie on an ext4 disk that
//! outlives the machine. Time is virtual: the guest's clock counts its instructions, so a wait
//! costs nothing, nothing depends on how busy the host is, and the same boot gives the same
//! answers.

mod answers;
mod guest;
mod root;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mm::units::{Bytes, Nanos};
use scenario::machine::{Disk, FileSystem, Machine};

use super::failed::failed;
use super::initramfs::Archive;
use super::kernel::{self, Kernel};
use super::module::{self, Module};
use super::options::{Clock, VmOptions};
use super::qemu::{self, Timing};
use super::{Release, cache, elf, image, interrupt, process, tools};
use answer::bench::{BenchError, Progress};

pub use answers::{Answer, Answers};

/// What becomes process 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// systemd; the commands run when multi-user.target is reached.
    Systemd,
    /// The shell that runs the commands, and nothing else.
    Shell,
}

/// How a boot ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The power goes when the last command has answered; fewer answers are a failure.
    AfterCommands,
    /// A command ends it, or the power goes before: fewer answers are right.
    Early,
}

/// One life of the machine.
#[derive(Clone, Debug)]
pub struct Boot {
    first: First,
    end: End,
    files: Vec<(String, u32, Vec<u8>)>,
    early: String,
    commands: Vec<String>,
    parameters: Vec<String>,
    is_cut: bool,
    disk: Option<(Disposal, PathBuf)>,
    memory: Bytes,
}

/// Whose the disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposal {
    /// `/etc` and `/var/lib` lie on it.
    State,
    /// The commands do with it what they want.
    Commands,
}

impl Boot {
    /// A boot that does nothing yet.
    #[must_use]
    pub fn new(first: First) -> Self {
        Self {
            first,
            end: End::AfterCommands,
            files: Vec::new(),
            early: String::new(),
            commands: Vec::new(),
            parameters: Vec::new(),
            is_cut: false,
            disk: None,
            memory: machine().memory,
        }
    }

    /// The machine's memory; 1 GiB where nobody says it. The root lies in it, and takes 100 MiB.
    #[must_use]
    pub fn memory(mut self, memory: Bytes) -> Self {
        self.memory = memory;
        self
    }

    /// Adds a file to the root, by its path without the leading slash; `bin`, `lib` and `sbin` are
    /// links, so what lies in them is named below `usr`. Where a disk holds the directory already,
    /// the disk's stays.
    #[must_use]
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.into(), 0o644, content.into()));
        self
    }

    /// Adds a program to the root.
    #[must_use]
    pub fn program(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.into(), 0o755, content.into()));
        self
    }

    /// Adds a command: a shell script, run after those before it.
    #[must_use]
    pub fn command(mut self, script: impl Into<String>) -> Self {
        self.commands.push(script.into());
        self
    }

    /// Runs a script before process 1 becomes systemd or runs the commands, when nothing but the
    /// kernel has set anything yet.
    #[must_use]
    pub fn early(mut self, script: &str) -> Self {
        self.early += script;
        self
    }

    /// Adds a word to the kernel's command line.
    #[must_use]
    pub fn parameter(mut self, word: &str) -> Self {
        self.parameters.push(word.into());
        self
    }

    /// Takes the power away this long after the next command began, in the middle of whatever runs
    /// then; counts as a command. Below 20 ms it may come before that command does.
    ///
    /// What was not written back to the disk is lost; what was, is there up to one moment and not
    /// beyond, for the disk completes requests in their order. A disk that has a cache of its own
    /// and reorders is not modelled.
    #[must_use]
    pub fn power_cut(mut self, after: Nanos) -> Self {
        self.is_cut = true;
        self.command(guest::watchdog(after)).end(End::Early)
    }

    /// `/etc` and `/var/lib` lie on this disk, which [`Debian::make_disk`] made.
    #[must_use]
    pub fn disk(mut self, path: &Path) -> Self {
        self.disk = Some((Disposal::State, path.to_owned()));
        self
    }

    /// This disk, which [`Debian::make_disk`] made, is the commands': `/dev/pda`, with an ext4 that
    /// is not mounted.
    #[must_use]
    pub fn scratch_disk(mut self, path: &Path) -> Self {
        self.disk = Some((Disposal::Commands, path.to_owned()));
        self
    }

    /// How it ends.
    #[must_use]
    pub fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

/// A machine that can be booted again and again.
#[derive(Debug)]
pub struct Debian {
    kernel: Kernel,
    modules: Vec<Module>,
    root: Vec<u8>,
    plimsoll: Vec<u8>,
    qemu: PathBuf,
    cache: PathBuf,
    deadline: Duration,
}

impl Debian {
    /// Finds or fetches the kernel and the packages. `options.kernel` should be a stock one.
    ///
    /// # Errors
    /// What is missing on this machine and the way out, in one line.
    pub fn new(
        release: Release,
        options: &VmOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BenchError> {
        interrupt::listen();
        let qemu = tools::find("qemu-system-x86_64", "qemu-system-x86")?;
        let plimsoll = elf::read_static(options.binary.as_deref())?;
        let cache = cache::directory(options.cache.as_deref())?;
        let kernel = kernel::resolve(options, &cache, progress)?;
        let mut modules = module::of_the_kernel(&kernel, Clock::Virtual)?;
        modules.push(module::disk(&kernel, &cache, progress)?);
        let root = root::archive(release, &cache, progress)?;
        let root = fs::read(&root).map_err(|error| failed(&root, &error))?;
        Ok(Self {
            kernel,
            modules,
            root,
            plimsoll,
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

    /// Makes an empty disk for [`Boot::disk`] in a directory and says where it lies.
    ///
    /// # Errors
    /// That mke2fs is missing, or those of the files.
    pub fn make_disk(&self, directory: &Path) -> Result<PathBuf, BenchError> {
        let mut disks = image::make_all(&machine(), None, directory)?;
        Ok(disks.remove(0))
    }

    /// Boots, runs the commands, and hands back what they answered.
    ///
    /// # Errors
    /// That the kernel panicked, that the machine did not end within the deadline, or that commands
    /// did not answer; with the line of the console that tells most.
    pub fn boot(
        &self,
        boot: &Boot,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Answers, BenchError> {
        let directory = cache::run_directory(&self.cache)?;
        let at = |name: &str| directory.path().join(name);
        let (initramfs, console, port) = (at("initramfs"), at("console"), at("answers"));
        let archive = [&self.root[..], &self.archive(boot)?].concat();
        fs::write(&initramfs, archive).map_err(|error| failed(&initramfs, &error))?;
        File::create(&port).map_err(|error| failed(&port, &error))?;
        let arguments = self.arguments(boot, [&initramfs, &console, &port]);
        let guest = process::Guest {
            program: &self.qemu,
            arguments: &arguments,
            directory: directory.path(),
            console: &console,
            deadline: self.deadline,
        };
        let end = process::run(&guest, progress)?;
        let text = fs::read(&port).map_err(|error| failed(&port, &error))?;
        let answers = Answers::parse(&text)?;
        let whole = boot.end == End::Early || answers.answers.len() == boot.commands.len();
        match whole && end.is_orderly() {
            true => Ok(answers),
            false => Err(BenchError::Failed(end.without_outcome())),
        }
    }

    fn arguments(&self, boot: &Boot, [initramfs, console, port]: [&Path; 3]) -> Vec<String> {
        let machine = Machine {
            memory: boot.memory,
            ..machine()
        };
        let scripted = qemu::Scripted {
            kernel: &self.kernel.image,
            initramfs,
            console,
            port,
            command_line: &command_line(boot),
        };
        let mut arguments = scripted.arguments(&machine);
        if let Some((_, disk)) = &boot.disk {
            let size = machine.disks[0].size.0;
            arguments.extend(qemu::shared_memory(0, disk, size, "on"));
        }
        arguments
    }

    /// What this boot adds to the root.
    fn archive(&self, boot: &Boot) -> Result<Vec<u8>, BenchError> {
        let mut archive = Archive::new();
        archive.skeleton();
        archive.program("usr/bin/plimsoll", &self.plimsoll);
        archive.program("plimsoll/init", guest::init(boot).as_bytes());
        archive.file("plimsoll/commands", guest::commands(boot).as_bytes());
        for (index, command) in boot.commands.iter().enumerate() {
            archive.file(&format!("plimsoll/command.{index}"), command.as_bytes());
        }
        self.add_modules(boot, &mut archive)?;
        add_unit(&mut archive);
        for (path, mode, content) in &boot.files {
            archive.parents(path);
            archive.file_with(path, *mode, content);
        }
        Ok(archive.finish())
    }

    /// The kernel's own watchdog in software ends a machine from its timer's interrupt.
    fn watchdog(&self, boot: &Boot) -> Result<Vec<Module>, BenchError> {
        match boot.is_cut {
            true => module::named(&self.kernel, "softdog"),
            false => Ok(Vec::new()),
        }
    }

    fn add_modules(&self, boot: &Boot, archive: &mut Archive) -> Result<(), BenchError> {
        module::pack(&self.modules, &machine(), archive);
        for module in self.watchdog(boot)? {
            module.pack(archive);
        }
        Ok(())
    }
}

/// The disk is small and quick; that it takes time at all lets the power go while it writes.
fn machine() -> Machine {
    let rate = Bytes(100_000_000);
    let disk = Disk {
        name: "disk".into(),
        size: Bytes(64 << 20),
        read_bandwidth: rate,
        write_bandwidth: rate,
        latency: Nanos(100_000),
        seek: Nanos(0),
        channels: 1,
        queue_depth: 16,
        rotational: false,
    };
    Machine {
        memory: Bytes::GIB,
        cpus: 1,
        nodes: 1,
        disks: vec![disk],
        swaps: vec![],
        files: vec![],
        costs: vec![],
        file_system: FileSystem::Ext4,
        recorded_on: None,
        available: None,
    }
}

/// The bench's command line, and what a system that boots often would have done once: the hardware
/// database, the linker's cache, a seed of randomness.
fn command_line(boot: &Boot) -> String {
    let mut line = qemu::kernel_command_line(Timing::Virtual, 1);
    line += " rdinit=/plimsoll/init systemd.getty_auto=no";
    for unit in ["systemd-random-seed", "systemd-hwdb-update", "ldconfig"] {
        line += &format!(" systemd.mask={unit}.service");
    }
    for word in &boot.parameters {
        line += &format!(" {word}");
    }
    line
}

fn add_unit(archive: &mut Archive) {
    let unit = "usr/lib/systemd/system/plimsoll-commands.service";
    let wants = "usr/lib/systemd/system/multi-user.target.wants/plimsoll-commands.service";
    archive.file(unit, guest::UNIT.as_bytes());
    archive.link(wants, b"../plimsoll-commands.service");
}
