//! What somebody used: everybody, a control group, or a program in one.

use scenario::recording::{Kind, Run};

use super::{Curve, Figures, PAGE};
use crate::reuse::Reuse;

/// The part before the recording began.
pub(super) const BEFORE: u8 = u8::MAX;

/// Pages that somebody used, and what they did.
#[derive(Debug, Default)]
pub(super) struct Level {
    reuse: Reuse,
    /// The part in which a page was used last, by its number.
    last: Vec<u8>,
    pub(super) figures: Figures,
    /// Touches of pages by reads: all, those that were looked at, and of these those at each
    /// distance.
    touches: u64,
    reads: u64,
    at_distance: Vec<u64>,
}

/// Pages of one run.
pub(super) struct Touched<'a> {
    pub(super) pages: &'a [u64],
    pub(super) kind: Kind,
    pub(super) part: u8,
    /// Bytes that a page stands for.
    pub(super) size: u64,
}

impl Level {
    /// How many different pages were used.
    pub(super) fn pages(&self) -> usize {
        self.last.len()
    }

    /// Uses pages; `was_cached` says of a page, by its place and its number, whether it was cached
    /// before.
    pub(super) fn touch(
        &mut self,
        touched: &Touched<'_>,
        mut was_cached: impl FnMut(usize, u32) -> bool,
    ) {
        let Self {
            reuse,
            last,
            figures,
            reads,
            at_distance,
            ..
        } = self;
        let part = touched.part;
        reuse.touch(touched.pages, |place, number, distance| {
            if number as usize == last.len() {
                last.push(BEFORE);
            }
            let before = std::mem::replace(&mut last[number as usize], part);
            let was_cached = was_cached(place, number);
            if part == BEFORE {
                return;
            }
            if before == BEFORE {
                figures.distinct.0 += touched.size;
                figures.cached.0 += touched.size * u64::from(was_cached);
            }
            if before != part {
                figures.parts[usize::from(part)].distinct.0 += touched.size;
            }
            if touched.kind == Kind::Read {
                *reads += 1;
                if let Some(distance) = distance.map(|it| it as usize) {
                    let length = at_distance.len().max(distance + 1);
                    at_distance.resize(length, 0);
                    at_distance[distance] += 1;
                }
            }
        });
    }

    /// Counts a run of that many pages.
    pub(super) fn count(&mut self, run: &Run, pages: u64, part: u8, is_in_order: bool) {
        let figures = &mut self.figures;
        let of_part = &mut figures.parts[usize::from(part)];
        if run.kind == Kind::Read {
            self.touches += pages;
            figures.reads += 1;
            figures.read.0 += run.length;
            figures.in_order.0 += run.length * u64::from(is_in_order);
            of_part.read.0 += run.length;
        } else {
            figures.writes += 1;
            figures.written.0 += run.length;
            of_part.written.0 += run.length;
        }
    }

    /// One page of `scale` was recorded, and one of `page` bytes of these was looked at.
    pub(super) fn curve(&self, page: u64, scale: u64) -> Curve {
        let mut hits = vec![0];
        hits.extend(self.at_distance.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }));
        Curve {
            page: page * scale,
            touched: self.touches * PAGE * scale,
            reads: self.reads,
            hits,
        }
    }
}
