//! A share of a whole, as a percentage.

use std::fmt;

use mm::units::Bytes;

use crate::page::Page;

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

/// Columns of the bar.
const BAR: u64 = 10;

/// "■■■······  31%  about"; at least one block where there is anything, and nothing but the words
/// where there is no share.
pub fn bar(page: &Page, part: u64, whole: u64, about: &str) -> String {
    let Some(share) = Share::of(part, whole) else {
        return about.to_owned();
    };
    let blocks = share.scaled(BAR * 2).div_ceil(2).max(u64::from(part > 0));
    let signs = |sign: &str, count: u64| (0..count).map(|_| sign).collect::<String>();
    let full = signs(page.either("■", "#"), blocks);
    let empty = signs(page.either("·", "."), BAR - blocks);
    format!("{full}{empty} {share:>4}  {about}")
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
