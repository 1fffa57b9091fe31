//! The verbs, one a file: `#[derive(clap::Args)] struct Args` and
//! `fn run(args: Args) -> anyhow::Result<ExitCode>`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use mm::quantity;
use mm::stock::Stock;
use mm::text::lasting;
use mm::units::Nanos;

pub(crate) mod advise;
pub(crate) mod apply;
pub(crate) mod calibrate;
pub(crate) mod completions;
pub(crate) mod confirm;
pub(crate) mod explain;
pub(crate) mod fidelity;
pub(crate) mod fleet;
pub(crate) mod guard;
pub(crate) mod history;
pub(crate) mod inspect;
pub(crate) mod ksm;
pub(crate) mod lint;
pub(crate) mod metrics;
pub(crate) mod page;
pub(crate) mod predict;
pub(crate) mod prove;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod studies;
pub(crate) mod sweep;
pub(crate) mod top;
pub(crate) mod trial;
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

/// An argument that is a time: `90s`, `10 min`, `2h`, and in seconds where it is a number alone.
pub(crate) fn time(
    range: RangeInclusive<Nanos>,
) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    move |text| {
        let with_unit = text.ends_with(|end: char| !end.is_ascii_digit());
        let time = match with_unit {
            true => quantity::duration(text),
            false => quantity::duration(&format!("{text}s")),
        };
        let time = time.ok().filter(|time| range.contains(time));
        let [low, high] = [range.start(), range.end()].map(|end| match end.0 {
            1..1_000_000_000 => end.to_string(),
            _ => lasting(*end),
        });
        let refused = || format!("expected a time from {low} to {high}, as in 90s, 10m, 2h");
        time.map(|Nanos(time)| Duration::from_nanos(time))
            .ok_or_else(refused)
    }
}

/// The times from one to another, in seconds.
const fn seconds(least: u64, most: u64) -> RangeInclusive<Nanos> {
    Nanos(least * Nanos::SECOND.0)..=Nanos(most * Nanos::SECOND.0)
}

/// The help of a `--kernel` that is booted; `more` is said behind it.
fn bootable(more: &str) -> String {
    let stock = Stock::spellings().collect::<Vec<_>>().join(", ");
    format!("The kernel: {stock} (stock Debian kernels), host, or the path of an image{more}")
}

/// How long a change waits or is watched, and how far back is looked.
const UP_TO_A_WEEK: RangeInclusive<Nanos> = seconds(5, 604_800);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let read = time(UP_TO_A_WEEK);
        for (text, seconds) in [
            ("90s", 90),
            ("90", 90),
            ("10m", 600),
            ("10 min", 600),
            ("2h", 7200),
        ] {
            assert_eq!(read(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(read("1.5h"), read("90m"));
        let refused = Err("expected a time from 5 s to 168 h, as in 90s, 10m, 2h".to_owned());
        for text in ["", "m", "1s", "-5m", "8d", "99999999999999999999s", "5 MiB"] {
            assert_eq!(read(text), refused, "{text}");
        }
    }
}
