//! Hashes of pages.

use mm::formula::sharing::ZERO_PAGE;
use mm::units::PageSize;
use xxhash_rust::xxh3::xxh3_64;

use super::memory::bytes;

/// Turns pages into hashes: pages of zeros are [`ZERO_PAGE`], no other page is.
pub(super) struct Hasher {
    zeros: u64,
}

impl Hasher {
    pub(super) fn new(page: PageSize) -> Self {
        let zeros = vec![0; bytes(page)];
        Self {
            zeros: xxh3_64(&zeros),
        }
    }

    pub(super) fn content(&self, page: &[u8]) -> u64 {
        match xxh3_64(page) {
            hash if hash == self.zeros => ZERO_PAGE,
            ZERO_PAGE => self.zeros,
            hash => hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_zeros_is_the_page_of_zeros() {
        let hasher = Hasher::new(PageSize::FOUR_KIB);
        let mut page = vec![0; 4096];
        assert_eq!(hasher.content(&page), ZERO_PAGE);
        page[4095] = 1;
        assert_ne!(hasher.content(&page), ZERO_PAGE);
        assert_eq!(hasher.content(&page), hasher.content(&page.clone()));
    }
}
