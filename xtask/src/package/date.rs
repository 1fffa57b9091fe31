//! The date of everything in a package: that of the commit.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use crate::process;

/// Seconds since 1970: `SOURCE_DATE_EPOCH`, else the commit's.
pub(super) fn epoch() -> Result<u64> {
    let told = std::env::var("SOURCE_DATE_EPOCH").ok();
    let told = match told {
        Some(told) => told,
        None => {
            let mut git = process::program("git");
            let output = git.args(["log", "-1", "--format=%ct"]).output()?;
            String::from_utf8(output.stdout)?
        }
    };
    let told = told.trim();
    told.parse()
        .with_context(|| format!("SOURCE_DATE_EPOCH: \"{told}\" is no number of seconds"))
}

/// The same as the time of a file.
pub(super) fn time() -> Result<SystemTime> {
    Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(epoch()?))
}
