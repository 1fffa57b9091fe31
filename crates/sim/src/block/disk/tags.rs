//! The scheduler's tags (`block/blk-mq-tag.c`): a request takes one before it goes anywhere, and
//! the task that finds none sleeps (`blk_mq_get_tag`).

use mm::units::Nanos;

use crate::block::disk::state::{Sleeper, Tags};
use crate::block::disk::{Direction, Disk, Request};

/// Tags for each request that the device takes, and the most of these that count
/// (`blk_mq_init_sched`).
const FOR_EACH: u32 = 2;
const MOST: u32 = 128;

impl Tags {
    /// A task goes on without the tag that it waits for itself, or was given.
    pub(super) fn forget(&mut self, entity: usize) {
        self.line
            .retain(|sleeper| sleeper.entity != entity || !sleeper.bios.is_empty());
        self.given.retain(|&of| of != entity);
    }
}

impl Disk {
    /// Tags of the scheduler (`queue/nr_requests`).
    pub(super) fn requests(&self) -> u64 {
        u64::from(FOR_EACH * self.spec.queue_depth.clamp(1, MOST))
    }

    fn is_tag_free(&self) -> bool {
        let queued = self.reads.len() + self.writes.len() + usize::from(self.parked.is_some());
        let used = self.serving.len() + queued + self.tags.given.len();
        used as u64 + self.tags.plugged < self.requests()
    }

    /// Takes a tag for a request that a task holds back; where there is none, or others wait for
    /// one, the task has to wait too.
    pub(crate) fn get_tag(&mut self, entity: usize) -> bool {
        if let Some(at) = self.tags.given.iter().position(|&of| of == entity) {
            self.tags.given.swap_remove(at);
        } else if self.holds_up(entity) {
            return false;
        } else if !self.tags.line.is_empty() || !self.is_tag_free() {
            self.stand_in_line(entity, None);
            return false;
        }
        self.tags.plugged += 1;
        true
    }

    /// Queues a request that a task has held back, with its tag.
    pub(crate) fn insert_plugged(&mut self, now: Nanos, request: Request) {
        self.tags.plugged -= 1;
        self.insert(now, request);
    }

    /// Queues a request of a task's, or lets it wait for a tag.
    pub(crate) fn submit(&mut self, now: Nanos, entity: usize, request: Request) {
        match self.tags.line.is_empty() && self.is_tag_free() {
            true => self.insert(now, request),
            false => self.stand_in_line(entity, Some(request)),
        }
    }

    fn stand_in_line(&mut self, entity: usize, bio: Option<Request>) {
        let line = &mut self.tags.line;
        match line.iter_mut().find(|sleeper| sleeper.entity == entity) {
            Some(sleeper) => sleeper.bios.extend(bio),
            None => line.push_back(Sleeper {
                entity,
                bios: bio.into_iter().collect(),
            }),
        }
    }

    /// The tasks that have just got room for a write, woken from this one on, take the tags that
    /// are free.
    pub(super) fn give_tags_to_woken(&mut self, first: usize) {
        for at in first..self.woken.len() {
            if self.is_tag_free() {
                self.tags.given.push(self.woken[at]);
            }
        }
    }

    /// The tags that are free go to those that have waited longest. A task that needs another one
    /// stands in line again.
    pub(super) fn give_tags(&mut self, now: Nanos) {
        while self.is_tag_free()
            && let Some(mut sleeper) = self.tags.line.pop_front()
        {
            let Some(mut request) = sleeper.bios.pop_front() else {
                self.tags.given.push(sleeper.entity);
                self.woken.push(sleeper.entity);
                continue;
            };
            while let Some(next) = sleeper.bios.front()
                && request.merge(next)
            {
                // It is no write of its own any longer: its room is another's.
                if next.direction == Direction::Write {
                    self.end_write(now, next.is_swap);
                }
                sleeper.bios.pop_front();
            }
            self.insert(now, request);
            match sleeper.bios.is_empty() {
                true => self.woken.push(sleeper.entity),
                false => self.tags.line.push_back(sleeper),
            }
        }
    }

    /// Which task would sleep for good: one that was given what it waits for, or any where nothing
    /// is under way and nobody has what is waited for.
    pub(crate) fn lost_wakeup(&self, sleeps: impl Fn(usize) -> bool) -> Option<&'static str> {
        let room = self.throttled.given.iter().map(|&(of, _)| of);
        let mut given = room.chain(self.tags.given.iter().copied());
        if given.any(|of| sleeps(of) && !self.is_in_line(of)) {
            return Some("a task that may go on was not woken");
        }
        let is_waited_for = self.throttled.is_waited_for() || !self.tags.line.is_empty();
        let is_given = !self.tags.given.is_empty() || !self.throttled.given.is_empty();
        let is_idle = self.serving.is_empty() && self.tags.plugged == 0 && !is_given;
        (is_idle && is_waited_for).then_some("tasks wait and nothing is under way")
    }

    /// Whether a task sleeps as a request of its has no tag.
    pub(crate) fn holds_up(&self, entity: usize) -> bool {
        self.tags.line.iter().any(|of| of.entity == entity)
    }
}
