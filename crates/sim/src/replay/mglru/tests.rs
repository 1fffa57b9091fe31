//! Replays whose outcome is known, and the plain implementation beside.

use alloc::collections::BTreeMap;

use mm::prng::Prng;

use super::*;
use crate::mm::lru_gen::plain::{Page, Plain, Shadow};
use crate::replay::tests::{misses, misses_once_what_fits};

fn replay(pages: u32, memory: u64) -> MultiGeneration {
    let mut folios = Folios::default();
    folios.grow(pages as usize);
    MultiGeneration::new(folios, memory)
}

#[test]
fn what_fits_misses_once() {
    misses_once_what_fits(replay(1000, 1000));
}

#[test]
fn the_smallest_memory_works() {
    for memory in 1..5 {
        let mut replay = replay(10, memory);
        misses(&mut replay, (0..10).chain([9, 9, 9, 9, 9, 9, 3, 4, 5]));
        assert!(replay.resident <= memory);
    }
}

#[test]
fn pages_used_often_survive_a_scan() {
    let mut replay = replay(100_000, 1000);
    let often = (0..5).flat_map(|_| 0..200);
    misses(&mut replay, often);
    assert_eq!(misses(&mut replay, 1000..2000), 1000);
    assert_eq!(misses(&mut replay, 0..200), 0);
}

#[test]
fn the_plain_implementation_agrees_access_by_access() {
    for seed in 0..10 {
        let mut prng = Prng::new(seed);
        let pages = 20 + prng.below(3000) as u32;
        let memory = 1 + prng.below(u64::from(pages));
        let mut clever = replay(pages, memory);
        let mut plain = PlainReplay::new(memory as usize);
        for _ in 0..400 {
            let hot = 1 + prng.below(u64::from(pages));
            for _ in 0..40 {
                let below = prng.below(hot) + 1;
                let page = prng.below(below) as u32;
                clever.read(&[page]);
                plain.read(page);
                let of_plain = [plain.misses, plain.refaults, plain.recent, plain.lists.left];
                let counters = clever.counters;
                let of_clever = [
                    counters.misses,
                    counters.refaults,
                    counters.refault_activations,
                    counters.refills,
                ];
                assert_eq!(of_clever, of_plain, "seed {seed}");
            }
        }
    }
}

struct PlainReplay {
    memory: usize,
    lists: Plain,
    shadows: BTreeMap<u32, Shadow>,
    misses: u64,
    refaults: u64,
    recent: u64,
}

impl PlainReplay {
    fn new(memory: usize) -> Self {
        Self {
            memory,
            lists: Plain::new(),
            shadows: BTreeMap::new(),
            misses: 0,
            refaults: 0,
            recent: 0,
        }
    }

    fn read(&mut self, id: u32) {
        if let Some(page) = self.lists.pages.get_mut(&id) {
            return page.read();
        }
        self.misses += 1;
        let shadow = self.shadows.remove(&id);
        while self.lists.pages.len() >= self.memory {
            self.reclaim();
        }
        let mut page = Page {
            kind: 1,
            ..Page::default()
        };
        if let Some(shadow) = shadow {
            self.refaults += 1;
            self.recent += u64::from(self.lists.refault(&mut page, shadow, false));
        }
        page.read();
        let seq = self.lists.old(1);
        self.lists.add(id, page, seq, false);
    }

    fn reclaim(&mut self) {
        let before = self.lists.pages.len();
        for priority in (0..=12).rev() {
            self.pass(priority);
            if before - self.lists.pages.len() >= 32 {
                break;
            }
        }
    }

    fn pass(&mut self, priority: u32) {
        let mut scanned = 0;
        loop {
            let (total, age) = self.lists.budget(false);
            if age && priority < 12 {
                return self.lists.age(false);
            }
            let goal = total >> priority;
            if goal == 0 {
                return;
            }
            let (taken, progress) = self.lists.isolate(0, 3, |_| false);
            for (id, page) in taken {
                self.shadows.insert(id, self.lists.evict(&page));
            }
            scanned += progress;
            if progress == 0 || scanned >= goal {
                return;
            }
        }
    }
}
