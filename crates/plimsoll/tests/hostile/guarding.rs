//! The daemon, as it is attacked.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, setpriority_process};

use crate::place::{PROMPT, Place, SWAPPINESS};
use crate::process::{Ended, becomes, ends, wait};

/// Sets `vm.swappiness` to 0 on every machine.
pub(crate) const SETS: &str = "[floor]\nanon_min = \"90 %\"";
pub(crate) const CONFIG: &str = "/etc/plimsoll/guard.toml";
pub(crate) const STATE: &str = "/run/plimsoll/guard.state";
const LOG: &str = "/tmp/own/guard.log";

/// A daemon that was started; it is killed with this.
#[derive(Debug)]
pub(crate) struct Guard(Child);

/// The daemon with its usual files and these arguments.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new("/tmp/bin/plimsoll-guard");
    command.args(words).current_dir("/").stdin(Stdio::null());
    command
}

/// Runs it to its end; what was seen where that does not come.
pub(crate) fn ends_with(words: &[&str]) -> Result<Ended, String> {
    let ended = ends(&mut command(words), PROMPT);
    ended.ok_or_else(|| format!("plimsoll-guard {} did not end", words.join(" ")))
}

impl Guard {
    /// Starts it, with the unit's priority.
    pub(crate) fn spawn(place: &Place, config: &str, words: &[&str]) -> Self {
        place.file(CONFIG, config);
        Self::spawn_by(&mut command(words))
    }

    pub(crate) fn spawn_by(command: &mut Command) -> Self {
        let log = File::create(LOG).expect("a log");
        let stdout = log.try_clone().expect("a descriptor");
        let child = command.stdout(stdout).stderr(log).spawn();
        let child = child.expect("the daemon");
        setpriority_process(Some(Pid::from_child(&child)), -20).expect("root may");
        Self(child)
    }

    /// Starts it, and it is on.
    pub(crate) fn start(place: &Place, config: &str) -> Result<Self, String> {
        let mut guard = Self::spawn(place, config, &[]);
        guard.is_on()?;
        Ok(guard)
    }

    /// Starts it, it sets `vm.swappiness`, and is killed: its record is left.
    pub(crate) fn killed(place: &Place) -> Result<(), String> {
        let mut guard = Self::start(place, SETS)?;
        let is_set = becomes(PROMPT, || place.read(SWAPPINESS) == "0");
        assert!(is_set && Path::new(STATE).exists(), "{}", guard.log());
        guard.0.kill().expect("a child");
        wait(&mut guard.0, PROMPT).expect("it is killed");
        Ok(())
    }

    pub(crate) fn is_on(&mut self) -> Result<(), String> {
        becomes(PROMPT, || self.log().contains("on: ") || self.has_ended());
        match self.log().contains("on: ") && !self.has_ended() {
            true => Ok(()),
            false => Err(format!("the guard does not begin: {}", self.log())),
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_some()
    }

    pub(crate) fn log(&self) -> String {
        let log = fs::read(LOG).unwrap_or_default();
        String::from_utf8_lossy(&log).trim().to_owned()
    }

    /// Ends it as systemd does; what was seen where it does not end.
    pub(crate) fn stop(&mut self) -> Result<(), String> {
        self.signal(Signal::TERM);
        match wait(&mut self.0, PROMPT) {
            Some(_) => Ok(()),
            None => Err("the guard does not end at SIGTERM".to_owned()),
        }
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        if !self.has_ended() {
            kill_process(Pid::from_child(&self.0), signal).expect("a child");
        }
    }

    /// Whether it has locked a file.
    pub(crate) fn has_locked(&self, path: &Path) -> bool {
        let smaps = fs::read(format!("/proc/{}/smaps", self.0.id())).unwrap_or_default();
        let smaps = String::from_utf8_lossy(&smaps);
        let name = path.file_name().expect("a name").to_string_lossy();
        let mut lines = smaps
            .lines()
            .skip_while(|line| !line.ends_with(&format!("/{name}")));
        let locked = lines.find_map(|line| line.strip_prefix("Locked:"));
        locked.is_some_and(|amount| amount.trim() != "0 kB")
    }

    /// Uses a file as a service does until the guard has locked it; whether that comes in time.
    pub(crate) fn comes_to_lock(&mut self, path: &Path, within: Duration) -> bool {
        becomes(within, || {
            fs::read(path).expect("a file");
            std::thread::sleep(Duration::from_millis(200));
            self.has_locked(path) || self.has_ended()
        });
        self.has_locked(path)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
