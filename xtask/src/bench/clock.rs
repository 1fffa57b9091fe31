//! What a program spends.

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process;

/// Linux counts CPU time for programs in hundredths of a second, whatever its own tick is.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a program printed and spent, in seconds.
pub(super) struct Spent {
    pub(super) output: String,
    pub(super) wall: f64,
    pub(super) cpu: f64,
}

impl Spent {
    /// Runs the command to its end, alone.
    pub(super) fn by(command: &mut Command) -> Result<Self> {
        let (start, before) = (Instant::now(), children_cpu()?);
        let child = command
            .spawn()
            .with_context(|| process::describe(command))?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("{}: {}", process::describe(command), output.status);
        }
        Ok(Self {
            output: String::from_utf8(output.stdout)?,
            wall: start.elapsed().as_secs_f64(),
            cpu: children_cpu()? - before,
        })
    }
}

/// The middle; 0 of nothing.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// CPU seconds of all children that have ended.
fn children_cpu() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let ticks = children_ticks(&stat).context("/proc/self/stat")?;
    Ok(ticks / TICKS_PER_SECOND)
}

/// cutime and cstime, the 16th and 17th field; the second, a name, may hold spaces.
fn children_ticks(stat: &str) -> Option<f64> {
    let fields = stat.rsplit_once(')')?.1;
    let mut ticks = fields.split_whitespace().skip(13).take(2);
    let mut next = || ticks.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_childrens_time_is_found() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 70 8 20 0 1 0 99";
        assert_eq!(children_ticks(stat), Some(78.0));
        assert_eq!(children_ticks("7 (a) S 1"), None);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([].into_iter()), 0.0);
    }
}
