//! `/proc/pressure/*`: the share of time that tasks stall for a resource.

use crate::text::{Line, ParseError, lines};
use crate::units::Nanos;

/// Paths without the leading slash.
pub const PATHS: [&str; 3] = [
    "proc/pressure/memory",
    "proc/pressure/io",
    "proc/pressure/cpu",
];

/// One pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Psi {
    /// Time in which at least one task stalled.
    pub some: Option<Stall>,
    /// Time in which all tasks that were not idle stalled.
    pub full: Option<Stall>,
}

/// One line of a pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Share of the last 10 s, in hundredths of a percent (0 to 10000).
    pub avg10: u32,
    /// Share of the last 60 s, in hundredths of a percent.
    pub avg60: u32,
    /// Share of the last 300 s, in hundredths of a percent.
    pub avg300: u32,
    /// Time stalled since boot. The kernel counts microseconds.
    pub total: Nanos,
}

impl Psi {
    /// Reads the text of a pressure file; `file` names it in errors.
    ///
    /// # Errors
    /// A line that is not "some" or "full" with avg10, avg60, avg300 and total.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let mut psi = Self::default();
        for line in lines(file, text) {
            match line.words().next() {
                Some("some") => psi.some = Some(Stall::parse(&line)?),
                Some("full") => psi.full = Some(Stall::parse(&line)?),
                _ => return Err(line.error(line.text, "\"some avg10=…\" or \"full avg10=…\"")),
            }
        }
        Ok(psi)
    }
}

impl Stall {
    fn parse(line: &Line<'_>) -> Result<Self, ParseError> {
        let average = |key| hundredths(line, key, field(line, key)?);
        let total = line.number_in::<u64>("total", field(line, "total")?)?;
        Ok(Self {
            avg10: average("avg10")?,
            avg60: average("avg60")?,
            avg300: average("avg300")?,
            total: Nanos(total.saturating_mul(1000)),
        })
    }
}

fn field<'a>(line: &Line<'a>, key: &'static str) -> Result<&'a str, ParseError> {
    let mut values = line.words().filter_map(|word| word.split_once('='));
    let found = values.find(|(name, _)| *name == key);
    found
        .map(|(_, value)| value)
        .ok_or_else(|| line.error(line.text, "avg10=, avg60=, avg300= and total="))
}

/// "12.34" as 1234.
fn hundredths(line: &Line<'_>, key: &str, value: &str) -> Result<u32, ParseError> {
    let error = || line.error(key, "a share in percent with two digits, as in 12.34");
    let (whole, fraction) = value.split_once('.').ok_or_else(error)?;
    let digits = fraction.len() == 2 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let whole = whole.parse::<u32>().ok().filter(|&whole| whole <= 1000);
    match (digits, whole, fraction.parse::<u32>()) {
        (true, Some(whole), Ok(fraction)) => Ok(whole * 100 + fraction),
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_totals_are_read() {
        let text = "some avg10=12.34 avg60=0.05 avg300=100.00 total=42\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let psi = Psi::parse(PATHS[0], text).expect("a pressure file");
        let some = psi.some.expect("some");
        assert_eq!((some.avg10, some.avg60, some.avg300), (1234, 5, 10_000));
        assert_eq!(some.total, Nanos(42_000));
        assert_eq!(psi.full.expect("full").total, Nanos(7000));
    }

    #[test]
    fn malformed_lines_are_named() {
        for bad in [
            "most avg10=0.00 avg60=0.00 avg300=0.00 total=0",
            "some avg10=0.00 avg60=0.00 total=0",
            "some avg10=0,00 avg60=0.00 avg300=0.00 total=0",
            "some avg10=99999999.00 avg60=0.00 avg300=0.00 total=0",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=-1",
        ] {
            assert!(Psi::parse(PATHS[0], bad).is_err(), "{bad}");
        }
    }
}
