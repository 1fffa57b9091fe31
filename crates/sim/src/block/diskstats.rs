//! What each disk did, as `/proc/diskstats` counts it.

use alloc::string::String;
use core::fmt::Write as _;

use mm::units::Nanos;

use crate::block::disk::{Direction, Request};

/// The counters of one disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stats {
    reads: Side,
    writes: Side,
    in_flight: u64,
    /// Time with a request under way, and when that last began.
    busy: Nanos,
    busy_since: Nanos,
}

/// Requests of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    completed: u64,
    merged: u64,
    bytes: u64,
    time: Nanos,
}

impl Stats {
    fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }

    /// A request has got its tag.
    pub(crate) fn begin(&mut self, now: Nanos) {
        if self.in_flight == 0 {
            self.busy_since = now;
        }
        self.in_flight += 1;
    }

    /// A request, or a bio, has become part of another request.
    pub(crate) fn merge(&mut self, direction: Direction) {
        self.side(direction).merged += 1;
    }

    /// A request is done.
    pub(crate) fn end(&mut self, request: &Request, now: Nanos) {
        let side = self.side(request.direction);
        side.completed += 1;
        side.bytes += request.length;
        side.time += now.saturating_sub(request.submitted);
        self.in_flight -= 1;
        if self.in_flight == 0 {
            self.busy += now.saturating_sub(self.busy_since);
        }
    }

    /// The disk's line at `now`; each simulated request stands for `scale` of them. The time with a
    /// request under way goes up to now, that of requests to those that are done
    /// (`diskstats_show`).
    pub(crate) fn line(&self, index: usize, scale: u64, now: Nanos) -> String {
        let letter = char::from(b'a' + (index % 26) as u8);
        let mut text = alloc::format!("{:>4} {index:>7} pd{letter}", 259);
        for side in [self.reads, self.writes] {
            let Side {
                completed,
                merged,
                bytes,
                time,
            } = side;
            let counts = [completed, merged, bytes / 512].map(|count| count * scale);
            let [completed, merged, sectors] = counts;
            let millis = time.0 / Nanos::MILLI.0;
            let _ = write!(text, " {completed} {merged} {sectors} {millis}");
        }
        let under_way = match self.in_flight {
            0 => Nanos::ZERO,
            _ => now.saturating_sub(self.busy_since),
        };
        let busy = self.busy.0 + under_way.0;
        let all = self.reads.time.0 + self.writes.time.0;
        let [busy, all] = [busy, all].map(|nanos| nanos / Nanos::MILLI.0);
        let _ = writeln!(text, " {} {busy} {all} 0 0 0 0 0 0", self.in_flight);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_with_its_bytes_and_the_time_since_it_came() {
        let mut stats = Stats::default();
        let mut request = Request::page(Direction::Write, 0, 7);
        request.submitted = Nanos(Nanos::MILLI.0);
        stats.begin(request.submitted);
        stats.merge(Direction::Write);
        stats.end(&request, Nanos(4 * Nanos::MILLI.0));
        let line = stats.line(1, 2, Nanos(9 * Nanos::MILLI.0));
        assert_eq!(
            line,
            " 259       1 pdb 0 0 0 0 2 2 16 3 0 3 3 0 0 0 0 0 0\n"
        );
    }

    #[test]
    fn a_disk_that_is_at_work_has_been_busy_up_to_now() {
        let mut stats = Stats::default();
        let mut request = Request::page(Direction::Read, 0, 7);
        request.submitted = Nanos(Nanos::MILLI.0);
        stats.begin(request.submitted);
        let busy = |stats: &Stats, millis: u64| {
            let line = stats.line(0, 1, Nanos(millis * Nanos::MILLI.0));
            line.split_whitespace().nth(12).map(String::from)
        };
        assert_eq!(busy(&stats, 3).as_deref(), Some("2"));
        assert_eq!(busy(&stats, 5).as_deref(), Some("4"));
        stats.end(&request, Nanos(6 * Nanos::MILLI.0));
        assert_eq!(busy(&stats, 9).as_deref(), Some("5"));
    }
}
