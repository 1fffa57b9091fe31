//! Kernel samepage merging (`mm/ksm.c`): ksmd scans the pages of mergeable regions and lets equal
//! ones share one page, which is copied again when somebody writes to it.
//!
//! A page's bytes are one word ([`scenario::contents`]): pages are equal where their words are, and
//! a checksum is the word itself.

mod candidate;
mod files;
mod merge;
mod scan;
mod settings;
pub(crate) mod share;
pub(crate) mod state;
mod swap;
#[cfg(test)]
mod tests;
pub(crate) mod thread;
mod tree;
mod unmerge;

use mm::formula::ksm::RMAP_ITEM;
use mm::units::PageSize;

use crate::mm::ksm::candidate::Candidate;
pub(crate) use crate::mm::ksm::files::Template;
use crate::mm::ksm::state::Ksm;
pub(crate) use crate::mm::ksm::state::PREFIX;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::pcp::List;
use crate::mm::page_alloc::zone::Zones;
use crate::sched::cpu::Cpu;

/// Candidates that share a page of the kernel's (`struct ksm_rmap_item`); and merged pages, of
/// which it remembers as much (`struct ksm_stable_node`).
const PER_SLAB: u64 = PageSize::FOUR_KIB.bytes() / RMAP_ITEM.0;

/// Empty slabs of a cache that are kept.
const SPARE_SLABS: u64 = 5;

impl Ksm {
    /// The kernel's pages follow the number of candidates and of merged pages. Of the slabs that
    /// are empty it keeps a few (`min_partial`).
    fn follow_candidates(&mut self, cpu: &mut Cpu, zones: &mut Zones, objects: &mut Objects) {
        let used = [self.counts.items, self.trees.objects()];
        for (cache, used) in used.into_iter().enumerate() {
            let wanted = used.div_ceil(PER_SLAB);
            while self.slabs[cache] < wanted && objects.hold(cpu, zones, List::Unmovable, 1) == 1 {
                self.slabs[cache] += 1;
            }
            let spare = self.slabs[cache].saturating_sub(wanted + SPARE_SLABS);
            objects.let_go(zones, List::Unmovable, spare);
            self.slabs[cache] -= spare;
        }
    }
}
