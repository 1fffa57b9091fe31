//! The threads of the kernel (`kernel/kthread.c`), and what each entity of the scheduler is: these
//! threads come first, the tasks follow.

/// The places of kswapd, ksmd and the bench's observer; the flushers follow, then the journals'
/// threads.
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

/// Which threads there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kthreads {
    /// How many flushers there are, and journals: one for each disk, where files are written to.
    flushers: usize,
}

impl Kthreads {
    pub(crate) fn new(flushers: usize) -> Self {
        Self { flushers }
    }

    pub(crate) fn len(self) -> usize {
        FIRST_FLUSHER + 2 * self.flushers
    }

    pub(crate) fn flusher(self, disk: usize) -> usize {
        FIRST_FLUSHER + disk
    }

    pub(crate) fn journal(self, disk: usize) -> usize {
        FIRST_FLUSHER + self.flushers + disk
    }

    pub(crate) fn role(self, entity: usize) -> Role {
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
}
