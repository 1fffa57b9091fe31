//! What a virtual page is mapped to: the entries of `/proc/PID/pagemap`, 64 bits a page.
//!
//! `Documentation/admin-guide/mm/pagemap.rst`. Frame numbers are for readers with `CAP_SYS_ADMIN`.

/// Bytes of an entry.
pub const ENTRY: usize = 8;

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const FILE_OR_SHARED: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
const FRAME: u64 = (1 << 55) - 1;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(pub u64);

/// The entries in a piece of the file; a part of an entry at its end is left out.
pub fn entries(bytes: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    let (whole, _) = bytes.as_chunks::<ENTRY>();
    whole.iter().map(|bytes| Entry(u64::from_ne_bytes(*bytes)))
}

impl Entry {
    /// Whether it is an anonymous page in memory, which merging may take. The kernel's page of
    /// zeros looks alike.
    #[must_use]
    pub fn is_anonymous(self) -> bool {
        self.0 & PRESENT != 0 && self.0 & FILE_OR_SHARED == 0
    }

    /// Whether it is in swap, or just moving from one frame to another.
    #[must_use]
    pub fn is_swapped(self) -> bool {
        self.0 & SWAPPED != 0 && self.0 & PRESENT == 0
    }

    /// Whether nobody else maps the page.
    #[must_use]
    pub fn is_exclusive(self) -> bool {
        self.0 & EXCLUSIVE != 0
    }

    /// The page frame; `None` where the reader may not know it.
    #[must_use]
    pub fn frame(self) -> Option<u64> {
        let frame = self.0 & FRAME;
        (self.0 & PRESENT != 0 && frame != 0).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_bits_are_the_kernels() {
        let anonymous = Entry(0x8180_0000_0018_3a12);
        assert!(anonymous.is_anonymous() && anonymous.is_exclusive());
        assert_eq!(anonymous.frame(), Some(0x18_3a12));
        let shared_by_fork = Entry(0x8000_0000_0018_3a12);
        assert!(shared_by_fork.is_anonymous() && !shared_by_fork.is_exclusive());
        let file = Entry(0xa000_0000_0018_3a12);
        assert!(!file.is_anonymous());
        let swapped = Entry(0x4000_0000_0000_1234);
        assert!(swapped.is_swapped() && !swapped.is_anonymous() && swapped.frame().is_none());
        assert_eq!(
            Entry(0x8180_0000_0000_0000).frame(),
            None,
            "hidden from a user"
        );
    }

    #[test]
    fn a_part_of_an_entry_is_left_out() {
        let mut bytes: Vec<u8> = 7_u64.to_ne_bytes().to_vec();
        bytes.extend([1, 2, 3]);
        assert_eq!(entries(&bytes).collect::<Vec<_>>(), [Entry(7)]);
    }
}
