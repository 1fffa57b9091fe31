//! A command that prints a number.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use mm::text::lasting;

use crate::changing::nanos;

/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(20);

/// The longest output that is read, in bytes.
const LONGEST: usize = 4096;

/// Runs a command with `sh`, and reads the number that it prints.
///
/// # Errors
/// It fails, takes longer than `limit`, or prints no number; in one line.
pub(super) fn command(
    text: &str,
    limit: Duration,
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<f64> {
    let mut command = Command::new("sh");
    command.args(["-c", text]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("sh")?;
    let ended = wait(&mut child, limit, is_over);
    // What it left behind has no use, and may hold the pipe.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        kill_process_group(group, Signal::KILL).ok();
    }
    child.wait().ok();
    match ended? {
        Some(true) => printed(&mut child, text),
        Some(false) => bail!("{text}: it failed, and prints the reason on stderr"),
        None if is_over() => bail!("{text}: the trial was ended"),
        None => bail!("{text}: it takes longer than {}", lasting(nanos(limit))),
    }
}

/// Whether it ended well; `None` where it did not end.
fn wait(
    child: &mut Child,
    limit: Duration,
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<Option<bool>> {
    let start = Instant::now();
    while start.elapsed() < limit && !is_over() {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

/// A process that left the group may still hold the pipe: only what is there is read.
fn printed(child: &mut Child, text: &str) -> anyhow::Result<f64> {
    let mut pipe = child.stdout.take().context("sh has no output")?;
    rustix::io::ioctl_fionbio(&pipe, true)?;
    let mut bytes = [0; LONGEST];
    let read = pipe.read(&mut bytes).unwrap_or(0);
    let printed = String::from_utf8_lossy(&bytes[..read]);
    number(&printed).with_context(|| {
        let first = printed.lines().next().unwrap_or_default();
        format!("{text}: prints no number but `{first}`")
    })
}

/// A text that is one number, finite.
pub(super) fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<f64, String> {
        let limit = Duration::from_millis(500);
        command(text, limit, &|| false).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_command_prints_one_number_in_time() {
        assert_eq!(asked("echo 12.5"), Ok(12.5));
        assert_eq!(asked("echo ' -3e2 '; echo"), Ok(-300.0));
        assert_eq!(
            asked("echo two"),
            Err("echo two: prints no number but `two`".to_owned())
        );
        for text in ["echo nan", "echo inf", "echo 1 2", "true"] {
            assert!(
                asked(text).unwrap_err().contains("prints no number"),
                "{text}"
            );
        }
        let failed = asked("echo 3; exit 4").unwrap_err();
        assert!(failed.contains("it failed"), "{failed}");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_with_all_that_it_started() {
        let start = Instant::now();
        assert_eq!(
            asked("sleep 60 & sleep 60"),
            Err("sleep 60 & sleep 60: it takes longer than 1 s".to_owned())
        );
        // What stays behind and holds the pipe is not waited for.
        assert_eq!(asked("setsid sleep 5 & echo 7"), Ok(7.0));
        assert!(asked("yes").unwrap_err().contains("takes longer"));
        assert!(start.elapsed() < Duration::from_secs(4));
    }
}
