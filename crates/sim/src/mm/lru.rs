//! The LRU lists of one node (a kernel `lruvec`): two for anonymous memory, two for the page cache.

use core::ops::Range;

use crate::mm::folio::{Folios, NIL, PageId};

/// The two kinds of evictable pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Anon = 0,
    File = 1,
}

impl Kind {
    pub(crate) const BOTH: [Self; 2] = [Self::Anon, Self::File];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Anon => Self::File,
            Self::File => Self::Anon,
        }
    }

    pub(crate) fn inactive(self) -> Lru {
        match self {
            Self::Anon => Lru::InactiveAnon,
            Self::File => Lru::InactiveFile,
        }
    }

    pub(crate) fn active(self) -> Lru {
        match self {
            Self::Anon => Lru::ActiveAnon,
            Self::File => Lru::ActiveFile,
        }
    }
}

/// One of the four evictable lists, in the order in which reclaim goes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lru {
    InactiveAnon = 0,
    ActiveAnon = 1,
    InactiveFile = 2,
    ActiveFile = 3,
}

impl Lru {
    pub(crate) const ALL: [Self; 4] = [
        Self::InactiveAnon,
        Self::ActiveAnon,
        Self::InactiveFile,
        Self::ActiveFile,
    ];

    pub(crate) fn is_active(self) -> bool {
        matches!(self, Self::ActiveAnon | Self::ActiveFile)
    }
}

/// A doubly linked list through the pages' links; the head is the youngest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: PageId,
    tail: PageId,
    len: u64,
}

impl Default for List {
    fn default() -> Self {
        Self {
            head: NIL,
            tail: NIL,
            len: 0,
        }
    }
}

impl List {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The oldest page.
    pub(crate) fn tail(&self) -> Option<PageId> {
        (self.tail != NIL).then_some(self.tail)
    }

    pub(crate) fn push_head(&mut self, folios: &mut Folios, page: PageId) {
        folios.set_links(page, [NIL, self.head]);
        match self.head {
            NIL => self.tail = page,
            head => folios.set_previous(head, page),
        }
        self.head = page;
        self.len += 1;
    }

    /// As [`Self::push_head`] of pages that lie side by side, one after the other.
    pub(crate) fn push_heads(&mut self, folios: &mut Folios, pages: Range<PageId>) {
        let (first, last) = (pages.start, pages.end - 1);
        for page in first..last {
            folios.set_links(page, [page + 1, page.wrapping_sub(1)]);
        }
        folios.set_links(last, [NIL, last.wrapping_sub(1)]);
        folios.set_next(first, self.head);
        match self.head {
            NIL => self.tail = first,
            head => folios.set_previous(head, first),
        }
        self.head = last;
        self.len += pages.len() as u64;
    }

    /// All pages up to this one, none where there is none, are off the list's tail, and that many.
    pub(crate) fn cut_tail(&mut self, folios: &mut Folios, tail: Option<PageId>, pages: u64) {
        self.tail = tail.unwrap_or(NIL);
        match tail {
            Some(tail) => folios.set_next(tail, NIL),
            None => self.head = NIL,
        }
        self.len -= pages;
    }

    pub(crate) fn push_tail(&mut self, folios: &mut Folios, page: PageId) {
        folios.set_links(page, [self.tail, NIL]);
        match self.tail {
            NIL => self.head = page,
            tail => folios.set_next(tail, page),
        }
        self.tail = page;
        self.len += 1;
    }

    /// A page of the list has another index from now on.
    pub(crate) fn rename(&mut self, page: PageId, to: PageId) {
        for end in [&mut self.head, &mut self.tail] {
            if *end == page {
                *end = to;
            }
        }
    }

    pub(crate) fn remove(&mut self, folios: &mut Folios, page: PageId) {
        self.remove_run(folios, page..page + 1);
    }

    /// As [`Self::remove`] of pages that lie side by side, and on the list as
    /// [`Self::push_heads`] puts them there.
    pub(crate) fn remove_run(&mut self, folios: &mut Folios, pages: Range<PageId>) {
        let [previous, _] = folios.links(pages.end - 1);
        let [_, next] = folios.links(pages.start);
        match previous {
            NIL => self.head = next,
            _ => folios.set_next(previous, next),
        }
        match next {
            NIL => self.tail = previous,
            _ => folios.set_previous(next, previous),
        }
        self.len -= pages.len() as u64;
    }
}
