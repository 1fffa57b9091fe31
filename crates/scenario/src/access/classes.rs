//! Pages in classes of equal use.

use alloc::vec::Vec;

use super::Scatter;
use crate::workload::Class;
use mm::prng::Prng;

/// Blocks drawn by the use of their class. What a target has beyond its classes is never used; what
/// the classes have beyond the target is left out.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// The first block of each class, how many it has, and the sum of all uses up to its end.
    parts: Vec<(u64, u64, u64)>,
    scatter: Scatter,
}

impl Classes {
    /// Of a target of `blocks` blocks, each of which stands for `scale` pages.
    pub(super) fn new(classes: &[Class], blocks: u64, key: u64, scale: u64) -> Self {
        let (mut first, mut uses, mut real) = (0_u64, 0_u64, 0_u64);
        let part = |class: &Class| {
            real = real.saturating_add(class.pages);
            // Rounded at its end, so that nothing is lost of many small classes.
            let end = (real / scale.max(1)).min(blocks);
            let pages = end - first;
            uses = uses.saturating_add(pages.saturating_mul(class.rate_micro));
            let part = (first, pages, uses);
            first = end;
            part
        };
        Self {
            parts: classes.iter().map(part).collect(),
            scatter: Scatter::new(blocks.max(1), key),
        }
    }

    pub(super) fn draw(&self, prng: &mut Prng) -> u64 {
        let uses = self.parts.last().map_or(0, |&(_, _, uses)| uses);
        if uses == 0 {
            return 0;
        }
        let at = prng.below(uses);
        let class = self.parts.partition_point(|&(_, _, uses)| uses <= at);
        let (first, pages, _) = self.parts[class];
        self.scatter.apply(first + prng.below(pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_is_drawn_as_often_as_its_pages_are_used() {
        let class = |rate_micro, pages| Class { rate_micro, pages };
        let classes = Classes::new(&[class(9_000_000, 10), class(1_000_000, 90)], 200, 5, 1);
        let mut prng = Prng::new(1);
        let mut counts = [0_u32; 200];
        for _ in 0..180_000 {
            counts[usize::try_from(classes.draw(&mut prng)).unwrap()] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(
            counts[..10]
                .iter()
                .all(|count| (8600..9400).contains(count))
        );
        assert!(
            counts[10..100]
                .iter()
                .all(|count| (850..1150).contains(count))
        );
        assert_eq!(counts[100..], [0; 100]);
    }

    #[test]
    fn a_block_stands_for_pages_of_its_class() {
        let class = |rate_micro, pages| Class { rate_micro, pages };
        let classes = [class(4, 10), class(3, 3), class(2, 3), class(1, 80)];
        let classes = Classes::new(&classes, 13, 1, 8);
        let parts: Vec<_> = classes.parts.iter().map(|part| (part.0, part.1)).collect();
        assert_eq!(parts, [(0, 1), (1, 0), (1, 1), (2, 10)]);
    }

    #[test]
    fn classes_larger_than_the_target_end_with_it() {
        let all = Class {
            rate_micro: 1,
            pages: u64::MAX,
        };
        let classes = Classes::new(&[all, all], 3, 1, 1);
        let mut prng = Prng::new(1);
        assert!((0..100).all(|_| classes.draw(&mut prng) < 3));
        assert_eq!(Classes::new(&[], 3, 1, 1).draw(&mut prng), 0);
    }
}
