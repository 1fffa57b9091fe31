//! Page state: nine bytes for each page of each file and region, dense, struct of arrays.
//!
//! A page that is resident uses its two links for its place on an LRU list; one that was evicted
//! keeps its shadow entry in the same place. The eighth flag bit marks where readahead goes on.

use alloc::vec::Vec;

/// A page's index: files and regions take ranges of it.
pub(crate) type PageId = u32;

/// No page: the end of a list.
pub(crate) const NIL: PageId = u32::MAX;

/// Pages that share one node of the page cache's tree; ranges begin at a multiple of it.
pub(crate) const NODE_PAGES: u32 = 64;

const STATE: u8 = 0b0000_0111;
const REFERENCED: u8 = 0b0000_1000;
const WORKINGSET: u8 = 0b0001_0000;
const ZONE: u8 = 0b0110_0000;
const ZONE_SHIFT: u32 = 5;
const READAHEAD: u8 = 0b1000_0000;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// Never seen, or forgotten.
    Absent = 0,
    /// Evicted; a shadow entry is left.
    Shadow = 1,
    /// On an inactive list.
    Inactive = 2,
    /// On an active list.
    Active = 3,
    /// Resident, being read from its disk: locked, on its way to the inactive list.
    InFlight = 4,
    /// Likewise, on its way to the active list: a refault that reclaim should not have evicted.
    InFlightActive = 5,
}

/// The state of all pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folios {
    /// Previous and next on the list; of a shadow, the age at eviction in the second.
    links: Vec<[u32; 2]>,
    flags: Vec<u8>,
}

impl Folios {
    /// Makes room for pages up to `len`; the new ones are absent.
    pub(crate) fn grow(&mut self, len: usize) {
        self.links.resize(len, [NIL, NIL]);
        self.flags.resize(len, 0);
    }

    pub(crate) fn len(&self) -> usize {
        self.flags.len()
    }

    pub(crate) fn state(&self, page: PageId) -> State {
        match self.flags[page as usize] & STATE {
            0 => State::Absent,
            1 => State::Shadow,
            2 => State::Inactive,
            3 => State::Active,
            4 => State::InFlight,
            _ => State::InFlightActive,
        }
    }

    pub(crate) fn is_resident(&self, page: PageId) -> bool {
        self.flags[page as usize] & STATE >= State::Inactive as u8
    }

    pub(crate) fn set_state(&mut self, page: PageId, state: State) {
        let flags = &mut self.flags[page as usize];
        *flags = (*flags & !STATE) | state as u8;
    }

    /// The state byte as it is: for loops that decide on several bits at once.
    pub(crate) fn raw(&self, page: PageId) -> u8 {
        self.flags[page as usize]
    }

    /// Whether the page is being read.
    pub(crate) fn is_in_flight(&self, page: PageId) -> bool {
        self.flags[page as usize] & STATE >= State::InFlight as u8
    }

    /// Whether a `read()` of the page changes nothing: active, referenced, no readahead mark.
    pub(crate) fn is_settled(raw: u8) -> bool {
        raw & (STATE | REFERENCED | READAHEAD) == State::Active as u8 | REFERENCED
    }

    pub(crate) fn is_referenced(&self, page: PageId) -> bool {
        self.flags[page as usize] & REFERENCED != 0
    }

    pub(crate) fn set_referenced(&mut self, page: PageId) {
        self.flags[page as usize] |= REFERENCED;
    }

    pub(crate) fn clear_referenced(&mut self, page: PageId) {
        self.flags[page as usize] &= !REFERENCED;
    }

    pub(crate) fn is_workingset(&self, page: PageId) -> bool {
        self.flags[page as usize] & WORKINGSET != 0
    }

    pub(crate) fn set_workingset(&mut self, page: PageId) {
        self.flags[page as usize] |= WORKINGSET;
    }

    pub(crate) fn zone(&self, page: PageId) -> usize {
        usize::from((self.flags[page as usize] & ZONE) >> ZONE_SHIFT)
    }

    /// Takes the readahead mark off the page; true where there was one.
    pub(crate) fn take_readahead(&mut self, page: PageId) -> bool {
        let flags = &mut self.flags[page as usize];
        let marked = *flags & READAHEAD != 0;
        *flags &= !READAHEAD;
        marked
    }

    pub(crate) fn mark_readahead(&mut self, page: PageId) {
        self.flags[page as usize] |= READAHEAD;
    }

    /// Makes the page resident in `zone`, all other flags cleared.
    pub(crate) fn place(&mut self, page: PageId, zone: usize, state: State) {
        debug_assert!(zone < 4, "two bits hold the zone");
        self.flags[page as usize] = ((zone as u8) << ZONE_SHIFT) | state as u8;
    }

    /// Forgets the page.
    pub(crate) fn forget(&mut self, page: PageId) {
        self.flags[page as usize] = State::Absent as u8;
    }

    /// Leaves a shadow entry that remembers `age`, and whether the page was in the working set.
    pub(crate) fn leave_shadow(&mut self, page: PageId, age: u32) {
        let flags = &mut self.flags[page as usize];
        *flags = (*flags & WORKINGSET) | State::Shadow as u8;
        self.links[page as usize][1] = age;
    }

    /// The age in the page's shadow entry.
    pub(crate) fn shadow_age(&self, page: PageId) -> u32 {
        self.links[page as usize][1]
    }

    pub(crate) fn links(&self, page: PageId) -> [u32; 2] {
        self.links[page as usize]
    }

    pub(crate) fn set_links(&mut self, page: PageId, links: [u32; 2]) {
        self.links[page as usize] = links;
    }

    pub(crate) fn set_previous(&mut self, page: PageId, previous: PageId) {
        self.links[page as usize][0] = previous;
    }

    pub(crate) fn set_next(&mut self, page: PageId, next: PageId) {
        self.links[page as usize][1] = next;
    }
}
