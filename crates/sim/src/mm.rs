//! Memory management, laid out as the kernel's `mm/` is: a mechanism is in the file of its kernel
//! name.
//!
//! [`parts::Memory`] is the whole. Each part owns its state, and its functions take the parts they
//! need.

pub(crate) mod filemap;
pub(crate) mod folio;
pub(crate) mod hugetlb;
pub(crate) mod invariants;
pub(crate) mod ksm;
pub(crate) mod lru;
pub(crate) mod lru_gen;
pub(crate) mod lruvec;
pub(crate) mod madvise;
pub(crate) mod memcontrol;
pub(crate) mod memory;
pub(crate) mod mlock;
pub(crate) mod mm_init;
pub(crate) mod mmap;
pub(crate) mod objects;
pub(crate) mod oom_kill;
pub(crate) mod page_alloc;
pub(crate) mod page_io;
pub(crate) mod page_writeback;
pub(crate) mod parts;
pub(crate) mod readahead;
pub(crate) mod rmap;
pub(crate) mod slub;
pub(crate) mod swap;
pub(crate) mod swap_state;
pub(crate) mod swapfile;
mod truncate;
pub(crate) mod vmscan;
pub(crate) mod vmstat;
pub(crate) mod workingset;
