//! Pages that lie side by side, and what is done to all of them as it would be to one after the
//! other.

use core::ops::Range;

use crate::mm::folio::{Flag, Folios, PageId, STATE, State, ZONE};

impl Folios {
    /// Those from the first on that follow each other on one list, each younger than the one
    /// before, all of one zone; none is being read.
    pub(crate) fn in_line(&self, pages: Range<PageId>) -> Range<PageId> {
        let raws = self.raws(pages.clone());
        let alike = |raw: u16| raw & (STATE | ZONE | Flag::Anon.bit());
        let is_listed = |raw: u16| matches!(Self::state_in(raw), State::Inactive | State::Active);
        let Some(&first) = raws.first().filter(|&&first| is_listed(first)) else {
            return pages.start..pages.start;
        };
        let links = &self.links[pages.start as usize..];
        let behind = raws[1..].iter().zip(links).zip(pages.start + 1..);
        let others = behind.take_while(|&((&raw, &[younger, _]), page)| {
            younger == page && alike(raw) == alike(first)
        });
        pages.start..pages.start + 1 + others.count() as PageId
    }

    /// As [`Self::set_listed`]; none is being read.
    pub(crate) fn set_run_listed(&mut self, pages: Range<PageId>, active: bool) {
        let state = match active {
            true => State::Active,
            false => State::Inactive,
        };
        for raw in self.raws_mut(pages) {
            *raw = (*raw & !STATE) | state as u16;
        }
    }

    /// As [`Self::forget`].
    pub(crate) fn forget_run(&mut self, pages: Range<PageId>) {
        self.raws_mut(pages).fill(State::Absent as u16);
    }

    /// Marks the pages from the first on that no `read()` has used yet; how many.
    pub(crate) fn mark_new(&mut self, pages: Range<PageId>) -> u64 {
        let mut marked = 0;
        for raw in self.raws_mut(pages) {
            if !Self::is_new(*raw) {
                break;
            }
            *raw |= Flag::Referenced.bit();
            marked += 1;
        }
        marked
    }

    /// Whether the next `read()` of the page, of a file, makes it active.
    pub(crate) fn is_used_once(raw: u16) -> bool {
        let looked_at = STATE | Flag::Referenced.bit() | Flag::Readahead.bit();
        raw & looked_at == State::Inactive as u16 | Flag::Referenced.bit()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use crate::mm::folio::{Flag, PageId};
    use crate::mm::lru::Lru;
    use crate::mm::lruvec::state::ROOT;
    use crate::mm::parts::Memory;

    /// Twenty pages of a file, each used once; the youngest is the last.
    fn used_once() -> Memory {
        let mut memory = Memory::with_cache(1000, 10, 20, 5);
        (0..20).for_each(|page| memory.folios.set(page, Flag::Referenced));
        memory
    }

    /// The lists of files from their tails on, with each page's flags.
    fn lists(memory: &Memory) -> Vec<(PageId, u16)> {
        let mut pages = Vec::new();
        for lru in [Lru::InactiveFile, Lru::ActiveFile] {
            let mut next = memory.lruvecs[ROOT].lists[lru as usize].tail();
            while let Some(page) = next {
                pages.push((page, memory.folios.raw(page)));
                next = memory.folios.previous(page);
            }
        }
        pages
    }

    #[test]
    fn pages_that_are_activated_together_lie_as_one_by_one() {
        for run in [0..20, 0..7, 5..13, 13..20] {
            let (mut together, mut alone) = (used_once(), used_once());
            let activated = together.lruvecs.activate_in_line(
                &mut together.cpu,
                &mut together.zones,
                &mut together.folios,
                &mut together.groups,
                run.clone(),
            );
            assert_eq!(activated, run.len() as u64);
            for page in run {
                alone.lruvecs.mark_accessed(
                    &mut alone.cpu,
                    &mut alone.zones,
                    &mut alone.folios,
                    &mut alone.groups,
                    page,
                );
            }
            assert_eq!(lists(&together), lists(&alone));
            assert_eq!(together.zones[0].lru, alone.zones[0].lru);
            assert_eq!(together.cpu.events.pgactivate, alone.cpu.events.pgactivate);
            let age = |memory: &Memory| memory.lruvecs[ROOT].nonresident_age;
            assert_eq!(age(&together), age(&alone));
        }
    }

    #[test]
    fn a_line_ends_where_the_list_goes_elsewhere() {
        let mut memory = used_once();
        assert_eq!(memory.folios.in_line(3..20), 3..20);
        assert_eq!(memory.folios.in_line(18..23), 18..20, "the next are active");
        memory.lruvecs.activate(
            &mut memory.cpu,
            &mut memory.zones,
            &mut memory.folios,
            &mut memory.groups,
            9,
        );
        assert_eq!(memory.folios.in_line(3..20), 3..9);
        assert_eq!(memory.folios.in_line(10..12), 10..12);
        assert!(memory.folios.in_line(20..20).is_empty());
    }
}
