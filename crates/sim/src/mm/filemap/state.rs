//! A file, and how far a read came.

use core::ops::Range;

use crate::mm::folio::PageId;
use crate::mm::page_alloc::state::NoPage;

const PAGE: u64 = 4096;

/// A file of the machine.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Index of its first page.
    pub(crate) base: PageId,
    /// The most pages that it has; those behind its end are never read.
    pub(crate) pages: u64,
    /// Its length in bytes (`i_size`).
    pub(crate) size: u64,
    /// The disk it lies on, and where.
    pub(crate) disk: usize,
    pub(crate) offset: u64,
}

/// The bytes of a file that a `read()` wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// How far an access got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All pages asked for were reached.
    Complete,
    /// This page is being read.
    Waits(PageId),
    /// A request of its own is under way.
    Submitted,
    /// There is no memory for the page at the cursor, or not yet.
    NoPage(NoPage),
    /// It has dirtied so much that it pauses for this many ticks.
    Pauses(u64),
    /// The journal of a disk commits a transaction.
    Commits { disk: usize, transaction: u64 },
    /// The block with its inode is being written to the journal of a disk.
    Shadowed { disk: usize },
}

impl File {
    /// The page behind its last one.
    pub(crate) fn end(&self) -> u64 {
        self.size.div_ceil(PAGE)
    }
}

impl Span {
    /// These pages, by their indices.
    pub(crate) fn of_pages(pages: Range<u64>) -> Self {
        Self {
            from: pages.start * PAGE,
            to: pages.end * PAGE,
        }
    }

    /// The page that holds its first byte.
    pub(crate) fn first(self) -> u64 {
        self.from / PAGE
    }

    /// The page behind its last one.
    pub(crate) fn end(self) -> u64 {
        self.to.div_ceil(PAGE)
    }

    /// Whether it covers this page from end to end.
    pub(crate) fn covers(self, page: u64) -> bool {
        self.from <= page * PAGE && (page + 1) * PAGE <= self.to
    }

    /// How far a `read()` of it came that has copied what it wants of this page.
    pub(crate) fn behind(self, page: u64) -> u64 {
        self.to.min((page + 1) * PAGE)
    }
}
