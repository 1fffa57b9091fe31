//! What ksmd's work costs on this machine, by what the same takes in this process.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt as _;

use mm::formula::ksmd::VisitCost;
use mm::units::{Nanos, PageSize};

use super::cpu_time;
use super::memory::{BLOCK, bytes};
use crate::Root;

/// Bytes that the costs are measured on: more than a core's own caches hold.
const MEASURED: usize = 32 << 20;

/// Times that each is measured; the least counts, for whatever else runs only adds.
const ROUNDS: usize = 3;

/// Measures; takes some tenths of a second and 32 MiB.
#[must_use]
pub fn visit_cost(root: &Root, page: PageSize) -> VisitCost {
    // Another word in each line; zeros would stay the kernel's own page.
    let memory: Vec<u64> = (1..=MEASURED / 8).map(|at| at as u64).collect();
    VisitCost {
        page: least(|| read_through(root, &memory, page)),
        line: least(|| chase(&memory, bytes(page) / 8)),
    }
}

/// What one of `count` took, in the best round.
fn least(mut work: impl FnMut() -> usize) -> Nanos {
    let round = |_| {
        let start = cpu_time();
        let count = work().max(1) as u64;
        Nanos((cpu_time().0 - start.0) / count)
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

/// Reads the memory as another process's would be: the kernel finds each page and goes through it.
/// How many pages.
fn read_through(root: &Root, memory: &[u64], page: PageSize) -> usize {
    let mut block = vec![0; BLOCK * bytes(page)];
    let first = memory.as_ptr().addr() as u64;
    let Ok(file) = File::open(root.join("proc/self/mem")) else {
        return 0;
    };
    let (length, blocks) = (block.len(), MEASURED / block.len());
    for at in 0..blocks {
        let read = file.read_at(&mut block, first + (at * length) as u64);
        black_box(read.is_ok());
    }
    blocks * BLOCK
}

/// Looks at one word of a page after the other, each place known only from the word before. How
/// many.
fn chase(memory: &[u64], page: usize) -> usize {
    let pages = memory.len() / page;
    let mut place = 0_u64;
    for _ in 0..pages {
        let spread = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let at = spread as usize % pages * page + spread as usize % 8 * 8;
        place = place.wrapping_add(black_box(memory[at]));
    }
    black_box(place);
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_costs_are_measured() {
        let cost = visit_cost(&Root::default(), PageSize::FOUR_KIB);
        assert!(
            cost.page > Nanos(100),
            "{cost:?}: 4 KiB in a tenth of a microsecond"
        );
        assert!(cost.line > Nanos(0) && cost.line < cost.page, "{cost:?}");
    }
}
