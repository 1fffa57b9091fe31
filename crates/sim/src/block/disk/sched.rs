//! The way through the scheduler (`block/blk-mq-sched.c`): what merges there, and when the device
//! takes what.

use mm::units::Nanos;

use crate::block::disk::{Direction, Disk, Request};

impl Disk {
    /// Takes a bio in as a part of a request that waits in the scheduler and ends where it begins,
    /// or begins where it ends (`blk_mq_sched_bio_merge`). What has been taken out of it grows no
    /// longer.
    pub(crate) fn merge_bio(&mut self, bio: &Request) -> bool {
        let mut waiting = self.queue(bio.direction).iter_mut();
        let merged = waiting.any(|request| request.merge(bio) || request.merge_front(bio));
        if merged {
            self.stats.merge(bio.direction);
        }
        merged
    }

    /// Queues a request that has a tag, unless it goes on where another one ends
    /// (`blk_mq_sched_try_insert_merge`): then its own tag is free again.
    pub(super) fn insert(&mut self, now: Nanos, mut request: Request) {
        let direction = request.direction;
        let mut waiting = self.queue(direction).iter_mut();
        if waiting.any(|other| other.merge(&request)) {
            self.stats.merge(direction);
            if direction == Direction::Write {
                self.end_write(now, request.is_swap);
            }
            return;
        }
        request.submitted = now;
        self.stats.begin(now);
        self.queue(direction).push_back(request);
    }

    /// Lets the device take what it can (`blk_mq_run_hw_queue`): first what was taken out of the
    /// scheduler when it was full. Then the next request is taken out, which nothing overtakes or
    /// joins any longer.
    pub(crate) fn run(&mut self, now: Nanos) {
        while let Some(next) = self.parked.take().or_else(|| self.dispatch(now)) {
            if self.serving.len() >= self.spec.queue_depth.max(1) as usize {
                self.parked = Some(next);
                return;
            }
            self.serve(now, next);
        }
    }
}
