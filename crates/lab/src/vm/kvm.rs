//! Whether KVM works for this kernel, found out by trying.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use super::kernel::Kernel;
use super::process::{self, Guest};
use super::qemu::Accelerator;
use super::{cache, qemu};
use answer::bench::{BenchError, Progress};

const DEVICE: &str = "/dev/kvm";

/// A kernel under KVM takes a second or two to find that it has no root; a nested or paravirtual
/// host on which guests hang never gets there.
const DEADLINE: Duration = Duration::from_secs(15);

/// KVM, or TCG with a word on why.
///
/// # Errors
/// That QEMU cannot be started, or that the user asked to stop.
pub(super) fn accelerator(
    qemu: &Path,
    kernel: &Kernel,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Accelerator, BenchError> {
    let Some(problem) = problem(qemu, kernel, cache)? else {
        return Ok(Accelerator::Kvm);
    };
    progress(Progress::Stage(format!("does without KVM: {problem}")));
    Ok(Accelerator::Tcg)
}

fn problem(qemu: &Path, kernel: &Kernel, cache: &Path) -> Result<Option<String>, BenchError> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open(DEVICE) {
        return Ok(Some(format!("{DEVICE}: {error}")));
    }
    let directory = cache::run_directory(cache)?;
    let console = directory.path().join("console");
    let end = process::run(
        &Guest {
            program: qemu,
            arguments: &arguments(kernel, &console),
            directory: directory.path(),
            console: &console,
            deadline: DEADLINE,
        },
        &mut |_| (),
    )?;
    // Without an initramfs a kernel that works panics, for want of a root.
    Ok(match end {
        end if end.panicked() => None,
        end if end.was_stopped() => Some(format!("no guest boots in {} s", DEADLINE.as_secs())),
        end => Some(end.without_outcome()),
    })
}

fn arguments(kernel: &Kernel, console: &Path) -> Vec<String> {
    let mut arguments = qemu::bare();
    let more = [
        "-accel",
        "kvm",
        "-cpu",
        "host",
        "-m",
        "256M",
        "-kernel",
        &kernel.image.display().to_string(),
        "-append",
        "console=ttyS0 quiet panic=-1",
        "-serial",
        &qemu::console(console),
    ];
    arguments.extend(more.map(str::to_owned));
    arguments
}
