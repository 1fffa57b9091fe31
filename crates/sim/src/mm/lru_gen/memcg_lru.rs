//! The LRU of control groups (`struct lru_gen_memcg`, since 6.3): global reclaim goes through the
//! groups of the oldest generation, and one that needed a new generation of pages moves to the next
//! generation of groups, so that reclaim comes back to it once all others have had their turn.

use alloc::vec;
use alloc::vec::Vec;

use mm::prng::Prng;

/// Generations of groups (`MEMCG_NR_GENS`).
const GENERATIONS: usize = 3;
/// Lists of each; a group comes to any of them (`MEMCG_NR_BINS`).
const BINS: usize = 8;

/// Where a group goes after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// It stays where it is.
    Stay,
    /// To the tail of its generation, for one more try (`MEMCG_LRU_TAIL`).
    Tail,
    /// To the youngest generation (`MEMCG_LRU_YOUNG`).
    Young,
}

/// A walk through the generation that was the oldest when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    generation: usize,
    bin: usize,
    /// Lists that are left, this one included.
    bins: usize,
    /// Groups of this list that have had their turn and stayed.
    at: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct MemcgLru {
    seq: usize,
    lists: Vec<Vec<usize>>,
    /// The list of each group, and whether it has its last try there.
    places: Vec<(usize, bool)>,
    prng: Prng,
}

impl MemcgLru {
    /// This many groups, all in the oldest generation (`lru_gen_online_memcg`).
    pub(crate) fn new(groups: usize) -> Self {
        let mut lru = Self {
            seq: 0,
            lists: vec![Vec::new(); GENERATIONS * BINS],
            places: vec![(0, false); groups],
            prng: Prng::for_part(0, "memcg_lru"),
        };
        (0..groups).for_each(|group| lru.add(group, 0, false));
        lru
    }

    /// Begins at any list (`shrink_many`).
    pub(crate) fn walk(&mut self) -> Walk {
        Walk {
            generation: self.seq % GENERATIONS,
            bin: self.any_bin(),
            bins: BINS,
            at: 0,
        }
    }

    /// The next group of a walk.
    pub(crate) fn next(&self, walk: &mut Walk) -> Option<usize> {
        while walk.bins > 0 {
            let list = &self.lists[walk.generation * BINS + walk.bin];
            if let Some(&group) = list.get(walk.at) {
                walk.at += 1;
                return Some(group);
            }
            (walk.bin, walk.at) = ((walk.bin + 1) % BINS, 0);
            walk.bins -= 1;
        }
        None
    }

    /// Whether a group has its last try before it goes to the youngest generation.
    pub(crate) fn is_at_tail(&self, group: usize) -> bool {
        self.places[group].1
    }

    /// A group has had its turn (`lru_gen_rotate_memcg`).
    pub(crate) fn rotate(&mut self, walk: &mut Walk, group: usize, rotation: Rotation) {
        let (list, _) = self.places[group];
        let old = list / BINS;
        let new = match rotation {
            Rotation::Stay => return,
            Rotation::Tail => old,
            Rotation::Young => (self.seq + 1) % GENERATIONS,
        };
        self.lists[list].retain(|&other| other != group);
        if list == walk.generation * BINS + walk.bin {
            walk.at = walk.at.saturating_sub(1);
        }
        self.add(group, new, rotation == Rotation::Tail);
        let is_empty = self.lists[old * BINS..][..BINS].iter().all(Vec::is_empty);
        self.seq += usize::from(is_empty && old == self.seq % GENERATIONS);
    }

    fn add(&mut self, group: usize, generation: usize, is_at_tail: bool) {
        let list = generation * BINS + self.any_bin();
        self.lists[list].push(group);
        self.places[group] = (list, is_at_tail);
    }

    fn any_bin(&mut self) -> usize {
        self.prng.below(BINS as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives each group of a walk its turn, in any order; those that had one, sorted.
    fn turns(lru: &mut MemcgLru, rotation: impl Fn(usize) -> Rotation) -> Vec<usize> {
        let (mut walk, mut had) = (lru.walk(), Vec::new());
        while let Some(group) = lru.next(&mut walk) {
            had.push(group);
            lru.rotate(&mut walk, group, rotation(group));
        }
        had.sort_unstable();
        had
    }

    #[test]
    fn a_group_that_was_aged_has_no_turn_until_all_others_were() {
        let mut lru = MemcgLru::new(3);
        let only = |young| {
            move |group| {
                if group == young {
                    Rotation::Young
                } else {
                    Rotation::Stay
                }
            }
        };
        assert_eq!(turns(&mut lru, only(1)), [0, 1, 2]);
        assert_eq!(turns(&mut lru, only(0)), [0, 2]);
        assert_eq!(turns(&mut lru, only(0)), [2]);
        assert_eq!(turns(&mut lru, only(2)), [2]);
        assert_eq!(turns(&mut lru, only(9)), [0, 1, 2], "the next generation");
    }

    #[test]
    fn a_group_at_the_tail_keeps_its_generation_and_has_one_more_turn_there() {
        let mut lru = MemcgLru::new(2);
        let mut walk = lru.walk();
        let first = lru.next(&mut walk).expect("both are there");
        lru.rotate(&mut walk, first, Rotation::Tail);
        assert!(lru.is_at_tail(first));
        assert!(turns(&mut lru, |_| Rotation::Stay).len() == 2);
        turns(&mut lru, |_| Rotation::Young);
        assert!(!lru.is_at_tail(first));
    }
}
