//! The real kernel as a bench: a throwaway VM in QEMU.
//!
//! The running binary is packed into an initramfs as `/init`, beside the scenario. The guest
//! performs the workload with real processes and real system calls, writes its capture to the last
//! disk, the outbox, and powers off. Nothing else passes between guest and host.
//!
//! In *virtual* time QEMU counts instructions and the guest's clock follows the count; disks are
//! those of `disk-module/`. Such a run is the same to the nanosecond however busy the host is. In
//! *wall* time the guest's clock is the host's and the disks are throttled virtio disks.

mod apt;
mod cache;
mod console;
mod daemon;
pub mod debian;
mod elf;
mod emulator;
mod failed;
mod headers;
mod image;
mod initramfs;
mod interrupt;
mod kernel;
mod kvm;
mod linker;
mod module;
mod options;
mod outbox;
mod packages;
mod process;
mod programs;
mod qemu;
mod release;
pub mod small;
mod source;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mm::capture::Capture;
use mm::units::Bytes;
use scenario::{Names, Scenario};

use answer::bench::{Bench, BenchError, Progress, Run};
use emulator::Emulator;
use failed::failed;
use kernel::Kernel;
use module::Module;
use qemu::{Timing, Vm};
use study::record::{ROOM, TRACED};
use study::recording;

pub use kernel::KernelChoice;
pub use options::{Clock, Tracepoints, VmOptions};
pub use packages::package;
pub use programs::Programs;
pub use qemu::MOST_CPUS_BY_TURNS;
pub use release::Release;
pub use source::Source;

/// Path of the guest's note of what went wrong, in the last frame of its capture.
const ERROR: &str = "plimsoll/error";

/// Memory that the running program takes of a VM, whatever its own size: another release of it
/// leaves a study as much as this one. The states after boot were measured with it.
const PROGRAM_ROOM: usize = 16 << 20;
const PAGE: usize = 4096;

/// Size of what the guest is told; the largest arm of the built-in studies takes a tenth.
const ORDERS: usize = 64 << 10;

/// A VM with one kernel, ready to run any scenario.
#[derive(Debug)]
pub struct VmBench {
    kernel: Kernel,
    modules: Vec<Module>,
    timing: Timing,
    deadline: Duration,
    init: Vec<u8>,
    /// Where that is from; `None` is the running program.
    binary: Option<PathBuf>,
    /// It runs machines of up to this many CPUs.
    cpus: u32,
    emulator: Emulator,
    cache: PathBuf,
    traced: Option<Tracepoints>,
}

impl VmBench {
    /// Finds or fetches the kernel, builds the disk module for it and finds out how it can run.
    ///
    /// # Errors
    /// What is missing on this machine and the way out, in one line.
    pub fn new(
        options: &VmOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BenchError> {
        if !cfg!(target_arch = "x86_64") {
            let text =
                "the VM bench boots x86-64 kernels and this plimsoll is built for another CPU";
            return Err(BenchError::Unavailable(text.into()));
        }
        interrupt::listen();
        let init = elf::read_static(options.binary.as_deref())?;
        let cache = cache::directory(options.cache.as_deref())?;
        let emulator = Emulator::wanted(options, &cache, progress)?;
        let kernel = kernel::resolve(options, &cache, progress)?;
        // What the modules lack is said before a VM tries KVM.
        let modules = modules(&kernel, options.clock, &cache, progress)?;
        let timing = timing(options.clock, &emulator.program, &kernel, &cache, progress)?;
        Ok(Self {
            kernel,
            modules,
            timing,
            deadline: options.deadline,
            init,
            binary: options.binary.clone(),
            cpus: options.cpus,
            emulator,
            cache,
            traced: options.traced.clone(),
        })
    }

    fn lay_out(&self, scenario: &Scenario, directory: &Path) -> Result<Vm, BenchError> {
        let machine = &scenario.machine;
        qemu::check(machine, self.timing)?;
        module::check(&self.kernel, &self.modules, machine)?;
        if machine.cpus > self.cpus {
            let (most, cpus) = (self.cpus, machine.cpus);
            let text = format!("machine: {cpus} CPUs, and the bench was made for {most}");
            return Err(BenchError::Failed(text));
        }
        let pages = 1_u64 << scenario.recorded.level;
        if pages > 1 {
            let what = format!("the recording has one page of {pages}, and a kernel has them all");
            return Err(BenchError::Failed(format!(
                "{what}: only the model performs it"
            )));
        }
        let recorded = scenario.machine.recorded_on.as_ref();
        let recorded = recorded.map(|disk| (disk.as_str(), &*scenario.recorded));
        let vm = Vm {
            kernel: self.kernel.image.clone(),
            initramfs: directory.join("initramfs"),
            console: directory.join("console"),
            disks: image::make_all(machine, recorded, directory)?,
            outbox: directory.join("outbox"),
        };
        outbox::make(&vm.outbox)?;
        let archive = self.initramfs(scenario)?;
        fs::write(&vm.initramfs, archive).map_err(|error| failed(&vm.initramfs, &error))?;
        Ok(vm)
    }

    /// A run that failed. Where no modules were found, drivers may be what it lacked.
    fn failed(&self, why: &str) -> BenchError {
        let hint = match self.kernel.modules {
            Some(_) => String::new(),
            None => format!(
                "; no modules of Linux {} were found: where its drivers are modules, give their \
                 folder to --modules",
                self.kernel.release
            ),
        };
        BenchError::Failed(format!("{why}{hint}"))
    }

    fn initramfs(&self, scenario: &Scenario) -> Result<Vec<u8>, BenchError> {
        let clock = match self.timing {
            Timing::Virtual => b'v',
            Timing::Wall(_) => b'w',
        };
        let mut archive = initramfs::Archive::new();
        archive.skeleton();
        archive.program("init", &self.init);
        let mut packed = self.init.len().next_multiple_of(PAGE);
        if let Some(daemon) = daemon::wanted_by(scenario, self.binary.as_deref())? {
            archive.program(daemon::PATH, &daemon);
            packed += daemon.len();
        }
        archive.file("plimsoll/room", &vec![0; room_left(packed)]);
        archive.file("plimsoll/orders", &orders(scenario, clock)?);
        if scenario.replays() {
            archive.file("plimsoll/recording", &recording::stored(&scenario.recorded));
        }
        if let Some(traced) = &self.traced {
            archive.file("plimsoll/tracepoints", traced.orders().as_bytes());
        }
        module::pack(&self.modules, &scenario.machine, &mut archive);
        Ok(archive.finish())
    }
}

/// What programs leave of [`PROGRAM_ROOM`], in whole pages.
fn room_left(program: usize) -> usize {
    PROGRAM_ROOM.saturating_sub(program.next_multiple_of(PAGE))
}

impl Bench for VmBench {
    fn describe(&self) -> String {
        let time = match self.timing {
            Timing::Virtual => "virtual time",
            Timing::Wall(qemu::Accelerator::Kvm) => "wall-clock time, KVM",
            Timing::Wall(qemu::Accelerator::Tcg) => "wall-clock time, TCG",
        };
        format!("VM, Linux {}, {time}", self.kernel.release)
    }

    fn kernel(&self) -> String {
        self.kernel.release.clone()
    }

    fn details(&self, scenario: &Scenario) -> Vec<(String, String)> {
        let mut details = vec![
            (
                ROOM.to_owned(),
                Bytes(PROGRAM_ROOM.max(self.init.len()) as u64).to_string(),
            ),
            ("qemu".to_owned(), self.emulator.version.clone()),
            ("kernel-build".to_owned(), self.kernel.build.clone()),
            (
                "kernel-command-line".to_owned(),
                qemu::kernel_command_line(self.timing, scenario.machine.cpus),
            ),
        ];
        if let Some(traced) = &self.traced {
            details.push((TRACED.to_owned(), traced.events.join(",")));
        }
        if self.timing == Timing::Virtual {
            let fingerprint = format!("{:016x}", source::fingerprint());
            details.push(("disk-module".to_owned(), fingerprint));
        }
        details
    }

    fn run(&self, run: Run<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
        let directory = cache::run_directory(&self.cache)?;
        let (scenario, names) = run.scenario.nameless();
        let vm = self.lay_out(&scenario, directory.path())?;
        progress(Progress::Stage(format!(
            "boots Linux {}",
            self.kernel.release
        )));
        let arguments = match &self.traced {
            Some(traced) => qemu::arguments(&vm, &traced.machine(&scenario.machine), self.timing),
            None => qemu::arguments(&vm, &scenario.machine, self.timing),
        };
        let arguments = self.emulator.arguments(arguments);
        let guest = process::Guest {
            program: &self.emulator.program,
            arguments: &arguments,
            directory: directory.path(),
            console: &vm.console,
            deadline: self.deadline,
        };
        let end = process::run(&guest, &mut |news| progress(named(news, &names)))?;
        let mut capture = outcome(outbox::read(&vm.outbox)?, &end).map_err(|why| match why {
            BenchError::Failed(why) => self.failed(&names.in_text(&why)),
            other => other,
        })?;
        names.give_back(&mut capture);
        Ok(capture)
    }
}

/// What the kernel says of the workload, with the study's own names.
fn named(news: Progress, names: &Names) -> Progress {
    match news {
        Progress::Console(line) => Progress::Console(names.in_text(&line)),
        stage @ Progress::Stage(_) => stage,
    }
}

/// What the guest is told, of one size whatever it is told (`guest::orders` says the form).
fn orders(scenario: &Scenario, clock: u8) -> Result<Vec<u8>, BenchError> {
    let bytes = scenario.to_bytes();
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut orders = vec![clock];
    orders.extend(length.to_le_bytes());
    orders.extend(bytes);
    if orders.len() > ORDERS {
        let (taken, room) = (Bytes(orders.len() as u64), Bytes(ORDERS as u64));
        let text = format!(
            "the arm's machine and workload take {taken} and a VM is told {room} at most; \
             give it fewer processes and steps (`count` and `repeat` make many of one)"
        );
        return Err(BenchError::Failed(text));
    }
    orders.resize(ORDERS, 0);
    Ok(orders)
}

/// The capture, unless the guest itself says that it is worth nothing.
fn outcome(capture: Option<Capture>, end: &process::End) -> Result<Capture, BenchError> {
    let Some(capture) = capture else {
        return Err(BenchError::Failed(end.without_outcome()));
    };
    let note = capture.frames.last().and_then(|frame| frame.file(ERROR));
    match note.and_then(|text| text.lines().next()) {
        Some(line) => Err(BenchError::Failed(format!("in the VM: {line}"))),
        None => Ok(capture),
    }
}

fn timing(
    clock: Clock,
    qemu: &Path,
    kernel: &Kernel,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Timing, BenchError> {
    match clock {
        Clock::Virtual => Ok(Timing::Virtual),
        Clock::Wall => Ok(Timing::Wall(kvm::accelerator(
            qemu, kernel, cache, progress,
        )?)),
    }
}

fn modules(
    kernel: &Kernel,
    clock: Clock,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Module>, BenchError> {
    let mut modules = module::of_the_kernel(kernel, clock)?;
    if clock == Clock::Virtual {
        modules.push(module::disk(kernel, cache, progress)?);
    }
    Ok(modules)
}
