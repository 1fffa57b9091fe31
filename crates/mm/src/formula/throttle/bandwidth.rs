//! How fast a device writes, as the kernel estimates it.

use super::domain::HZ;
use crate::formula::mul_div;
use crate::units::Pages;

/// What a device is taken to write until more is known: 100 MB/s in pages of 4 KiB a second
/// (`INIT_BW`).
pub const INITIAL: u64 = 100 << (20 - 12);

/// Ticks over which the estimate is taken: three seconds, rounded up to a power of two.
const PERIOD: u64 = (3 * HZ).next_power_of_two();

/// Both estimates, pages a second (`write_bandwidth` and `avg_write_bandwidth` of `struct
/// bdi_writeback`; `bdi_dirty_ratelimit` prints them as kilobytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// Over the last four seconds.
    pub current: u64,
    /// A slower one, by which all is decided. At least 1.
    pub average: u64,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Self {
            current: INITIAL,
            average: INITIAL,
        }
    }
}

impl Bandwidth {
    /// Takes in that pages were `written` in this many ticks, 1 or more
    /// (`wb_update_write_bandwidth`). The average goes an eighth of its way to the previous
    /// estimate, only while the estimate itself moves on in that direction or stands.
    pub fn update(&mut self, written: Pages, elapsed: u64) {
        if elapsed > PERIOD {
            self.current = per_second(written, elapsed);
            self.average = self.current.max(1);
            return;
        }
        let kept = u128::from(self.current) * u128::from(PERIOD - elapsed);
        let sum = u128::from(written.0) * u128::from(HZ) + kept;
        let old = self.current;
        self.current = u64::try_from(sum / u128::from(PERIOD)).unwrap_or(u64::MAX);
        if self.average > old && old >= self.current {
            self.average -= (self.average - old) / 8;
        } else if self.average < old && old <= self.current {
            self.average += (old - self.average) / 8;
        }
        self.average = self.average.max(1);
    }
}

/// Pages a second, from pages in this many ticks.
#[must_use]
pub fn per_second(pages: Pages, ticks: u64) -> u64 {
    mul_div(pages.0, HZ, ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_at_100_megabytes_and_comes_to_what_is_written() {
        let mut bandwidth = Bandwidth::default();
        assert_eq!(bandwidth.current * 4096, 100 << 20);
        for _ in 0..400 {
            bandwidth.update(Pages(1000), 50);
        }
        assert!((4990..=5000).contains(&bandwidth.current), "{bandwidth:?}");
        assert!((5000..=5008).contains(&bandwidth.average), "{bandwidth:?}");
    }

    #[test]
    fn one_interval_moves_it_by_the_part_of_the_period_that_it_is() {
        let mut bandwidth = Bandwidth::default();
        bandwidth.update(Pages(0), 51);
        assert_eq!(bandwidth.current, 25_600 * (1024 - 51) / 1024);
        assert_eq!(bandwidth.average, 25_600, "it follows one step behind");
        bandwidth.update(Pages(0), 51);
        assert_eq!(bandwidth.average, 25_600 - 1275 / 8);
    }

    #[test]
    fn after_more_than_the_period_only_the_new_counts() {
        let mut bandwidth = Bandwidth::default();
        bandwidth.update(Pages(4100), 1025);
        assert_eq!((bandwidth.current, bandwidth.average), (1000, 1000));
        bandwidth.update(Pages(0), 2000);
        assert_eq!((bandwidth.current, bandwidth.average), (0, 1));
    }
}
