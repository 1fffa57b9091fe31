//! File systems: dirty inodes and their flusher, the journal, buffer heads, and the files of
//! `/proc`.

pub(crate) mod buffer;
pub(crate) mod drop_caches;
pub(crate) mod fs_writeback;
pub(crate) mod jbd2;
pub(crate) mod proc;
