//! Which QEMU: the one that is installed, or for several CPUs in virtual time one that is new
//! enough.
//!
//! There all CPUs run on one thread by turns. QEMU 7.2 ends a turn at the next timer and may hang
//! while a second CPU starts (Linux 5.10); QEMU 10 divides that time by the CPUs, and boots them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::options::{Clock, VmOptions};
use super::programs::Programs;
use super::{Release, linker, tools};
use answer::bench::{BenchError, Progress};

/// The first release that runs several CPUs by even turns.
const OF_SEVERAL_CPUS: u32 = 10;

/// A QEMU.
#[derive(Clone, Debug)]
pub(super) struct Emulator {
    /// QEMU, or the dynamic linker that runs it.
    pub program: PathBuf,
    /// Arguments before those of a machine.
    leading: Vec<String>,
    /// As it prints it.
    pub version: String,
}

impl Emulator {
    /// The one that is installed.
    ///
    /// # Errors
    /// The Debian package that has it.
    pub(super) fn installed() -> Result<Self, BenchError> {
        let program = tools::find("qemu-system-x86_64", "qemu-system-x86")?;
        Self::of(program, Vec::new())
    }

    /// One for the machines that the options speak of: Debian 13's where the installed one is too
    /// old for them.
    ///
    /// # Errors
    /// That there is none, and it cannot be fetched.
    pub(super) fn wanted(
        options: &VmOptions,
        cache: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BenchError> {
        let installed = Self::installed()?;
        let is_old = major(&installed.version).is_none_or(|major| major < OF_SEVERAL_CPUS);
        match options.clock == Clock::Virtual && options.cpus > 1 && is_old {
            true => Self::fetched(cache, progress),
            false => Ok(installed),
        }
    }

    fn fetched(cache: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Self, BenchError> {
        let (release, packages) = (Release::Debian13, ["qemu-system-x86"]);
        let root = Programs::root_in(cache, release, "qemu", &packages, progress)?.root;
        let program = root.join("usr/bin/qemu-system-x86_64");
        let mut leading = linker::arguments(&root, "qemu-system-x86_64", &program).to_vec();
        for folder in ["usr/share/qemu", "usr/share/seabios"] {
            leading.extend(["-L".to_owned(), root.join(folder).display().to_string()]);
        }
        Self::of(linker::of(&root), leading)
    }

    fn of(program: PathBuf, leading: Vec<String>) -> Result<Self, BenchError> {
        let text = tools::run(Command::new(&program).args(&leading).arg("--version"))?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().next().unwrap_or_default();
        Ok(Self {
            program,
            leading,
            version: line.trim_start_matches("QEMU emulator version ").to_owned(),
        })
    }

    /// All arguments, those of a machine last.
    pub(super) fn arguments(&self, machine: Vec<String>) -> Vec<String> {
        self.leading.iter().cloned().chain(machine).collect()
    }
}

/// `10` of "10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)".
fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read() {
        assert_eq!(major("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)"), Some(7));
        assert_eq!(major("10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)"), Some(10));
        assert_eq!(major("an emulator"), None);
    }
}
