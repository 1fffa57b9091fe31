//! The order of accesses: which block of its target each operation of an access takes, and whether
//! it writes. The model and the VM draw from here, so both perform the same accesses.
//!
//! The access of a step is one endless stream for the whole life of its process instance: the next
//! round of a repetition goes on where the last one stopped, in sequential order too. An instance
//! that is started a second time begins again, with the same stream.

mod ahead;
mod classes;
mod pauses;

pub use ahead::Ahead;

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::workload::{Access, Pattern, Target};
use ahead::Guide;
use classes::Classes;
use mm::prng::Prng;
use mm::units::{Bytes, Nanos};
use pauses::Pauses;

/// The stream of one step of one process instance. The step's path is its index among its process's
/// steps, from 0, and so on inward with points between: `"3"`, or `"7.0"` for the first step of the
/// repetition that is step 7.
#[must_use]
pub fn stream(seed: u64, instance: &str, step_path: &str) -> Prng {
    Prng::for_part(seed, &format!("{instance}/{step_path}"))
}

/// Which blocks of a target a process likes best: the same in all its steps, whatever their order,
/// for a server's hot pages stay hot from one phase of a study to the next.
#[must_use]
pub fn favourites(seed: u64, instance: &str, target: &Target) -> u64 {
    let (Target::File(name) | Target::Region(name)) = target;
    Prng::for_part(seed, &format!("{instance}/favourites/{name}")).next_u64()
}

/// The blocks of a target: the last one may be short. A block of 0 bytes counts as one of 1.
#[must_use]
pub fn blocks(size: Bytes, block: Bytes) -> u64 {
    size.0.div_ceil(block.0.max(1))
}

/// Where a block of a target lies: offset and length, shorter at the target's end.
#[inline]
#[must_use]
pub fn extent(index: u64, size: Bytes, block: Bytes) -> (u64, u64) {
    let offset = index.saturating_mul(block.0).min(size.0);
    (offset, block.0.min(size.0 - offset))
}

/// One operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The block, from 0.
    pub block: u64,
    /// Whether it is written.
    pub write: bool,
}

/// An endless stream of operations.
#[derive(Clone, Debug)]
pub struct Operations {
    prng: Prng,
    blocks: u64,
    next: u64,
    order: Order,
    write_percent: u8,
    pauses: Pauses,
}

#[derive(Clone, Debug)]
enum Order {
    Sequential,
    Random,
    Zipf(Zipf),
    Classes(Classes),
}

impl Operations {
    /// The operations of `access` over a target of `blocks` blocks, from `prng` (see [`stream`]).
    /// `favourites` is the key of that name, `tables` what the process has computed before.
    #[must_use]
    pub fn new(
        access: &Access,
        blocks: u64,
        prng: Prng,
        favourites: u64,
        tables: &mut Tables,
    ) -> Self {
        let order = match access.pattern {
            Pattern::Sequential => Order::Sequential,
            Pattern::Random => Order::Random,
            Pattern::Zipf { exponent_milli } => {
                Order::Zipf(Zipf::with(tables, blocks, exponent_milli, favourites))
            }
            Pattern::Classes => {
                let scale = tables.others + 1;
                Order::Classes(Classes::new(&access.classes, blocks, favourites, scale))
            }
        };
        Self {
            pauses: Pauses::new(access.think, &prng),
            prng,
            blocks: blocks.max(1),
            next: 0,
            order,
            write_percent: access.write_percent,
        }
    }

    /// The next operation.
    pub fn next_operation(&mut self) -> Operation {
        let block = match &self.order {
            Order::Sequential => self.next_in_line(),
            Order::Random => self.prng.below(self.blocks),
            Order::Zipf(zipf) => zipf.draw(&mut self.prng),
            Order::Classes(classes) => classes.draw(&mut self.prng),
        };
        Operation {
            block,
            write: self.draw_write(),
        }
    }

    /// How long the process sleeps after the operation; drawn apart from the operations.
    pub fn next_pause(&mut self) -> Nanos {
        self.pauses.next()
    }

    fn next_in_line(&mut self) -> u64 {
        let block = self.next;
        self.next = if block + 1 == self.blocks {
            0
        } else {
            block + 1
        };
        block
    }

    fn draw_write(&mut self) -> bool {
        match self.write_percent {
            0 => false,
            100.. => true,
            share => self.prng.below(100) < u64::from(share),
        }
    }
}

/// Tables of Zipf weights that accesses share: a process that touches one region in several steps
/// needs one of them, and its own memory matters where the machine is nearly full.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// By blocks and exponent.
    known: Vec<(u64, u32, Arc<[u64]>)>,
    /// Of the tables that one was asked for.
    guides: Vec<(Arc<[u64]>, Guide)>,
    /// Blocks that each stands for, less one.
    others: u64,
}

/// Blocks whose weight is summed up exactly where each stands for many; in those of later ranks the
/// weights differ so little that the one in the middle serves for all.
const SUMMED: u64 = 64;

impl Tables {
    /// The memory that they take, without indices: those are the model's.
    #[must_use]
    pub fn size(&self) -> Bytes {
        let entries: usize = self.known.iter().map(|(_, _, table)| table.len()).sum();
        Bytes(entries as u64 * 8)
    }

    /// Lets each block of the tables to come stand for `count` blocks of neighbouring ranks: it has
    /// the weight of all of them, so what is drawn is a sample of one in `count` accesses.
    pub fn stand_for(&mut self, count: u64) {
        self.others = count.saturating_sub(1);
    }

    /// Makes the table for `blocks` ranks with exponent `exponent_milli` / 1000, if there is none.
    pub fn make(&mut self, blocks: u64, exponent_milli: u32) {
        self.cumulative(blocks, exponent_milli);
    }

    /// The cumulative weights of `blocks` ranks with exponent `exponent_milli` / 1000, in 63-bit
    /// integers: exact, the same on every machine, 8 bytes a block.
    fn cumulative(&mut self, blocks: u64, exponent_milli: u32) -> Arc<[u64]> {
        let like = |table: &&(u64, u32, _)| (table.0, table.1) == (blocks, exponent_milli);
        if let Some((_, _, table)) = self.known.iter().find(like) {
            return Arc::clone(table);
        }
        let exponent = f64::from(exponent_milli) / 1000.0;
        let weight = |rank: u64| group_weight(rank, self.others + 1, exponent);
        let total: f64 = (1..=blocks).map(weight).sum();
        let scale = 9.0e18 / total;
        let mut sum = 0.0;
        let cumulative = (1..=blocks).map(|rank| {
            sum += weight(rank);
            (sum * scale) as u64
        });
        let table: Arc<[u64]> = cumulative.collect();
        self.known
            .push((blocks, exponent_milli, Arc::clone(&table)));
        table
    }

    /// The index of a table, made once.
    fn guide(&mut self, table: &Arc<[u64]>) -> Guide {
        let of_table = |known: &&(Arc<[u64]>, Guide)| Arc::ptr_eq(&known.0, table);
        if let Some((_, guide)) = self.guides.iter().find(of_table) {
            return guide.clone();
        }
        let guide = Guide::new(table);
        self.guides.push((Arc::clone(table), guide.clone()));
        guide
    }
}

/// The weight of the `size` ranks that make up group `group`, from 1.
fn group_weight(group: u64, size: u64, exponent: f64) -> f64 {
    let weight = |rank: f64| libm::pow(rank, -exponent);
    let before = (group - 1) * size;
    match size {
        1 => weight(group as f64),
        _ if group <= SUMMED => (before + 1..=before + size).map(|r| weight(r as f64)).sum(),
        _ => size as f64 * weight(before as f64 + (size + 1) as f64 / 2.0),
    }
}

/// Zipf-distributed ranks by binary search in their table, scattered over the blocks.
#[derive(Clone, Debug)]
pub struct Zipf {
    cumulative: Arc<[u64]>,
    scatter: Scatter,
}

impl Zipf {
    /// `blocks` ranks with exponent `exponent_milli` / 1000, scattered by `key`.
    #[must_use]
    pub fn new(blocks: u64, exponent_milli: u32, key: u64) -> Self {
        Self::with(&mut Tables::default(), blocks, exponent_milli, key)
    }

    fn with(tables: &mut Tables, blocks: u64, exponent_milli: u32, key: u64) -> Self {
        Self {
            cumulative: tables.cumulative(blocks, exponent_milli),
            scatter: Scatter::new(blocks, key),
        }
    }

    /// A block.
    pub fn draw(&self, prng: &mut Prng) -> u64 {
        let Some(&total) = self.cumulative.last() else {
            return 0;
        };
        let at = prng.below(total);
        let rank = self.cumulative.partition_point(|&sum| sum <= at);
        self.scatter.apply(rank as u64)
    }
}

/// A permutation of `0..size`: a four-round Feistel network over the next even number of bits,
/// walked until it lands inside.
#[derive(Clone, Debug)]
struct Scatter {
    size: u64,
    half_bits: u32,
    /// Of each round.
    keys: [u64; 4],
}

impl Scatter {
    fn new(size: u64, key: u64) -> Self {
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        Self {
            size,
            half_bits: bits.div_ceil(2).max(1),
            keys: [0, 16, 32, 48].map(|bits| key.rotate_left(bits)),
        }
    }

    /// Ends: a permutation's walk comes back to a value below `size`, where it began.
    #[inline]
    fn apply(&self, value: u64) -> u64 {
        let mut value = self.round_trip(value);
        while value >= self.size {
            value = self.round_trip(value);
        }
        value
    }

    /// Round trips that a value takes on average, rounded down.
    fn trips(&self) -> u64 {
        (1_u64 << (2 * self.half_bits).min(63)) / self.size.max(1)
    }

    #[inline]
    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (left, right) = (right, left ^ ((mixed >> 32) & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_a_target_to_its_end() {
        let (size, block) = (Bytes(2500), Bytes(1000));
        assert_eq!(blocks(size, block), 3);
        assert_eq!(extent(2, size, block), (2000, 500));
        assert_eq!(extent(9, size, block), (2500, 0));
        assert_eq!(blocks(Bytes(0), Bytes(0)), 0);
    }

    #[test]
    fn every_step_of_every_instance_has_its_own_stream() {
        assert_eq!(stream(1, "hog.2", "7.0"), Prng::for_part(1, "hog.2/7.0"));
        assert_ne!(stream(1, "hog.2", "7.0"), stream(1, "hog.1", "7.0"));
    }

    #[test]
    fn the_hot_blocks_of_a_target_are_the_same_in_every_step() {
        let region = |name: &str| Target::Region(name.into());
        let key = favourites(1, "server", &region("buffers"));
        assert_eq!(key, favourites(1, "server", &region("buffers")));
        assert_ne!(key, favourites(2, "server", &region("buffers")));
        assert_ne!(key, favourites(1, "server", &region("other")));
        assert_ne!(key, favourites(1, "server.2", &region("buffers")));
    }

    #[test]
    fn steps_share_a_table_of_the_same_weights() {
        let mut tables = Tables::default();
        let first = tables.cumulative(1000, 900);
        assert!(Arc::ptr_eq(&first, &tables.cumulative(1000, 900)));
        assert!(!Arc::ptr_eq(&first, &tables.cumulative(1000, 990)));
        assert!(!Arc::ptr_eq(&first, &tables.cumulative(999, 900)));
    }

    #[test]
    fn scatter_is_a_permutation() {
        for size in [1, 2, 3, 10, 1000, 1024, 4097] {
            let scatter = Scatter::new(size, 99);
            let mut seen: Vec<u64> = (0..size).map(|value| scatter.apply(value)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..size), "size {size}");
        }
    }

    #[test]
    fn zipf_prefers_low_ranks_by_its_exponent() {
        let zipf = Zipf::new(1000, 1000, 5);
        let mut prng = Prng::new(1);
        let mut hits = [0_u32; 1000];
        for _ in 0..100_000 {
            hits[usize::try_from(zipf.draw(&mut prng)).unwrap()] += 1;
        }
        let first = hits[usize::try_from(zipf.scatter.apply(0)).unwrap()];
        let tenth = hits[usize::try_from(zipf.scatter.apply(9)).unwrap()];
        assert!(
            (9..=11).contains(&(first / tenth.max(1))),
            "{first} against {tenth}"
        );
    }
}
