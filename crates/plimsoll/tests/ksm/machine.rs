//! KSM of this machine, lent to a test: everything is found again as it was.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

const DIR: &str = "/sys/kernel/mm/ksm";

/// What a test may set, in the order in which it is given back.
const TUNABLES: [&str; 6] = [
    "max_page_sharing",
    "use_zero_pages",
    "smart_scan",
    "pages_to_scan",
    "sleep_millisecs",
    "run",
];

/// KSM, switched off and with nothing merged, for this test alone.
pub(crate) struct Ksm {
    found: Vec<(&'static str, String)>,
    /// Held while the test runs: another checkout's test waits.
    _lock: File,
}

/// Takes KSM; where that cannot be, or would touch what is not ours, the reason.
pub(crate) fn take() -> Result<Ksm, String> {
    if std::env::var_os("PLIMSOLL_KSM").is_some_and(|value| value == "off") {
        return Err("PLIMSOLL_KSM=off".to_owned());
    }
    if !Path::new(DIR).is_dir() {
        return Err("this kernel has no KSM".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Err("only root may switch KSM on".to_owned());
    }
    let path = format!("{DIR}/run");
    let lock = File::options().read(true).write(true).open(&path);
    let lock = lock.map_err(|error| format!("{path}: {error}"))?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| format!("{path}: {error}"))?;
    if number("run") != 0 || number("pages_shared") != 0 {
        return Err("KSM is in use on this machine".to_owned());
    }
    if !value("advisor_mode").is_none_or(|mode| mode.contains("[none]")) {
        return Err("KSM's advisor is on".to_owned());
    }
    nobody_asks()?;
    let found = TUNABLES
        .into_iter()
        .filter_map(|name| Some((name, value(name)?)));
    Ok(Ksm {
        found: found.collect(),
        _lock: lock,
    })
}

/// Whether no process of the machine asks for merging; the test must not merge another's memory.
fn nobody_asks() -> Result<(), String> {
    let processes = fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?;
    let stats = processes
        .flatten()
        .map(|entry| entry.path().join("ksm_stat"));
    let stats = stats.filter_map(|path| fs::read_to_string(path).ok());
    // That of a kernel thread is empty.
    for stat in stats.filter(|stat| !stat.is_empty()) {
        if !stat.contains("ksm_mergeable: ") {
            return Err("this kernel does not say who asks for merging (Linux 6.14 does)".into());
        }
        if stat.contains("ksm_mergeable: yes") || stat.contains("ksm_merge_any: yes") {
            return Err("a process of this machine asks for merging, such as a VM".to_owned());
        }
    }
    Ok(())
}

impl Ksm {
    /// Writes a tunable.
    pub(crate) fn set(&self, name: &str, value: u64) {
        assert!(TUNABLES.contains(&name), "{name} would not be given back");
        fs::write(format!("{DIR}/{name}"), format!("{value}\n")).expect(name);
    }

    /// Merges for this many full scans; how long that took.
    pub(crate) fn merge(&self, scans: u64) -> Duration {
        let (start, until) = (Instant::now(), number("full_scans") + scans);
        self.set("run", 1);
        while number("full_scans") < until {
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "ksmd does not get on"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        start.elapsed()
    }

    /// Takes everything apart again.
    pub(crate) fn unmerge(&self) {
        self.set("run", 2);
        self.set("run", 0);
    }
}

impl Drop for Ksm {
    fn drop(&mut self) {
        let _ = fs::write(format!("{DIR}/run"), "2\n");
        for (name, value) in &self.found {
            let _ = fs::write(format!("{DIR}/{name}"), format!("{value}\n"));
        }
    }
}

/// The number in one of KSM's files.
pub(crate) fn number(name: &str) -> u64 {
    value(name)
        .and_then(|value| value.parse().ok())
        .expect(name)
}

/// What ksmd has had of the CPU, in nanoseconds.
pub(crate) fn ksmd_cpu() -> u64 {
    let processes = fs::read_dir("/proc").expect("/proc");
    let named =
        |path: &Path| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "ksmd");
    let mut paths = processes.flatten().map(|entry| entry.path());
    let ksmd = paths
        .find(|path| named(path))
        .expect("ksmd runs wherever KSM is");
    let stat = fs::read_to_string(ksmd.join("schedstat")).expect("its time");
    let first = stat.split(' ').next().expect("a number");
    first.parse().expect("nanoseconds")
}

fn value(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("{DIR}/{name}")).ok()?;
    Some(text.trim().to_owned())
}
