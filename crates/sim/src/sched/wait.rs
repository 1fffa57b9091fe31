//! The wait queue (`kernel/sched/wait.c`): which tasks wait, and for what.

use alloc::vec::Vec;

use crate::mm::folio::PageId;

/// What has to be done before a waiter can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// This page is being read.
    Page(PageId),
    /// This disk has too much to write.
    Disk(usize),
    /// Pages are to be written, whichever.
    Written,
    /// ksmd is to end its batch.
    Ksmd,
    /// The observer is to have its snapshot.
    Observer,
    /// The journal of this disk is to commit a transaction.
    Commit { disk: usize, transaction: u64 },
    /// This stream of a recording is to have woken tasks that often.
    Wake { stream: u32, number: u64 },
    /// The blocks of a transaction are to be in the journal of this disk.
    Shadow { disk: usize },
}

/// The tasks that wait, as entities of the scheduler, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitQueue(Vec<(WaitsFor, usize)>);

impl WaitQueue {
    /// Lets one wait (`prepare_to_wait`).
    pub(crate) fn add(&mut self, waits: WaitsFor, entity: usize) {
        self.0.push((waits, entity));
    }

    pub(crate) fn holds(&self, entity: usize) -> bool {
        self.0.iter().any(|(_, waiting)| *waiting == entity)
    }

    /// Whether one waits for this.
    pub(crate) fn waits_for(&self, waits: WaitsFor, entity: usize) -> bool {
        self.0.contains(&(waits, entity))
    }

    /// Lets one wait no more, whatever it waits for (`finish_wait`).
    pub(crate) fn remove(&mut self, entity: usize) {
        self.0.retain(|(_, waiting)| *waiting != entity);
    }

    /// Takes out those of `entities` that wait for this, in their order.
    pub(crate) fn take_each(&mut self, waits: WaitsFor, mut entities: Vec<usize>) -> Vec<usize> {
        entities.retain(|&entity| self.waits_for(waits, entity));
        for &entity in &entities {
            self.remove(entity);
        }
        entities
    }

    /// Takes out those whose waiting is over.
    pub(crate) fn take(&mut self, mut is_over: impl FnMut(WaitsFor, usize) -> bool) -> Vec<usize> {
        let mut over = Vec::new();
        self.0.retain(|&(waits, entity)| {
            let is_over = is_over(waits, entity);
            over.extend(is_over.then_some(entity));
            !is_over
        });
        over
    }
}
