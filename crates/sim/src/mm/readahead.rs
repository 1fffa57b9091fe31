//! Readahead of one open file (`struct file_ra_state`): what a miss, or a hit on the mark, reads.

use mm::formula::readahead::{Window as Ramp, next_size};
use mm::rules::Mechanism;
use mm::units::Pages;

use crate::mm::filemap::state::File;
use crate::mm::page_alloc::state::Effort;
use crate::mm::parts::Memory;
use crate::rules::Rules;

const PAGE: u64 = 4096;

/// The windows of one open file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readahead {
    ramp: Option<Ramp>,
    /// Where the last `read()` ended, in bytes, or none yet (`prev_pos`).
    position: Option<u64>,
    /// Faults through a mapping that missed, less those that did not (`mmap_miss`).
    mapped_misses: u32,
    /// What is left of a window whose reading was interrupted.
    interrupted: Option<Rest>,
    advised: Advised,
}

/// What a task has said of how it will read a file (`POSIX_FADV_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advised {
    Normal,
    /// As far again.
    Sequential,
    /// What is asked for, no more.
    Random,
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

    /// Those of a disk, by what boot sets (`blk_apply_bdi_limits`).
    pub(crate) fn of(is_rotational: bool, rules: &Rules) -> Self {
        let default = Self::DEFAULT;
        match is_rotational && rules.has(Mechanism::RotationalReadsFar) {
            true => Self {
                readahead: 2 * default.request,
                ..default
            },
            false => default,
        }
    }
}

impl File {
    /// How far its disk reads ahead, and the rules by which it does.
    pub(crate) fn reads_ahead<'a>(&self, memory: &'a Memory) -> (Limits, &'a Rules) {
        let (disk, rules) = (&memory.io.disks[self.disk], &memory.cpu.rules);
        (Limits::of(disk.is_rotational(), rules), rules)
    }
}

impl Readahead {
    /// Of a file that was just opened.
    pub(crate) const NEW: Self = Self::new(Advised::Normal);

    pub(crate) const fn new(advised: Advised) -> Self {
        Self {
            ramp: None,
            position: None,
            mapped_misses: 0,
            interrupted: None,
            advised,
        }
    }

    /// A `read()` came this far, in bytes: a miss just behind it counts as sequential.
    pub(crate) fn note_read(&mut self, position: u64) {
        self.position = Some(position);
    }

    /// Whether the last byte that was read is of this page.
    pub(crate) fn ended_in(&self, page: u64) -> bool {
        let last = self.position.and_then(|position| position.checked_sub(1));
        last.is_some_and(|last| last / PAGE == page)
    }

    /// The window for a miss at `page` within a `read()` of `request` more pages
    /// (`page_cache_sync_ra`). `before` says how many pages before it are cached, one after the
    /// other, if it is asked for at most this many.
    pub(crate) fn on_miss(
        &mut self,
        page: u64,
        request: u64,
        (device, rules): (Limits, &Rules),
        before: impl FnOnce(u64) -> u64,
    ) -> Window {
        let max = self.max(request, device);
        if max == 0 {
            return exactly(page, request);
        }
        if rules.has(Mechanism::MissesFollowWindows)
            && page > 0
            && let Some(ramp) = self.ramp.filter(|ramp| is_due_at(ramp, page))
        {
            return self.follow(ramp, page, max);
        }
        let (request, most) = (Pages(request), Pages(max));
        if page == 0 || request > most || self.follows(page) {
            return self.take(Ramp::first(page, request, most));
        }
        match Ramp::in_context(page, Pages(before(max)), request, most) {
            Some(ramp) => self.take(ramp),
            None => exactly(page, request.0),
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
        (device, rules): (Limits, &Rules),
        next_miss: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<Window> {
        let max = self.max(request, device);
        let expected = |ramp: &Ramp| match rules.has(Mechanism::MissesFollowWindows) {
            true => is_due_at(ramp, page),
            false => page == ramp.marker(),
        };
        if let Some(ramp) = self.ramp.filter(expected) {
            return Some(self.follow(ramp, page, max));
        }
        let start = next_miss(max)?;
        let size = next_size(Pages(start - page + request), Pages(max));
        let ahead = size;
        Some(self.take(Ramp { start, size, ahead }))
    }

    /// What is read of a file at most through a mapping, in pages.
    pub(crate) fn most_mapped(&self, device: Limits) -> u64 {
        self.limits(device).readahead
    }

    /// Remembers what is left of a window, from the page `start` on.
    pub(crate) fn interrupt(&mut self, rest: Rest, start: u64, gap: Option<u64>) {
        let mut rest = Rest { gap, ..rest };
        rest.window.start = start;
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
    pub(crate) fn mapped_miss(&mut self, device: Limits) -> Option<u64> {
        self.mapped_misses = (self.mapped_misses + 1).min(LOTS_OF_MISSES * 10);
        (self.mapped_misses <= LOTS_OF_MISSES).then_some(self.most_mapped(device))
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

    fn max(&self, request: u64, device: Limits) -> u64 {
        let limits = self.limits(device);
        match request > limits.readahead && limits.request > limits.readahead {
            true => request.min(limits.request),
            false => limits.readahead,
        }
    }

    /// What the advice leaves of the device's.
    fn limits(&self, device: Limits) -> Limits {
        match self.advised {
            Advised::Normal => device,
            Advised::Sequential => Limits {
                readahead: 2 * device.readahead,
                ..device
            },
            Advised::Random => Limits {
                readahead: 0,
                request: 0,
            },
        }
    }

    /// Whether a miss at `page` goes on where the last `read()` ended.
    fn follows(&self, page: u64) -> bool {
        let last = self.position.map(|position| position / PAGE);
        last.is_some_and(|last| page.wrapping_sub(last) <= 1)
    }

    /// The window after `ramp`, for a reader at `page`.
    fn follow(&mut self, ramp: Ramp, page: u64, max: u64) -> Window {
        let next = match page == ramp.start + ramp.size.0 {
            true => ramp.next_at_once(Pages(max)),
            false => ramp.next(Pages(max)),
        };
        self.take(next)
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

/// Whether a reader at `page` is due for the window after this one: at its mark, or behind it.
fn is_due_at(ramp: &Ramp, page: u64) -> bool {
    page == ramp.marker() || page == ramp.start + ramp.size.0
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

    /// No page before a miss is cached.
    fn none(_most: u64) -> u64 {
        0
    }

    fn on(rules: &Rules) -> (Limits, &Rules) {
        (Limits::DEFAULT, rules)
    }

    fn window(start: u64, end: u64, mark: u64) -> Window {
        let mark = Some(mark);
        Window { start, end, mark }
    }

    #[test]
    fn a_sequential_reader_ramps_up_and_each_mark_asks_for_the_next_window() {
        let mut readahead = Readahead::NEW;
        assert_eq!(
            readahead.on_miss(0, 1, on(&Rules::of("6.12")), none),
            window(0, 4, 1)
        );
        let mut on_mark = |page| readahead.on_mark(page, 1, on(&Rules::of("6.12")), |_| None);
        assert_eq!(on_mark(1), Some(window(4, 12, 4)));
        assert_eq!(on_mark(4), Some(window(12, 28, 12)));
        assert_eq!(on_mark(12), Some(window(28, 60, 28)));
        assert_eq!(on_mark(28), Some(window(60, 92, 60)));
    }

    /// Seen on 7.3: `read_ahead_kb` 2560 with requests of 1280 KiB.
    #[test]
    fn since_6_17_rotational_disks_read_twice_their_largest_request_ahead() {
        let ahead = |is_rotational, release| {
            let device = Limits::of(is_rotational, &Rules::of(release));
            [Advised::Normal, Advised::Sequential, Advised::Random]
                .map(|advised| Readahead::new(advised).most_mapped(device))
        };
        assert_eq!(ahead(true, "7.3.4+deb13-cloud-amd64"), [640, 1280, 0]);
        assert_eq!(ahead(false, "7.3.4+deb13-cloud-amd64"), [32, 64, 0]);
        assert_eq!(ahead(true, "6.12.117"), [32, 64, 0]);
    }

    #[test]
    fn a_large_read_takes_the_whole_window_and_marks_its_middle() {
        let mut readahead = Readahead::NEW;
        assert_eq!(
            readahead.on_miss(0, 32, on(&Rules::of("6.12")), none),
            Window {
                start: 0,
                end: 32,
                mark: Some(16)
            }
        );
        assert_eq!(
            readahead.on_mark(16, 32, on(&Rules::of("6.12")), |_| None),
            Some(Window {
                start: 32,
                end: 64,
                mark: Some(32)
            })
        );
    }

    #[test]
    fn at_the_mark_of_another_it_goes_on_where_a_page_is_missing() {
        let mut readahead = Readahead::NEW;
        let window = Window {
            start: 132,
            end: 164,
            mark: Some(132),
        };
        assert_eq!(
            readahead.on_mark(100, 32, on(&Rules::of("6.12")), |most| Some(100 + most)),
            Some(window)
        );
        assert_eq!(
            readahead.on_mark(100, 32, on(&Rules::of("6.12")), |_| None),
            None
        );
    }

    #[test]
    fn a_miss_behind_cached_pages_reads_as_many_more_and_marks_the_last() {
        let mut readahead = Readahead::NEW;
        let rules = Rules::of("6.12");
        assert_eq!(
            readahead.on_miss(100, 1, on(&rules), |most| most.min(3)),
            window(100, 104, 103)
        );
        assert_eq!(
            readahead.on_miss(300, 1, on(&rules), |_| 1),
            exactly(300, 1)
        );
    }

    #[test]
    fn until_6_10_a_miss_behind_a_window_goes_on_with_the_next_one() {
        let missed = |release: &str, page| {
            let mut readahead = Readahead::NEW;
            readahead.on_miss(0, 1, on(&Rules::of(release)), none);
            readahead.on_miss(page, 1, on(&Rules::of(release)), none)
        };
        assert_eq!(missed("6.1", 4), window(4, 28, 12), "two windows in one");
        assert_eq!(
            missed("6.1", 1),
            window(4, 12, 4),
            "the page is read by itself"
        );
        assert_eq!(missed("6.12", 4), exactly(4, 1));
    }

    #[test]
    fn a_read_that_ended_within_a_page_goes_on_there() {
        let mut readahead = Readahead::NEW;
        readahead.note_read(10 * PAGE + 1);
        assert_eq!(
            [9, 10, 11].map(|page| readahead.ended_in(page)),
            [false, true, false]
        );
        assert_eq!(
            [10, 11, 12].map(|page| readahead.follows(page)),
            [true, true, false]
        );
        readahead.note_read(10 * PAGE);
        assert_eq!(
            [9, 10, 11].map(|page| readahead.ended_in(page)),
            [true, false, false]
        );
    }

    #[test]
    fn a_random_read_takes_exactly_its_pages() {
        let mut readahead = Readahead::NEW;
        readahead.note_read(5000 * PAGE);
        assert_eq!(
            readahead.on_miss(100, 2, on(&Rules::of("6.12")), none),
            Window {
                start: 100,
                end: 102,
                mark: None
            }
        );
    }
}
