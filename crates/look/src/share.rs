//! A share of a whole, as a percentage.

use std::fmt;

use mm::units::Bytes;

/// A part of a whole: it is never more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    part: u64,
    whole: u64,
}

impl Share {
    /// `None` where the whole is nothing, or less than the part: then no share can be told.
    pub fn of(part: u64, whole: u64) -> Option<Self> {
        (whole > 0 && part <= whole).then_some(Self { part, whole })
    }

    /// In percent, rounded down.
    pub fn percent(self) -> u64 {
        self.scaled(100)
    }

    /// In parts of this many, rounded down.
    pub fn scaled(self, to: u64) -> u64 {
        let scaled = u128::from(self.part) * u128::from(to) / u128::from(self.whole);
        u64::try_from(scaled).map_or(to, |scaled| scaled)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.percent() {
            0 if self.part > 0 => f.pad("<1%"),
            percent => f.pad(&format!("{percent}%")),
        }
    }
}

/// "31%", "<1%", "0%"; "more than all" and "of nothing" where there is no share.
pub fn percent(part: u64, whole: u64) -> String {
    match Share::of(part, whole) {
        Some(share) => share.to_string(),
        None if whole == 0 => "of nothing".to_owned(),
        None => "more than all".to_owned(),
    }
}

/// "1.2 GiB of 3 GiB (40%)".
pub fn of(part: Bytes, whole: Bytes) -> String {
    let share = Share::of(part.0, whole.0);
    match share {
        Some(share) => format!("{part} of {whole} ({share})"),
        None => format!("{part} of {whole}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_larger_than_its_whole_has_no_share() {
        assert_eq!(Share::of(595, 1), None);
        assert_eq!(Share::of(0, 0), None);
        assert_eq!(percent(595, 0), "of nothing");
        assert_eq!(percent(595, 1), "more than all");
        assert_eq!(percent(1, 1000), "<1%");
        assert_eq!(Share::of(u64::MAX, u64::MAX).map(Share::percent), Some(100));
    }
}
