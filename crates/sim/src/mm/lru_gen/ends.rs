//! Lists of pages of which a page does not know which one it is in.

use crate::mm::folio::{Folios, NIL, PageId};
use crate::mm::lru_gen::MOST;

/// The ends of a list through the pages' links; the head is the youngest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    head: PageId,
    tail: PageId,
}

impl Ends {
    pub(super) const EMPTY: Self = Self {
        head: NIL,
        tail: NIL,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.tail == NIL
    }

    /// The oldest page.
    pub(super) fn tail(&self) -> Option<PageId> {
        (self.tail != NIL).then_some(self.tail)
    }

    pub(super) fn push_head(&mut self, folios: &mut Folios, page: PageId) {
        folios.set_links(page, [NIL, self.head]);
        match self.head {
            NIL => self.tail = page,
            head => folios.set_previous(head, page),
        }
        self.head = page;
    }

    pub(super) fn push_tail(&mut self, folios: &mut Folios, page: PageId) {
        folios.set_links(page, [self.tail, NIL]);
        match self.tail {
            NIL => self.head = page,
            tail => folios.set_next(tail, page),
        }
        self.tail = page;
    }

    /// A page, of this list or another, has another index from now on.
    pub(super) fn rename(&mut self, page: PageId, to: PageId) {
        for end in [&mut self.head, &mut self.tail] {
            if *end == page {
                *end = to;
            }
        }
    }

    /// Takes the oldest page off.
    pub(super) fn pop_tail(&mut self, folios: &mut Folios) {
        self.cut(folios, folios.previous(self.tail));
    }

    /// Takes off all pages that are older than `tail`; without one, all there are.
    pub(super) fn cut(&mut self, folios: &mut Folios, tail: Option<PageId>) {
        match tail {
            Some(tail) => folios.set_next(tail, NIL),
            None => self.head = NIL,
        }
        self.tail = tail.unwrap_or(NIL);
    }
}

/// Takes a page out of one of the four lists. Only a page at an end needs to know which, and that
/// list has it for its end.
pub(super) fn remove(folios: &mut Folios, page: PageId, lists: [&mut Ends; MOST]) {
    let [previous, next] = folios.links(page);
    if previous == NIL || next == NIL {
        for ends in lists {
            if ends.head == page {
                ends.head = next;
            }
            if ends.tail == page {
                ends.tail = previous;
            }
        }
    }
    if previous != NIL {
        folios.set_next(previous, next);
    }
    if next != NIL {
        folios.set_previous(next, previous);
    }
}
