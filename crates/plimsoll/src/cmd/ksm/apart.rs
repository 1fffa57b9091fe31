//! The estimate runs in a process of its own, which can be left behind: to read a page that a file
//! system in user space holds back waits for that file system, and no signal ends the wait. A user
//! can put such a page where anonymous memory was a moment before.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::exit::ExitCode;

/// Says that this process is the one apart.
const APART: &str = "PLIMSOLL_ESTIMATE_APART";

/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(100);

/// How long it may wait and do nothing else, beside what it sleeps, before it is left behind.
const STUCK: Duration = Duration::from_secs(10);

/// Whether this is the process apart: it ends with the one that waits for it.
pub(super) fn is_here() -> bool {
    let is_here = std::env::var_os(APART).is_some();
    if is_here {
        // That it cannot be asked leaves nothing worse than a process that ends by itself.
        set_parent_process_death_signal(Some(Signal::TERM)).ok();
    }
    is_here
}

/// Runs this command line apart, and waits for it as long as it does something; it sleeps for
/// `between`.
pub(super) fn run(between: Duration) -> anyhow::Result<ExitCode> {
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).env(APART, "1");
    let mut child = command.spawn().context("cannot run a process apart")?;
    let (mut before, mut same) = (None, Duration::ZERO);
    loop {
        if let Some(status) = child.try_wait()? {
            return match (status.code(), status.signal()) {
                (Some(0), _) => Ok(ExitCode::Done),
                (Some(1), _) => Ok(ExitCode::No),
                // It has said why.
                (Some(code), _) => std::process::exit(code),
                (None, signal) => bail!("it was ended by signal {}", signal.unwrap_or(0)),
            };
        }
        let now = waiting(&child);
        same = match now.is_some() && now == before {
            true => same + LOOK,
            false => Duration::ZERO,
        };
        if same >= between + STUCK {
            child.kill().ok();
            bail!("{}", left(&child));
        }
        before = now;
        std::thread::sleep(LOOK);
    }
}

/// Its line of `/proc/PID/stat` where it waits; the line has its CPU time and faults, so it stays
/// the same as long as nothing is done.
fn waiting(child: &Child) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let (_, state) = line.rsplit_once(") ")?;
    state.starts_with(['D', 'S']).then_some(line)
}

/// Why it is left behind, and the way out: it has the memory open that it reads.
fn left(child: &Child) -> String {
    let files = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter();
    let links = files.flatten().flatten();
    let paths = links.filter_map(|link| fs::read_link(link.path()).ok());
    let whose = paths.filter_map(|path| {
        let pid = path
            .to_str()?
            .strip_prefix("/proc/")?
            .strip_suffix("/mem")?;
        Some(format!("process {pid}"))
    });
    let whose = whose.last().unwrap_or_else(|| "a process".to_owned());
    format!(
        "{whose} has memory of a file system that does not answer: nothing was estimated; leave it \
         out, by --pid or --cgroup of others"
    )
}
