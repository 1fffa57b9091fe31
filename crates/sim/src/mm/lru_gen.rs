//! The multi-generation LRU of one lruvec (`mm/vmscan.c`, `include/linux/mm_inline.h`): pages by
//! the generation in which they were last used, of each kind and zone.
//!
//! A generation is a sequence number; the youngest is `max_seq`, the oldest of a kind `min_seq`,
//! and there are two to four between them. A page knows the number, modulo four, of its
//! generation. A page-table walk changes that number alone: the page stays in the list it is in
//! until eviction comes across it ([`eviction`]) and moves it to where it belongs.

pub(crate) mod aging;
pub(crate) mod eviction;
pub(crate) mod memcg_lru;

mod control;
mod ends;

pub(crate) use eviction::{Batch, Wanted};

use core::ops::Range;

use control::Control;
use ends::Ends;

use crate::mm::folio::{Flag, Folios, PageId};
pub(crate) use crate::mm::lru::Kind;
use crate::mm::lru::Lru;

/// The fewest generations (`MIN_NR_GENS`): the two youngest count as active.
pub(crate) const LEAST: u64 = 2;
/// The most (`MAX_NR_GENS`).
pub(crate) const MOST: usize = 4;
/// Pages that eviction takes at a time (`MIN_LRU_BATCH`), and counts below which nothing is
/// concluded from them.
pub(crate) const BATCH: usize = 64;
/// Pages that one attempt looks at (`MAX_LRU_BATCH`).
const BATCH_MAX: u64 = 4096;
/// Zones that a page can be in.
const ZONES: usize = 4;
/// The swappiness at which only anonymous memory is wanted first (`MAX_SWAPPINESS`).
const SWAPPINESS_MAX: u32 = 200;
/// The most uses that a page can show (`BIT(LRU_REFS_WIDTH)`).
const REFS_MAX: u8 = 4;

/// Where a page that comes to the lists belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Faulted in, or activated: the youngest generation.
    Youngest,
    /// It cannot be evicted at once: anonymous and not in the swap cache, or being written: the
    /// second youngest.
    SecondYoungest,
    /// Read through a file descriptor, or swapped in ahead: the second oldest generation if there
    /// are four, else the oldest.
    Old,
    /// Clean and wanted back: the next to be evicted.
    Next,
}

/// What is left of an evicted page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shadow {
    /// What [`Generations::shadow`] gave.
    pub(crate) token: u32,
    /// How many bits of the generation's number it still has, up to 30.
    pub(crate) bits: u32,
    /// It was used more than once.
    pub(crate) workingset: bool,
}

/// What a shadow entry says when its page comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refault {
    /// It was evicted while the oldest generation was the one that it is now
    /// (`workingset_activate`).
    pub(crate) recent: bool,
    /// It should not have been evicted (`workingset_restore`).
    pub(crate) restored: bool,
}

/// One generation, for the file that shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) seq: u64,
    /// When it was made, in nanoseconds since the ticks began.
    pub(crate) born: u64,
    /// Its pages, by kind.
    pub(crate) pages: [u64; 2],
}

/// The generations of one lruvec.
#[derive(Clone, Debug)]
pub(crate) struct Generations {
    max_seq: u64,
    /// The oldest generation of each kind.
    min_seq: [u64; 2],
    /// When each generation was made, in nanoseconds since the ticks began.
    born: [u64; MOST],
    lists: [[[Ends; ZONES]; 2]; MOST],
    /// Pages by the generation that they name, whichever list they are in.
    pages: [[[u64; ZONES]; 2]; MOST],
    control: [Control; 2],
}

impl Generations {
    /// As it is when its group is made, the root's at boot: four generations, all empty
    /// (`lru_gen_init_lruvec`).
    pub(crate) fn new(now: u64) -> Self {
        Self {
            max_seq: LEAST + 1,
            min_seq: [0; 2],
            born: [now; MOST],
            lists: [[[Ends::EMPTY; ZONES]; 2]; MOST],
            pages: [[[0; ZONES]; 2]; MOST],
            control: [Control::default(); 2],
        }
    }

    /// Generations of a kind, 2 to 4.
    pub(crate) fn count(&self, kind: Kind) -> u64 {
        self.max_seq - self.min_seq[kind as usize] + 1
    }

    /// The generations, the oldest first.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        let [anon, file] = self.min_seq;
        (anon.min(file)..=self.max_seq).map(|seq| Row {
            seq,
            born: self.born[slot(seq)],
            pages: Kind::BOTH.map(|kind| self.size(seq, kind)),
        })
    }

    /// When the oldest generation of a kind was made, in nanoseconds since the ticks began.
    pub(crate) fn oldest_born(&self, kind: Kind) -> u64 {
        self.born[slot(self.min_seq[kind as usize])]
    }

    /// Pages of a kind: those of the two youngest generations, and the others.
    #[cfg(test)]
    pub(crate) fn active_and_inactive(&self, kind: Kind) -> [u64; 2] {
        let mut both = [0; 2];
        for (at, pages) in self.pages.iter().enumerate() {
            let inactive = usize::from(!self.is_active(at));
            both[inactive] += pages[kind as usize].iter().sum::<u64>();
        }
        both
    }

    /// Pages of a zone as /proc shows them, by list.
    pub(crate) fn list_sizes(&self, zone: usize) -> [u64; 4] {
        let mut sizes = [0; 4];
        for (at, pages) in self.pages.iter().enumerate() {
            for kind in Kind::BOTH {
                sizes[self.list_of(at, kind) as usize] += pages[kind as usize][zone];
            }
        }
        sizes
    }

    /// The list that /proc counts a generation's pages to.
    pub(crate) fn list_of(&self, generation: usize, kind: Kind) -> Lru {
        match self.is_active(generation) {
            true => kind.active(),
            false => kind.inactive(),
        }
    }

    /// A page of any generation, and whether that counts as active.
    pub(crate) fn any_page(&self) -> Option<(PageId, bool)> {
        let of = |at: usize| self.lists[at].iter().flatten().find_map(Ends::tail);
        (0..MOST).find_map(|at| of(at).map(|page| (page, self.is_active(at))))
    }

    /// Whether /proc shows the pages of a generation, modulo four, as active.
    fn is_active(&self, generation: usize) -> bool {
        generation == slot(self.max_seq) || generation == slot(self.max_seq - 1)
    }

    /// Puts a page that is on no list where it belongs (`lru_gen_add_folio`).
    pub(crate) fn add(&mut self, folios: &mut Folios, page: PageId, place: Place) {
        self.add_as(folios, page, folios.raw(page), place);
    }

    /// As [`Generations::add`], for a page whose other flags will be those of `raw`: they are
    /// written once.
    #[inline]
    pub(crate) fn add_as(&mut self, folios: &mut Folios, page: PageId, raw: u16, place: Place) {
        let (kind, zone) = (kind_in(raw), Folios::zone_in(raw));
        let generation = slot(self.seq_for(kind, place));
        folios.set_raw(page, Folios::entered(raw, generation));
        self.pages[generation][kind as usize][zone] += 1;
        let list = &mut self.lists[generation][kind as usize][zone];
        match place {
            Place::Next => list.push_tail(folios, page),
            _ => list.push_head(folios, page),
        }
    }

    /// Adds pages of a file that lie side by side, and in one zone, where old pages belong, one
    /// after the other; gives back the generation.
    pub(crate) fn add_old(
        &mut self,
        folios: &mut Folios,
        pages: Range<PageId>,
        zone: usize,
    ) -> usize {
        let kind = Kind::File;
        let generation = slot(self.seq_for(kind, Place::Old));
        self.pages[generation][kind as usize][zone] += pages.len() as u64;
        let list = &mut self.lists[generation][kind as usize][zone];
        for page in pages {
            folios.set_raw(page, Folios::entered(folios.raw(page), generation));
            list.push_head(folios, page);
        }
        generation
    }

    fn seq_for(&self, kind: Kind, place: Place) -> u64 {
        let oldest = self.min_seq[kind as usize];
        match place {
            Place::Youngest => self.max_seq,
            Place::SecondYoungest => self.max_seq - 1,
            Place::Old if oldest + LEAST < self.max_seq => oldest + 1,
            Place::Old | Place::Next => oldest,
        }
    }

    /// Takes a page off the list that it is in.
    pub(crate) fn remove(&mut self, folios: &mut Folios, page: PageId) {
        let (kind, zone) = (kind_of(folios, page) as usize, folios.zone(page));
        self.pages[folios.generation(page)][kind][zone] -= 1;
        let lists = self.lists.each_mut().map(|lists| &mut lists[kind][zone]);
        ends::remove(folios, page, lists);
    }

    /// A page has another index from now on, in the place of its list where it was.
    pub(crate) fn rename(&mut self, folios: &Folios, page: PageId, to: PageId) {
        let (kind, zone) = (kind_of(folios, page) as usize, folios.zone(page));
        for lists in &mut self.lists {
            lists[kind][zone].rename(page, to);
        }
    }

    /// A page table says that the page was used: it names the youngest generation from now on
    /// (`folio_update_gen`). False where it did already.
    pub(crate) fn promote(&mut self, folios: &mut Folios, page: PageId) -> bool {
        let (old, new) = (folios.generation(page), slot(self.max_seq));
        folios.forget_uses(page);
        self.renumber(folios, page, old, new);
        old != new
    }

    fn renumber(&mut self, folios: &mut Folios, page: PageId, old: usize, new: usize) {
        let (kind, zone) = (kind_of(folios, page) as usize, folios.zone(page));
        folios.set_generation(page, new);
        self.pages[old][kind][zone] -= 1;
        self.pages[new][kind][zone] += 1;
    }

    /// What the shadow entry of a page that is evicted now will remember; it counts as evicted
    /// (`lru_gen_eviction`). That the page was used more than once, its flag tells.
    pub(crate) fn shadow(&mut self, folios: &Folios, page: PageId) -> u32 {
        let (kind, refs) = (kind_of(folios, page) as usize, refs(folios, page));
        self.control[kind].note_evicted(tier(refs), 1);
        token(self.min_seq[kind], refs)
    }

    /// Leaves the shadow entries of pages of a file that are evicted now: as [`Self::shadow`], but
    /// most of them are cold, so those are counted together.
    pub(crate) fn leave_shadows(&mut self, folios: &mut Folios, pages: &[PageId]) {
        let oldest = self.min_seq[Kind::File as usize];
        let control = &mut self.control[Kind::File as usize];
        let mut cold = 0;
        for &page in pages {
            let refs = refs(folios, page);
            match refs {
                0 => cold += 1,
                _ => control.note_evicted(tier(refs), 1),
            }
            folios.leave_shadow(page, token(oldest, refs), None);
        }
        control.note_evicted(0, cold);
    }

    /// Judges a page that comes back; `in_fault` where a page fault brings it in
    /// (`lru_gen_refault`). The page must be placed already.
    pub(crate) fn refault(
        &mut self,
        folios: &mut Folios,
        page: PageId,
        shadow: Shadow,
        in_fault: bool,
    ) -> Refault {
        let kind = kind_of(folios, page) as usize;
        let mask = (1 << shadow.bits) - 1;
        let recent = shadow.token >> 2 == self.min_seq[kind] as u32 & mask;
        if !recent {
            return Refault {
                recent,
                restored: false,
            };
        }
        let refs = (shadow.token & 3) as u8 + u8::from(shadow.workingset);
        self.control[kind].note_refaulted(tier(refs));
        let restored = in_fault || refs >= REFS_MAX - 1;
        if restored {
            folios.set_uses(page, 3);
            folios.set(page, Flag::Workingset);
        }
        Refault { recent, restored }
    }
}

/// A page in a generation was used through a file descriptor (`folio_inc_refs`). Whether it is in
/// one is not asked: the same holds on its way there.
pub(crate) fn note_use(folios: &mut Folios, page: PageId) {
    if !folios.has(page, Flag::Referenced) {
        folios.set(page, Flag::Referenced);
    } else if !folios.has(page, Flag::Workingset) {
        folios.set(page, Flag::Workingset);
    } else {
        folios.set_uses(page, (folios.uses(page) + 1).min(3));
    }
}

/// What a shadow entry remembers: the oldest generation, and the uses beyond the second.
fn token(oldest: u64, refs: u8) -> u32 {
    ((oldest as u32) << 2) | u32::from(refs.saturating_sub(1))
}

/// Uses through file descriptors beyond the first, 0 to 4 (`folio_lru_refs`).
fn refs(folios: &Folios, page: PageId) -> u8 {
    folios.uses(page) + u8::from(folios.has(page, Flag::Workingset))
}

/// The tier of a page used so often: the logarithm of its uses, rounded up.
fn tier(refs: u8) -> usize {
    match refs {
        0 => 0,
        1 => 1,
        2 | 3 => 2,
        _ => 3,
    }
}

fn kind_of(folios: &Folios, page: PageId) -> Kind {
    kind_in(folios.raw(page))
}

fn kind_in(raw: u16) -> Kind {
    match raw & Flag::Anon.bit() {
        0 => Kind::File,
        _ => Kind::Anon,
    }
}

/// The place of a generation in the arrays.
fn slot(seq: u64) -> usize {
    (seq % MOST as u64) as usize
}

impl Default for Generations {
    fn default() -> Self {
        Self::new(0)
    }
}

#[cfg(test)]
pub(crate) mod plain;
#[cfg(test)]
mod tests;
