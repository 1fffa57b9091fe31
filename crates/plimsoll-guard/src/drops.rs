//! Files that leave the page cache a piece at a time: `posix_fadvise`.
//!
//! `POSIX_FADV_DONTNEED` begins to write out what is dirty. So a file that somebody has open for
//! writing is left alone, and so is one that was written within the last minute: its dirty pages
//! may not have expired yet.

use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd as _;
use std::time::{Duration, SystemTime};

use guard::Search;
use guard::action::PIECE;
use mm::units::Bytes;
use rustix::fs::Advice;

use crate::locks::Map;
use crate::sys;

/// Longer than pages stay dirty (`vm.dirty_expire_centisecs`) by default.
const WRITTEN_LATELY: Duration = Duration::from_secs(60);
/// The pages of a piece, where a page is as small as it can be.
const PAGES: usize = (PIECE.0 / 4096) as usize;

/// Drops what is clean and resident of a file from where the search begins, until it is `most`; not more than a
/// piece that was not in memory to its end is passed over. What was dropped, and where the search
/// ended. With `is_dry`, what would be dropped.
pub(crate) fn drop_pages(
    file: &fs::File,
    size: Bytes,
    search: Search,
    most: Bytes,
    is_dry: bool,
) -> io::Result<(Bytes, Bytes)> {
    let (mut dropped, mut next) = (Bytes::ZERO, search.from);
    if is_written(file)? {
        return Ok((dropped, next));
    }
    let map = Map::new(file, size)?;
    for piece in search.pieces(size) {
        next = Bytes(piece.end);
        let length = piece.end - piece.start;
        // Whoever reads it has not come to its end yet, or nobody does.
        if resident(&map, piece.end - 1, 1)? == 0 {
            continue;
        }
        let before = resident(&map, piece.start, length)?;
        let after = match is_dry {
            true => 0,
            false => {
                let length = NonZeroU64::new(length);
                rustix::fs::fadvise(file, piece.start, length, Advice::DontNeed)?;
                resident(&map, piece.start, piece.end - piece.start)?
            }
        };
        let gone = Bytes(before.saturating_sub(after));
        dropped = dropped.saturating_add(gone);
        // What is mapped or locked here is so elsewhere.
        if gone == Bytes::ZERO || dropped >= most {
            break;
        }
    }
    Ok((dropped, next))
}

/// What is in memory of a range, in bytes.
fn resident(map: &Map, start: u64, length: u64) -> io::Result<u64> {
    let page = rustix::param::page_size() as u64;
    let first = start / page * page;
    let length = start + length - first;
    let mut pages = [0; PAGES];
    let pages = map.resident(first as usize, length as usize, &mut pages)?;
    let count = pages.iter().filter(|page| **page & 1 == 1).count();
    Ok((count as u64 * page).min(length))
}

/// Whether a file may have dirty pages.
fn is_written(file: &fs::File) -> io::Result<bool> {
    let written = file.metadata()?.modified()?;
    let age = SystemTime::now().duration_since(written);
    let is_fresh = age.is_ok_and(|age| age < WRITTEN_LATELY);
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

    const SIZE: u64 = 3 * PIECE.0 - 100;

    /// A file that was written long ago and is in memory. One of tmpfs could not go.
    fn cached() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").expect("a file");
        let bytes = vec![7; SIZE as usize];
        fs::write(file.path(), bytes).expect("a file");
        file.as_file().sync_all().expect("on disk");
        let long_ago = SystemTime::now() - 2 * WRITTEN_LATELY;
        file.as_file().set_modified(long_ago).expect("its time");
        file
    }

    fn drop(file: &fs::File, from: u64, most: u64, is_dry: bool) -> (u64, u64) {
        let search = Search {
            file: File(1),
            from: Bytes(from),
        };
        let dropped = drop_pages(file, Bytes(SIZE), search, Bytes(most), is_dry);
        let (Bytes(dropped), Bytes(next)) = dropped.expect("a file");
        (dropped, next)
    }

    fn in_memory(file: &fs::File) -> u64 {
        Locks::new().resident(file, Bytes(SIZE)).0
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
        writer.set_modified(SystemTime::now()).expect("its time");
        std::mem::drop(writer);
        assert_eq!(drop(&file, 0, SIZE, false), (0, 0));
        assert_eq!(in_memory(&file), SIZE);
    }

    #[test]
    fn what_is_locked_stays() {
        let path = cached().into_temp_path();
        let file = fs::File::open(&path).expect("a file");
        let mut locks = Locks::new();
        let open = || Ok(fs::File::open(&path).expect("a file").into());
        locks.lock(File(1), Bytes(SIZE), 5, open).expect("a lock");
        assert_eq!(drop(&file, 0, SIZE, false), (0, PIECE.0));
        assert_eq!(in_memory(&file), SIZE);
    }
}
