//! Dropping the page cache (`fs/drop_caches.c`).

use crate::mm::filemap::state::File;
use crate::mm::parts::Memory;

/// Drops the page cache, once all files are durable (`drop_caches_sysctl_handler`).
pub(crate) fn drop_caches(memory: &mut Memory, files: &[File]) {
    memory.writeback.sync_disks(
        &mut memory.cpu,
        &memory.folios,
        &memory.objects,
        &mut memory.io,
    );
    memory.drop_journal_blocks();
    for file in files {
        file.drop_pages(memory);
    }
}
