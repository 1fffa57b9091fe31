//! `/proc/timer_list`: where the kernel's ticks stand on its clock.

use crate::formula::throttle::HZ;
use crate::text::{Line, ParseError, lines};
use crate::units::Nanos;

/// Path of the file without the leading slash; only root may read it.
pub const PATH: &str = "proc/timer_list";

/// Between two ticks, at 250 Hz as distributions build their kernels: only then, and when a task
/// wakes, the kernel looks whether the one that runs has had enough.
pub const TICK: Nanos = Nanos(Nanos::SECOND.0 / HZ);

/// What the count of ticks begins with: five minutes before it would overflow 32 bits
/// (`INITIAL_JIFFIES`).
pub const INITIAL_JIFFIES: u64 = (1 << 32) - 300 * HZ;

/// When the ticks began, on CLOCK_MONOTONIC: a tick before the first that was counted. Ticks come
/// at multiples of their period, 4 ms (`tick_setup_device`), from some moment of boot on.
///
/// # Errors
/// Where the text lacks the time or the count of ticks.
pub fn ticks_began(text: &str) -> Result<Nanos, ParseError> {
    let now = number(text, "now at ", "now at, in nanoseconds")?;
    let jiffies = number(text, "jiffies: ", "jiffies")?;
    let counted = jiffies.saturating_sub(INITIAL_JIFFIES);
    let since = counted.saturating_mul(TICK.0);
    Ok(Nanos((now - now % TICK.0).saturating_sub(since)))
}

/// The number after `label`, with which a line begins.
fn number(text: &str, label: &str, what: &'static str) -> Result<u64, ParseError> {
    let found = |line: Line<'_>| {
        let rest = line.text.strip_prefix(label)?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    };
    let number = lines(PATH, text).find_map(found);
    number.ok_or_else(|| ParseError::new(PATH, 1, label, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_began_where_a_booted_kernel_says() {
        // The lines that matter, of 6.1 and of 6.12 in a VM of 512 MiB.
        for (now, jiffies, began) in [
            (633_490_800, 4_294_892_434_u64, 80_000_000),
            (860_689_057, 4_294_892_480, 124_000_000),
        ] {
            let text = alloc::format!(
                "Timer List Version: v0.9\nnow at {now} nsecs\n\ncpu: 0\njiffies: {jiffies}\n"
            );
            assert_eq!(ticks_began(&text), Ok(Nanos(began)));
        }
        assert!(ticks_began("now at 5 nsecs\n").is_err());
        assert_eq!(ticks_began("now at 5 nsecs\njiffies: 5\n"), Ok(Nanos(0)));
    }
}
