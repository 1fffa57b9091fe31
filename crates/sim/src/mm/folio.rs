//! Page state: ten bytes for each page of each file and region, dense, struct of arrays.
//!
//! A page that is resident uses its two links for its place on a list; one that was evicted keeps
//! its shadow entry in the second and, if it is anonymous, its swap slot in the first.

mod runs;

use alloc::vec::Vec;
use core::hint::black_box;
use core::ops::Range;

/// A page's index: files and regions take ranges of it.
pub(crate) type PageId = u32;

/// No page: the end of a list.
pub(crate) const NIL: PageId = u32::MAX;

/// Pages that share one node of the page cache's tree; ranges begin at a multiple of it.
pub(crate) const NODE_PAGES: u32 = 64;

const STATE: u16 = 0b111;
const ZONE_SHIFT: u32 = 3;
const ZONE: u16 = 0b11 << ZONE_SHIFT;
const GENERATION_SHIFT: u32 = 5;
const GENERATION: u16 = 0b11 << GENERATION_SHIFT;
const USES_SHIFT: u32 = 7;
const USES: u16 = 0b11 << USES_SHIFT;

/// A flag of a page (`enum pageflags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Used once since it was last looked at (`PG_referenced`).
    Referenced,
    /// It was active when it was deactivated or evicted (`PG_workingset`).
    Workingset,
    /// Readahead goes on when this page of a file is used (`PG_readahead`).
    Readahead,
    /// A page of a file that is to be reclaimed as soon as it is written (`PG_reclaim`).
    Reclaim,
    /// Anonymous: it goes to swap, not back to a file (`PAGE_MAPPING_ANON`).
    Anon,
    /// An anonymous page in the swap cache: it has a slot (`PG_swapcache`).
    Swapcache,
    /// A place that shares a page is in a locked region (`VM_LOCKED`).
    Locked,
    /// An anonymous page that no page table maps: it is in the swap cache alone.
    Unmapped,
    /// Such a page was read ahead of its use (`PG_readahead`).
    SwapReadahead,
    /// A page of a file that a page table maps.
    Mapped,
    /// A page table that maps it was used (the accessed bit of the entry).
    Accessed,
    /// It differs from what swap or the file holds (`PG_dirty`).
    Dirty,
    /// A page that is being read is on its active list, a refault that reclaim should not have
    /// evicted (`PG_active`); one that has been read says so by its [`State`].
    Active,
}

impl Flag {
    /// Its bit, of which there are seven: those that no page has at one time share one.
    pub(crate) const fn bit(self) -> u16 {
        match self {
            Self::Referenced => 1 << 9,
            Self::Workingset => 1 << 10,
            // The first two share one in the kernel, too: one is asked of pages that are read, the
            // other of pages that are written. The third is anonymous memory's.
            Self::Readahead | Self::Reclaim | Self::Unmapped => 1 << 11,
            Self::Anon => 1 << 12,
            // Nothing uses a page through a page table that does not map it.
            Self::Accessed | Self::SwapReadahead => 1 << 13,
            // What is being read is as it is on the disk.
            // A place that shares a page has none itself.
            Self::Dirty | Self::Active | Self::Locked => 1 << 14,
            // A file's page and an anonymous one.
            Self::Mapped | Self::Swapcache => 1 << 15,
        }
    }

    /// Whether a page can have it.
    fn suits(self, raw: u16) -> bool {
        let is_anon = raw & Self::Anon.bit() != 0;
        match self {
            Self::Readahead | Self::Reclaim | Self::Mapped => !is_anon,
            Self::Swapcache | Self::Unmapped => is_anon,
            Self::SwapReadahead => is_anon && raw & Self::Unmapped.bit() != 0,
            Self::Active => raw & STATE == State::Reading as u16,
            Self::Locked => is_anon && raw & STATE == State::Shadow as u16,
            _ => true,
        }
    }
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum State {
    /// Never seen, or forgotten.
    Absent = 0,
    /// Evicted; a shadow entry is left. An anonymous page that is so shares another: its first link
    /// says which, the second what it knows of it.
    Shadow = 1,
    /// Anonymous and evicted: in a swap slot, with a shadow entry.
    Swapped = 2,
    /// On an inactive list, or in a generation.
    Inactive = 3,
    /// On an active list.
    Active = 4,
    /// Resident, being read: locked, and on a list already; [`Flag::Active`] tells which.
    Reading = 5,
    /// Resident, being written to swap, on no list until that is done.
    Writing = 6,
    /// Locked into memory (`mlock`): on no list that reclaim looks at.
    Unevictable = 7,
}

impl State {
    const ALL: [Self; 8] = [
        Self::Absent,
        Self::Shadow,
        Self::Swapped,
        Self::Inactive,
        Self::Active,
        Self::Reading,
        Self::Writing,
        Self::Unevictable,
    ];
}

/// The state of all pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folios {
    /// Previous and next on the list; of an evicted page its swap slot and its shadow entry.
    links: Vec<[u32; 2]>,
    flags: Vec<u16>,
    /// The group that each page is charged to; empty where there is none but the root.
    pub(crate) charge: Vec<u8>,
    /// Resident anonymous pages, and those of them in huge pages.
    pub(crate) anon_pages: u64,
    pub(crate) anon_huge_pages: u64,
    /// Resident pages of files that page tables map.
    pub(crate) file_mapped: u64,
    /// Resident pages that have a swap slot.
    pub(crate) swap_cached: u64,
    /// Freed ranges of page indices, reused by the next object of the same length.
    pub(crate) free_ranges: Vec<(PageId, u32)>,
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
        State::ALL[usize::from(self.flags[page as usize] & STATE)]
    }

    pub(crate) fn is_resident(&self, page: PageId) -> bool {
        self.flags[page as usize] & STATE >= State::Inactive as u16
    }

    pub(crate) fn set_state(&mut self, page: PageId, state: State) {
        let flags = &mut self.flags[page as usize];
        *flags = (*flags & !STATE) | state as u16;
    }

    /// Notes which list the page is on; one that is being read stays so.
    pub(crate) fn set_listed(&mut self, page: PageId, active: bool) {
        match (self.is_reading(page), active) {
            (true, true) => self.set(page, Flag::Active),
            (true, false) => self.clear(page, Flag::Active),
            (false, true) => self.set_state(page, State::Active),
            (false, false) => self.set_state(page, State::Inactive),
        }
    }

    /// Whether the page, which is on a list, is on its active one.
    pub(crate) fn is_listed_active(&self, page: PageId) -> bool {
        match self.state(page) {
            State::Reading => self.has(page, Flag::Active),
            state => state == State::Active,
        }
    }

    /// The page has been read: it is on the list where it is, unlocked.
    pub(crate) fn unlock(&mut self, page: PageId) {
        let flags = &mut self.flags[page as usize];
        let state = match *flags & Flag::Active.bit() {
            0 => State::Inactive,
            _ => State::Active,
        };
        *flags = (*flags & !(STATE | Flag::Active.bit())) | state as u16;
    }

    /// The flags as they are: for loops that decide on several bits at once.
    pub(crate) fn raw(&self, page: PageId) -> u16 {
        self.flags[page as usize]
    }

    /// The flags of pages that lie side by side.
    pub(crate) fn raws(&self, pages: Range<PageId>) -> &[u16] {
        &self.flags[pages.start as usize..pages.end as usize]
    }

    /// The same, to be changed.
    pub(crate) fn raws_mut(&mut self, pages: Range<PageId>) -> &mut [u16] {
        &mut self.flags[pages.start as usize..pages.end as usize]
    }

    /// Whether the page is one of a file on an inactive list, clean, mapped nowhere and used by a
    /// `read()` at most.
    pub(crate) fn is_unused(raw: u16) -> bool {
        Self::is_clean(raw) && raw & STATE == State::Inactive as u16
    }

    /// Whether the page is one of a file, clean and mapped nowhere.
    pub(crate) fn is_clean(raw: u16) -> bool {
        let used = Flag::Accessed.bit() | Flag::Mapped.bit();
        raw & (Flag::Anon.bit() | Flag::Dirty.bit() | used) == 0
    }

    /// Whether the page, of a file, is there and read, and no `read()` has used it yet.
    pub(crate) fn is_new(raw: u16) -> bool {
        Self::is_calm(raw) && raw & Flag::Referenced.bit() == 0
    }

    /// Where the page, of a file, is while it is not resident.
    pub(crate) fn state_in(raw: u16) -> State {
        State::ALL[usize::from(raw & STATE)]
    }

    /// Loads the flags of pages that will be needed soon; the first page of an empty region may be
    /// none. The loads do not depend on each other, so the processor waits for all of them at once.
    /// So are, after that, the links of those that a `read()` activates and takes off their list. A
    /// page in a generation stays where it is, and most of those that are read again show their
    /// uses.
    pub(crate) fn fetch(&self, pages: impl Iterator<Item = PageId> + Clone) {
        let flags = |page: PageId| self.flags.get(page as usize).copied().unwrap_or(0);
        black_box(pages.clone().fold(0, |sum, page| sum ^ flags(page)));
        let moves = pages.filter(|&page| {
            let looked_at = STATE | USES | Flag::Referenced.bit() | Flag::Anon.bit();
            flags(page) & looked_at == State::Inactive as u16 | Flag::Referenced.bit()
        });
        let links = moves.map(|page| self.links[page as usize]);
        black_box(links.fold(0, |sum, [previous, next]| sum ^ previous ^ next));
    }

    /// Writes all flags at once.
    pub(crate) fn set_raw(&mut self, page: PageId, raw: u16) {
        self.flags[page as usize] = raw;
    }

    /// Whether the page is being read.
    pub(crate) fn is_reading(&self, page: PageId) -> bool {
        self.state(page) == State::Reading
    }

    /// Whether a `read()` of the page changes nothing: active, referenced, no readahead mark.
    pub(crate) fn is_settled(raw: u16) -> bool {
        let looked_at = STATE | Flag::Referenced.bit() | Flag::Readahead.bit();
        raw & looked_at == State::Active as u16 | Flag::Referenced.bit()
    }

    /// Whether a `read()` of the page changes nothing, on whatever lists it is.
    #[inline]
    pub(crate) fn is_read(raw: u16) -> bool {
        Self::is_settled(raw) || Self::is_saturated(raw)
    }

    /// Whether a `read()` of the page waits for nothing and reads nothing: it is there, has been
    /// read, and has no readahead mark.
    pub(crate) fn is_calm(raw: u16) -> bool {
        let state = raw & STATE;
        let is_there = state >= State::Inactive as u16 && state != State::Reading as u16;
        is_there && raw & Flag::Readahead.bit() == 0
    }

    /// Whether a touch of an anonymous page changes nothing: it is mapped, known to be used and,
    /// for a write, known to differ from swap.
    pub(crate) fn is_touched(raw: u16, write: bool) -> bool {
        let state = raw & STATE;
        let present = (state >= State::Inactive as u16) & (state != State::Reading as u16);
        let wanted = match write {
            true => Flag::Accessed.bit() | Flag::Dirty.bit(),
            false => Flag::Accessed.bit(),
        };
        present & (raw & (wanted | Flag::Unmapped.bit()) == wanted)
    }

    /// Whether that is so of all: as one sum, for most are.
    pub(crate) fn are_touched(raws: &[u16], write: bool) -> bool {
        raws.iter()
            .fold(true, |all, &raw| all & Self::is_touched(raw, write))
    }

    /// Whether a `read()` of the page changes nothing: in a generation, its uses at their most, no
    /// readahead mark.
    pub(crate) fn is_saturated(raw: u16) -> bool {
        let used = USES | Flag::Referenced.bit() | Flag::Workingset.bit();
        let looked_at = STATE | used | Flag::Readahead.bit();
        raw & looked_at == State::Inactive as u16 | used
    }

    pub(crate) fn has(&self, page: PageId, flag: Flag) -> bool {
        debug_assert!(flag.suits(self.raw(page)), "{flag:?} of page {page}");
        self.flags[page as usize] & flag.bit() != 0
    }

    pub(crate) fn set(&mut self, page: PageId, flag: Flag) {
        debug_assert!(flag.suits(self.raw(page)), "{flag:?} of page {page}");
        self.flags[page as usize] |= flag.bit();
    }

    pub(crate) fn clear(&mut self, page: PageId, flag: Flag) {
        debug_assert!(flag.suits(self.raw(page)), "{flag:?} of page {page}");
        self.flags[page as usize] &= !flag.bit();
    }

    /// Takes the flag off the page; true where it was set.
    pub(crate) fn take(&mut self, page: PageId, flag: Flag) -> bool {
        let had = self.has(page, flag);
        self.clear(page, flag);
        had
    }

    pub(crate) fn zone(&self, page: PageId) -> usize {
        Self::zone_in(self.raw(page))
    }

    pub(crate) fn zone_in(raw: u16) -> usize {
        usize::from((raw & ZONE) >> ZONE_SHIFT)
    }

    /// The generation that the page is in, modulo four.
    pub(crate) fn generation(&self, page: PageId) -> usize {
        usize::from((self.flags[page as usize] & GENERATION) >> GENERATION_SHIFT)
    }

    pub(crate) fn set_generation(&mut self, page: PageId, generation: usize) {
        let flags = &mut self.flags[page as usize];
        *flags = Self::in_generation(*flags, generation);
    }

    /// Uses by `read()` beyond those that `Referenced` and `Workingset` tell, 0 to 3
    /// (`LRU_REFS_MASK`).
    pub(crate) fn uses(&self, page: PageId) -> u8 {
        ((self.flags[page as usize] & USES) >> USES_SHIFT) as u8
    }

    pub(crate) fn set_uses(&mut self, page: PageId, uses: u8) {
        let flags = &mut self.flags[page as usize];
        *flags = (*flags & !USES) | ((u16::from(uses) & 3) << USES_SHIFT);
    }

    /// Whether the page is in this generation and was used at most once.
    pub(crate) fn is_cold(raw: u16, generation: usize) -> bool {
        let looked_at = GENERATION | USES | Flag::Workingset.bit();
        raw & looked_at == ((generation & 3) as u16) << GENERATION_SHIFT
    }

    /// Forgets how often the page was used.
    pub(crate) fn forget_uses(&mut self, page: PageId) {
        let used = USES | Flag::Referenced.bit() | Flag::Workingset.bit();
        self.flags[page as usize] &= !used;
    }

    /// Makes the page resident in `zone`, all flags but [`Flag::Anon`] cleared.
    pub(crate) fn place(&mut self, page: PageId, zone: usize, state: State) {
        self.flags[page as usize] = Self::placed(self.raw(page), zone, state);
    }

    /// The flags of a page that becomes resident.
    pub(crate) fn placed(raw: u16, zone: usize, state: State) -> u16 {
        debug_assert!(zone < 4, "two bits hold the zone");
        (raw & Flag::Anon.bit()) | ((zone as u16) << ZONE_SHIFT) | state as u16
    }

    /// The flags of a page that enters a generation; one that is being read stays so.
    pub(crate) fn entered(raw: u16, generation: usize) -> u16 {
        let listed = match raw & STATE == State::Reading as u16 {
            true => raw & !(Flag::Active.bit()),
            false => (raw & !STATE) | State::Inactive as u16,
        };
        Self::in_generation(listed, generation)
    }

    fn in_generation(raw: u16, generation: usize) -> u16 {
        (raw & !GENERATION) | (((generation & 3) as u16) << GENERATION_SHIFT)
    }

    /// Forgets the page.
    pub(crate) fn forget(&mut self, page: PageId) {
        self.flags[page as usize] = State::Absent as u16;
    }

    /// Leaves a shadow entry in place of an evicted page; whether the page was in the working set
    /// stays with it. An anonymous page is in swap `slot`.
    pub(crate) fn leave_shadow(&mut self, page: PageId, shadow: u32, slot: Option<u32>) {
        let state = match slot {
            Some(_) => State::Swapped,
            None => State::Shadow,
        };
        let kept = Flag::Workingset.bit() | Flag::Anon.bit();
        let flags = &mut self.flags[page as usize];
        *flags = (*flags & kept) | state as u16;
        self.links[page as usize] = [slot.unwrap_or(NIL), shadow];
    }

    /// What the page's shadow entry remembers.
    pub(crate) fn shadow(&self, page: PageId) -> u32 {
        self.links[page as usize][1]
    }

    /// The swap slot of a page that is in swap alone.
    pub(crate) fn slot(&self, page: PageId) -> u32 {
        self.links[page as usize][0]
    }

    /// Whether the page, of a region, is in memory and mapped.
    pub(crate) fn is_anon_mapped(&self, page: PageId) -> bool {
        self.is_resident(page) && !self.has(page, Flag::Unmapped)
    }

    /// Gives a page another index, on its list and as the owner of what is charged for it, and
    /// leaves nothing behind.
    pub(crate) fn move_to(&mut self, page: PageId, to: PageId) {
        let [previous, next] = self.links(page);
        if matches!(self.state(page), State::Inactive | State::Active) {
            if previous != NIL {
                self.set_next(previous, to);
            }
            if next != NIL {
                self.set_previous(next, to);
            }
        }
        self.flags[to as usize] = self.flags[page as usize];
        self.links[to as usize] = [previous, next];
        if let Some(group) = self.charge.get(page as usize).copied() {
            self.charge[to as usize] = group;
        }
        self.forget(page);
    }

    pub(crate) fn links(&self, page: PageId) -> [u32; 2] {
        self.links[page as usize]
    }

    /// The page before this one on its list: the next younger.
    pub(crate) fn previous(&self, page: PageId) -> Option<PageId> {
        let [previous, _] = self.links(page);
        (previous != NIL).then_some(previous)
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
