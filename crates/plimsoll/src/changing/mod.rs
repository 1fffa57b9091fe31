//! Changing this machine: what is asked for, the plan that is shown first, the timer that takes a
//! change back, and what is told of changes. The verbs are in `cmd`; what decides is in `change`.

pub(crate) mod asked;
pub(crate) mod native;
pub(crate) mod plan;
pub(crate) mod settle;
pub(crate) mod timer;
pub(crate) mod told;

use std::time::Duration;

use anyhow::bail;
use mm::units::Nanos;

/// A time as people write it: `90s`, `10m`, `2h`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let refused = || "expected a time from 5s to 7d, as in 90s, 10m, 2h".to_owned();
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(refused)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| refused())?;
    let unit = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(refused()),
    };
    let seconds = number.saturating_mul(unit);
    match (5..=7 * 86_400).contains(&seconds) {
        true => Ok(Duration::from_secs(seconds)),
        false => Err(refused()),
    }
}

/// A time as people read it.
pub(crate) fn said(time: Nanos) -> String {
    let seconds = time.0.div_ceil(Nanos::SECOND.0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// The time in the machine's unit.
pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Whoever writes must be the administrator, outside of a container.
pub(crate) fn check_place(root: &host::Root, verb: &str) -> anyhow::Result<()> {
    host::changes::may_change(root)?;
    if !rustix::process::geteuid().is_root() {
        bail!("{verb} writes to this machine: run it as root (plimsoll status needs no root)");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(time("2h"), Ok(Duration::from_secs(7200)));
        for text in [
            "",
            "10",
            "m",
            "1s",
            "-5m",
            "8d",
            "99999999999999999999s",
            "1.5h",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
        assert_eq!(said(nanos(Duration::from_secs(90))), "90 s");
        assert_eq!(said(nanos(Duration::from_secs(600))), "10 min");
    }
}
