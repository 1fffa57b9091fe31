//! Readahead of one open file (`struct file_ra_state`): what a miss, or a hit on the mark, reads.

use mm::formula::readahead::{Window as Ramp, next_size};
use mm::units::Pages;

use crate::mm::page_alloc::state::Effort;

/// The windows of one open file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readahead {
    ramp: Option<Ramp>,
    /// The last page read, or none yet.
    previous: Option<u64>,
    /// Faults through a mapping that missed, less those that did not (`mmap_miss`).
    mapped_misses: u32,
    /// What is left of a window whose reading was interrupted.
    interrupted: Option<Rest>,
    limits: Limits,
}

/// What is to be read of a window: all of it, or what an interruption left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    pub(crate) window: Window,
    /// What its pages are worth.
    pub(crate) effort: Effort,
    /// The first page that is locked for a request that is not sent yet.
    pub(crate) gap: Option<u64>,
}

/// Misses after which a mapping is no longer read around (`MMAP_LOTSAMISS`).
const LOTS_OF_MISSES: u32 = 100;

/// How far a device reads ahead, in pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// `read_ahead_kb`.
    pub(crate) readahead: u64,
    /// The largest request of the device (`max_sectors_kb`): a larger `read()` may use it.
    pub(crate) request: u64,
}

/// Pages to read: from `start` to before `end`; the one at `mark` asks for the next window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) mark: Option<u64>,
}

impl Rest {
    /// All of a window.
    pub(crate) fn new(window: Window, effort: Effort) -> Self {
        Self {
            window,
            effort,
            gap: None,
        }
    }
}

impl Window {
    /// One page, without a mark.
    pub(crate) fn of_page(page: u64) -> Self {
        exactly(page, 1)
    }
}

impl Limits {
    /// The kernel's defaults: 128 KiB ahead, requests of up to 1280 KiB.
    pub(crate) const DEFAULT: Self = Self {
        readahead: 32,
        request: 320,
    };
}

impl Limits {
    /// After `POSIX_FADV_SEQUENTIAL`: twice as far.
    pub(crate) const SEQUENTIAL: Self = Self {
        readahead: 64,
        request: 320,
    };
    /// After `POSIX_FADV_RANDOM`: what is asked for, no more.
    pub(crate) const RANDOM: Self = Self {
        readahead: 0,
        request: 0,
    };
}

impl Readahead {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            ramp: None,
            previous: None,
            mapped_misses: 0,
            interrupted: None,
            limits,
        }
    }

    /// The page was read: a miss just behind it counts as sequential.
    pub(crate) fn note_read(&mut self, page: u64) {
        self.previous = Some(page);
    }

    /// The window for a miss at `page` within a `read()` of `request` more pages
    /// (`page_cache_sync_ra`).
    pub(crate) fn on_miss(&mut self, page: u64, request: u64) -> Window {
        let max = self.max(request);
        if max == 0 {
            return exactly(page, request);
        }
        let follows = self
            .previous
            .is_some_and(|last| page.wrapping_sub(last) <= 1);
        match self.ramp {
            Some(ramp) if page == ramp.start + ramp.size.0 => self.take(ramp.next(Pages(max))),
            _ if page == 0 || request > max || follows => {
                self.take(Ramp::first(page, Pages(request), Pages(max)))
            }
            _ => exactly(page, request.min(max)),
        }
    }

    /// The window that is due when the marked page is reached (`page_cache_async_ra`). Where the
    /// mark is not this reader's last, the window begins with the first page behind it that is not
    /// there, unless as many as may be read at a time are: `next_miss` looks for it among this
    /// many.
    pub(crate) fn on_mark(
        &mut self,
        page: u64,
        request: u64,
        next_miss: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<Window> {
        let max = self.max(request);
        let expected = |ramp: &Ramp| page == ramp.marker() || page == ramp.start + ramp.size.0;
        if let Some(ramp) = self.ramp.filter(expected) {
            return Some(self.take(ramp.next(Pages(max))));
        }
        let start = next_miss(max)?;
        let size = next_size(Pages(start - page + request), Pages(max));
        let ahead = size;
        Some(self.take(Ramp { start, size, ahead }))
    }

    /// What is read of a file at most through a mapping, in pages.
    pub(crate) fn most_mapped(&self) -> u64 {
        self.limits.readahead
    }

    /// Remembers what is left of a window.
    pub(crate) fn interrupt(&mut self, rest: Rest) {
        self.interrupted = Some(rest);
    }

    /// Whether something is left of a window.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.is_some()
    }

    /// What was left of a window, to be read now.
    pub(crate) fn take_rest(&mut self) -> Option<Rest> {
        self.interrupted.take()
    }

    /// Notes a miss through a mapping; the pages to read around it, unless most faults miss.
    pub(crate) fn mapped_miss(&mut self) -> Option<u64> {
        self.mapped_misses = (self.mapped_misses + 1).min(LOTS_OF_MISSES * 10);
        (self.mapped_misses <= LOTS_OF_MISSES).then_some(self.limits.readahead)
    }

    /// Notes a fault through a mapping that found its page.
    pub(crate) fn note_mapped_hit(&mut self) {
        self.mapped_misses = self.mapped_misses.saturating_sub(1);
    }

    /// The window that was read is this one: the next goes on behind it.
    pub(crate) fn go_on_behind(&mut self, start: u64, size: u64, ahead: u64) {
        let (size, ahead) = (Pages(size), Pages(ahead));
        self.ramp = Some(Ramp { start, size, ahead });
    }

    fn max(&self, request: u64) -> u64 {
        if request > self.limits.readahead && self.limits.request > self.limits.readahead {
            return request.min(self.limits.request);
        }
        self.limits.readahead
    }

    fn take(&mut self, ramp: Ramp) -> Window {
        self.ramp = Some(ramp);
        let mark = Some(ramp.marker());
        Window {
            start: ramp.start,
            end: ramp.start + ramp.size.0,
            mark,
        }
    }
}

/// This many pages, and none ahead.
fn exactly(page: u64, pages: u64) -> Window {
    Window {
        start: page,
        end: page + pages,
        mark: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequential_reader_ramps_up_and_each_mark_asks_for_the_next_window() {
        let mut readahead = Readahead::new(Limits::DEFAULT);
        let window = |start, end, mark| Window {
            start,
            end,
            mark: Some(mark),
        };
        assert_eq!(readahead.on_miss(0, 1), window(0, 4, 1));
        let mut on_mark = |page| readahead.on_mark(page, 1, |_| None);
        assert_eq!(on_mark(1), Some(window(4, 12, 4)));
        assert_eq!(on_mark(4), Some(window(12, 28, 12)));
        assert_eq!(on_mark(12), Some(window(28, 60, 28)));
        assert_eq!(on_mark(28), Some(window(60, 92, 60)));
    }

    #[test]
    fn a_large_read_takes_the_whole_window_and_marks_its_middle() {
        let mut readahead = Readahead::new(Limits::DEFAULT);
        assert_eq!(
            readahead.on_miss(0, 32),
            Window {
                start: 0,
                end: 32,
                mark: Some(16)
            }
        );
        assert_eq!(
            readahead.on_mark(16, 32, |_| None),
            Some(Window {
                start: 32,
                end: 64,
                mark: Some(32)
            })
        );
    }

    #[test]
    fn at_the_mark_of_another_it_goes_on_where_a_page_is_missing() {
        let mut readahead = Readahead::new(Limits::DEFAULT);
        let window = Window {
            start: 132,
            end: 164,
            mark: Some(132),
        };
        assert_eq!(
            readahead.on_mark(100, 32, |most| Some(100 + most)),
            Some(window)
        );
        assert_eq!(readahead.on_mark(100, 32, |_| None), None);
    }

    #[test]
    fn a_random_read_takes_exactly_its_pages() {
        let mut readahead = Readahead::new(Limits::DEFAULT);
        readahead.note_read(5000);
        assert_eq!(
            readahead.on_miss(100, 2),
            Window {
                start: 100,
                end: 102,
                mark: None
            }
        );
    }
}
