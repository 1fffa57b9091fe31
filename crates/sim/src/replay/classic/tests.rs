//! Replays whose outcome is known, and a second implementation without any cleverness.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use mm::prng::Prng;

use super::*;
use crate::replay::tests::{misses, misses_once_what_fits};

fn replay(pages: u32, memory: u64) -> Classic {
    let mut folios = Folios::default();
    folios.grow(pages as usize);
    Classic::new(folios, memory.max(1), PageSize::FOUR_KIB)
}

#[test]
fn what_fits_misses_once() {
    misses_once_what_fits(replay(1000, 1000));
}

#[test]
fn a_loop_larger_than_memory_always_misses() {
    let mut replay = replay(1000, 500);
    for _ in 0..5 {
        assert_eq!(misses(&mut replay, 0..1000), 1000);
    }
    assert_eq!(replay.counters.refaults, 4000);
    assert_eq!(replay.counters.refault_activations, 0);
}

#[test]
fn pages_read_twice_survive_a_scan() {
    let mut replay = replay(100_000, 1000);
    misses(&mut replay, (0..200).chain(0..200));
    assert_eq!(misses(&mut replay, 1000..50_000), 49_000);
    assert_eq!(misses(&mut replay, 0..200), 0);
}

#[test]
fn a_refault_within_the_active_list_is_activated() {
    let mut replay = replay(100_000, 1000);
    misses(&mut replay, (0..700).chain(0..700));
    // 300 pages are left for the loop of 500: its refaults come within the distance of 700.
    misses(&mut replay, 1000..1500);
    assert_eq!(replay.counters.refaults, 0);
    misses(&mut replay, 1000..1500);
    assert!(replay.counters.refault_activations > 0);
    let again = (0..20).map(|_| misses(&mut replay, 1000..1500)).last();
    assert_eq!(again, Some(0), "the new working set is resident");
}

#[test]
fn the_smallest_memory_works() {
    for memory in 0..4 {
        let mut replay = replay(10, memory);
        misses(&mut replay, (0..10).chain([9, 9, 9, 3]));
        assert!(replay.inactive.len() + replay.active.len() <= memory.max(1));
    }
}

#[test]
fn a_second_implementation_agrees() {
    for seed in 0..12 {
        let mut prng = Prng::new(seed);
        let pages = 20 + prng.below(3000) as u32;
        let memory = 1 + prng.below(u64::from(pages));
        let mut clever = replay(pages, memory);
        let mut plain = Plain::new(memory as usize);
        for _ in 0..400 {
            let hot = 1 + prng.below(u64::from(pages));
            let block: Vec<u32> = (0..40).map(|_| prng.below(hot) as u32).collect();
            clever.read(&block);
            block.iter().for_each(|&page| plain.read(page));
            assert_eq!(clever.inactive.len(), plain.inactive.len() as u64);
            assert_eq!(clever.active.len(), plain.active.len() as u64);
        }
        let counters = clever.counters;
        let of_plain = [plain.misses, plain.refaults, plain.refault_activations];
        let of_clever = [
            counters.misses,
            counters.refaults,
            counters.refault_activations,
        ];
        assert_eq!(of_clever, of_plain, "seed {seed}");
    }
}

/// The same rules on deques and maps, written down the long way round.
struct Plain {
    memory: usize,
    /// Youngest first.
    inactive: VecDeque<u32>,
    active: VecDeque<u32>,
    referenced: BTreeMap<u32, ()>,
    evicted_at: BTreeMap<u32, u64>,
    age: u64,
    seen: u64,
    misses: u64,
    refaults: u64,
    refault_activations: u64,
}

impl Plain {
    fn new(memory: usize) -> Self {
        Self {
            memory,
            inactive: VecDeque::new(),
            active: VecDeque::new(),
            referenced: BTreeMap::new(),
            evicted_at: BTreeMap::new(),
            age: 0,
            seen: 0,
            misses: 0,
            refaults: 0,
            refault_activations: 0,
        }
    }

    fn read(&mut self, page: u32) {
        if self.active.contains(&page) {
            self.referenced.insert(page, ());
        } else if let Some(at) = self.inactive.iter().position(|&other| other == page) {
            if self.referenced.remove(&page).is_some() {
                self.inactive.remove(at);
                self.active.push_front(page);
                self.age += 1;
            } else {
                self.referenced.insert(page, ());
            }
        } else {
            self.miss(page);
        }
    }

    fn miss(&mut self, page: u32) {
        self.misses += 1;
        let evicted_at = self.evicted_at.remove(&page);
        self.refaults += u64::from(evicted_at.is_some());
        let activate = evicted_at.is_some_and(|at| self.age - at <= self.active.len() as u64);
        if activate {
            self.age += 1;
            self.refault_activations += 1;
        }
        while self.inactive.len() + self.active.len() >= self.memory {
            self.reclaim();
        }
        self.referenced.insert(page, ());
        match activate {
            true => self.active.push_front(page),
            false => self.inactive.push_front(page),
        }
    }

    /// Takes at most this many pages from the end of the inactive list; how many there were.
    fn evict(&mut self, most: usize) -> usize {
        for taken in 0..most {
            let Some(page) = self.inactive.pop_back() else {
                return taken;
            };
            self.referenced.remove(&page);
            self.evicted_at.insert(page, self.age);
            self.age += 1;
        }
        most
    }

    fn reclaim(&mut self) {
        let mut freed = 0;
        for priority in (0..=12).rev() {
            let refaulted = self.seen != self.refault_activations;
            let low = self.inactive.len() < self.active.len();
            let mut scan_inactive = self.inactive.len() >> priority;
            let mut scan_active = self.active.len() >> priority;
            if !refaulted && !low {
                scan_active = 0;
            }
            let mut freed_now = 0;
            while freed_now < 32 && scan_inactive + scan_active > 0 {
                freed_now += self.evict(32.min(scan_inactive));
                for _ in 0..32.min(scan_active) {
                    let page = self.active.pop_back();
                    page.into_iter()
                        .for_each(|page| self.inactive.push_front(page));
                }
                scan_inactive = scan_inactive.saturating_sub(32);
                scan_active = scan_active.saturating_sub(32);
            }
            freed += freed_now;
            if freed >= 32 {
                break;
            }
        }
        self.seen = self.refault_activations;
    }
}
