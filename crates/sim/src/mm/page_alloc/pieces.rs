//! How many free pieces of each order a zone has, by migrate type: what boot leaves.

use mm::pagetypeinfo::FreeByType;

use crate::mm::page_alloc::buddy::{MAX_ORDER, Migrate};

/// Counts of free pieces; the default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// By type and order.
    counts: [[u64; MAX_ORDER + 1]; 3],
}

impl Pieces {
    /// Those of a zone as /proc/pagetypeinfo shows it; what is isolated or in reserve is left out.
    pub(crate) fn of(zone: &FreeByType) -> Self {
        let mut pieces = Self::default();
        for kind in Migrate::ALL {
            let shown = zone.types.get(kind.name()).into_iter().flatten();
            for (count, &blocks) in pieces.counts[kind as usize].iter_mut().zip(shown) {
                *count = blocks;
            }
        }
        pieces
    }

    /// Those of one type.
    #[cfg(test)]
    pub(crate) fn only(kind: Migrate, counts: [u64; MAX_ORDER + 1]) -> Self {
        let mut pieces = Self::default();
        pieces.counts[kind as usize] = counts;
        pieces
    }

    /// Those of a zone of which a page stands for 2^`halvings`; what is smaller than such a page is
    /// left out.
    pub(crate) fn part(&self, halvings: usize) -> Self {
        let mut part = Self::default();
        for (part, counts) in part.counts.iter_mut().zip(&self.counts) {
            part.iter_mut()
                .zip(counts.iter().skip(halvings))
                .for_each(|(part, &count)| *part = count);
        }
        part
    }

    /// As many of them as make up this many pages: users' pieces make up for what there is more or
    /// less, as large as possible. All are users' where the kernel's types alone have more.
    pub(crate) fn fitted(mut self, free: u64, largest: usize) -> Self {
        let kernel = self.pages(Migrate::Unmovable) + self.pages(Migrate::Reclaimable);
        let Some(mut left) = free.checked_sub(kernel) else {
            return Self::default().fitted(free, largest);
        };
        let users = &mut self.counts[Migrate::Movable as usize];
        for (order, count) in users.iter_mut().enumerate().rev() {
            *count = (*count).min(left >> order);
            left -= *count << order;
        }
        for (order, count) in users.iter_mut().enumerate().take(largest + 1).rev() {
            *count += left >> order;
            left &= (1 << order) - 1;
        }
        self
    }

    /// How many of a type and an order.
    pub(crate) fn count(&self, kind: Migrate, order: usize) -> u64 {
        self.counts[kind as usize][order]
    }

    /// Takes one of each order below `end` of which there is one; gives back those orders, the
    /// largest first.
    pub(crate) fn take_one_each(
        &mut self,
        kind: Migrate,
        end: usize,
    ) -> impl Iterator<Item = usize> {
        let mut taken = [false; MAX_ORDER + 1];
        for (order, count) in self.counts[kind as usize][..end].iter_mut().enumerate() {
            taken[order] = *count > 0;
            *count = count.saturating_sub(1);
        }
        (0..end).rev().filter(move |&order| taken[order])
    }

    /// Pages of a type.
    fn pages(&self, kind: Migrate) -> u64 {
        let counts = self.counts[kind as usize].iter().enumerate();
        let pages = counts.map(|(order, &count)| count.saturating_mul(1 << order));
        pages.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Migrate::{Movable, Unmovable};
    use mm::pagetypeinfo::Pagetypeinfo;

    const DMA: &str = "\
Node    0, zone      DMA, type    Unmovable 0 0 0 0 0 1 1 1 0 0 0
Node    0, zone      DMA, type      Movable 0 0 0 0 0 0 0 0 0 1 3
Node    0, zone      DMA, type   HighAtomic 0 0 0 0 0 0 0 0 0 0 1
";

    fn dma() -> Pieces {
        let info = Pagetypeinfo::parse(DMA).expect("a pagetypeinfo");
        Pieces::of(&info.zones[0])
    }

    #[test]
    fn users_pieces_make_up_for_what_is_free_beside_the_kernels() {
        let pieces = dma();
        assert_eq!(
            (pieces.pages(Unmovable), pieces.pages(Movable)),
            (224, 3584)
        );
        assert_eq!(pieces.fitted(3808, 10), pieces);
        let more = pieces.fitted(3808 + 1024 + 3, 10);
        assert_eq!(
            [10, 1, 0].map(|order| more.count(Movable, order)),
            [4, 1, 1]
        );
        let less = pieces.fitted(3808 - 512, 10);
        assert_eq!([10, 9].map(|order| less.count(Movable, order)), [3, 0]);
        let few = pieces.fitted(200, 10);
        assert_eq!((few.pages(Unmovable), few.pages(Movable)), (0, 200));
    }

    #[test]
    fn of_a_sampled_zone_a_piece_has_the_fewer_pages() {
        let part = dma().part(6).fitted(3808 >> 6, 4);
        assert_eq!((part.pages(Unmovable), part.pages(Movable)), (3, 56));
        assert_eq!(part.count(Movable, 4), 3);
    }
}
