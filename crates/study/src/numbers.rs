//! The index of each object: a hash table with open addressing, one cache line a look-up.

use std::hint::black_box;

/// No object is here.
const EMPTY: u32 = u32::MAX;

/// Look-ups whose lines are fetched together, so that their cache misses overlap.
const AHEAD: usize = 32;

/// Objects numbered in the order in which they were first seen.
#[derive(Debug)]
pub struct Numbers {
    /// A power of two of them, at least twice as many as objects.
    slots: Vec<Slot>,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    object: u64,
    index: u32,
}

const FREE: Slot = Slot {
    object: 0,
    index: EMPTY,
};

impl Default for Numbers {
    fn default() -> Self {
        Self {
            slots: vec![FREE; 2 * AHEAD],
            len: 0,
        }
    }
}

impl Numbers {
    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the index of each object to `indices`, the next one for an object never seen.
    pub fn number(&mut self, objects: &[u64], indices: &mut Vec<u32>) {
        for block in objects.chunks(AHEAD) {
            self.reserve(block.len());
            self.fetch(block);
            indices.extend(block.iter().map(|&object| self.number_one(object)));
        }
    }

    fn number_one(&mut self, object: u64) -> u32 {
        let mut at = self.home(object);
        loop {
            let slot = self.slots[at];
            if slot.index == EMPTY {
                self.slots[at] = Slot {
                    object,
                    index: self.len,
                };
                self.len += 1;
                return self.len - 1;
            }
            if slot.object == object {
                return slot.index;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Loads the slots that will be looked at. The loads do not depend on each other, so the
    /// processor waits for all of them at once.
    fn fetch(&self, block: &[u64]) {
        let indices = block
            .iter()
            .map(|&object| self.slots[self.home(object)].index);
        black_box(indices.fold(0, |sum, index| sum ^ index));
    }

    /// Makes sure that half of the slots stay free, so that a search ends soon.
    fn reserve(&mut self, more: usize) {
        if (self.len as usize + more) * 2 <= self.slots.len() {
            return;
        }
        let larger = vec![FREE; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|slot| slot.index != EMPTY) {
            let mut at = self.home(slot.object);
            while self.slots[at].index != EMPTY {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = slot;
        }
    }

    /// One multiplication, of which the upper bits are the best: ids need spreading, not secrecy,
    /// and the same in every run.
    fn home(&self, object: u64) -> usize {
        let mixed = (object ^ (object >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = self.slots.len().trailing_zeros();
        (mixed >> (u64::BITS - bits)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn indices(objects: &[u64]) -> Vec<u32> {
        let mut indices = Vec::new();
        Numbers::default().number(objects, &mut indices);
        indices
    }

    #[test]
    fn objects_are_numbered_as_they_come() {
        assert_eq!(indices(&[9, 0, 9, u64::MAX, 0]), [0, 1, 0, 2, 1]);
    }

    #[test]
    fn it_grows_and_forgets_nothing() {
        for stride in [1, 4096, 1 << 32, 0x9e37_79b9_7f4a_7c15] {
            let objects: Vec<u64> = (0..50_000_u64).map(|n| n.wrapping_mul(stride)).collect();
            let twice = [&objects[..], &objects[..]].concat();
            let expected: Vec<u32> = (0..50_000).chain(0..50_000).collect();
            assert_eq!(indices(&twice), expected, "stride {stride}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_map_agrees(objects in proptest::collection::vec(0_u64..300, 0..2000)) {
            let mut map = BTreeMap::new();
            let mut number = |object| {
                let next = map.len() as u32;
                *map.entry(object).or_insert(next)
            };
            let expected: Vec<u32> = objects.iter().map(|&object| number(object)).collect();
            proptest::prop_assert_eq!(indices(&objects), expected);
        }
    }
}
