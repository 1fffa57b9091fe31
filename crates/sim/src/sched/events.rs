//! What is to come in virtual time: timers, disks, samples.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use mm::units::Nanos;

use crate::sched::timer::{Clock, TICK};

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A disk has done a request.
    DiskDone { disk: usize },
    /// A sleeping task wakes, if it still lives the life in which it fell asleep.
    Wake { entity: usize, life: u32 },
    /// A process that starts later starts, unless it was killed before.
    Start { process: usize },
    /// A sample is due.
    Sample,
    /// A second has passed.
    Second,
    /// The control groups' statistics are brought up to date.
    FlushStats,
    /// The flusher of a disk looks again, unless its timer was set again.
    Flush { disk: usize, at: Nanos },
    /// A window of the throttling of a disk's writes ends.
    WriteWindow { disk: usize },
    /// The bandwidth of a disk is estimated.
    EstimateBandwidth { disk: usize },
    /// ksmd goes on to its next batch, unless it was woken before.
    KsmScan { at: Nanos },
    /// kswapd's nap ends, unless it was woken before.
    NapEnds { at: Nanos },
    /// kswapd waits no longer for pages to be written, unless it was woken before.
    ThrottleEnds { at: Nanos },
    /// A disk's interrupt is over.
    InterruptEnds,
    /// A transaction of a disk's journal is old.
    Commit { disk: usize, transaction: u64 },
    /// The workload's deadline.
    Deadline,
}

/// Events by time; those of one time in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<ToCome>>,
    added: u64,
}

/// An event that is to come, with its number among those that were added.
#[derive(Clone, Debug)]
struct ToCome {
    at: Nanos,
    added: u64,
    event: Event,
}

impl Ord for ToCome {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.added).cmp(&(other.at, other.added))
    }
}

impl PartialOrd for ToCome {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ToCome {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ToCome {}

impl Events {
    pub(crate) fn add(&mut self, at: Nanos, event: Event) {
        let added = self.added;
        self.heap.push(Reverse(ToCome { at, added, event }));
        self.added += 1;
    }

    fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(next)| next.at)
    }

    /// When the next event comes, on a machine that runs.
    pub(crate) fn next(&self) -> Nanos {
        self.next_time().expect("a sample is always to come")
    }

    /// Takes the next event if it is due at `now`.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, Event)> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse(next) = self.heap.pop()?;
        Some((next.at, next.event))
    }

    /// Until when a task that began at `from` may run: the next tick, or the next event.
    pub(crate) fn limit(&self, clock: Clock, from: Nanos) -> Nanos {
        let tick = clock.next(from, TICK);
        self.next_time().map_or(tick, |event| event.min(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_then_of_addition() {
        let mut events = Events::default();
        events.add(Nanos(20), Event::Sample);
        let wake = |entity| Event::Wake { entity, life: 1 };
        events.add(Nanos(10), wake(1));
        events.add(Nanos(10), wake(2));
        assert_eq!(events.take_due(Nanos(9)), None);
        assert_eq!(events.take_due(Nanos(30)), Some((Nanos(10), wake(1))));
        assert_eq!(events.take_due(Nanos(30)), Some((Nanos(10), wake(2))));
        assert_eq!(events.take_due(Nanos(30)), Some((Nanos(20), Event::Sample)));
        assert_eq!(events.next_time(), None);
    }
}
