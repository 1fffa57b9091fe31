//! Slab caches (`mm/slub.c`): objects of a kind share blocks of pages, a slab each. The CPU takes
//! from one slab until that is full, then from one that has room; a slab whose last object is freed
//! goes back unless the CPU holds it or few others have room.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::mm::page_alloc::buddy::Frame;

/// A slab of a cache.
pub(crate) type SlabId = u32;

/// Slabs with room below which the node keeps one without objects (`min_partial`).
const MIN_PARTIAL: usize = 5;

/// A cache.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    /// Objects in a slab.
    objects: u8,
    /// Slabs with room that the CPU holds before they go to the node (`cpu_partial_slabs`).
    held: usize,
    slabs: Vec<Slab>,
    unused: Vec<SlabId>,
    /// The one that the CPU takes from.
    current: Option<SlabId>,
    /// Those with room that the CPU holds, and the node's.
    of_cpu: Vec<SlabId>,
    of_node: VecDeque<SlabId>,
}

#[derive(Clone, Copy, Debug)]
struct Slab {
    zone: u8,
    frame: Frame,
    used: u8,
    place: Place,
}

/// What keeps a slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nobody: it is full.
    Full,
    Cpu,
    Node,
}

impl Cache {
    /// A cache of this many objects a slab, of which the CPU holds room for twice `reserve`
    /// (`cpu_partial`).
    pub(crate) const fn new(objects: u8, reserve: usize) -> Self {
        Self {
            objects,
            held: (2 * reserve).div_ceil(objects as usize),
            slabs: Vec::new(),
            unused: Vec::new(),
            current: None,
            of_cpu: Vec::new(),
            of_node: VecDeque::new(),
        }
    }

    /// How many slabs there are.
    pub(crate) fn len(&self) -> u64 {
        (self.slabs.len() - self.unused.len()) as u64
    }

    /// Takes an object of a slab that has room; where none has, [`Self::add`] one.
    pub(crate) fn take(&mut self) -> Option<SlabId> {
        let current = self.current.filter(|&slab| self.has_room(slab));
        let slab = current.or_else(|| self.next_partial())?;
        self.slabs[slab as usize].used += 1;
        Some(slab)
    }

    /// Adds a slab of a zone's pages, from this frame on, and takes an object of it.
    pub(crate) fn add(&mut self, zone: usize, frame: Frame) -> SlabId {
        let slab = self.unused.pop().unwrap_or(self.slabs.len() as SlabId);
        let new = Slab {
            zone: zone as u8,
            frame,
            used: 1,
            place: Place::Cpu,
        };
        match self.slabs.get_mut(slab as usize) {
            Some(unused) => *unused = new,
            None => self.slabs.push(new),
        }
        self.make_current(slab);
        slab
    }

    /// Gives an object back. Zone and first frame of the slabs that go back with it are added to
    /// `freed`.
    pub(crate) fn give(&mut self, slab: SlabId, freed: &mut Vec<(usize, Frame)>) {
        let from = &mut self.slabs[slab as usize];
        from.used -= 1;
        let (is_empty, place) = (from.used == 0, from.place);
        match place {
            Place::Cpu => {}
            Place::Node if is_empty && self.of_node.len() >= MIN_PARTIAL => {
                self.of_node.retain(|&other| other != slab);
                self.discard(slab, freed);
            }
            Place::Node => {}
            Place::Full => self.hold(slab, freed),
        }
    }

    fn has_room(&self, slab: SlabId) -> bool {
        self.slabs[slab as usize].used < self.objects
    }

    /// The next slab with room: one that the CPU holds, or the node's oldest, with which some more
    /// come to the CPU (`get_partial_node`).
    fn next_partial(&mut self) -> Option<SlabId> {
        let next = self.of_cpu.pop().or_else(|| {
            let next = self.of_node.pop_front()?;
            let more = (self.held / 2 + 1).min(self.of_node.len());
            for slab in self.of_node.drain(..more) {
                self.slabs[slab as usize].place = Place::Cpu;
                self.of_cpu.push(slab);
            }
            Some(next)
        })?;
        self.make_current(next);
        Some(next)
    }

    fn make_current(&mut self, slab: SlabId) {
        self.slabs[slab as usize].place = Place::Cpu;
        if let Some(full) = self.current.replace(slab) {
            self.slabs[full as usize].place = Place::Full;
        }
    }

    /// A full slab has room again: the CPU holds it, and if it held enough gives the others to the
    /// node (`put_cpu_partial`).
    fn hold(&mut self, slab: SlabId, freed: &mut Vec<(usize, Frame)>) {
        if self.of_cpu.len() >= self.held {
            while let Some(other) = self.of_cpu.pop() {
                let used = self.slabs[other as usize].used;
                if used == 0 && self.of_node.len() >= MIN_PARTIAL {
                    self.discard(other, freed);
                } else {
                    self.slabs[other as usize].place = Place::Node;
                    self.of_node.push_back(other);
                }
            }
        }
        self.slabs[slab as usize].place = Place::Cpu;
        self.of_cpu.push(slab);
    }

    fn discard(&mut self, slab: SlabId, freed: &mut Vec<(usize, Frame)>) {
        let Slab { zone, frame, .. } = self.slabs[slab as usize];
        freed.push((usize::from(zone), frame));
        self.unused.push(slab);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of four objects a slab, of which the CPU holds two, with this many full slabs.
    fn full(slabs: usize) -> Cache {
        let mut cache = Cache::new(4, 4);
        for _ in 0..slabs {
            assert_eq!(cache.take(), None);
            let slab = cache.add(0, 0);
            assert!((1..4).all(|_| cache.take() == Some(slab)));
        }
        cache
    }

    /// How many slabs go back where this many objects of a slab are given.
    fn give(cache: &mut Cache, slab: SlabId, objects: usize) -> usize {
        let mut freed = Vec::new();
        (0..objects).for_each(|_| cache.give(slab, &mut freed));
        freed.len()
    }

    #[test]
    fn freed_objects_are_taken_again_before_a_slab_is_added() {
        let mut cache = full(3);
        assert_eq!((give(&mut cache, 0, 1), give(&mut cache, 1, 2)), (0, 0));
        let again: Vec<_> = (0..4).map(|_| cache.take()).collect();
        assert_eq!(
            again,
            [Some(1), Some(1), Some(0), None],
            "the last that had room first"
        );
        assert_eq!(cache.len(), 3);
    }

    #[test]
    fn an_empty_slab_goes_back_where_five_others_have_room() {
        let mut cache = full(20);
        let scattered: usize = (0..10).map(|slab| give(&mut cache, slab, 1)).sum();
        assert_eq!(scattered, 0, "each has three objects left");
        assert_eq!(give(&mut cache, 0, 3), 1, "one that the node keeps");
        assert_eq!(give(&mut cache, 9, 3), 0, "one that the CPU holds");
        assert_eq!(cache.len(), 19);
        let emptied = (10..15).map(|slab| give(&mut cache, slab, 4));
        assert_eq!(emptied.sum::<usize>(), 5, "of six, all but the last");
    }
}
