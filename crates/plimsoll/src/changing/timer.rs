//! What takes a change back when nobody confirms it: `plimsoll watch ID`, a service of systemd's
//! where that runs, else a process of its own.
//!
//! It waits on a timer of CLOCK_BOOTTIME, so that suspended time counts and the wall clock does not
//! matter. It reads the journal whenever that changes, and ends when nothing waits any more; so
//! nobody has to stop it. A signal must not be a confirmation: systemd starts the service again,
//! and the process of its own takes no notice of any but SIGKILL and SIGSTOP.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use host::Root;
use host::changes::Timer;
use host::watcher::{self, Life};
use mm::units::Nanos;

/// It is there where systemd runs (`sd_booted`).
const SYSTEMD: &str = "/run/systemd/system";

/// How long it may take until it says that it is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// The one of this machine.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) root: Root,
}

impl Timer for Watcher {
    fn arm(&mut self, id: u32, _: Nanos) -> Result<(), String> {
        // What keeps the watcher from saying that it is there is told by whoever waits for it.
        watcher::expect(&self.root, id).map_err(|error| host::reason(&error))?;
        let armed = self.start(id);
        if armed.is_err() {
            watcher::leave(&self.root, id);
        }
        armed
    }
}

impl Watcher {
    fn start(&self, id: u32) -> Result<(), String> {
        let program = program()?;
        match has_systemd() {
            true => as_service(&program, id)?,
            false => as_process(&program, id)?,
        }
        let start = Instant::now();
        while watcher::life(&self.root, id) != Life::Runs {
            if start.elapsed() > PATIENCE {
                return Err("the process that watches it does not start".to_owned());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Whether systemd is the service manager here.
pub(crate) fn has_systemd() -> bool {
    Path::new(SYSTEMD).is_dir()
}

fn program() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    match program.is_file() {
        true => Ok(program),
        false => Err("the program was replaced while it runs; start it again".to_owned()),
    }
}

/// `systemd-run` returns when the watcher says that it is ready.
fn as_service(program: &Path, id: u32) -> Result<(), String> {
    let mut command = Command::new("systemd-run");
    command
        .args(["--quiet", "--collect"])
        .arg(format!("--unit=plimsoll-watch-{id}"))
        .arg(format!(
            "--description=plimsoll: takes change {id} back unless it is confirmed"
        ));
    for property in PROPERTIES {
        command.args(["-p", property]);
    }
    if systemd_version().is_some_and(|version| version >= 255) {
        // A soft reboot keeps the kernel, and so it must keep the way back.
        command.args(["-p", "SurviveFinalKillSignal=yes"]);
    }
    command.arg(program).args(["watch", &id.to_string()]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("systemd-run: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("systemd-run: {}", said.trim()))
        }
    }
}

/// Any signal and any failure starts it again; its own good end does not. Neither `systemctl stop`,
/// nor `isolate`, nor a lack of memory ends it.
const PROPERTIES: [&str; 9] = [
    "Type=notify",
    "Restart=always",
    "RestartPreventExitStatus=0",
    "RestartSec=100ms",
    "StartLimitIntervalSec=0",
    "DefaultDependencies=no",
    "IgnoreOnIsolate=yes",
    "RefuseManualStop=yes",
    "OOMScoreAdjust=-1000",
];

/// `systemctl --version` begins so: `systemd 252 (252.39-1~deb12u1)`.
fn systemd_version() -> Option<u32> {
    let output = Command::new("systemctl").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_whitespace().nth(1)?;
    number.parse().ok()
}

/// It leaves our session by itself, before it says that it is there.
fn as_process(program: &Path, id: u32) -> Result<(), String> {
    let mut command = Command::new(program);
    command
        .arg0("plimsoll")
        .args(["watch", &id.to_string(), "--detached"]);
    command.current_dir("/").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
        .spawn()
        .map(|_| ())
        .map_err(|error| error.to_string())
}
