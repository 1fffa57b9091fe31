//! Who wants the CPUs, and what each of them waits for.

use mm::units::Nanos;

use crate::block::disk::Request;
use crate::machine::system::System;
use crate::machine::task::TaskState;
use crate::mm::folio::PageId;

/// The places of kswapd, ksmd and the bench's observer in the scheduler; the flushers follow, the
/// journals' threads, and then the tasks.
pub(crate) const KSWAPD: usize = 0;
pub(crate) const KSMD: usize = 1;
pub(crate) const OBSERVER: usize = 2;

/// The first flusher's place.
const FIRST_FLUSHER: usize = 3;

/// What an entity of the scheduler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Kswapd,
    Ksmd,
    Observer,
    Flusher { disk: usize },
    Journal { disk: usize },
    Task { index: usize },
}

/// What has to be done before a waiter can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// This page is being read.
    Page(PageId),
    /// This disk has too much to write.
    Disk(usize),
    /// ksmd is to end its batch.
    Ksmd,
    /// The observer is to have its snapshot.
    Observer,
    /// The journal of this disk is to commit a transaction.
    Commit { disk: usize, transaction: u64 },
    /// The blocks of a transaction are to be in the journal of this disk.
    Shadow { disk: usize },
}

impl Role {
    /// Its entity, where there are this many flushers, and journals.
    pub(crate) fn entity(self, flushers: usize) -> usize {
        match self {
            Self::Kswapd => KSWAPD,
            Self::Ksmd => KSMD,
            Self::Observer => OBSERVER,
            Self::Flusher { disk } => FIRST_FLUSHER + disk,
            Self::Journal { disk } => FIRST_FLUSHER + flushers + disk,
            Self::Task { index } => FIRST_FLUSHER + 2 * flushers + index,
        }
    }
}

impl System<'_> {
    /// Whether the end of a request is what an entity waits for.
    pub(crate) fn is_over(&self, waits: WaitsFor, disk: usize, request: &Request) -> bool {
        match waits {
            WaitsFor::Page(page) => request.pages.iter().any(|range| range.contains(&page)),
            WaitsFor::Disk(of) => of == disk && self.memory.io.disks[disk].wakes_writers(),
            WaitsFor::Ksmd => !self.memory.ksm.is_in_batch,
            WaitsFor::Observer => !self.scheduler.is_runnable(OBSERVER),
            // The journal's thread wakes them.
            WaitsFor::Commit { .. } | WaitsFor::Shadow { .. } => false,
        }
    }

    /// Those who waited for this go on.
    pub(crate) fn wake_waiters(&mut self, over: WaitsFor, now: Nanos) {
        for (waits, entity) in core::mem::take(&mut self.waiters) {
            match waits == over {
                true => self.wake_if_alive(entity, now),
                false => self.waiters.push((waits, entity)),
            }
        }
    }

    /// Lets one go on whose waiting is over, unless it has ended meanwhile.
    pub(crate) fn wake_if_alive(&mut self, entity: usize, now: Nanos) {
        if self.is_alive(entity) {
            self.scheduler.wake(entity, now);
        }
    }

    pub(crate) fn role(&self, entity: usize) -> Role {
        match entity.checked_sub(FIRST_FLUSHER) {
            None if entity == KSMD => Role::Ksmd,
            None if entity == OBSERVER => Role::Observer,
            None => Role::Kswapd,
            Some(disk) if disk < self.flushers => Role::Flusher { disk },
            Some(other) if other < 2 * self.flushers => Role::Journal {
                disk: other - self.flushers,
            },
            Some(other) => Role::Task {
                index: other - 2 * self.flushers,
            },
        }
    }

    /// Whether an entity is a thread of the kernel or a task that has not ended.
    pub(crate) fn is_alive(&self, entity: usize) -> bool {
        match self.role(entity) {
            Role::Task { .. } => {
                let mut tasks = self.tasks.iter().flatten();
                tasks.any(|task| task.entity == entity && task.state == TaskState::Alive)
            }
            _ => true,
        }
    }
}
