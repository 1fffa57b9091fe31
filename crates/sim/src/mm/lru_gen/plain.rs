//! The same rules on deques and maps, written down the long way round: what the clever
//! implementation must agree with, page by page.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A page on a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// 0 anonymous, 1 file.
    pub(crate) kind: usize,
    pub(crate) zone: usize,
    /// Its generation modulo four.
    pub(crate) generation: u64,
    pub(crate) referenced: bool,
    pub(crate) workingset: bool,
    pub(crate) more: u64,
}

/// What is left of an evicted page: the oldest generation of the time, and its uses.
pub(crate) type Shadow = (u64, u64);

#[derive(Clone, Debug, Default)]
pub(crate) struct Plain {
    pub(crate) pages: BTreeMap<u32, Page>,
    /// By generation, kind and zone; youngest first.
    pub(crate) lists: BTreeMap<(u64, usize, usize), VecDeque<u32>>,
    pub(crate) max: u64,
    pub(crate) min: [u64; 2],
    /// Refaulted and total, now and on average, by kind and tier.
    refaulted: [[u64; 4]; 2],
    total: [[u64; 4]; 2],
    old_refaulted: [[u64; 4]; 2],
    old_total: [[u64; 4]; 2],
    pub(crate) left: u64,
}

impl Page {
    fn uses(&self) -> u64 {
        self.more + u64::from(self.workingset)
    }

    fn tier(&self) -> usize {
        tier(self.uses())
    }

    pub(crate) fn read(&mut self) {
        match (self.referenced, self.workingset) {
            (false, _) => self.referenced = true,
            (true, false) => self.workingset = true,
            (true, true) => self.more = 3.min(self.more + 1),
        }
    }

    fn forget(&mut self) {
        (self.referenced, self.workingset, self.more) = (false, false, 0);
    }

    /// As it is taken from its list: a page that was not referenced forgets its uses.
    fn taken(mut self) -> Self {
        if !self.referenced {
            self.forget();
        }
        self.referenced = false;
        self
    }
}

fn tier(uses: u64) -> usize {
    [0, 1, 2, 2, 3][uses as usize]
}

impl Plain {
    pub(crate) fn new() -> Self {
        Self {
            max: 3,
            ..Self::default()
        }
    }

    fn list(&mut self, generation: u64, kind: usize, zone: usize) -> &mut VecDeque<u32> {
        self.lists.entry((generation % 4, kind, zone)).or_default()
    }

    /// `seq` is the generation, `last` whether the page goes to its old end.
    pub(crate) fn add(&mut self, id: u32, mut page: Page, seq: u64, last: bool) {
        page.generation = seq % 4;
        self.pages.insert(id, page);
        let list = self.list(seq, page.kind, page.zone);
        match last {
            true => list.push_back(id),
            false => list.push_front(id),
        }
    }

    /// Where a page that was read goes.
    pub(crate) fn old(&self, kind: usize) -> u64 {
        match self.max - self.min[kind] {
            0..=2 => self.min[kind],
            _ => self.min[kind] + 1,
        }
    }

    pub(crate) fn remove(&mut self, id: u32) {
        self.pages.remove(&id);
        for list in self.lists.values_mut() {
            list.retain(|other| *other != id);
        }
    }

    pub(crate) fn walk(&mut self, id: u32) {
        let max = self.max;
        let page = self.pages.get_mut(&id).expect("it is there");
        page.forget();
        page.generation = max % 4;
    }

    pub(crate) fn in_generation(&self, kind: usize, seq: u64) -> u64 {
        let pages = self.pages.values();
        let here = |page: &&Page| page.kind == kind && page.generation == seq % 4;
        pages.filter(here).count() as u64
    }

    /// Pages in all, and whether to age.
    pub(crate) fn budget(&self, swaps: bool) -> (u64, bool) {
        let kinds = if swaps { 0..2 } else { 1..2 };
        let (mut total, mut young, mut old) = (0, 0, 0);
        for kind in kinds.clone() {
            for seq in self.min[kind]..=self.max {
                total += self.in_generation(kind, seq);
            }
            young += self.in_generation(kind, self.max);
            if self.min[kind] <= self.max - 2 {
                old += self.in_generation(kind, self.max - 2);
            }
        }
        match self.max - self.min[kinds.start] {
            1 => (0, true),
            2 => (total, young * 2 > total || old * 4 < total),
            _ => (total, false),
        }
    }

    pub(crate) fn age(&mut self, swaps: bool) {
        for kind in [1, 0] {
            if self.max - self.min[kind] < 3 {
                continue;
            }
            if kind == 1 || swaps {
                (0..4).for_each(|zone| self.age_oldest(kind, zone));
            }
            self.new_oldest(kind, self.min[kind] + 1);
        }
        self.max += 1;
    }

    /// Moves the pages of the oldest generation on, each behind those of its next.
    fn age_oldest(&mut self, kind: usize, zone: usize) {
        while let Some(&id) = self.list(self.min[kind], kind, zone).back() {
            let next = self.advance(id);
            self.list(self.min[kind], kind, zone).pop_back();
            self.list(next, kind, zone).push_back(id);
        }
    }

    /// The page's next generation.
    fn advance(&mut self, id: u32) -> u64 {
        let page = self.pages.get_mut(&id).expect("it is there");
        let oldest = self.min[page.kind];
        if page.generation != oldest % 4 {
            return page.generation;
        }
        page.forget();
        page.generation = (oldest + 1) % 4;
        page.generation
    }

    fn new_oldest(&mut self, kind: usize, seq: u64) {
        for tier in 0..4 {
            self.old_refaulted[kind][tier] =
                (self.old_refaulted[kind][tier] + self.refaulted[kind][tier]) / 2;
            self.old_total[kind][tier] = (self.old_total[kind][tier] + self.total[kind][tier]) / 2;
        }
        self.refaulted[kind] = [0; 4];
        self.total[kind] = [0; 4];
        self.min[kind] = seq;
    }

    /// Whether (kind, tier) is to be evicted rather than the other.
    fn rather(&self, (kind, tier, gain): (usize, usize, u64), other: (usize, usize, u64)) -> bool {
        let of = |kind: usize, tier: usize| {
            (
                self.refaulted[kind][tier] + self.old_refaulted[kind][tier],
                self.total[kind][tier] + self.old_total[kind][tier],
            )
        };
        let (refaulted, total) = of(kind, tier);
        let (other_refaulted, other_total) = of(other.0, other.1);
        refaulted < 64
            || refaulted * (other_total + 64) * other.2 <= (other_refaulted + 1) * total * gain
    }

    fn last_tier(&self, kind: usize, gain: u64, other: (usize, u64)) -> usize {
        let mut last = 0;
        while last < 3 && self.rather((kind, last + 1, gain), (other.0, 0, other.1)) {
            last += 1;
        }
        last
    }

    fn choose(&self, swappiness: u64) -> (usize, Option<usize>) {
        if swappiness == 0 {
            return (1, None);
        }
        if self.min[0] < self.min[1] || swappiness == 200 && self.min[0] == self.min[1] {
            return (0, None);
        }
        if swappiness == 1 {
            return (1, None);
        }
        let gains = [swappiness, 200 - swappiness];
        let kind = usize::from(self.rather((1, 0, gains[1]), (0, 0, gains[0])));
        let other = 1 - kind;
        (
            kind,
            Some(self.last_tier(kind, gains[kind], (other, gains[other]))),
        )
    }

    /// One attempt: the pages taken off, and the progress. Pages of which `waits` is true, or of
    /// zones above `highest`, cannot be taken.
    pub(crate) fn isolate(
        &mut self,
        swappiness: u64,
        highest: usize,
        waits: fn(u32) -> bool,
    ) -> (Vec<(u32, Page)>, u64) {
        let (mut kind, mut tier) = self.choose(swappiness);
        let (mut taken, mut progress) = (Vec::new(), 0);
        for _ in 0..if swappiness == 0 { 1 } else { 2 } {
            let last = tier.unwrap_or_else(|| self.last_tier(kind, 2, (kind, 1)));
            progress = self.scan(kind, last, highest, waits, &mut taken);
            if progress > 0 {
                break;
            }
            (kind, tier) = (1 - kind, None);
        }
        if self.drop_empty(swappiness > 0) {
            progress += 1;
        }
        if self.max - self.min[usize::from(swappiness == 0)] == 1 {
            progress = 0;
        }
        (taken, progress)
    }

    fn scan(
        &mut self,
        kind: usize,
        last: usize,
        highest: usize,
        waits: fn(u32) -> bool,
        taken: &mut Vec<(u32, Page)>,
    ) -> u64 {
        let oldest = self.min[kind];
        let mut looked_at = 0;
        if self.max - oldest == 1 {
            return 0;
        }
        for zone in [3, 2, 1, 0].map(|below| (highest + 1 + below) % 4) {
            while taken.len() < 64 && looked_at < 4096 {
                let Some(id) = self.list(oldest, kind, zone).pop_back() else {
                    break;
                };
                looked_at += 1;
                let page = self.pages[&id];
                if page.generation != oldest % 4 {
                    self.left += 1;
                    self.list(page.generation, kind, zone).push_front(id);
                } else if page.tier() > last || page.uses() == 4 {
                    self.left += 1;
                    self.total[kind][page.tier()] += 1;
                    let next = self.advance(id);
                    self.list(next, kind, zone).push_back(id);
                } else if zone > highest {
                    self.left += 1;
                    let next = self.advance(id);
                    self.list(next, kind, zone).push_back(id);
                } else if waits(id) {
                    self.left += 1;
                    let next = self.advance(id);
                    self.list(next, kind, zone).push_front(id);
                } else {
                    let page = self.pages.remove(&id).expect("it is there");
                    taken.push((id, page.taken()));
                }
            }
        }
        match taken.is_empty() && looked_at < 4096 {
            true => 0,
            false => looked_at,
        }
    }

    fn drop_empty(&mut self, swaps: bool) -> bool {
        let mut new = self.min;
        for (kind, new) in new.iter_mut().enumerate() {
            let empty = |seq: u64| {
                let zones = (0..4).map(|zone| (seq % 4, kind, zone));
                zones
                    .filter_map(|key| self.lists.get(&key))
                    .all(VecDeque::is_empty)
            };
            while (swaps || kind == 1) && self.max - *new >= 2 && empty(*new) {
                *new += 1;
            }
        }
        if swaps && new[1] > new[0] {
            new[1] = self.min[1].max(new[0]);
        }
        if swaps && new[0] > new[1] {
            new[0] = new[1];
        }
        let old = self.min;
        for kind in [0, 1] {
            if new[kind] != old[kind] {
                self.new_oldest(kind, new[kind]);
            }
        }
        new != old
    }

    pub(crate) fn evict(&mut self, page: &Page) -> Shadow {
        self.total[page.kind][page.tier()] += 1;
        (self.min[page.kind], page.uses())
    }

    /// Whether the refault is recent.
    pub(crate) fn refault(&mut self, page: &mut Page, shadow: Shadow, in_fault: bool) -> bool {
        if shadow.0 != self.min[page.kind] {
            return false;
        }
        self.refaulted[page.kind][tier(shadow.1)] += 1;
        if in_fault || shadow.1 >= 3 {
            (page.workingset, page.more) = (true, 3);
        }
        true
    }
}
