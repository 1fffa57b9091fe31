//! Amounts as people write them in a study or a configuration: `"3840 MiB"`, `"118000 KiB/s"`,
//! `"500 ms"`.
//!
//! Binary units (KiB, MiB, …; K, M, … as systemd has them) count in 1024, decimal ones (kB, MB, …)
//! in 1000. Fractions are exact
//! and rounded down to a whole byte or nanosecond: `"1.5 GiB"`. What a workload uses may also be a
//! share of the memory that is available: `"95 % of available"`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::units::{Bytes, Nanos};

use crate::suggest;

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];

const TIMES: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// The largest size that is accepted: 2^60 bytes, so that sums of a few never overflow.
pub const LARGEST_SIZE: u64 = 1 << 60;
/// The longest time that is accepted: a week.
pub const LONGEST_TIME: u64 = 604_800_000_000_000;

/// The largest share of what is available, in percent: ten times as much.
const LARGEST_SHARE: u64 = 1000;
/// What follows the number of a share.
const OF_AVAILABLE: &str = "% of available";

/// Why a text is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It does not begin with a number.
    #[error("\"{0}\" does not begin with a number")]
    NoNumber(String),
    /// There is no unit, or another one.
    #[error("\"{text}\" has no unit of {kind}; {way_out}")]
    Unit {
        /// The text.
        text: String,
        /// "size", "time" or "bandwidth".
        kind: &'static str,
        /// A suggestion, or the units there are.
        way_out: String,
    },
    /// A share that is none, or too fine.
    #[error("\"{0}\" is no share of what is available")]
    Share(String),
    /// A range that is none, or ends before it begins.
    #[error("\"{0}\" is no range of times")]
    Range(String),
    /// It is larger than anything that makes sense.
    #[error("\"{text}\" is too large; the most is {most}")]
    TooLarge {
        /// The text.
        text: String,
        /// The largest amount.
        most: String,
    },
}

/// A size as a study says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This many bytes.
    Bytes(Bytes),
    /// A share of `MemAvailable` as it is when the run begins, after the base settings: what fits a
    /// machine depends on what its kernel has left.
    OfAvailable {
        /// The share in thousandths.
        thousandths: u32,
    },
}

/// How long a process sleeps after each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// That long.
    Constant(Nanos),
    /// Each time from the shortest to the longest equally likely.
    Uniform {
        /// The shortest.
        from: Nanos,
        /// The longest.
        to: Nanos,
    },
    /// Exponentially distributed, as between independent requests.
    Exponential {
        /// The mean.
        mean: Nanos,
    },
}

impl Think {
    /// It goes on at once.
    pub const NONE: Self = Self::Constant(Nanos::ZERO);

    /// How long on average.
    #[must_use]
    pub fn mean(self) -> Nanos {
        match self {
            Self::Constant(pause) => pause,
            Self::Uniform { from, to } => Nanos(from.0.midpoint(to.0)),
            Self::Exponential { mean } => mean,
        }
    }
}

impl Size {
    /// The bytes it comes to where `available` is available, in whole pages of 4 KiB.
    #[must_use]
    pub fn at(self, available: Bytes) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::OfAvailable { thousandths } => {
                let share = u128::from(available.0) * u128::from(thousandths) / 1000;
                Bytes(u64::try_from(share).unwrap_or(u64::MAX) / 4096 * 4096)
            }
        }
    }
}

impl From<Bytes> for Size {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

/// Reads a size: `"512 MiB"`.
///
/// # Errors
/// No number, no unit of size, or more than [`LARGEST_SIZE`].
pub fn size(text: &str) -> Result<Bytes, QuantityError> {
    amount(text, text, "size", SIZES, LARGEST_SIZE, "1024 PiB").map(Bytes)
}

/// Reads a size of a workload: `"512 MiB"`, or `"95 % of available"`, with at most one digit after
/// the point.
///
/// # Errors
/// What [`size`] says, a number that is no share, or more than 1000 %.
pub fn workload_size(text: &str) -> Result<Size, QuantityError> {
    let Some(number) = text.trim_end().strip_suffix(OF_AVAILABLE) else {
        return size(text).map(Size::Bytes);
    };
    let no_share = || QuantityError::Share(shortened(text));
    let share = Decimal::parse(number.trim()).ok_or_else(no_share)?;
    let thousandths = share.times(10).ok_or_else(no_share)?;
    if thousandths > LARGEST_SHARE * 10 {
        return Err(QuantityError::TooLarge {
            text: shortened(text),
            most: format!("{LARGEST_SHARE} {OF_AVAILABLE}"),
        });
    }
    let exact = share.is_whole_times(10).then_some(thousandths);
    let thousandths = exact.and_then(|share| u32::try_from(share).ok());
    Ok(Size::OfAvailable {
        thousandths: thousandths.ok_or_else(no_share)?,
    })
}

/// Reads a number with at most one digit after the point, in tenths: `"12.5"` is 125.
#[must_use]
pub fn tenths(text: &str) -> Option<u32> {
    let number = Decimal::parse(text)?;
    let tenths = number.times(10).filter(|_| number.is_whole_times(10))?;
    u32::try_from(tenths).ok()
}

/// Reads a span of time: `"250 ms"`.
///
/// # Errors
/// No number, no unit of time, or more than [`LONGEST_TIME`].
pub fn duration(text: &str) -> Result<Nanos, QuantityError> {
    amount(text, text, "time", TIMES, LONGEST_TIME, "7 d").map(Nanos)
}

/// Reads a time to think: `"5 ms"`, `"exponential 5 ms"` or `"uniform 1 ms to 9 ms"`.
///
/// # Errors
/// What [`duration`] says, or two times that are no range.
pub fn think(text: &str) -> Result<Think, QuantityError> {
    if let Some(mean) = text.strip_prefix("exponential ") {
        return duration(mean).map(|mean| Think::Exponential { mean });
    }
    let Some(range) = text.strip_prefix("uniform ") else {
        return duration(text).map(Think::Constant);
    };
    let no_range = || QuantityError::Range(shortened(range));
    let (from, to) = range.split_once(" to ").ok_or_else(no_range)?;
    let (from, to) = (duration(from)?, duration(to)?);
    match from <= to {
        true => Ok(Think::Uniform { from, to }),
        false => Err(no_range()),
    }
}

/// Reads bytes per second: `"118000 KiB/s"`.
///
/// # Errors
/// No number, no unit of size over `/s`, or more than [`LARGEST_SIZE`].
pub fn bandwidth(text: &str) -> Result<Bytes, QuantityError> {
    let Some(size) = text.trim_end().strip_suffix("/s") else {
        return Err(QuantityError::Unit {
            text: shortened(text),
            kind: "bandwidth",
            way_out: "write it as \"100 MiB/s\"".to_owned(),
        });
    };
    amount(text, size, "bandwidth", SIZES, LARGEST_SIZE, "1024 PiB/s").map(Bytes)
}

fn amount(
    text: &str,
    body: &str,
    kind: &'static str,
    units: &[(&str, u64)],
    limit: u64,
    most: &str,
) -> Result<u64, QuantityError> {
    let body = body.trim();
    let end = body
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(body.len());
    let (number, unit) = (&body[..end], body[end..].trim());
    let number = Decimal::parse(number).ok_or_else(|| QuantityError::NoNumber(shortened(text)))?;
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(QuantityError::Unit {
            text: shortened(text),
            kind,
            way_out: other_unit(unit, units),
        });
    };
    let too_large = || QuantityError::TooLarge {
        text: shortened(text),
        most: most.to_owned(),
    };
    let value = number.times(*factor).ok_or_else(too_large)?;
    (value <= limit).then_some(value).ok_or_else(too_large)
}

/// The way out of a unit that is none of `units`. A slip of one is meant to be it; a unit of
/// something else, or none at all, is not.
fn other_unit(unit: &str, units: &[(&str, u64)]) -> String {
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    let mut all = SIZES.iter().chain(TIMES);
    let is_another = all.any(|(name, _)| name.eq_ignore_ascii_case(unit));
    let is_one = names.iter().any(|name| name.eq_ignore_ascii_case(unit));
    match unit.is_empty() || (is_another && !is_one) {
        true => format!("there is {}", suggest::listed(&names)),
        false => suggest::way_out(unit, names),
    }
}

/// Digits and how many of them follow the point.
struct Decimal {
    digits: u128,
    places: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        // Ten digits after the point are beyond a nanosecond in a minute.
        let fraction = &fraction[..fraction.len().min(10)];
        let whole = whole.trim_start_matches('0');
        if whole.len() > 20 {
            return Some(Self {
                digits: u128::MAX,
                places: 0,
            });
        }
        let digits = format!("0{whole}{fraction}").parse().ok()?;
        let places = u32::try_from(fraction.len()).ok()?;
        Some(Self { digits, places })
    }

    /// Whether nothing is rounded away by [`Self::times`].
    fn is_whole_times(&self, factor: u64) -> bool {
        (self.digits * u128::from(factor)).is_multiple_of(10_u128.pow(self.places))
    }

    fn times(&self, factor: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(factor))?;
        u64::try_from(product / 10_u128.pow(self.places)).ok()
    }
}

fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!(size("3840 MiB"), Ok(Bytes(3840 << 20)));
        assert_eq!(size("1.5GiB"), Ok(Bytes(3 << 29)));
        assert_eq!(size("2 MB"), Ok(Bytes(2_000_000)));
        assert_eq!(size("0 B"), Ok(Bytes(0)));
        assert_eq!(size("512M"), size("512 MiB"));
        assert_eq!(duration("90m"), duration("1.5 h"));
        assert_eq!(duration("7d"), Ok(Nanos(LONGEST_TIME)));
        assert_eq!(duration("500 ms"), Ok(Nanos(500_000_000)));
        assert_eq!(duration("0.364 s"), Ok(Nanos(364_000_000)));
        assert_eq!(bandwidth("118000 KiB/s"), Ok(Bytes(118_000 << 10)));
    }

    #[test]
    fn what_is_no_amount_says_why() {
        let error = |result: Result<Bytes, QuantityError>| result.unwrap_err().to_string();
        assert_eq!(error(size("MiB")), "\"MiB\" does not begin with a number");
        assert_eq!(
            error(size("5 mib")),
            "\"5 mib\" has no unit of size; did you mean `MiB`?"
        );
        let units =
            "there is `B`, `kB`, `MB`, `GB`, `TB`, `PB`, `KiB`, `MiB`, `GiB`, `TiB`, `PiB`, `K`, …";
        for none in ["3840", "500 ms"] {
            let expected = format!("\"{none}\" has no unit of size; {units}");
            assert_eq!(error(size(none)), expected);
        }
        let time = duration("500 MiB").unwrap_err().to_string();
        assert!(time.contains("no unit of time; there is `ns`, "), "{time}");
        assert_eq!(size("1024 PiB"), Ok(Bytes(LARGEST_SIZE)));
        assert_eq!(
            error(bandwidth("5 MiB")),
            "\"5 MiB\" has no unit of bandwidth; write it as \"100 MiB/s\""
        );
        assert_eq!(
            error(size("99999999999999999999999999999999999999999 TiB")),
            "\"99999999999999999999999999999999999999999 TiB\" is too large; the most is 1024 PiB"
                .replace(
                    "99999999999999999999999999999999999999999 TiB",
                    &"9".repeat(40)
                )
        );
        assert!(size("1.2.3 MiB").is_err() && size("-1 MiB").is_err() && size("").is_err());
    }

    #[test]
    fn a_time_to_think_may_be_drawn() {
        let ms = |count: u64| Nanos(count * 1_000_000);
        let known = [
            ("5 ms", Think::Constant(ms(5))),
            ("0 s", Think::NONE),
            ("exponential 5ms", Think::Exponential { mean: ms(5) }),
            (
                "uniform 1 ms to 0.009 s",
                Think::Uniform {
                    from: ms(1),
                    to: ms(9),
                },
            ),
        ];
        for (text, expected) in known {
            assert_eq!(think(text), Ok(expected), "{text}");
        }
        for (text, why) in [
            (
                "exponential",
                "\"exponential\" does not begin with a number",
            ),
            ("uniform 5 ms", "\"5 ms\" is no range of times"),
            (
                "uniform 9 ms to 1 ms",
                "\"9 ms to 1 ms\" is no range of times",
            ),
            ("exponential x ms", "\"x ms\" does not begin with a number"),
        ] {
            assert_eq!(think(text).expect_err(text).to_string(), why);
        }
        assert!(think("uniform 1 to 9 ms").is_err() && think("normal 5 ms").is_err());
    }

    #[test]
    fn a_workload_may_take_a_share_of_what_is_available() {
        let share = |thousandths| Ok(Size::OfAvailable { thousandths });
        assert_eq!(workload_size("95 % of available"), share(950));
        assert_eq!(workload_size("12.5% of available"), share(125));
        assert_eq!(workload_size("0 % of available"), share(0));
        assert_eq!(workload_size("1000 % of available"), share(10_000));
        assert_eq!(workload_size("4 MiB"), Ok(Size::Bytes(Bytes(4 << 20))));
        for (text, why) in [
            (
                "x % of available",
                "\"x % of available\" is no share of what is available",
            ),
            (
                "1.25 % of available",
                "\"1.25 % of available\" is no share of what is available",
            ),
            (
                "1001 % of available",
                "\"1001 % of available\" is too large; the most is 1000 % of available",
            ),
        ] {
            let error = workload_size(text).expect_err(text).to_string();
            assert_eq!(error, why);
        }
        assert!(workload_size("95 %").is_err(), "of what?");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_the_reader(text in ".{0,60}") {
            let _ = (size(&text), duration(&text), bandwidth(&text));
            let _ = (think(&text), think(&format!("uniform {text} to {text}")));
            let _ = (workload_size(&text), workload_size(&format!("{text}% of available")));
        }

        #[test]
        fn whole_kibibytes_come_back(count in 0_u64..1 << 40) {
            proptest::prop_assert_eq!(size(&format!("{count} KiB")), Ok(Bytes(count << 10)));
        }
    }
}
