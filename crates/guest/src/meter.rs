//! A process's figures, as it works: operations, bytes, latencies, and its labelled steps.
//!
//! All of it lies in shared memory, where the supervisor finds it even if the process is killed.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use mm::units::Nanos;
use rustix::io::Errno;
use rustix::thread::futex;
use scenario::latency;
use scenario::outcome::Latency;

use crate::clock::{RunClock, Stopwatch};
use crate::error::Why;
use crate::shared::{Awaited, Desk, RECORDS, Record, Running, Shared, TAKE};

/// An answer that is not there yet.
const WAITING: u32 = u32::MAX;
/// The answer of a request that was done; any other is an error number.
pub(crate) const DONE: u32 = 0;

/// The figures of one process instance, written by the process itself, and its way to the
/// supervisor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter<'a> {
    shared: &'a Shared,
    instance: usize,
    clock: RunClock,
    stopwatch: Stopwatch,
    bell: BorrowedFd<'a>,
}

impl<'a> Meter<'a> {
    /// The figures of the instance with this number.
    pub(crate) fn new(
        shared: &'a Shared,
        instance: usize,
        (clock, stopwatch): (RunClock, Stopwatch),
        bell: BorrowedFd<'a>,
    ) -> Self {
        Self {
            shared,
            instance,
            clock,
            stopwatch,
            bell,
        }
    }

    /// The instance's mailbox.
    pub(crate) fn desk(&self) -> &'a Desk {
        &self.shared.desks[self.instance]
    }

    /// How far streams of the recording are.
    pub(crate) fn streams(&self) -> &'a [Awaited] {
        &self.shared.streams
    }

    /// The time.
    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// What short spans are measured with.
    pub(crate) fn stopwatch(&self) -> Stopwatch {
        self.stopwatch
    }

    /// Whether a labelled step is running, so that latencies are wanted.
    pub(crate) fn is_timed(&self) -> bool {
        self.desk().depth.load(Relaxed) > 0
    }

    /// A labelled step begins.
    pub(crate) fn begin(&self, step: u32) {
        let desk = self.desk();
        let depth = desk.depth.load(Relaxed);
        let running = &self.levels()[depth as usize];
        running.step.store(step, Relaxed);
        running
            .operations
            .store(desk.operations.load(Relaxed), Relaxed);
        running.bytes.store(desk.bytes.load(Relaxed), Relaxed);
        running.longest.store(0, Relaxed);
        running
            .counts
            .iter()
            .for_each(|count| count.store(0, Relaxed));
        running.start.store(self.now().0, Relaxed);
        desk.depth.store(depth + 1, Release);
    }

    /// The innermost labelled step ends; `errno` is 0 unless a system call failed.
    pub(crate) fn end(&self, errno: i32) {
        let end = self.now();
        let desk = self.desk();
        let outer = desk.depth.load(Relaxed) - 1;
        let running = &self.levels()[outer as usize];
        self.publish(running, end, errno);
        if outer > 0 {
            self.levels()[outer as usize - 1].add(running);
        }
        desk.depth.store(outer, Release);
    }

    /// An operation of that many bytes was done.
    pub(crate) fn count(&self, bytes: u64) {
        let desk = self.desk();
        bump(&desk.operations, 1);
        bump(&desk.bytes, bytes);
    }

    /// An operation took that long.
    pub(crate) fn latency(&self, latency: Nanos) {
        let depth = self.desk().depth.load(Relaxed) as usize;
        if let Some(running) = depth.checked_sub(1).map(|level| &self.levels()[level]) {
            add(&running.counts[latency::bucket(latency)], 1);
            running
                .longest
                .store(running.longest.load(Relaxed).max(latency.0), Relaxed);
        }
    }

    /// The process ends because a step failed, or because it could not begin.
    pub(crate) fn fail(&self, step: Option<u32>, why: &Why) {
        let desk = self.desk();
        desk.failed_errno.store(why.errno.raw_os_error(), Relaxed);
        let bytes = why.text.bytes().chain(std::iter::repeat(0));
        for (place, byte) in desk.message.iter().zip(bytes) {
            place.store(byte, Relaxed);
        }
        desk.failed_step
            .store(step.map_or(0, |step| step + 1), Release);
    }

    /// Sleeps until that long after the run's beginning.
    pub(crate) fn sleep_until(&self, at: Nanos) {
        self.clock.sleep_until(at);
    }

    fn levels(&self) -> &'a [Running] {
        levels(self.shared, self.instance)
    }

    /// Asks the supervisor for something and waits until it is done.
    pub(crate) fn ask(&self, request: u32) -> Result<(), Errno> {
        let desk = self.desk();
        desk.answer.store(WAITING, Relaxed);
        desk.request.store(request, Release);
        rustix::io::write(self.bell, &1_u64.to_ne_bytes())?;
        while desk.answer.load(Acquire) == WAITING {
            // Woken for nothing, or answered before it slept: the loop looks again.
            let _ = futex::wait(&desk.answer, futex::Flags::empty(), WAITING, None);
        }
        match desk.answer.load(Acquire) {
            DONE => Ok(()),
            errno => Err(Errno::from_raw_os_error(errno.cast_signed())),
        }
    }

    fn publish(&self, running: &Running, end: Nanos, errno: i32) {
        let desk = self.desk();
        let number = desk.written.load(Relaxed);
        if number.wrapping_sub(desk.taken.load(Acquire)) as usize >= RECORDS {
            // The bell cannot fail: its counter is far from full.
            let _ = self.ask(TAKE);
        }
        let latency = running.quantiles();
        let figures = [
            running.start.load(Relaxed),
            end.0,
            desk.operations.load(Relaxed) - running.operations.load(Relaxed),
            desk.bytes.load(Relaxed) - running.bytes.load(Relaxed),
            latency.p50.0,
            latency.p90.0,
            latency.p99.0,
            latency.max.0,
        ];
        let record = record(self.shared, self.instance, number);
        for (place, figure) in record.figures.iter().zip(figures) {
            place.store(figure, Relaxed);
        }
        record.step.store(running.step.load(Relaxed), Relaxed);
        record.errno.store(errno, Relaxed);
        desk.written.store(number.wrapping_add(1), Release);
    }
}

impl Desk {
    /// Why the process failed, in its own words.
    pub(crate) fn message(&self) -> String {
        let bytes = self.message.iter().map(|byte| byte.load(Relaxed));
        let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Running {
    /// Counts another step's latencies as its own: a step contains the steps inside it.
    pub(crate) fn add(&self, inner: &Self) {
        for (count, more) in self.counts.iter().zip(&inner.counts) {
            add(count, more.load(Relaxed));
        }
        let longest = inner.longest.load(Relaxed).max(self.longest.load(Relaxed));
        self.longest.store(longest, Relaxed);
    }

    /// The quantiles of its latencies.
    pub(crate) fn quantiles(&self) -> Latency {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        latency::quantiles(counts, Nanos(self.longest.load(Relaxed)))
    }
}

/// The labelled steps of an instance, outermost first.
pub(crate) fn levels(shared: &Shared, instance: usize) -> &[Running] {
    let levels = shared.running.len() / shared.desks.len();
    &shared.running[instance * levels..][..levels]
}

/// The place of an instance's record with this number.
pub(crate) fn record(shared: &Shared, instance: usize, number: u32) -> &Record {
    &shared.records[instance * RECORDS + number as usize % RECORDS]
}

/// Adds where there is one writer: no locked instruction is needed.
fn add(count: &AtomicU32, more: u32) {
    count.store(count.load(Relaxed).wrapping_add(more), Relaxed);
}

fn bump(count: &AtomicU64, more: u64) {
    count.store(count.load(Relaxed).wrapping_add(more), Relaxed);
}
