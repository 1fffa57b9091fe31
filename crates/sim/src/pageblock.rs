//! The pageblock of a zone that the kernel's objects (in a lower zone the slab's) and users take
//! from each other. In a lower zone it is the last one that is free, as the zone's reserve keeps
//! about half of one so; which of its pages users have decides when that half is free again.

use alloc::collections::BTreeMap;

use crate::folio::PageId;

/// The block. Its free pages are its owner's.
#[derive(Clone, Debug)]
pub(crate) struct Pageblock {
    /// Its migrate type is the slab's; in the highest zone, one of the kernel's.
    pub(crate) is_slabs: bool,
    pages: u64,
    /// Free pages of the half that is taken from last, the largest piece, and of the other.
    half: u64,
    rest: u64,
    /// Users' pages that lie in it.
    users: BTreeMap<PageId, Part>,
    /// Where the page lies that users have drawn and not placed yet.
    drawn: Option<Part>,
}

/// A part of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Half,
    Rest,
}

impl Pageblock {
    /// A block of so many pages, all free.
    pub(crate) fn of(pages: u64) -> Self {
        let half = pages.div_ceil(2);
        Self {
            is_slabs: false,
            pages,
            half,
            rest: pages - half,
            users: BTreeMap::new(),
            drawn: None,
        }
    }

    /// Its free pages.
    pub(crate) fn free(&self) -> u64 {
        self.half + self.rest
    }

    /// Whether all of it is free.
    pub(crate) fn is_free(&self) -> bool {
        self.free() >= self.pages
    }

    /// Whether half of it is free in one piece.
    pub(crate) fn has_half(&self) -> bool {
        self.half >= self.pages.div_ceil(2)
    }

    /// Users draw a page of it: small pieces go first.
    pub(crate) fn users_draw(&mut self) {
        self.drawn = self.take();
    }

    /// The page that users have drawn.
    pub(crate) fn place(&mut self, page: PageId) {
        if let Some(part) = self.drawn.take() {
            self.users.insert(page, part);
        }
    }

    /// A page of users' is freed; whether it lies in the block.
    pub(crate) fn users_give(&mut self, page: PageId) -> bool {
        let part = match self.users.is_empty() {
            true => None,
            false => self.users.remove(&page),
        };
        match part {
            Some(Part::Half) => self.half += 1,
            Some(Part::Rest) => self.rest += 1,
            None => {}
        }
        part.is_some()
    }

    /// The slab takes pages of it.
    pub(crate) fn slab_takes(&mut self, pages: u64) {
        for _ in 0..pages {
            self.take();
        }
    }

    /// The slab gives pages back, which are taken to lie in it.
    pub(crate) fn slab_gives(&mut self, pages: u64) {
        let most = self.pages / 2;
        self.rest = (self.rest + pages).min(most);
    }

    fn take(&mut self) -> Option<Part> {
        if self.rest > 0 {
            self.rest -= 1;
            Some(Part::Rest)
        } else if self.half > 0 {
            self.half -= 1;
            Some(Part::Half)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_goes_last_and_is_free_again_when_its_own_pages_are() {
        let mut block = Pageblock::of(8);
        assert!(block.is_free());
        for page in 0..5 {
            block.users_draw();
            block.place(page);
        }
        assert_eq!((block.free(), block.has_half()), (3, false));
        assert!(!block.users_give(100), "it lies elsewhere");
        assert!((0..4).all(|page| block.users_give(page)));
        assert_eq!((block.free(), block.has_half()), (7, false));
        assert!(block.users_give(4));
        assert!(block.is_free() && block.has_half());
    }

    #[test]
    fn pages_of_the_slabs_come_back_into_the_other_half() {
        let mut block = Pageblock::of(8);
        block.slab_takes(3);
        assert_eq!((block.free(), block.has_half()), (5, true));
        block.slab_gives(9);
        assert!(block.is_free());
    }
}
