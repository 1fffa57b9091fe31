//! The verbs, one a file: `#[derive(clap::Args)] struct Args` and
//! `fn run(args: Args) -> anyhow::Result<ExitCode>`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

pub(crate) mod apply;
pub(crate) mod calibrate;
pub(crate) mod completions;
pub(crate) mod confirm;
pub(crate) mod explain;
pub(crate) mod fidelity;
pub(crate) mod guard;
pub(crate) mod history;
pub(crate) mod inspect;
pub(crate) mod ksm;
pub(crate) mod lint;
pub(crate) mod page;
pub(crate) mod predict;
pub(crate) mod prove;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod set;
pub(crate) mod status;
pub(crate) mod studies;
pub(crate) mod undo;
pub(crate) mod watch;

/// An argument that is a whole number.
fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (low, high) = (range.start(), range.end());
        number.ok_or_else(|| format!("expected a whole number from {low} to {high}"))
    }
}

/// An argument in seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let refused = || "expected seconds from 0 to 3600, as in 0.5".to_owned();
    let seconds: f64 = text.parse().map_err(|_| refused())?;
    match seconds {
        0.0..=3600.0 => Duration::try_from_secs_f64(seconds).map_err(|_| refused()),
        _ => Err(refused()),
    }
}
