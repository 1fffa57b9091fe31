//! How many writes a device is given at a time, so that reads stay quick: the block layer's
//! throttling of writeback.
//!
//! `block/blk-wbt.c` and `block/blk-rq-qos.c` of 6.1 and 6.12. Every [`WINDOW`] it looks at the
//! fastest read; where none was slow, or nothing is read, writes are allowed twice as many requests
//! as before. `crates/mm/tests/throttle.rs` holds the steps against the tracepoints of both
//! kernels.

use crate::units::Nanos;

/// Requests under way that it begins with (`RWB_DEF_DEPTH`).
const DEPTH: u64 = 16;

/// How long it looks before each step, unless it has stepped down (`RWB_WINDOW_NSEC`). The timer
/// comes a tick later: 104 ms at 250 ticks a second.
pub const WINDOW: Nanos = Nanos(100 * Nanos::MILLI.0);

/// Writes that must have ended in a window for the reads beside them to count
/// (`RWB_MIN_WRITE_SAMPLES`).
const FEWEST_WRITES: u64 = 3;

/// Windows in which nothing happened, after which it takes a step back to where it began
/// (`RWB_UNKNOWN_BUMP`).
const BORED: u32 = 5;

/// How far writes are held back now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttle {
    /// Halvings of the depth; negative: doublings.
    pub step: i32,
    /// Windows in a row in which nothing happened.
    unknown: u32,
    /// Another doubling would change nothing.
    is_most: bool,
}

/// Requests for writing that may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of what is written in the background, while nobody waits for it.
    pub background: u64,
    /// Of what tasks write.
    pub normal: u64,
    /// Of kswapd, and of a flusher while a task paused for the device within the last second.
    pub most: u64,
}

/// What happened in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The fastest read that ended, from its issue on; `None` where none did.
    pub fastest_read: Option<Nanos>,
    /// How long a read has been under way that has not ended.
    pub waiting_read: Option<Nanos>,
    /// Writes that ended.
    pub writes: u64,
    /// Whether writes are under way, or a task paused for the device within the last second.
    pub is_writing: bool,
}

/// What the kernel makes of a window, by the numbers that `wbt_timer` prints as `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// 1: reads were quick.
    Ok = 1,
    /// 2: nothing is known.
    Unknown = 2,
    /// 3: there were only writes, or too few of them beside reads.
    Writes = 3,
    /// 4: reads were slow.
    Exceeded = 4,
}

impl Window {
    /// Judges the window (`latency_exceeded`). `target`: what a read may take, 2 ms on a device
    /// that does not rotate and 75 ms on one that does, unless `queue/wbt_lat_usec` says otherwise.
    #[must_use]
    pub fn status(&self, window: Nanos, target: Nanos) -> Status {
        let is_late = self
            .waiting_read
            .is_some_and(|age| age > window || (age > target && self.fastest_read.is_none()));
        match self.fastest_read {
            _ if is_late => Status::Exceeded,
            Some(read) if self.writes >= FEWEST_WRITES => match read > target {
                true => Status::Exceeded,
                false => Status::Ok,
            },
            _ if self.writes > 0 || self.is_writing => Status::Writes,
            _ => Status::Unknown,
        }
    }
}

impl Throttle {
    /// The limits on a device whose scheduler has this many requests, at least 2
    /// (`queue/nr_requests`; `calc_wb_limits`).
    #[must_use]
    pub fn limits(self, requests: u64) -> Limits {
        let (most, _) = depth(self.step, requests);
        Limits {
            background: if most <= 2 { 1 } else { most.div_ceil(4) },
            normal: if most <= 2 { most } else { most.div_ceil(2) },
            most,
        }
    }

    /// Takes in a window (`wb_timer_fn`); whether the limits changed.
    pub fn step(&mut self, status: Status, requests: u64) -> bool {
        match status {
            Status::Exceeded => self.down(requests, true),
            Status::Ok | Status::Writes => self.up(requests),
            Status::Unknown => {
                self.unknown += 1;
                match self.step {
                    _ if self.unknown < BORED => false,
                    1.. => self.up(requests),
                    0 => false,
                    _ => self.down(requests, false),
                }
            }
        }
    }

    fn up(&mut self, requests: u64) -> bool {
        if self.is_most {
            return false;
        }
        self.step -= 1;
        self.is_most = depth(self.step, requests).1;
        self.unknown = 0;
        true
    }

    /// From more than it began with straight back to that, where reads are slow.
    fn down(&mut self, requests: u64, is_hard: bool) -> bool {
        if depth(self.step, requests).0 == 1 {
            return false;
        }
        self.step = match self.step < 0 && is_hard {
            true => 0,
            false => self.step + 1,
        };
        (self.is_most, self.unknown) = (false, 0);
        true
    }

    /// How long the next window is: shorter, the more it has stepped down (`rwb_arm_timer`).
    #[must_use]
    pub fn window(self) -> Nanos {
        match u64::try_from(self.step) {
            Ok(step @ 1..) => Nanos((WINDOW.0 << 4) / ((step + 1) << 8).isqrt()),
            _ => WINDOW,
        }
    }
}

/// The requests under way at a step, and whether three quarters of all are reached
/// (`rq_depth_calc_max_depth`).
fn depth(step: i32, requests: u64) -> (u64, bool) {
    let depth = DEPTH.min(requests.max(1));
    let shift = step.unsigned_abs().min(31);
    match step {
        0 => (depth, false),
        1.. => (1 + ((depth - 1) >> shift), false),
        _ => {
            let most = (requests * 3 / 4).max(1);
            let doubled = 1 + ((depth - 1) << shift);
            (doubled.min(most), doubled > most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Nanos = Nanos(2 * Nanos::MILLI.0);

    fn status(window: Window) -> Status {
        window.status(WINDOW, TARGET)
    }

    #[test]
    fn a_device_that_only_writes_is_given_three_quarters_of_the_requests() {
        let mut throttle = Throttle::default();
        let begins = throttle.limits(64);
        assert_eq!((begins.background, begins.normal, begins.most), (4, 8, 16));
        assert!(throttle.step(Status::Writes, 64));
        assert_eq!(throttle.limits(64).most, 31);
        assert!(throttle.step(Status::Writes, 64));
        let most = throttle.limits(64);
        assert_eq!((most.background, most.normal, most.most), (12, 24, 48));
        assert!(!throttle.step(Status::Writes, 64), "no more than that");
        assert!(throttle.step(Status::Exceeded, 64));
        assert_eq!((throttle.step, throttle.limits(64).most), (0, 16));
    }

    #[test]
    fn slow_reads_halve_it_down_to_one_and_the_windows_shorten() {
        let mut throttle = Throttle::default();
        let mut depths = [0; 5];
        for depth in &mut depths {
            throttle.step(Status::Exceeded, 64);
            *depth = throttle.limits(64).most;
        }
        assert_eq!(depths, [8, 4, 2, 1, 1]);
        assert_eq!(throttle.step, 4, "not further than one request");
        assert_eq!(throttle.window(), Nanos(1_600_000_000 / 35));
    }

    #[test]
    fn after_five_empty_windows_it_goes_back_a_step() {
        let mut throttle = Throttle::default();
        throttle.step(Status::Writes, 64);
        let steps = [(); 5].map(|()| throttle.step(Status::Unknown, 64));
        assert_eq!(steps, [false, false, false, false, true]);
        assert_eq!(throttle.step, 0);
    }

    #[test]
    fn reads_count_beside_writes_and_one_that_never_ends_counts_too() {
        let read = |millis| Window {
            fastest_read: Some(Nanos(millis * Nanos::MILLI.0)),
            writes: 3,
            ..Window::default()
        };
        assert_eq!(status(read(1)), Status::Ok);
        assert_eq!(status(read(3)), Status::Exceeded);
        let few = Window {
            writes: 2,
            ..read(3)
        };
        assert_eq!(status(few), Status::Writes);
        assert_eq!(status(Window::default()), Status::Unknown);
        let waiting = Window {
            waiting_read: Some(Nanos(3 * Nanos::MILLI.0)),
            ..Window::default()
        };
        assert_eq!(status(waiting), Status::Exceeded);
    }
}
