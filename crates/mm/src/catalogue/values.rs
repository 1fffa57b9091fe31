//! What a tunable's file takes, and what its number counts.

use core::fmt;

use crate::units::PageSize;

/// What a tunable's number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit: a switch, a word, a weight or a level.
    None,
    /// Bytes.
    Bytes,
    /// Kibibytes.
    Kib,
    /// Mebibytes.
    Mib,
    /// Base pages.
    Pages,
    /// Huge pages of the default size.
    HugePages,
    /// Hundredths.
    Percent,
    /// Ten-thousandths.
    Permyriad,
    /// Parts of a million.
    PerMillion,
    /// Milliseconds.
    Milliseconds,
    /// Hundredths of a second.
    Centiseconds,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// Bytes of one, on a machine with pages of this size; `None` where it counts no memory. Huge
    /// pages have a size of their own.
    #[must_use]
    pub fn bytes(self, page: PageSize) -> Option<u64> {
        match self {
            Self::Bytes => Some(1),
            Self::Kib => Some(1 << 10),
            Self::Mib => Some(1 << 20),
            Self::Pages => Some(page.bytes()),
            _ => None,
        }
    }
}

/// What may be written into a tunable's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// An integer, both ends included.
    Integer {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Integers between blanks, as many as the kernel has zones.
    Integers,
    /// Bits, in decimal, in hexadecimal with 0x, or `y` and `n` for all and none.
    Bits {
        /// All known bits.
        all: u64,
    },
    /// One of these words.
    Words(&'static [&'static str]),
    /// No or yes, in the words in which the file shows them.
    Truth([&'static str; 2]),
    /// A word that depends on what the kernel was built with.
    Word,
    /// Bytes, also with K, M, G or T behind them, or `max` for no limit.
    Limit,
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max: u64::MAX } => write!(f, "an integer of at least {min}"),
            Self::Integer { min, max } => write!(f, "an integer from {min} to {max}"),
            Self::Integers => f.write_str("integers between blanks"),
            Self::Bits { all } => write!(f, "y, n or a bit mask from 0 to {all:#x}"),
            Self::Words([words @ .., last]) => {
                words.iter().try_for_each(|word| write!(f, "{word}, "))?;
                write!(f, "or {last}")
            }
            Self::Words([]) => f.write_str("nothing"),
            Self::Truth([no, yes]) => write!(f, "{yes} or {no}"),
            Self::Word => f.write_str("one word"),
            Self::Limit => f.write_str("bytes, also with K, M, G or T, or max"),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Bytes => "bytes",
            Self::Kib => "kB",
            Self::Mib => "MB",
            Self::Pages => "pages",
            Self::HugePages => "huge pages",
            Self::Percent => "%",
            Self::Permyriad => "1/10000",
            Self::PerMillion => "1/1000000",
            Self::Milliseconds => "ms",
            Self::Centiseconds => "1/100 s",
            Self::Seconds => "s",
        })
    }
}
