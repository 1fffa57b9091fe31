//! An amount of memory as it is typed: pages, a size, or a share of the trace.

use std::fmt;
use std::str::FromStr;

use mm::quantity;
use mm::units::{Bytes, PageSize, Pages};

/// One `--memory`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Amount {
    Pages(Pages),
    Size(Bytes),
    /// A share of the trace's distinct pages, above 0 and up to 100 %.
    Percent(f64),
}

impl Amount {
    /// In whole pages, rounded down.
    pub(super) fn pages(&self, page: PageSize, distinct: u32) -> Pages {
        match *self {
            Self::Pages(pages) => pages,
            Self::Size(bytes) => bytes.pages_floor(page),
            Self::Percent(percent) => Pages((f64::from(distinct) * percent / 100.0) as u64),
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(number) = text.strip_suffix('%') {
            let percent = number.trim().parse().ok();
            let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
            let percent = percent.ok_or("a share is above 0% and up to 100%")?;
            return Ok(Self::Percent(percent));
        }
        match text.parse() {
            Ok(pages) => Ok(Self::Pages(Pages(pages))),
            Err(_) => quantity::size(text)
                .map(Self::Size)
                .map_err(|e| e.to_string()),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(pages) => pages.0.fmt(f),
            Self::Size(bytes) => bytes.fmt(f),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_typed_in_three_ways() {
        let pages = |text: &str| {
            let amount: Amount = text.parse().unwrap();
            amount.pages(PageSize::FOUR_KIB, 1_000_000).0
        };
        assert_eq!(pages("100000"), 100_000);
        assert_eq!(pages("400 MiB"), 102_400);
        assert_eq!(pages("400MiB"), 102_400);
        assert_eq!(pages("10%"), 100_000);
        assert_eq!(pages("0.5 %"), 5_000);
        assert_eq!(pages("100 B"), 0);
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", "-1", "10 mib", "101%", "-1%", "%", "nan%", "ten"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }
}
