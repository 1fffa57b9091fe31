//! Eviction: which kind, which tiers, which pages.

use alloc::vec::Vec;

use crate::mm::folio::{Flag, Folios, PageId};
use crate::mm::lru_gen::{
    BATCH, BATCH_MAX, Generations, Kind, LEAST, REFS_MAX, SWAPPINESS_MAX, ZONES, aging, refs, slot,
    tier,
};

/// Pages taken off their lists, the oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pages: [PageId; BATCH],
    len: usize,
}

impl Batch {
    pub(crate) const EMPTY: Self = Self {
        pages: [0; BATCH],
        len: 0,
    };

    pub(crate) fn pages(&self) -> &[PageId] {
        &self.pages[..self.len]
    }

    fn push(&mut self, page: PageId) {
        self.pages[self.len] = page;
        self.len += 1;
    }
}

/// What one attempt at eviction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isolated {
    /// The kind of the pages in the batch.
    pub(crate) kind: Kind,
    /// Progress, in pages looked at; 0 where there is none and a new generation is needed.
    pub(crate) progress: u64,
    /// Pages that were left, in the list that they belong to (`pgrefill`).
    pub(crate) sorted: u64,
    /// Those of them that were used too often to be evicted, by kind.
    pub(crate) protected: [u64; 2],
}

impl Isolated {
    fn nothing(kind: Kind) -> Self {
        Self {
            kind,
            progress: 0,
            sorted: 0,
            protected: [0; 2],
        }
    }
}

/// What an attempt at eviction is to go by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// 0 stands for memory that cannot be swapped.
    pub(crate) swappiness: u32,
    /// The kind to begin with, if that is settled.
    pub(crate) forced: Option<Kind>,
    /// Only pages of the zones up to this one are of use.
    pub(crate) highest: usize,
    /// Pages that have to be written first are of use too.
    pub(crate) writes: bool,
}

impl Wanted {
    /// Pages of any zone, by so much swappiness.
    pub(crate) fn any(swappiness: u32) -> Self {
        Self {
            swappiness,
            forced: None,
            highest: ZONES - 1,
            writes: true,
        }
    }
}

/// Which pages of the oldest generation are not evicted now.
struct Sieve<W> {
    /// Those of later tiers were used too often.
    last_tier: usize,
    /// Those of higher zones are of no use.
    highest: usize,
    writes: bool,
    /// Those of which this is true wait for something.
    waits: W,
}

impl Generations {
    /// Takes up to 64 of the oldest pages off their lists into `batch`, which must be empty
    /// (`isolate_folios`). Pages of which `waits` is true cannot be evicted now and move one
    /// generation up.
    pub(crate) fn isolate(
        &mut self,
        folios: &mut Folios,
        batch: &mut Batch,
        wanted: Wanted,
        waits: impl Fn(&Folios, PageId) -> bool,
    ) -> Isolated {
        let swaps = wanted.swappiness > 0;
        let (first, mut last_tier) = self.choose(wanted);
        let mut sieve = Sieve {
            last_tier: 0,
            highest: wanted.highest.min(ZONES - 1),
            writes: wanted.writes,
            waits,
        };
        let mut done = Isolated::nothing(first);
        for kind in [first, first.other()]
            .into_iter()
            .take(aging::kinds(swaps).len())
        {
            done.kind = kind;
            sieve.last_tier = last_tier.take().unwrap_or_else(|| self.last_tier(kind));
            done.progress = self.scan(folios, batch, &sieve, &mut done);
            if done.progress > 0 {
                break;
            }
        }
        done.progress += u64::from(self.drop_empty(swaps));
        if self.deciding_count(swaps) == LEAST {
            done.progress = 0;
        }
        done
    }

    /// The kind to begin with, and the last of its tiers to evict where that follows from it.
    fn choose(&self, wanted: Wanted) -> (Kind, Option<usize>) {
        let [anon, file] = self.min_seq;
        match (wanted.forced, wanted.swappiness) {
            (Some(kind), _) => (kind, None),
            (None, 0) => (Kind::File, None),
            _ if anon < file => (Kind::Anon, None),
            (None, 1) => (Kind::File, None),
            (None, SWAPPINESS_MAX..) => (Kind::Anon, None),
            _ => {
                let (kind, tier) = self.weigh(wanted.swappiness);
                (kind, Some(tier))
            }
        }
    }

    /// Compares the first tiers of both kinds, and then the other tiers of the chosen kind with
    /// the first of the other (`get_type_to_scan`).
    fn weigh(&self, swappiness: u32) -> (Kind, usize) {
        let gains = [swappiness, SWAPPINESS_MAX - swappiness];
        let [anon, file] = [0, 1].map(|kind| self.control[kind].position(0, gains[kind]));
        let (kind, base) = match file.is_better_than(anon) {
            true => (Kind::File, anon),
            false => (Kind::Anon, file),
        };
        let control = &self.control[kind as usize];
        (kind, control.last_tier(base, gains[kind as usize]))
    }

    /// The last tier to evict of a kind that was not chosen by comparison: a tier may refault
    /// twice as much as the first (`get_tier_idx`).
    fn last_tier(&self, kind: Kind) -> usize {
        let control = &self.control[kind as usize];
        control.last_tier(control.position(0, 1), 2)
    }

    /// Goes through the oldest generation of `done.kind` (`scan_folios`): from the highest zone of
    /// use down, then through those above it, whose pages only go to a younger generation. Gives
    /// back the pages it looked at, 0 where it got nowhere.
    fn scan(
        &mut self,
        folios: &mut Folios,
        batch: &mut Batch,
        sieve: &Sieve<impl Fn(&Folios, PageId) -> bool>,
        done: &mut Isolated,
    ) -> u64 {
        if self.count(done.kind) == LEAST {
            return 0;
        }
        let mut looked_at = 0;
        let useful = (0..=sieve.highest).rev();
        for zone in useful.chain((sieve.highest + 1..ZONES).rev()) {
            let place = (zone, BATCH_MAX - looked_at);
            looked_at += self.scan_zone(folios, batch, place, sieve, done);
        }
        let got_nowhere = batch.len == 0 && looked_at < BATCH_MAX;
        if got_nowhere { 0 } else { looked_at }
    }

    /// Goes through at most this many pages of the oldest generation in one zone, until the batch
    /// is full; gives back how many. They leave their list together, at the end; those that would
    /// have to be written, and may not, come back to its young end.
    fn scan_zone(
        &mut self,
        folios: &mut Folios,
        batch: &mut Batch,
        (zone, most): (usize, u64),
        sieve: &Sieve<impl Fn(&Folios, PageId) -> bool>,
        done: &mut Isolated,
    ) -> u64 {
        let (kind, oldest) = (done.kind, slot(self.min_seq[done.kind as usize]));
        let (mut looked_at, already) = (0, batch.len);
        let mut skipped = Vec::new();
        let mut tail = self.lists[oldest][kind as usize][zone].tail();
        while let Some(page) = tail.filter(|_| batch.len < BATCH && looked_at < most) {
            looked_at += 1;
            tail = folios.previous(page);
            if self.sort(folios, page, sieve, done) {
                done.sorted += 1;
                continue;
            }
            if !sieve.writes && has_to_be_written(folios, page) {
                skipped.push(page);
                continue;
            }
            note_isolated(folios, page);
            batch.push(page);
        }
        let list = &mut self.lists[oldest][kind as usize][zone];
        list.cut(folios, tail);
        for page in skipped {
            list.push_head(folios, page);
        }
        self.pages[oldest][kind as usize][zone] -= (batch.len - already) as u64;
        looked_at
    }

    /// Moves a page that is not to be evicted now to the list where it belongs (`sort_folio`);
    /// false where it is to be evicted. It is on no list before.
    fn sort(
        &mut self,
        folios: &mut Folios,
        page: PageId,
        sieve: &Sieve<impl Fn(&Folios, PageId) -> bool>,
        done: &mut Isolated,
    ) -> bool {
        let (kind, zone) = (done.kind, folios.zone(page));
        let oldest = slot(self.min_seq[kind as usize]);
        let useless = zone > sieve.highest;
        let cold = Folios::is_cold(folios.raw(page), oldest);
        if cold && !useless && !(sieve.waits)(folios, page) {
            return false;
        }
        let named = folios.generation(page);
        if named != oldest {
            self.lists[named][kind as usize][zone].push_head(folios, page);
            return true;
        }
        let refs = refs(folios, page);
        let protected = tier(refs) > sieve.last_tier || refs == REFS_MAX;
        if protected {
            self.control[kind as usize].note_protected(tier(refs));
            done.protected[kind as usize] += 1;
        }
        if protected || useless {
            let next = next_generation(self, folios, page, kind);
            self.lists[next][kind as usize][zone].push_tail(folios, page);
            return true;
        }
        if (sieve.waits)(folios, page) {
            let next = next_generation(self, folios, page, kind);
            // On a page that is being read it passes for a mark of readahead.
            if kind == Kind::File {
                folios.set(page, Flag::Reclaim);
            }
            self.lists[next][kind as usize][zone].push_head(folios, page);
            return true;
        }
        false
    }
}

/// The generation that follows the page's; unless a page table had made it younger, it is in it
/// from now on, its uses forgotten (`folio_inc_gen`).
pub(super) fn next_generation(
    generations: &mut Generations,
    folios: &mut Folios,
    page: PageId,
    kind: Kind,
) -> usize {
    let oldest = generations.min_seq[kind as usize];
    let named = folios.generation(page);
    if named != slot(oldest) {
        return named;
    }
    folios.forget_uses(page);
    generations.renumber(folios, page, named, slot(oldest + 1));
    slot(oldest + 1)
}

/// Anonymous memory that has no copy in swap, and what is dirty (`isolate_folio`).
fn has_to_be_written(folios: &Folios, page: PageId) -> bool {
    match folios.has(page, Flag::Anon) {
        true => !folios.has(page, Flag::Swapcache),
        false => folios.has(page, Flag::Dirty) && !folios.is_reading(page),
    }
}

/// A page leaves for eviction: if it was not used since it came, or since it was protected, what
/// else is known of its uses is old (`isolate_folio`).
fn note_isolated(folios: &mut Folios, page: PageId) {
    match folios.take(page, Flag::Referenced) {
        true => {}
        false => folios.forget_uses(page),
    }
}
