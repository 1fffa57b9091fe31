//! How much is read ahead of a sequential reader.
//!
//! `get_init_ra_size` and `get_next_ra_size` in `mm/readahead.c`, unchanged from 6.1 to 7.2, and
//! the windows of `ondemand_readahead` and what it was parted into in 6.11. Sizes are in pages; the
//! maximum is the device's `read_ahead_kb` (128 by default, 32 pages).

use crate::units::Pages;

/// A stretch of a file that was asked of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Index of its first page in the file.
    pub start: u64,
    /// Its length.
    pub size: Pages,
    /// So far before its end stands the marker; a reader that reaches it sets off the next window.
    pub ahead: Pages,
}

impl Window {
    /// The first window of a reader that misses at page `start` and wants `request` pages.
    ///
    /// A window that is no longer than the request has its marker in the middle.
    #[must_use]
    pub fn first(start: u64, request: Pages, max: Pages) -> Self {
        let size = initial_size(request, max);
        let ahead = match size > request {
            true => size.saturating_sub(request),
            false => Pages(size.0 / 2),
        };
        Self { start, size, ahead }
    }

    /// The window after this one; its marker is its first page. It is never smaller: a large
    /// request meets the marker with less left to read, so that `max` may be less than before.
    #[must_use]
    pub fn next(self, max: Pages) -> Self {
        let size = next_size(self.size, max).max(self.size);
        Self {
            start: self.start.saturating_add(self.size.0),
            size,
            ahead: size,
        }
    }

    /// The window after this one, for a reader that stands at its first page without its marker
    /// having been met: it has the window after it with it, as far as `max` lets it
    /// (`ondemand_readahead`, until 6.10).
    #[must_use]
    pub fn next_at_once(self, max: Pages) -> Self {
        let next = self.next(max);
        let more = next_size(next.size, max);
        let (size, ahead) = match next.size.0 + more.0 {
            both if both <= max.0 => (Pages(both), more),
            _ => (max, Pages(max.0 / 2)),
        };
        Self {
            size,
            ahead,
            ..next
        }
    }

    /// The window of a reader that misses at page `start`, wants `request` pages and finds the
    /// `before` pages before it cached, one after the other: the traces of a sequential reader
    /// (`page_cache_sync_ra`; until 6.10 `try_context_readahead`). `None` where they are no more
    /// than the request: that may be a random read.
    #[must_use]
    pub fn in_context(start: u64, before: Pages, request: Pages, max: Pages) -> Option<Self> {
        if before <= request {
            return None;
        }
        // All that there is of the file before it is cached: a long run.
        let weight = if before.0 >= start { 2 } else { 1 };
        let size = before.0.saturating_mul(weight).saturating_add(request.0);
        Some(Self {
            start,
            size: Pages(size.min(max.0)),
            ahead: Pages(1),
        })
    }

    /// The page that sets off the next window.
    #[must_use]
    pub fn marker(self) -> u64 {
        let offset = self.size.saturating_sub(self.ahead);
        self.start.saturating_add(offset.0)
    }
}

/// The size of a first window: the request, rounded up to a power of two, times four or two while
/// it is small against the maximum.
#[must_use]
pub fn initial_size(request: Pages, max: Pages) -> Pages {
    let size = request.0.max(1).checked_next_power_of_two();
    let size = size.unwrap_or(max.0);
    Pages(match size {
        size if size <= max.0 / 32 => size * 4,
        size if size <= max.0 / 4 => size * 2,
        _ => max.0,
    })
}

/// The size of a following window: four times, then twice the last, up to the maximum.
#[must_use]
pub fn next_size(last: Pages, max: Pages) -> Pages {
    Pages(match last.0 {
        size if size < max.0 / 16 => size * 4,
        size if size <= max.0 / 2 => size * 2,
        _ => max.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MAX: Pages = Pages(32);

    #[test]
    fn windows_grow_to_the_maximum_and_stay() {
        let first = Window::first(0, Pages(1), MAX);
        let windows = core::iter::successors(Some(first), |window| Some(window.next(MAX)));
        let sizes: Vec<_> = windows.take(5).map(|window| window.size.0).collect();
        assert_eq!(sizes, [4, 8, 16, 32, 32]);
    }

    #[test]
    fn a_large_request_takes_the_maximum() {
        assert_eq!(initial_size(Pages(9), MAX), MAX);
        assert_eq!(initial_size(Pages(256), MAX), MAX);
        assert_eq!(initial_size(Pages(5), MAX), Pages(16));
        assert_eq!(initial_size(Pages(u64::MAX), MAX), MAX);
    }

    #[test]
    fn a_window_is_never_smaller_than_the_one_before() {
        let first = Window::first(0, Pages(256), Pages(256));
        assert_eq!(first.marker(), 128, "with 128 pages of the request to go");
        let next = first.next(Pages(128));
        assert_eq!(
            (next.start, next.size, next.marker()),
            (256, Pages(256), 256)
        );
    }

    #[test]
    fn pages_cached_before_a_miss_are_the_traces_of_a_sequential_reader() {
        let window = |start, before, request| {
            let window = Window::in_context(start, Pages(before), Pages(request), MAX)?;
            Some((window.size.0, window.marker()))
        };
        assert_eq!(window(100, 3, 1), Some((4, 103)), "its last page is marked");
        assert_eq!(window(100, 1, 1), None, "it could be a random read");
        assert_eq!(window(3, 3, 1), Some((7, 9)), "from the file's start");
        assert_eq!(window(1000, 31, 8), Some((32, 1031)), "at most the maximum");
    }

    #[test]
    fn a_window_without_its_marker_brings_the_one_after_it() {
        let next = |size| {
            let (size, ahead) = (Pages(size), Pages(1));
            let window = Window {
                start: 0,
                size,
                ahead,
            };
            let next = window.next_at_once(MAX);
            (next.start, next.size.0, next.marker())
        };
        assert_eq!(next(4), (4, 24, 12), "8 pages and the 16 after them");
        assert_eq!(
            next(16),
            (16, 32, 32),
            "32 and as many are more than the maximum"
        );
    }

    #[test]
    fn the_marker_leaves_the_request_behind_it() {
        let first = Window::first(100, Pages(1), MAX);
        assert_eq!((first.size, first.marker()), (Pages(4), 101));
        let next = first.next(MAX);
        assert_eq!((next.start, next.marker()), (104, 104));
    }
}
