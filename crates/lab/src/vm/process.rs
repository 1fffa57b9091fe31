//! A QEMU process from its start to its end, which comes in every case.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};

use super::console::Console;
use super::failed::failed;
use super::interrupt;
use answer::bench::{BenchError, Progress};

const POLL: Duration = Duration::from_millis(50);

/// A guest to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guest<'a> {
    /// QEMU.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Where it leaves temporary files.
    pub directory: &'a Path,
    /// The file of the serial console.
    pub console: &'a Path,
    /// Time of the host after which it counts as hung.
    pub deadline: Duration,
}

/// How a guest ended.
#[derive(Debug)]
pub(super) struct End {
    /// `None` where it was killed at the deadline.
    status: Option<ExitStatus>,
    deadline: Duration,
    console: Console,
    /// What QEMU itself complained of.
    complaint: String,
}

/// Runs a guest until it powers off, crashes or the deadline comes.
///
/// # Errors
/// That QEMU cannot be started, or that the user asked to stop.
pub(super) fn run(
    guest: &Guest<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<End, BenchError> {
    let log = guest.directory.join("qemu.log");
    let mut qemu = Qemu::start(guest, &log)?;
    let mut console = Console::new();
    let mut tell = |line: &str| progress(Progress::Console(line.to_owned()));
    let status = qemu.wait(guest, |path| console.follow(path, &mut tell))?;
    let complaint = fs::read_to_string(&log).map_err(|error| failed(&log, &error))?;
    Ok(End {
        status,
        deadline: guest.deadline,
        console,
        complaint,
    })
}

impl End {
    /// Whether the guest's kernel gave up by itself.
    pub(super) fn panicked(&self) -> bool {
        self.console.panicked()
    }

    /// Whether it was killed at the deadline.
    pub(super) fn was_stopped(&self) -> bool {
        self.status.is_none()
    }

    /// Whether the guest took the power away, and its kernel did not give up.
    pub(super) fn is_orderly(&self) -> bool {
        self.status.is_some_and(|status| status.success()) && !self.panicked()
    }

    /// Why there is no outcome, in one line.
    pub(super) fn without_outcome(&self) -> String {
        let console = self.console.telling_line();
        let complaint = self.complaint.lines().next();
        let (what, why) = match self.status {
            None => (self.stopped(), console),
            Some(status) => match status.signal() {
                Some(signal) => (killed(signal), complaint.or(console)),
                None if !status.success() => ("QEMU failed".into(), complaint),
                None if self.panicked() => ("the VM's kernel panicked".into(), console),
                None => ("the VM's guest ended without an outcome".into(), console),
            },
        };
        let silence = "nothing on its console (too little memory for the kernel?)";
        format!("{what}: {}", why.unwrap_or(silence))
    }

    fn stopped(&self) -> String {
        let seconds = self.deadline.as_secs();
        format!(
            "the VM had not ended after {seconds} s and was stopped; allow more with --deadline"
        )
    }
}

fn killed(signal: i32) -> String {
    let hint = match signal {
        7 => " (a full disk under its files?)",
        9 => " (by the host's OOM killer?)",
        _ => "",
    };
    format!("QEMU was killed by signal {signal}{hint}")
}

/// A child that does not outlive its owner.
struct Qemu(Child);

impl Qemu {
    /// In a process group of its own, so that Ctrl-C reaches the owner alone, who then ends it.
    #[expect(
        unsafe_code,
        reason = "the parent-death signal can only be set in the child"
    )]
    fn start(guest: &Guest<'_>, log: &Path) -> Result<Self, BenchError> {
        let errors = File::create(log).map_err(|error| failed(log, &error))?;
        let mut command = Command::new(guest.program);
        command
            .args(guest.arguments)
            .env("TMPDIR", guest.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .process_group(0);
        // SAFETY: between fork and exec only one system call is made, which allocates nothing and
        // takes no lock.
        unsafe {
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let child = command
            .spawn()
            .map_err(|error| failed(guest.program, &error))?;
        Ok(Self(child))
    }

    /// `None` at the deadline.
    fn wait(
        &mut self,
        guest: &Guest<'_>,
        mut follow: impl FnMut(&Path) -> std::io::Result<()>,
    ) -> Result<Option<ExitStatus>, BenchError> {
        let start = Instant::now();
        loop {
            interrupt::check()?;
            // Asked for before the console is read, so that the last lines are not missed.
            let status = self
                .0
                .try_wait()
                .map_err(|error| failed(guest.program, &error))?;
            follow(guest.console).map_err(|error| failed(guest.console, &error))?;
            if status.is_some() || start.elapsed() > guest.deadline {
                return Ok(status);
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Both fail only where the child has ended and was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_of(script: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        let console = directory.path().join("console");
        let script = script.replace("CONSOLE", &console.display().to_string());
        let guest = Guest {
            program: Path::new("/bin/sh"),
            arguments: &["-c".to_owned(), script],
            directory: directory.path(),
            console: &console,
            deadline: Duration::from_millis(500),
        };
        run(&guest, &mut |_| ()).unwrap().without_outcome()
    }

    #[test]
    fn every_end_has_its_line() {
        let panic = end_of("echo '[ 1.0] Kernel panic - not syncing: no init' > CONSOLE");
        assert_eq!(
            panic,
            "the VM's kernel panicked: [ 1.0] Kernel panic - not syncing: no init"
        );
        let silent = end_of("true");
        let nothing = "nothing on its console (too little memory for the kernel?)";
        assert_eq!(
            silent,
            format!("the VM's guest ended without an outcome: {nothing}")
        );
        let refused = end_of("echo 'qemu: no such machine' >&2; exit 1");
        assert_eq!(refused, "QEMU failed: qemu: no such machine");
        let killed = end_of("echo busy > CONSOLE; kill -9 $$");
        assert_eq!(
            killed,
            "QEMU was killed by signal 9 (by the host's OOM killer?): busy"
        );
    }

    #[test]
    fn a_hang_ends_at_the_deadline_and_leaves_no_process() {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join("pid");
        let line = end_of(&format!(
            "echo $$ > {}; echo stuck > CONSOLE; exec sleep 60",
            note.display()
        ));
        assert_eq!(
            line,
            "the VM had not ended after 0 s and was stopped; allow more with --deadline: stuck"
        );
        let process = fs::read_to_string(note).unwrap();
        assert!(!Path::new("/proc").join(process.trim()).exists());
    }
}
