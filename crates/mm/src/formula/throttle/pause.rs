//! When a task that dirties pages is looked at, and how long it pauses then.

use super::domain::{Device, HZ};
use crate::formula::mul_div;
use crate::formula::throttle::ratelimit::Ratelimit;
use crate::units::Pages;

/// Pages after which a new task is first looked at, and the fewest that are worth a pause: 128 KiB
/// of 4 KiB pages (`DIRTY_POLL_THRESH`).
pub const POLL: Pages = Pages(32);

/// Pages after which any task is looked at while the device is above its share
/// ([`crate::formula::throttle::Domain::is_exceeded`]).
const POLL_EXCEEDED: Pages = Pages(8);

/// No pause is longer (`MAX_PAUSE`): 200 ms.
const MAX_PAUSE: u64 = HZ / 5;

/// A second, rounded up to a power of two.
const SECOND: u64 = HZ.next_power_of_two();

/// What a CPU counts of its tasks' dirty pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Pages that were dirtied since a task was last looked at (`bdp_ratelimits`); the caller adds
    /// to it.
    pub dirtied: Pages,
    /// Pages of tasks that ended before they were looked at, for others to answer for
    /// (`dirty_throttle_leaks`).
    pub leaked: Pages,
}

/// What the kernel keeps of a task that dirties pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Pages since it was last looked at (`nr_dirtied`); the caller adds to it.
    pub dirtied: Pages,
    /// Pages after which it is looked at again (`nr_dirtied_pause`).
    pub dirtied_pause: Pages,
    /// The tick at which its last pause or free run ended, from which its time to think counts
    /// (`dirty_paused_when`); 0 before the first.
    pub paused_when: u64,
}

/// By what a pause is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The rates of the device.
    pub ratelimit: Ratelimit,
    /// The position ratio, the smaller of both domains' where there are two.
    pub position: u64,
    /// The device, of the domain whose ratio that is.
    pub device: Device,
}

/// A decision (what `balance_dirty_pages` prints); ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// What the dirtied pages are worth at the task's rate.
    pub period: u64,
    /// That, less the time since the last pause: negative for a task that dirties more slowly than
    /// it may. The printed one is this, or 0 for a positive one that is too short to take.
    pub pause: i64,
    /// How long the task sleeps: 0 where it goes on at once.
    pub sleep: u64,
    /// After the sleep it is not let go, but judged again with the same pages: the device is at its
    /// limit. (A caller leaves all the same where the device has hardly a dirty page, see
    /// `wb_stat_error`, or the task is killed.)
    pub again: bool,
}

impl Default for Writer {
    /// A task that was just made.
    fn default() -> Self {
        Self {
            dirtied: Pages::ZERO,
            dirtied_pause: POLL,
            paused_when: 0,
        }
    }
}

impl Cpu {
    /// Whether the task is looked at (`balance_dirty_pages_ratelimited`): it has dirtied what it
    /// may, or all of the CPU have (`ratelimit`, see [`super::ratelimit_pages`]). `is_exceeded` is
    /// the device's as its last writer found it.
    pub fn asks(&mut self, writer: &mut Writer, is_exceeded: bool, ratelimit: Pages) -> bool {
        let mut due = match is_exceeded {
            true => writer.dirtied_pause.min(POLL_EXCEEDED),
            false => writer.dirtied_pause,
        };
        if writer.dirtied >= due {
            self.dirtied = Pages::ZERO;
        } else if self.dirtied >= ratelimit {
            self.dirtied = Pages::ZERO;
            due = Pages::ZERO;
        }
        let leaked = self.leaked.min(due.saturating_sub(writer.dirtied));
        self.leaked = self.leaked.saturating_sub(leaked);
        writer.dirtied = writer.dirtied.saturating_add(leaked);
        writer.dirtied >= due
    }

    /// The task ended.
    pub fn leave(&mut self, writer: &Writer) {
        self.leaked = self.leaked.saturating_add(writer.dirtied);
    }
}

impl Writer {
    /// In the free run: the task goes on until it has dirtied this many more (`interval`: of
    /// [`poll_interval`](super::poll_interval), the smaller of both domains').
    pub fn run_free(&mut self, now: u64, interval: Pages) {
        *self = Self {
            dirtied: Pages::ZERO,
            dirtied_pause: interval,
            paused_when: now,
        };
    }

    /// Decides the pause of a task that is looked at with that many `dirtied` pages, and keeps what
    /// follows from it, as though the pause were over (`balance_dirty_pages`).
    pub fn throttle(&mut self, now: u64, dirtied: Pages, outlook: &Outlook) -> Pause {
        let task = outlook.ratelimit.task(outlook.position);
        let longest = max_pause(outlook.device.bandwidth, outlook.device.dirty);
        let (shortest, next) = min_pause(outlook, longest);
        if task == 0 {
            return self.sleep(now, longest, longest as i64, longest, next, true);
        }
        let period = mul_div(dirtied.0, HZ, task);
        let thought = match self.paused_when {
            0 => 0,
            when => now.wrapping_sub(when) as i64,
        };
        let pause = (period.min(1 << 62) as i64).saturating_sub(thought);
        if pause < shortest as i64 {
            self.go_on(now, dirtied, period, pause);
            return Pause {
                period,
                pause,
                sleep: 0,
                again: false,
            };
        }
        // What a pause is cut short by is made up for, one pause's length at most: the task's time
        // to think begins later.
        let cut = (pause as u64).saturating_sub(longest).min(longest);
        let pause = pause.min(longest as i64);
        self.sleep(
            now.saturating_add(cut),
            period,
            pause,
            pause as u64,
            next,
            false,
        )
    }

    fn sleep(
        &mut self,
        now: u64,
        period: u64,
        pause: i64,
        sleep: u64,
        dirtied_pause: Pages,
        again: bool,
    ) -> Pause {
        *self = Self {
            dirtied: Pages::ZERO,
            dirtied_pause,
            paused_when: now.saturating_add(sleep),
        };
        Pause {
            period,
            pause,
            sleep,
            again,
        }
    }

    /// No pause. What the task is ahead by is kept for its next one, up to a second; where not even
    /// a tick's worth was dirtied it is looked at less often.
    fn go_on(&mut self, now: u64, dirtied: Pages, period: u64, pause: i64) {
        if pause < -(HZ as i64) {
            self.paused_when = now;
            self.dirtied = Pages::ZERO;
        } else if period > 0 {
            self.paused_when = self.paused_when.saturating_add(period);
            self.dirtied = Pages::ZERO;
        } else if self.dirtied_pause <= dirtied {
            self.dirtied_pause = self.dirtied_pause.saturating_add(dirtied);
        }
    }
}

/// The longest pause in ticks, 1 to 50 (`wb_max_pause`): within it the device must not run out of
/// dirty pages, so at most an eighth of the time in which it writes them all.
#[must_use]
pub fn max_pause(bandwidth: u64, dirty: Pages) -> u64 {
    let eighth = (1 + HZ / 8).next_power_of_two();
    (dirty.0 / (1 + bandwidth / eighth))
        .saturating_add(1)
        .min(MAX_PAUSE)
}

/// The shortest pause in ticks, and the pages after which the task is looked at next
/// (`wb_min_pause`): 10 ms at a time, 10 ms more for each doubling of the tasks, which show as the
/// bandwidth divided by one task's rate; up to half the longest, unless fewer than [`POLL`] pages
/// come of that.
#[must_use]
pub fn min_pause(outlook: &Outlook, longest: u64) -> (u64, Pages) {
    let base = outlook.ratelimit.base.max(1);
    let task = outlook.ratelimit.task(outlook.position);
    let doublings = outlook
        .device
        .bandwidth
        .max(1)
        .ilog2()
        .saturating_sub(base.ilog2());
    let wanted = HZ / 100 + u64::from(doublings) * (10 * HZ) / 1024;
    let mut pause = wanted.min(1 + longest / 2);
    let mut pages = mul_div(base, pause, SECOND);
    if pages < POLL.0 {
        pause = longest;
        pages = mul_div(base, pause, SECOND);
        if pages > POLL.0 {
            pages = POLL.0;
            pause = HZ * POLL.0 / base;
        }
    }
    if mul_div(pages, HZ, task.saturating_add(1)) > longest {
        pause = longest;
        pages = mul_div(task, pause, SECOND);
    }
    // Pauses below the target are taken down to its half, so that they come evenly.
    match pages >= POLL.0 {
        true => (1 + pause / 2, Pages(pages)),
        false => (pause, Pages(pages)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::throttle::domain::ONE;
    use crate::formula::throttle::poll_interval;

    fn outlook(base: u64, bandwidth: u64, position: u64) -> Outlook {
        Outlook {
            ratelimit: Ratelimit {
                base,
                balanced: base,
            },
            position,
            device: Device {
                dirty: Pages(100_000),
                bandwidth,
                ..Device::default()
            },
        }
    }

    #[test]
    fn a_task_that_writes_at_its_rate_pauses_ten_milliseconds_at_a_time() {
        let outlook = outlook(25_600, 25_600, ONE);
        let (shortest, pages) = min_pause(&outlook, MAX_PAUSE);
        assert_eq!((shortest, pages), (2, Pages(200)));
        let mut writer = Writer {
            dirtied: Pages(205),
            dirtied_pause: Pages(200),
            paused_when: 1000,
        };
        let pause = writer.throttle(1000, Pages(205), &outlook);
        assert_eq!((pause.period, pause.sleep, pause.again), (2, 2, false));
        assert_eq!(writer.paused_when, 1002);
        assert_eq!(writer.dirtied, Pages::ZERO);
    }

    #[test]
    fn a_task_that_thinks_is_not_slowed_and_keeps_what_it_is_ahead_by() {
        let outlook = outlook(25_600, 25_600, ONE);
        let mut writer = Writer {
            dirtied: Pages(205),
            dirtied_pause: Pages(200),
            paused_when: 1000,
        };
        let pause = writer.throttle(1050, Pages(205), &outlook);
        assert_eq!((pause.pause, pause.sleep), (-48, 0));
        assert_eq!(writer.paused_when, 1002, "48 ticks are still its own");
        writer.throttle(1002 + HZ + 5, Pages(205), &outlook);
        assert_eq!(
            writer.paused_when,
            1002 + HZ + 5,
            "but not more than a second"
        );
    }

    #[test]
    fn at_the_limit_a_task_waits_and_is_judged_again() {
        let outlook = outlook(25_600, 25_600, 0);
        let mut writer = Writer::default();
        let pause = writer.throttle(7, Pages(32), &outlook);
        assert_eq!((pause.sleep, pause.again), (MAX_PAUSE, true));
        assert_eq!(writer.dirtied_pause, Pages::ZERO);
    }

    #[test]
    fn what_a_long_pause_is_cut_by_is_made_up_for_in_part() {
        let outlook = outlook(100, 25_600, ONE);
        let mut writer = Writer {
            paused_when: 1000,
            ..Writer::default()
        };
        let pause = writer.throttle(1000, Pages(1000), &outlook);
        assert_eq!((pause.period, pause.sleep), (2500, MAX_PAUSE));
        assert_eq!(writer.paused_when, 1000 + 2 * MAX_PAUSE);
    }

    #[test]
    fn many_tasks_pause_longer_and_fewer_times() {
        let one = min_pause(&outlook(25_600, 25_600, ONE), MAX_PAUSE).1;
        let many = min_pause(&outlook(1600, 25_600, ONE), MAX_PAUSE);
        assert_eq!(one, Pages(200));
        assert_eq!(many, (6, Pages(68)), "11 ticks at 1600 pages a second");
        let crowd = min_pause(&outlook(160, 25_600, ONE), MAX_PAUSE);
        assert_eq!(crowd.1, Pages(31), "the longest pause's worth");
    }

    #[test]
    fn the_longest_pause_leaves_the_device_something_to_write() {
        assert_eq!(max_pause(25_600, Pages(100_000)), MAX_PAUSE);
        assert_eq!(max_pause(25_600, Pages(8010)), 11);
        assert_eq!(max_pause(25_600, Pages(0)), 1);
    }

    #[test]
    fn far_from_the_threshold_tasks_are_rarely_looked_at() {
        assert_eq!(poll_interval(Pages(0), Pages(179_902)), Pages(256));
        assert_eq!(poll_interval(Pages(179_901), Pages(179_902)), Pages(1));
        assert_eq!(poll_interval(Pages(5), Pages(5)), Pages(1));
    }

    #[test]
    fn a_task_answers_for_what_ended_ones_left_and_for_its_cpu() {
        let mut cpu = Cpu::default();
        let mut writer = Writer {
            dirtied: Pages(20),
            ..Writer::default()
        };
        assert!(!cpu.asks(&mut writer, false, Pages(1000)));
        assert!(cpu.asks(&mut writer, true, Pages(1000)), "eight do there");
        cpu.leave(&Writer {
            dirtied: Pages(30),
            ..writer
        });
        assert!(cpu.asks(&mut writer, false, Pages(1000)));
        assert_eq!((writer.dirtied, cpu.leaked), (POLL, Pages(18)));
        writer.dirtied = Pages(1);
        cpu = Cpu {
            dirtied: Pages(1000),
            leaked: Pages::ZERO,
        };
        assert!(cpu.asks(&mut writer, false, Pages(1000)), "others dirtied");
        assert_eq!(cpu.dirtied, Pages::ZERO);
    }
}
