//! Marks on pages of files that can be found in the order of the file, as the tags of the page
//! cache's tree can (`PAGECACHE_TAG_DIRTY`, `PAGECACHE_TAG_WRITEBACK`): a bit for each page.

use alloc::vec::Vec;

use crate::mm::folio::PageId;

/// The pages that have one tag; no memory before the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tags {
    words: Vec<u64>,
}

impl Tags {
    pub(crate) fn has(&self, page: PageId) -> bool {
        let (word, bit) = place(page);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    pub(crate) fn set(&mut self, page: PageId) {
        let (word, bit) = place(page);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    pub(crate) fn clear(&mut self, page: PageId) {
        let (word, bit) = place(page);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }

    /// How many pages have the tag.
    pub(crate) fn len(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    /// The pages that have the tag, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        let end = self.words.len() as PageId * 64;
        let mut from = 0;
        core::iter::from_fn(move || {
            let page = self.next(from, end)?;
            from = page + 1;
            Some(page)
        })
    }

    /// The first page from `from` on and before `end` that has the tag.
    pub(crate) fn next(&self, from: PageId, end: PageId) -> Option<PageId> {
        let (first, _) = place(from);
        let mut keep = !0 << (from % 64);
        for (index, word) in self.words.iter().enumerate().skip(first) {
            let start = index as PageId * 64;
            if start >= end {
                return None;
            }
            let bits = word & keep;
            keep = !0;
            if bits != 0 {
                let page = start + bits.trailing_zeros();
                return (page < end).then_some(page);
            }
        }
        None
    }
}

fn place(page: PageId) -> (usize, u64) {
    (page as usize / 64, 1 << (page % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_pages_are_found_in_order_and_within_bounds() {
        let mut tags = Tags::default();
        assert_eq!(tags.next(0, 1000), None);
        [3, 64, 65, 700].into_iter().for_each(|page| tags.set(page));
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(page) = tags.next(from, 700) {
            found.push(page);
            from = page + 1;
        }
        assert_eq!(found, [3, 64, 65], "700 is beyond the end");
        tags.clear(64);
        assert_eq!(tags.next(4, 1000), Some(65));
        assert!(tags.has(700) && !tags.has(64) && !tags.has(100_000));
    }
}
