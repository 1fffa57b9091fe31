//! The same operations, drawn many at a time and with the help of an index: for a bench that shall
//! not wait for memory at every draw. [`Operations`] alone is what runs inside the VM, where time
//! and memory of its own are part of what is measured.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;
use core::ops::Range;

use super::{Operation, Operations, Order, Scatter, Tables};
use mm::units::Nanos;

/// Operations drawn at a time: as many loads can be under way together.
const AHEAD: usize = 64;

/// An endless stream of operations, the same as that of [`Operations`].
#[derive(Clone, Debug)]
pub struct Ahead {
    operations: Operations,
    guide: Option<Guide>,
    scattered: Scattered,
    /// Drawn already; those before `next` have been handed out.
    drawn: Vec<Operation>,
    next: usize,
}

impl Ahead {
    /// From operations of which none has been drawn; the index is kept beside the table of theirs
    /// in `tables`.
    #[must_use]
    pub fn new(operations: Operations, tables: &mut Tables) -> Self {
        let guide = match &operations.order {
            Order::Zipf(zipf) if !zipf.cumulative.is_empty() => {
                Some(tables.guide(&zipf.cumulative))
            }
            _ => None,
        };
        let scattered = match &operations.order {
            Order::Zipf(zipf) => Scattered::of(&zipf.scatter),
            _ => Scattered::default(),
        };
        Self {
            operations,
            guide,
            scattered,
            drawn: Vec::new(),
            next: 0,
        }
    }

    /// The next operation.
    #[inline]
    pub fn next_operation(&mut self) -> Operation {
        if self.next == self.drawn.len() {
            self.draw();
        }
        let operation = self.drawn[self.next];
        self.next += 1;
        operation
    }

    /// The next operation, where it is drawn already.
    #[inline]
    #[must_use]
    pub fn drawn(&self) -> Option<Operation> {
        self.drawn.get(self.next).copied()
    }

    /// Goes past the operation that [`Self::drawn`] shows.
    #[inline]
    pub fn go_past(&mut self) {
        self.next += 1;
    }

    /// All that were drawn together, where the last operation was the first of them.
    #[must_use]
    pub fn just_drawn(&self) -> Option<&[Operation]> {
        (self.next == 1).then_some(&self.drawn)
    }

    /// How long the process sleeps after the operation.
    pub fn next_pause(&mut self) -> Nanos {
        self.operations.next_pause()
    }

    fn draw(&mut self) {
        let nothing = Operation {
            block: 0,
            write: false,
        };
        self.drawn.resize(AHEAD, nothing);
        self.next = 0;
        match &self.guide {
            Some(guide) => {
                guide.draw(&mut self.operations, &mut self.drawn, &mut self.scattered);
            }
            None => (self.drawn).fill_with(|| self.operations.next_operation()),
        }
    }
}

/// Where the ranks that were drawn lie. To find the place takes several round trips of which nobody
/// knows how many, unless the ranks are about a power of four: nothing is kept then.
#[derive(Clone, Debug, Default)]
struct Scattered {
    /// By rank, one more than the block; 0 where it was not drawn yet.
    blocks: Vec<u32>,
}

impl Scattered {
    fn of(scatter: &Scatter) -> Self {
        let many = scatter.trips() > 1 && u32::try_from(scatter.size).is_ok();
        let blocks = vec![0; if many { scatter.size as usize } else { 0 }];
        Self { blocks }
    }

    fn apply(&mut self, rank: u64, scatter: &Scatter) -> u64 {
        let Some(known) = self.blocks.get_mut(rank as usize) else {
            return scatter.apply(rank);
        };
        if *known == 0 {
            *known = scatter.apply(rank) as u32 + 1;
        }
        u64::from(*known - 1)
    }
}

/// Where to look in a table of cumulative weights: for equal parts of the whole weight, the rank at
/// which each begins.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    ranks: Arc<[u32]>,
    /// The upper bits of the cumulative weights, half as large to load as these.
    tops: Arc<[u32]>,
    /// Bits of a weight that are no part of its upper ones.
    lower: u32,
    /// Bits of a weight that do not tell its part.
    shift: u32,
    /// The whole weight.
    total: u64,
}

impl Guide {
    /// Up to two parts for each rank, or half a part.
    pub(super) fn new(cumulative: &[u64]) -> Self {
        let total = cumulative.last().copied().unwrap_or(0);
        let bits = u64::BITS - total.leading_zeros();
        let shift = bits.saturating_sub(cumulative.len().max(1).ilog2());
        let lower = bits.saturating_sub(u32::BITS);
        let tops = cumulative.iter().map(|sum| (sum >> lower) as u32);
        let (mut ranks, mut rank) = (vec![0], 0);
        for part in 1..(total >> shift) + 2 {
            let is_before = |sum: &&u64| **sum <= part << shift;
            rank += cumulative[rank..].iter().take_while(is_before).count();
            ranks.push(rank as u32);
        }
        Self {
            ranks: ranks.into(),
            tops: tops.collect(),
            lower,
            shift,
            total,
        }
    }

    /// Step by step for all of them, so that no draw waits for the loads of another.
    fn draw(
        &self,
        operations: &mut Operations,
        drawn: &mut [Operation],
        scattered: &mut Scattered,
    ) {
        for operation in drawn.iter_mut() {
            operation.block = operations.prng.below(self.total);
            operation.write = operations.draw_write();
        }
        let Order::Zipf(zipf) = &operations.order else {
            return;
        };
        let mut ranges = [(0, 0); AHEAD];
        for (range, operation) in ranges.iter_mut().zip(drawn.iter()) {
            let part = (operation.block >> self.shift) as usize;
            *range = (self.ranks[part], self.ranks[part + 1]);
        }
        let weights = ranges.iter().map(|&(first, _)| self.tops[first as usize]);
        black_box(weights.fold(0, |sum, weight| sum ^ weight));
        for ((first, last), operation) in ranges.into_iter().zip(drawn.iter_mut()) {
            let range = first as usize..last as usize;
            operation.block = self.rank(&zipf.cumulative, range, operation.block) as u64;
        }
        for operation in drawn {
            operation.block = scattered.apply(operation.block, &zipf.scatter);
        }
    }
}

impl Guide {
    /// The first rank of a range whose cumulative weight is above a place, or the range's end: by
    /// the upper bits, but where these are the same.
    #[inline]
    fn rank(&self, cumulative: &[u64], range: Range<usize>, place: u64) -> usize {
        let top = (place >> self.lower) as u32;
        let tops = &self.tops[range.clone()];
        let below = tops.partition_point(|&sum| sum < top);
        let rank = range.start + below;
        if tops.get(below) != Some(&top) {
            return rank;
        }
        rank + cumulative[rank..range.end].partition_point(|&sum| sum <= place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Access, Pattern, Target, Think, Via};
    use mm::prng::Prng;
    use mm::units::Bytes;

    fn access(pattern: Pattern, write_percent: u8) -> Access {
        Access {
            target: Target::Region("buffers".into()),
            pattern,
            write_percent,
            amount: None,
            time_limit: None,
            block: Bytes(4096),
            blocks: 1,
            rate: 0,
            compute: Nanos::ZERO,
            classes: Vec::new(),
            think: Think::NONE,
            via: Via::Syscall,
        }
    }

    #[test]
    fn operations_drawn_ahead_are_those_drawn_one_by_one() {
        let zipf = |exponent_milli| Pattern::Zipf { exponent_milli };
        let patterns = [Pattern::Sequential, Pattern::Random, zipf(600), zipf(2500)];
        for (at, pattern) in patterns.into_iter().enumerate() {
            for blocks in [1, 2, 3, 100, 4097, 100_000] {
                let access = access(pattern, [0, 30, 100, 1][at]);
                let (prng, mut tables) = (Prng::new(blocks), Tables::default());
                let mut one_by_one = Operations::new(&access, blocks, prng.clone(), 7, &mut tables);
                let operations = Operations::new(&access, blocks, prng, 7, &mut tables);
                let mut ahead = Ahead::new(operations, &mut tables);
                for turn in 0..5000 {
                    let drawn = ahead.drawn().filter(|_| turn % 3 == 0);
                    let next = drawn.inspect(|_| ahead.go_past());
                    let next = next.unwrap_or_else(|| ahead.next_operation());
                    assert_eq!(next, one_by_one.next_operation());
                }
            }
        }
    }

    #[test]
    fn what_was_drawn_together_comes_in_that_order() {
        let access = access(Pattern::Random, 50);
        let mut tables = Tables::default();
        let operations = Operations::new(&access, 1000, Prng::new(1), 7, &mut tables);
        let mut ahead = Ahead::new(operations, &mut tables);
        let first = ahead.next_operation();
        let drawn = ahead.just_drawn().expect("it was the first").to_vec();
        let others: Vec<Operation> = (1..AHEAD).map(|_| ahead.next_operation()).collect();
        assert_eq!((drawn[0], &drawn[1..]), (first, &others[..]));
        assert_eq!(ahead.just_drawn(), None);
    }

    #[test]
    fn the_index_is_no_part_of_what_a_process_holds() {
        let access = access(
            Pattern::Zipf {
                exponent_milli: 600,
            },
            0,
        );
        let mut tables = Tables::default();
        let operations = Operations::new(&access, 1000, Prng::new(1), 7, &mut tables);
        let _ = Ahead::new(operations, &mut tables);
        assert_eq!(tables.size(), Bytes(8000));
    }
}
