//! Units as types: a number that carries what it counts.
//!
//! Sums of many and conversions stop at the largest number: a malformed kernel file must not make a
//! reader panic. Conversions that depend on the page size take a [`PageSize`]; nothing here assumes
//! 4 KiB.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub, SubAssign};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// None of it.
            pub const ZERO: Self = Self(0);

            /// The sum, or the largest number where it would not fit.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// The difference, or zero where it would be negative.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self(0), Self::saturating_add)
            }
        }
    };
}

unit!(
    /// A number of base pages.
    Pages
);
unit!(
    /// A number of bytes.
    Bytes
);
unit!(
    /// A number of kibibytes, the unit of /proc/meminfo (which writes it "kB").
    Kib
);
unit!(
    /// A span or a point of time in nanoseconds.
    Nanos
);

/// The size of a base page in bytes; a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize(u64);

impl PageSize {
    /// The 4 KiB page of `x86_64` and of most arm64 kernels.
    pub const FOUR_KIB: Self = Self(4096);

    /// A page size in bytes; `None` unless it is a power of two from 4 KiB to 64 KiB.
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        (bytes.is_power_of_two() && (4096..=65536).contains(&bytes)).then_some(Self(bytes))
    }

    /// Bytes in one page.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Kibibytes in one page.
    #[must_use]
    pub const fn kib(self) -> u64 {
        self.0 / 1024
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self::FOUR_KIB
    }
}

impl Pages {
    /// The bytes in this many pages.
    #[must_use]
    pub const fn bytes(self, page: PageSize) -> Bytes {
        Bytes(self.0.saturating_mul(page.bytes()))
    }

    /// The kibibytes in this many pages.
    #[must_use]
    pub const fn kib(self, page: PageSize) -> Kib {
        Kib(self.0.saturating_mul(page.kib()))
    }
}

impl Bytes {
    /// One mebibyte.
    pub const MIB: Self = Self(1 << 20);
    /// One gibibyte.
    pub const GIB: Self = Self(1 << 30);

    /// The pages needed to hold these bytes (rounded up).
    #[must_use]
    pub const fn pages_ceil(self, page: PageSize) -> Pages {
        Pages(self.0.div_ceil(page.bytes()))
    }

    /// The whole pages in these bytes (rounded down).
    #[must_use]
    pub const fn pages_floor(self, page: PageSize) -> Pages {
        Pages(self.0 / page.bytes())
    }

    /// A difference of bytes, written as an amount is: "-512 B", "1.4 GiB".
    #[must_use]
    pub fn signed(difference: i64) -> String {
        let sign = if difference < 0 { "-" } else { "" };
        format!("{sign}{}", Self(difference.unsigned_abs()))
    }
}

impl Kib {
    /// The same amount in bytes.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0.saturating_mul(1024))
    }

    /// The whole pages in it (rounded down, as the kernel does).
    #[must_use]
    pub const fn pages_floor(self, page: PageSize) -> Pages {
        Pages(self.0 / page.kib())
    }
}

impl Nanos {
    /// One microsecond.
    pub const MICRO: Self = Self(1_000);
    /// One millisecond.
    pub const MILLI: Self = Self(1_000_000);
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000);

    /// The span in seconds, for people.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Writes the amount in the largest binary unit that keeps it above one: "512 B", "1.4 GiB".
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut tenths = u128::from(self.0) * 10 / 1024;
        let mut unit = 0;
        while tenths >= 10240 && unit + 1 < UNITS.len() {
            tenths /= 1024;
            unit += 1;
        }
        if tenths >= 1000 || tenths.is_multiple_of(10) {
            write!(f, "{} {}", tenths / 10, UNITS[unit])
        } else {
            write!(f, "{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
        }
    }
}

impl fmt::Display for Kib {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

/// Writes the span with three digits in the unit that fits: "650 ns", "1.20 ms", "22.4 s".
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)];
        for (unit, size) in UNITS {
            if self.0 >= size {
                let whole = self.0 / size;
                let fraction = self.0 % size;
                return match whole {
                    0..10 => write!(f, "{whole}.{:02} {unit}", fraction * 100 / size),
                    10..100 => write!(f, "{whole}.{} {unit}", fraction * 10 / size),
                    _ => write!(f, "{whole} {unit}"),
                };
            }
        }
        write!(f, "{} ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn amounts_read_as_people_write_them() {
        let bytes = |n| Bytes(n).to_string();
        assert_eq!(Bytes::signed(-512), "-512 B");
        assert_eq!(Bytes::signed(2048), bytes(2048));
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1 KiB");
        assert_eq!(bytes(1_500_000 * 1024), "1.4 GiB");
        assert_eq!(bytes(2355 << 20), "2.2 GiB");
        assert_eq!(bytes(u64::MAX), "16383 PiB");
        assert_eq!(Nanos(22_417_363_353).to_string(), "22.4 s");
        assert_eq!(Nanos(613_495_609).to_string(), "613 ms");
        assert_eq!(Nanos(999).to_string(), "999 ns");
    }

    #[test]
    fn pages_round_as_their_name_says() {
        let page = PageSize::FOUR_KIB;
        assert_eq!(Bytes(1).pages_ceil(page), Pages(1));
        assert_eq!(Bytes(4097).pages_floor(page), Pages(1));
        assert_eq!(Kib(67584).pages_floor(page), Pages(16896));
        assert_eq!(PageSize::new(5000), None);
    }
}
