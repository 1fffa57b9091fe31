//! Files that leave the page cache: `posix_fadvise`.
//!
//! `POSIX_FADV_DONTNEED` begins to write out what is dirty. So a file that somebody has open for
//! writing is left alone, and so is one that was written within the last minute: its dirty pages
//! may not have expired yet.

use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use guard::Search;
use guard::search::Pages;
use mm::units::Bytes;
use rustix::fs::Advice;

use crate::map::Map;
use crate::sys;

/// Longer than pages stay dirty (`vm.dirty_expire_centisecs`) by default.
const WRITTEN_LATELY: Duration = Duration::from_secs(60);

/// Drops pages of a file: what was dropped, and where the search ended. With `is_dry`, what would
/// be dropped.
pub(crate) fn drop_pages(
    file: &fs::File,
    size: Bytes,
    search: Search,
    most: Bytes,
    is_dry: bool,
    now: Duration,
) -> io::Result<(Bytes, Bytes)> {
    if is_written(file, now)? {
        return Ok((Bytes::ZERO, search.from));
    }
    let mut cache = Cache {
        file,
        map: Map::new(file, size)?,
        is_dry,
        pretended: 0..0,
    };
    search.drop(size, most, &mut cache)
}

/// The pages of a file.
struct Cache<'a> {
    file: &'a fs::File,
    map: Map,
    is_dry: bool,
    /// What was not dropped but would be, last.
    pretended: Range<u64>,
}

impl Pages for Cache<'_> {
    type Error = io::Error;

    fn is_resident(&mut self, at: u64) -> io::Result<bool> {
        let page = rustix::param::page_size();
        let start = at as usize / page * page;
        let pages = &mut [0];
        let pages = self.map.resident(start, 1, pages)?;
        Ok(pages[0] & 1 == 1 && !self.pretended.contains(&at))
    }

    fn drop(&mut self, range: Range<u64>) -> io::Result<()> {
        if self.is_dry {
            self.pretended = range;
            return Ok(());
        }
        let length = NonZeroU64::new(range.end - range.start);
        Ok(rustix::fs::fadvise(
            self.file,
            range.start,
            length,
            Advice::DontNeed,
        )?)
    }
}

/// Whether a file may have dirty pages.
fn is_written(file: &fs::File, now: Duration) -> io::Result<bool> {
    // Not mtime, which whoever copies a file sets to what it was.
    let written = Duration::from_secs(file.metadata()?.ctime().try_into().unwrap_or(0));
    let age = now.checked_sub(written);
    let is_fresh = age.is_none_or(|age| age < WRITTEN_LATELY);
    let has_writers = || {
        sys::has_writers(file.as_fd()).map_err(|error| {
            let way_out = "it needs CAP_LEASE, and fs.leases-enable 1";
            io::Error::other(format!("no lease: {}; {way_out}", host::reason(&error)))
        })
    };
    Ok(is_fresh || has_writers()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::Locks;
    use guard::File;
    use guard::search::PIECE;
    use std::time::UNIX_EPOCH;

    const SIZE: u64 = 3 * PIECE.0 - 100;

    /// A file that was written long ago and is in memory. One of tmpfs could not go.
    fn cached() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").expect("a file");
        let bytes = vec![7; SIZE as usize];
        fs::write(file.path(), bytes).expect("a file");
        file.as_file().sync_all().expect("on disk");
        let long_ago = UNIX_EPOCH + host::facts::since_1970() - 2 * WRITTEN_LATELY;
        file.as_file().set_modified(long_ago).expect("its time");
        file
    }

    /// Long after it was written.
    fn drop(file: &fs::File, from: u64, most: u64, is_dry: bool) -> (u64, u64) {
        let search = Search {
            file: File(1),
            from: Bytes(from),
        };
        let now = host::facts::since_1970() + 2 * WRITTEN_LATELY;
        let dropped = drop_pages(file, Bytes(SIZE), search, Bytes(most), is_dry, now);
        let (Bytes(dropped), Bytes(next)) = dropped.expect("a file");
        (dropped, next)
    }

    fn in_memory(file: &fs::File) -> u64 {
        Locks::new().look(file, Bytes(SIZE), |_| None).resident.0
    }

    #[test]
    fn pieces_go_from_where_the_search_begins_until_it_is_enough() {
        let file = cached().into_temp_path();
        let file = fs::File::open(&file).expect("a file");
        assert_eq!(drop(&file, PIECE.0, 1, true), (PIECE.0, 2 * PIECE.0));
        assert_eq!(in_memory(&file), SIZE, "it was only looked at");
        assert_eq!(drop(&file, PIECE.0, 1, false), (PIECE.0, 2 * PIECE.0));
        assert_eq!(in_memory(&file), SIZE - PIECE.0);
        assert_eq!(drop(&file, PIECE.0, SIZE, false), (SIZE - PIECE.0, PIECE.0));
        assert_eq!(in_memory(&file), 0);
    }

    #[test]
    fn a_file_that_is_written_or_was_a_moment_ago_is_left_alone() {
        let path = cached().into_temp_path();
        let file = fs::File::open(&path).expect("a file");
        let writer = fs::File::options()
            .append(true)
            .open(&path)
            .expect("a file");
        assert_eq!(drop(&file, 0, SIZE, false), (0, 0));
        std::mem::drop(writer);
        // Whoever copies a file sets its time to what it was.
        assert_eq!(
            is_written(&file, host::facts::since_1970()).ok(),
            Some(true)
        );
        let before = host::facts::since_1970() - WRITTEN_LATELY;
        assert_eq!(
            is_written(&file, before).ok(),
            Some(true),
            "a clock set back"
        );
        assert_eq!(in_memory(&file), SIZE);
    }

    #[test]
    fn what_is_locked_stays() {
        let path = cached().into_temp_path();
        let file = fs::File::open(&path).expect("a file");
        let mut locks = Locks::new();
        let open = || Ok(fs::File::open(&path).expect("a file"));
        locks.lock(File(1), Bytes(SIZE), 5, open).expect("a lock");
        assert_eq!(drop(&file, 0, SIZE, false), (0, PIECE.0));
        assert_eq!(in_memory(&file), SIZE);
    }
}
