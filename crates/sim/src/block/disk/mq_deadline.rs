//! Whose turn it is (`block/mq-deadline.c`): batches of reads and writes, each by place on the
//! disk.

use mm::units::Nanos;

use crate::block::disk::state::BATCH;
use crate::block::disk::{Direction, Disk, Request};

/// How long a request waits at most for its turn by place, those of reads and of writes
/// (`read_expire`, `write_expire`).
const EXPIRE: [Nanos; 2] = [Nanos(500 * Nanos::MILLI.0), Nanos(5000 * Nanos::MILLI.0)];

/// Batches of reads after which waiting writes get one (`writes_starved`).
const STARVED: u32 = 2;

impl Disk {
    /// The next request for the device (`dd_dispatch_request`): the batch goes on with the one that
    /// lies next, else reads come first unless writes have waited for two batches.
    pub(super) fn dispatch(&mut self, now: Nanos) -> Option<Request> {
        let (direction, done) = self.batch;
        if let Some(at) = self.next_by_place(direction).filter(|_| done < BATCH) {
            self.batch.1 += 1;
            return self.take(direction, at);
        }
        let writes_wait = !self.writes.is_empty();
        let direction = match self.reads.is_empty() {
            false if !writes_wait || self.starved < STARVED => Direction::Read,
            true if !writes_wait => return None,
            _ => Direction::Write,
        };
        self.starved = match direction {
            Direction::Read => self.starved + u32::from(writes_wait),
            Direction::Write => 0,
        };
        self.batch = (direction, 1);
        let oldest = self.queue(direction).front()?;
        let is_late = now > oldest.submitted.saturating_add(EXPIRE[direction as usize]);
        let next = self.next_by_place(direction).filter(|_| !is_late);
        self.take(direction, next.unwrap_or(0))
    }

    /// The request of a direction that begins next behind the last one (`deadline_from_pos`), by
    /// its place among those that wait, which is that of their arrival.
    fn next_by_place(&mut self, direction: Direction) -> Option<usize> {
        let from = self.latest[direction as usize];
        let waiting = self.queue(direction).iter().enumerate();
        let behind = waiting.filter(|(_, request)| request.offset >= from);
        behind
            .min_by_key(|(_, request)| request.offset)
            .map(|(at, _)| at)
    }

    fn take(&mut self, direction: Direction, at: usize) -> Option<Request> {
        let request = self.queue(direction).remove(at)?;
        self.latest[direction as usize] = request.offset;
        Some(request)
    }
}
