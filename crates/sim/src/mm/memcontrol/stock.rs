//! Charges are made in batches: what is charged beyond the need is kept for the next ones.
//!
//! A kernel keeps one stock for each CPU; the model keeps one.

use crate::mm::memcontrol::group_id::GroupId;

/// Pages that are charged at a time (`MEMCG_CHARGE_BATCH`).
pub(super) const BATCH: u64 = 64;

/// Pages that are charged to a group and not used yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stock {
    group: GroupId,
    pages: u64,
}

impl Stock {
    /// Takes pages that are kept for the group; false where there are too few.
    pub(super) fn take(&mut self, group: GroupId, pages: u64) -> bool {
        let fits = self.group == group && pages <= self.pages;
        if fits {
            self.pages -= pages;
        }
        fits
    }

    /// Keeps pages for a group (`refill_stock`); returns whose and how many must be given back:
    /// those kept for another group, and all where it would be more than a batch.
    pub(super) fn put(
        &mut self,
        group: GroupId,
        pages: u64,
    ) -> impl Iterator<Item = (GroupId, u64)> + use<> {
        let others = (self.group != group).then(|| self.empty()).flatten();
        self.group = group;
        self.pages += pages;
        let beyond = (self.pages > BATCH).then(|| self.empty()).flatten();
        others.into_iter().chain(beyond)
    }

    /// Pages that are kept for the group.
    pub(super) fn kept(&self, group: GroupId) -> u64 {
        match self.group == group {
            true => self.pages,
            false => 0,
        }
    }

    /// Empties the stock; returns whose it was and how much.
    pub(super) fn empty(&mut self) -> Option<(GroupId, u64)> {
        let pages = core::mem::take(&mut self.pages);
        (pages > 0).then_some((self.group, pages))
    }
}

/// Objects smaller than a page: their bytes are charged in whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteStock {
    used: u64,
}

impl ByteStock {
    const PAGE: u64 = 4096;

    /// Bytes in use.
    pub(super) fn used(self) -> u64 {
        self.used
    }

    /// Pages that they take.
    pub(super) fn pages(self) -> u64 {
        self.used.div_ceil(Self::PAGE)
    }

    /// The stock with this many bytes more.
    pub(super) fn with(self, bytes: u64) -> Self {
        Self {
            used: self.used + bytes,
        }
    }

    /// The stock with this many bytes less.
    pub(super) fn without(self, bytes: u64) -> Self {
        Self {
            used: self.used - bytes,
        }
    }
}
