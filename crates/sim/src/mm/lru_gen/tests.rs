//! Random operations on both implementations, and the rules that a reader would ask about.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use mm::prng::Prng;

use super::plain::{self, Page, Plain};
use super::*;
use crate::mm::folio::State;

/// Both implementations, and the pages that are nowhere but in shadow entries.
struct Both {
    folios: Folios,
    clever: Generations,
    plain: Plain,
    shadows: BTreeMap<u32, plain::Shadow>,
}

const PAGES: u32 = 400;

/// Some pages cannot be evicted, as if they were always being read.
fn waits(page: u32) -> bool {
    page.is_multiple_of(23)
}

impl Both {
    /// The first half of the pages is anonymous; zones change from page to page.
    fn new() -> Self {
        let mut folios = Folios::default();
        folios.grow(PAGES as usize);
        (0..PAGES / 2).for_each(|page| folios.set(page, Flag::Anon));
        Self {
            folios,
            clever: Generations::new(0),
            plain: Plain::new(),
            shadows: BTreeMap::new(),
        }
    }

    fn bring_in(&mut self, id: u32, place: Place, in_fault: bool) {
        let zone = (id % 3) as usize;
        let mut page = Page {
            kind: usize::from(id >= PAGES / 2),
            zone,
            ..Page::default()
        };
        let shadow = (self.folios.state(id) == State::Shadow).then(|| {
            let workingset = self.folios.has(id, Flag::Workingset);
            shadow_of(self.folios.shadow(id), workingset)
        });
        self.folios.place(id, zone, State::Inactive);
        if let Some(shadow) = shadow {
            let refault = self.clever.refault(&mut self.folios, id, shadow, in_fault);
            let plain = self.shadows.remove(&id).expect("both have it");
            let recent = self.plain.refault(&mut page, plain, in_fault);
            assert_eq!(refault.recent, recent);
            assert_eq!(refault.restored, page.workingset);
        }
        self.clever.add(&mut self.folios, id, place);
        let seq = match place {
            Place::Youngest => self.plain.max,
            Place::SecondYoungest => self.plain.max - 1,
            Place::Old => self.plain.old(page.kind),
            Place::Next => self.plain.min[page.kind],
        };
        self.plain.add(id, page, seq, place == Place::Next);
    }

    fn evict(&mut self, swappiness: u32, highest: usize) {
        let mut batch = Batch::EMPTY;
        let wanted = Wanted {
            writes: true,
            highest,
            ..Wanted::any(swappiness)
        };
        let isolated = self
            .clever
            .isolate(&mut self.folios, &mut batch, wanted, |_, page| waits(page));
        let (taken, progress) = (self.plain).isolate(u64::from(swappiness), highest, waits);
        assert_eq!(isolated.progress, progress);
        let ids: Vec<u32> = taken.iter().map(|(id, _)| *id).collect();
        assert_eq!(batch.pages(), ids, "the same pages in the same order");
        for (id, page) in taken {
            let shadow = self.clever.shadow(&self.folios, id);
            self.folios.leave_shadow(id, shadow, None);
            self.shadows.insert(id, self.plain.evict(&page));
        }
    }

    fn step(&mut self, prng: &mut Prng, swappiness: u32) {
        let id = prng.below(u64::from(PAGES)) as u32;
        let resident = self.folios.is_resident(id);
        match prng.below(100) {
            0..=1 => self.evict(swappiness, prng.below(4) as usize),
            2 if self.clever.budget(swappiness > 0).needs_aging => {
                self.clever.age(&mut self.folios, swappiness > 0, 0);
                self.plain.age(swappiness > 0);
            }
            3..=4 if resident => {
                self.clever.remove(&mut self.folios, id);
                let zone = self.folios.zone(id);
                self.folios.place(id, zone, State::Absent);
                self.plain.remove(id);
            }
            5..=39 if resident => {
                self.clever.promote(&mut self.folios, id);
                self.plain.walk(id);
            }
            _ if resident => {
                note_use(&mut self.folios, id);
                self.plain.pages.get_mut(&id).expect("both have it").read();
            }
            choice => {
                let places = [
                    Place::Youngest,
                    Place::SecondYoungest,
                    Place::Old,
                    Place::Next,
                ];
                let place = places[prng.below(4) as usize];
                self.bring_in(id, place, choice % 2 == 0);
            }
        }
    }

    fn agree(&self, swaps: bool) {
        assert_eq!(self.clever.max_seq, self.plain.max);
        assert_eq!(self.clever.min_seq, self.plain.min);
        let (total, needs_aging) = self.plain.budget(swaps);
        let budget = self.clever.budget(swaps);
        assert_eq!(budget.needs_aging, needs_aging);
        assert_eq!(budget.scan(0), total);
        for (&id, page) in &self.plain.pages {
            assert_eq!(self.folios.generation(id) as u64, page.generation);
            assert_eq!(u64::from(refs(&self.folios, id)), {
                page.more + u64::from(page.workingset)
            });
        }
    }
}

#[test]
fn both_implementations_agree_on_every_page() {
    for seed in 0..24 {
        let mut prng = Prng::new(seed);
        let mut both = Both::new();
        let swappiness = [0, 1, 60, 100, 199, 200][(seed % 6) as usize];
        for _ in 0..15_000 {
            both.step(&mut prng, swappiness);
        }
        both.agree(swappiness > 0);
        assert!(both.plain.max > 20, "seed {seed}: it ages");
        assert!(both.plain.left > 100, "seed {seed}: it sorts");
    }
}

fn shadow_of(token: u32, workingset: bool) -> super::Shadow {
    super::Shadow {
        token,
        bits: 30,
        workingset,
    }
}

fn with_files(pages: u32) -> (Folios, Generations) {
    let mut folios = Folios::default();
    folios.grow(pages as usize);
    let mut generations = Generations::new(0);
    for page in 0..pages {
        folios.place(page, 0, State::Inactive);
        generations.add(&mut folios, page, Place::Old);
    }
    (folios, generations)
}

fn evict(folios: &mut Folios, generations: &mut Generations) -> Vec<u32> {
    let mut batch = Batch::EMPTY;
    generations.isolate(folios, &mut batch, Wanted::any(0), |_, _| false);
    batch.pages().to_vec()
}

#[test]
fn tiers_are_the_logarithm_of_the_uses() {
    assert_eq!([0, 1, 2, 3, 4].map(tier), [0, 1, 2, 2, 3]);
}

#[test]
fn a_page_used_five_times_is_kept_whatever_the_controller_says() {
    let (mut folios, mut generations) = with_files(65);
    evict(&mut folios, &mut generations);
    let mut kept = with_files(65);
    (0..6).for_each(|_| note_use(&mut kept.0, 0));
    assert_eq!(
        evict(&mut kept.0, &mut kept.1),
        [],
        "the first generation is empty"
    );
    let evicted = evict(&mut kept.0, &mut kept.1);
    assert_eq!((evicted.len(), evicted[0]), (64, 1));
    assert_eq!(refs(&kept.0, 0), 0, "it must be used again");
}

#[test]
fn a_page_that_a_page_table_shows_as_used_is_found_in_its_generation() {
    let (mut folios, mut generations) = with_files(10);
    assert_eq!(generations.active_and_inactive(Kind::File), [0, 10]);
    assert!(generations.promote(&mut folios, 3));
    assert!(!generations.promote(&mut folios, 3), "it is there already");
    assert_eq!(generations.active_and_inactive(Kind::File), [1, 9]);
    evict(&mut folios, &mut generations);
    let evicted = evict(&mut folios, &mut generations);
    assert_eq!(evicted, [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    generations.remove(&mut folios, 3);
    assert_eq!(generations.active_and_inactive(Kind::File), [0, 0]);
}

#[test]
fn a_refault_is_recent_until_the_oldest_generation_steps() {
    let (mut folios, mut generations) = with_files(3);
    let shadow = generations.shadow(&folios, 0);
    let used_thrice = shadow_of(generations.shadow(&folios, 1) | 2, true);
    let once = shadow_of(shadow, false);
    let mut refault =
        |shadow, generations: &mut Generations| generations.refault(&mut folios, 0, shadow, false);
    let restored = refault(used_thrice, &mut generations);
    assert!(restored.recent && restored.restored);
    let judged = refault(once, &mut generations);
    assert!(judged.recent && !judged.restored);
    generations.drop_empty(false);
    assert!(!refault(once, &mut generations).recent);
}

#[test]
fn a_page_that_waits_moves_one_generation_up() {
    let (mut folios, mut generations) = with_files(2);
    evict(&mut folios, &mut generations);
    let mut batch = Batch::EMPTY;
    let oldest = generations.min_seq[1];
    generations.isolate(&mut folios, &mut batch, Wanted::any(0), |_, page| page == 0);
    assert_eq!(batch.pages(), [1]);
    assert_eq!(folios.generation(0), slot(oldest + 1));
}

#[test]
fn memory_that_cannot_be_swapped_comes_round_as_the_youngest() {
    let mut folios = Folios::default();
    folios.grow(1);
    folios.set(0, Flag::Anon);
    let mut generations = Generations::new(0);
    folios.place(0, 0, State::Inactive);
    generations.add(&mut folios, 0, Place::Next);
    assert_eq!(generations.active_and_inactive(Kind::Anon), [0, 1]);
    generations.drop_empty(false);
    generations.age(&mut folios, false, 5);
    assert_eq!(generations.active_and_inactive(Kind::Anon), [1, 0]);
    assert_eq!(generations.oldest_born(Kind::File), 0);
    assert_eq!(generations.born[slot(generations.max_seq)], 5);
}
