//! Latencies of operations, counted in log-linear buckets: the one histogram of both benches.
//!
//! Below 16 ns each nanosecond has its bucket; above, each power of two is cut into 16, so that a
//! bucket is at most 1/16 of its value wide and its middle at most 1/32 off. The longest latency
//! told apart is 2^42 ns, over an hour.

use crate::outcome::Latency;
use mm::units::Nanos;

/// Number of buckets.
pub const BUCKETS: usize = 16 + (LAST_BIT - FIRST_BIT) * 16;

/// Values below `1 << FIRST_BIT` are counted exactly.
const FIRST_BIT: usize = 4;
/// Values from `1 << LAST_BIT` on share the last bucket.
const LAST_BIT: usize = 42;

/// The bucket of a latency.
#[inline]
#[must_use]
pub const fn bucket(latency: Nanos) -> usize {
    let value = latency.0;
    if value < 1 << FIRST_BIT {
        return value as usize;
    }
    let bit = value.ilog2() as usize;
    let sixteenth = (value >> (bit - FIRST_BIT)) as usize & 15;
    let index = 16 + (bit - FIRST_BIT) * 16 + sixteenth;
    if index < BUCKETS { index } else { BUCKETS - 1 }
}

/// The middle of a bucket.
#[must_use]
pub const fn middle(bucket: usize) -> Nanos {
    if bucket < 16 {
        return Nanos(bucket as u64);
    }
    let shift = (bucket - 16) / 16;
    let lower = (16 + (bucket as u64 & 15)) << shift;
    Nanos(lower + (1 << shift) / 2)
}

/// The quantiles of `counts`, one count a bucket; `longest` is the largest latency, exactly.
#[must_use]
pub fn quantiles(counts: impl Iterator<Item = u32> + Clone, longest: Nanos) -> Latency {
    let total: u64 = counts.clone().map(u64::from).sum();
    let quantile = |percent: u64| {
        let rank = (total * percent).div_ceil(100).max(1);
        let mut sum = 0;
        let reached = counts.clone().position(|count| {
            sum += u64::from(count);
            sum >= rank
        });
        reached.map_or(Nanos::ZERO, |bucket| middle(bucket).min(longest))
    };
    Latency {
        p50: quantile(50),
        p90: quantile(90),
        p99: quantile(99),
        max: longest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_narrow_and_its_middle_falls_into_it() {
        for value in (0..64).chain([100, 1000, 33_333, 8_123_456, 1 << 41]) {
            let index = bucket(Nanos(value));
            let middle = middle(index);
            assert_eq!(bucket(middle), index, "{value}");
            assert!(middle.0.abs_diff(value) * 32 <= value, "{value}: {middle}");
        }
        assert_eq!(bucket(Nanos(u64::MAX)), BUCKETS - 1);
        assert_eq!(bucket(Nanos((1 << 42) - 1)), BUCKETS - 1);
        assert!((1..BUCKETS).all(|index| middle(index) > middle(index - 1)));
    }

    #[test]
    fn quantiles_count_from_the_smallest() {
        let mut counts = [0_u32; BUCKETS];
        counts[bucket(Nanos(10))] = 90;
        counts[bucket(Nanos(1000))] = 9;
        counts[bucket(Nanos(70_000))] = 1;
        let latency = quantiles(counts.iter().copied(), Nanos(70_000));
        assert_eq!(latency.p50, Nanos(10));
        assert_eq!(latency.p90, Nanos(10));
        assert_eq!(latency.p99, middle(bucket(Nanos(1000))));
        assert_eq!(latency.max, Nanos(70_000));
        let none = quantiles([0_u32; BUCKETS].into_iter(), Nanos::ZERO);
        assert_eq!(none, Latency::default());
    }
}
