//! What a journal keeps.

/// How far the journal of a disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Journal {
    /// Transactions begun and committed.
    pub(crate) begun: u64,
    pub(crate) committed: u64,
    /// The last transaction that was begun is still taking in updates, and from which tick on it is
    /// old.
    pub(crate) is_running: bool,
    pub(crate) expires: u64,
    pub(crate) stage: Stage,
    /// The running transaction is waited for, or old.
    pub(crate) wanted: bool,
    /// Its superblock says that there is something in it (not `JBD2_FLUSHED`).
    pub(crate) is_in_use: bool,
    /// Bytes written to it so far.
    pub(crate) position: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Idle,
    Superblock,
    Blocks,
    Record,
}

impl Journal {
    /// Whether a transaction has been committed.
    pub(crate) fn has_committed(&self, transaction: u64) -> bool {
        self.committed >= transaction
    }

    /// The transaction that holds all updates so far.
    pub(crate) fn latest(&self) -> u64 {
        self.begun
    }

    /// Whether a transaction takes in updates.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Bytes written to it so far.
    pub(super) fn written(&self) -> u64 {
        self.position
    }

    pub(crate) fn is_old(&self, tick: u64) -> bool {
        self.is_running && tick >= self.expires
    }
}
