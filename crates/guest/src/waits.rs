//! Streams of a recording that wait for each other, as their tasks did through sockets and pipes.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use rustix::fs::Timespec;
use rustix::process::{Pid, test_kill_process};
use rustix::thread::futex;
use scenario::recording::{Kind, Run, Stream};

use crate::clock;
use crate::shared::{Awaited, ENDED};

/// How often somebody who waits looks whether the other is still there: it may have been killed.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// A stream that this process does.
#[derive(Debug)]
pub(crate) struct Doing<'a> {
    streams: &'a [Awaited],
    number: usize,
}

impl<'a> Doing<'a> {
    /// Begins a stream, of which the first `skip` runs are passed over.
    pub(crate) fn begin(
        streams: &'a [Awaited],
        number: u32,
        stream: &Stream,
        skip: u64,
    ) -> Doing<'a> {
        let passed = stream
            .iter()
            .take(usize::try_from(skip).unwrap_or(usize::MAX));
        let wakes = passed.filter(|run| run.kind == Kind::Wake).count() as u32;
        let doing = Doing {
            streams,
            number: number as usize,
        };
        if let Some(own) = doing.own() {
            own.wakes.fetch_max(wakes, Relaxed);
            own.process.store(std::process::id(), Release);
        }
        doing
    }

    /// Wakes whoever waits for this stream's next wake.
    pub(crate) fn wake(&self) {
        if let Some(own) = self.own() {
            own.wakes.fetch_add(1, SeqCst);
            wake_all(own);
        }
    }

    /// Waits for another stream, until it has woken others that often or has ended. One that has
    /// not begun is waited for as long as it was.
    pub(crate) fn wait(&self, run: &Run) {
        let Some(other) = self.streams.get(run.file as usize) else {
            return;
        };
        if other.process.load(Acquire) == 0 {
            clock::sleep(run.sleep);
        }
        other.waiters.fetch_add(1, SeqCst);
        loop {
            let had = other.wakes.load(SeqCst);
            if u64::from(had) >= run.offset || !is_under_way(other) {
                break;
            }
            let _ = futex::wait(&other.wakes, futex::Flags::empty(), had, Some(&LOOK));
        }
        other.waiters.fetch_sub(1, SeqCst);
    }

    fn own(&self) -> Option<&'a Awaited> {
        self.streams.get(self.number)
    }
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        if let Some(own) = self.own() {
            own.process.store(ENDED, Release);
            // So that nobody falls asleep for what was before.
            own.wakes.fetch_add(1, SeqCst);
            wake_all(own);
        }
    }
}

fn wake_all(own: &Awaited) {
    if own.waiters.load(SeqCst) > 0 {
        let _ = futex::wake(&own.wakes, futex::Flags::empty(), i32::MAX.cast_unsigned());
    }
}

/// Whether a process does the stream now.
fn is_under_way(other: &Awaited) -> bool {
    let process = other.process.load(Acquire);
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.is_some_and(|it| test_kill_process(it).is_ok())
}
