//! Dates at the beginning of a line of a log.

use crate::units::Nanos;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The time of a date that the text begins with, in nanoseconds since 1970 as if it were UTC, and
/// the text behind it. 0 where the date has no year.
pub(super) fn leading(text: &str) -> Option<(Nanos, &str)> {
    let weekday = DAYS.iter().find_map(|day| text.strip_prefix(day));
    let dated = weekday.and_then(|rest| rest.strip_prefix(' '));
    let rest = dated.unwrap_or(text).trim_ascii_start();
    of_syslog(rest)
        .or_else(|| of_logcat(rest))
        .or_else(|| of_another_language(rest))
        .or_else(|| of_iso(rest))
        .or_else(|| of_unix(rest))
}

/// "Jan  1 00:00:00[.123456][ 2024]"; also "Jan  1 00:00" of `dmesg -e`.
fn of_syslog(text: &str) -> Option<(Nanos, &str)> {
    let (month, rest) = (1..)
        .zip(MONTHS)
        .find_map(|(month, name)| Some((month, text.strip_prefix(name)?.strip_prefix(' ')?)))?;
    let (day, rest) = word(rest);
    let day: u64 = day.parse().ok()?;
    let (time, rest) = word(rest);
    let time = seconds_of(time)?;
    let (year, after) = word(rest);
    match year.parse::<u64>() {
        Ok(year) if (1970..2200).contains(&year) => Some((nanos(year, month, day, time), after)),
        _ => Some((Nanos::ZERO, rest)),
    }
}

/// "03-19 10:05:52.172", as Android's logcat writes it.
fn of_logcat(text: &str) -> Option<(Nanos, &str)> {
    let (date, rest) = word(text);
    let (month, day) = date.split_once('-')?;
    let (time, rest) = word(rest);
    let two = |text: &str, most: u64| {
        text.len() == 2
            && text
                .parse()
                .is_ok_and(|number: u64| (1..=most).contains(&number))
    };
    let clock = time.contains('.') && seconds_of(time).is_some();
    (two(month, 12) && two(day, 31) && clock).then_some((Nanos::ZERO, rest))
}

/// Whether a date in any language is in it: it has a time with its seconds.
pub(super) fn has_clock(text: &str) -> bool {
    text.split(' ').any(is_clock)
}

fn is_clock(word: &str) -> bool {
    word.len() >= 8 && word.matches(':').count() == 2 && seconds_of(word).is_some()
}

/// "avril 16 21:08:50", "9月 3 05:57:48": the month in a language that is not read.
fn of_another_language(text: &str) -> Option<(Nanos, &str)> {
    let (month, rest) = word(text);
    let (day, rest) = word(rest);
    let (time, rest) = word(rest);
    let of_name = |c: char| c.is_alphanumeric() || c == '.';
    let named = (3..=12).contains(&month.len())
        && month.chars().all(of_name)
        && month.contains(char::is_alphabetic);
    let day = day.parse().is_ok_and(|day: u64| (1..=31).contains(&day));
    (named && day && is_clock(time)).then_some((Nanos::ZERO, rest))
}

/// "2024-01-01T00:00:00.123456+00:00", or with a space between and the name of the zone behind. A
/// comma before the fraction is `dmesg`'s way, which has no host behind it.
fn of_iso(text: &str) -> Option<(Nanos, &str)> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut numbers = date.split('-').map(|number| number.parse::<u64>().ok());
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let clock = rest.strip_prefix(['T', ' '])?;
    let (time, after) = word(clock);
    let at = nanos(year, month, day, seconds_of(time)?);
    let zoned = ["UTC ", "CET ", "CEST ", "GMT ", "EST ", "PST "];
    let after = zoned
        .iter()
        .find_map(|zone| after.strip_prefix(zone))
        .unwrap_or(after);
    Some((at, after))
}

/// "1704067200.123456 ", as `journalctl -o short-unix` writes it.
fn of_unix(text: &str) -> Option<(Nanos, &str)> {
    let (stamp, rest) = word(text);
    let (seconds, fraction) = stamp.split_once('.')?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = seconds.len() == 10 && fraction.len() == 6 && number(seconds) && number(fraction);
    fits.then(|| (since_boot(seconds, fraction), rest))
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim_ascii_start();
    text.split_once(' ').unwrap_or((text, ""))
}

/// Seconds of "HH:MM[:SS]" and what may stand behind it.
fn seconds_of(time: &str) -> Option<u64> {
    let clock = time.split(['.', ',', '+', 'Z', '-']).next()?;
    let mut numbers = clock.split(':').map(|number| number.parse::<u64>().ok());
    let (hours, minutes) = (numbers.next()??, numbers.next()??);
    let seconds = numbers.next().unwrap_or(Some(0))?;
    let fits = hours < 24 && minutes < 60 && seconds <= 60 && numbers.next().is_none();
    fits.then(|| hours * 3600 + minutes * 60 + seconds)
}

/// Nanoseconds from 1970 to this second of this day of the Gregorian calendar.
fn nanos(year: u64, month: u64, day: u64, seconds: u64) -> Nanos {
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return Nanos::ZERO;
    }
    // A year that begins in March has its leap day last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    const TO_1970: u64 = 719_468;
    Nanos((days - TO_1970) * 86_400_000_000_000 + seconds * 1_000_000_000)
}

/// The time of "SECONDS.FRACTION".
pub(super) fn since_boot(seconds: &str, fraction: &str) -> Nanos {
    let seconds: u64 = seconds.parse().unwrap_or(0);
    let digits = fraction.bytes().chain(core::iter::repeat(b'0')).take(9);
    let nanos = digits.fold(0, |sum, byte| {
        sum * 10 + u64::from(byte.wrapping_sub(b'0') % 10)
    });
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1970() {
        assert_eq!(nanos(1970, 1, 1, 0), Nanos(0));
        assert_eq!(nanos(2024, 3, 1, 1), Nanos(1_709_251_201_000_000_000));
        assert_eq!(leading("2024-02-31T25:00:00 x"), None);
        assert_eq!(leading("Node 0 DMA free:1kB"), None);
        assert_eq!(leading("é2024-01-0"), None);
    }
}
