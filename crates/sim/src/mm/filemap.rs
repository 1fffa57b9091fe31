//! The page cache: files, reads through it, and what is being read (`mm/filemap.c`).

pub(crate) mod direct;
pub(crate) mod fault;
pub(crate) mod state;
mod together;
pub(crate) mod write;

use mm::rules::Mechanism;
use mm::units::{Bytes, PageSize, Pages};

use crate::block::disk::{Direction, Request};
use crate::mm::filemap::state::{File, Progress, Span};
use crate::mm::folio::{Flag, Folios, PageId, State};
use crate::mm::page_alloc::state::{Effort, NoPage};
use crate::mm::parts::Memory;
use crate::mm::readahead::{Readahead, Rest, Window};
use crate::mm::workingset::History;
use crate::sched::cpu::Cpu;

const PAGE: u64 = 4096;

/// The parts of the machine that a read touches.
pub(crate) struct Reader<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) file: &'a File,
    pub(crate) readahead: &'a mut Readahead,
}

impl File {
    /// The pages of its first `length` bytes.
    pub(crate) fn pages_below(&self, cpu: &Cpu, length: Bytes) -> u64 {
        let Pages(pages) = cpu.sampled_size(length).pages_ceil(PageSize::FOUR_KIB);
        pages.min(self.pages)
    }
}

impl Reader<'_> {
    /// Copies pages from `*cursor` up to `stop` (`filemap_read`), reading ahead as it goes; stops
    /// where it has to wait. The `read()` as a whole is of `span`.
    pub(crate) fn read(&mut self, cursor: &mut u64, stop: u64, span: Span) -> Progress {
        self.memory.cpu.unbroken = 0;
        while *cursor < stop {
            let read = self.copy_read(*cursor, stop, span);
            if read > 0 {
                *cursor += read;
                continue;
            }
            let goes_on = *cursor == span.first() && self.readahead.ended_in(*cursor);
            let read = match goes_on {
                true => 0,
                false => self.read_together(*cursor, stop, span),
            };
            if read > 0 {
                *cursor += read;
                continue;
            }
            let page = self.file.base + *cursor as PageId;
            if !Folios::is_read(self.memory.folios.raw(page)) {
                self.memory.cpu.unbroken = 0;
                match self.prepare(*cursor, span.end()) {
                    // The last `read()` marked it already (`pos_same_folio`).
                    Progress::Complete if goes_on => {}
                    Progress::Complete => self.memory.lruvecs.mark_accessed(
                        &mut self.memory.cpu,
                        &mut self.memory.zones,
                        &mut self.memory.folios,
                        &mut self.memory.groups,
                        page,
                    ),
                    wait => return wait,
                }
            }
            let copying = self.memory.cpu.costs.cached_read_ps
                + self
                    .memory
                    .zones
                    .remote(&self.memory.cpu, &self.memory.folios, page, 1);
            self.memory.cpu.spent += copying;
            self.memory.cpu.unbroken += copying;
            self.note_read(*cursor, span);
            *cursor += 1;
        }
        Progress::Complete
    }

    /// Notes that a `read()` of `span` has copied this page.
    fn note_read(&mut self, page: u64, span: Span) {
        if page + 1 == span.end() || !self.memory.cpu.rules.has(Mechanism::NotesReadsAtTheirEnd) {
            self.readahead.note_read(span.behind(page));
        }
    }

    /// Copies the pages from `start` on that a `read()` leaves as they are, where all memory is as
    /// near; how many.
    fn copy_read(&mut self, start: u64, stop: u64, span: Span) -> u64 {
        if self.memory.zones.nodes.are_several() {
            return 0;
        }
        let base = self.file.base;
        let pages = base + start as PageId..base + stop as PageId;
        let raws = self.memory.folios.raws(pages).iter();
        let read = raws.take_while(|&&raw| Folios::is_read(raw)).count() as u64;
        if read > 0 {
            let copying = read * self.memory.cpu.costs.cached_read_ps;
            self.memory.cpu.spent += copying;
            self.memory.cpu.unbroken += copying;
            self.note_read(start + read - 1, span);
        }
        read
    }

    /// Sees to it that the page at `cursor` is there: reads it on a miss, reads on where it is
    /// marked.
    fn prepare(&mut self, cursor: u64, end: u64) -> Progress {
        let page = self.file.base + cursor as PageId;
        let (file, request) = (self.file, end - cursor);
        let fetched = self.fetch(cursor, |readahead, memory| {
            let before = |most| file.cached_before(memory, cursor, most);
            readahead.on_miss(cursor, request, file.reads_ahead(memory), before)
        });
        if let Err(why) = fetched {
            return Progress::NoPage(why);
        }
        if self.is_marked(page)
            && self.memory.folios.take(page, Flag::Readahead)
            && let Err(why) = self.read_behind_mark(cursor, end - cursor)
        {
            return Progress::NoPage(why);
        }
        if self.memory.folios.is_reading(page) {
            return Progress::Waits(page);
        }
        Progress::Complete
    }

    /// Reads the window that is due where the page at `cursor` was marked
    /// (`page_cache_async_ra`).
    ///
    /// # Errors
    /// It is interrupted.
    pub(crate) fn read_behind_mark(&mut self, cursor: u64, request: u64) -> Result<(), NoPage> {
        let (file, memory) = (self.file, &*self.memory);
        let next_miss = |most| file.next_miss(memory, cursor, most);
        let device = file.reads_ahead(memory);
        match self.readahead.on_mark(cursor, request, device, next_miss) {
            Some(window) => self.read_ahead(window),
            None => Ok(()),
        }
    }

    /// Whether the page's mark may be one of readahead: on a page that is dirty or being written it
    /// is reclaim's.
    pub(crate) fn is_marked(&self, page: PageId) -> bool {
        self.memory
            .writeback
            .is_clean_file(&self.memory.folios, page)
    }

    /// Goes on with an interrupted window, or reads the `window` of a miss, if the page at `cursor`
    /// is not there. Where there is no memory for reading ahead, the page is read alone, which is
    /// worth any effort (`filemap_create_folio`).
    ///
    /// # Errors
    /// It is interrupted, or there is no page even for the one.
    pub(crate) fn fetch(
        &mut self,
        cursor: u64,
        window: impl FnOnce(&mut Readahead, &Memory) -> Window,
    ) -> Result<(), NoPage> {
        let page = self.file.base + cursor as PageId;
        let rest = self.readahead.take_rest();
        match rest {
            Some(rest) if rest.effort == Effort::Full => self.read_window(rest)?,
            Some(rest) => self.read_or_give_up(rest)?,
            None => {}
        }
        if rest.is_none() && !self.memory.folios.is_resident(page) {
            let window = window(self.readahead, self.memory);
            self.read_ahead(window)?;
        }
        if !self.memory.folios.is_resident(page) {
            self.read_window(Rest::new(Window::of_page(cursor), Effort::Full))?;
        }
        Ok(())
    }

    /// Reads ahead as far as there is memory for it; the rest will be read when it is missed.
    ///
    /// # Errors
    /// It is interrupted.
    pub(crate) fn read_ahead(&mut self, window: Window) -> Result<(), NoPage> {
        self.read_or_give_up(Rest::new(window, Effort::Once))
    }

    fn read_or_give_up(&mut self, rest: Rest) -> Result<(), NoPage> {
        match self.read_window(rest) {
            Err(why) if why.is_over_soon() => Err(why),
            _ => Ok(()),
        }
    }

    /// Reads the pages of a window that are not there, one request for each gap
    /// (`page_cache_ra_unbounded`).
    ///
    /// # Errors
    /// There is no page for one of them, a request has no tag, or somebody else may want the CPU
    /// first: each allocation looks (`might_alloc`). Where there may be one soon, or any effort is
    /// worth it, the rest is remembered; otherwise those before it are read.
    fn read_window(&mut self, rest: Rest) -> Result<(), NoPage> {
        let Rest {
            window, mut gap, ..
        } = rest;
        let end = window.end.min(self.file.end());
        let costs = &self.memory.cpu.costs;
        let read_in = costs.read_in_ps - costs.read_done_ps;
        let mut index = window.start;
        while index < end {
            let page = self.file.base + index as PageId;
            if self.memory.folios.is_resident(page) {
                if let Err(why) = self.request(gap.take(), index) {
                    self.readahead.interrupt(rest, index, gap);
                    return Err(why);
                }
                index += 1;
                continue;
            }
            let together = self.insert_together(index..end, read_in);
            if together == 0
                && let Err(why) = self.insert_next(page, rest.effort, read_in)
            {
                if why.is_over_soon() || rest.effort == Effort::Full {
                    self.readahead.interrupt(rest, index, gap);
                } else {
                    self.request(gap.take(), index)?;
                }
                return Err(why);
            }
            gap = gap.or(Some(index));
            let come = index..index + together.max(1);
            if let Some(mark) = window.mark.filter(|mark| come.contains(mark)) {
                let page = self.file.base + mark as PageId;
                self.memory.folios.set(page, Flag::Readahead);
            }
            index = come.end;
        }
        self.request(gap, end)
    }

    /// Inserts the next page of a window, unless the time is over, and pays for it.
    fn insert_next(&mut self, page: PageId, effort: Effort, cost_ps: u64) -> Result<(), NoPage> {
        if self.memory.cpu.spent >= self.memory.cpu.budget {
            return Err(NoPage::Again);
        }
        self.insert(page, effort)?;
        self.memory
            .lruvecs
            .pay_for_new_page(&mut self.memory.cpu, cost_ps);
        Ok(())
    }

    /// Allocates a page and puts it into the file's tree, locked. One that is to be written is no
    /// refault, whatever is known of it (`filemap_add_folio`).
    pub(crate) fn insert(&mut self, page: PageId, effort: Effort) -> Result<(), NoPage> {
        let history = self.memory.folios.history(page);
        self.memory
            .lruvecs
            .hold_shadow_node(&self.memory.groups, &self.memory.objects, page);
        let allocated = self.memory.allocate_with(effort, page, State::Reading);
        self.memory.lruvecs.let_go_shadow_node(
            &self.memory.folios,
            &self.memory.groups,
            &self.memory.objects,
            page,
            allocated.is_ok(),
        );
        allocated?;
        if history == History::None
            && let Err(why) = self.memory.objects.tree_insert(
                &mut self.memory.cpu,
                &mut self.memory.zones,
                &self.memory.folios,
                &mut self.memory.groups,
                page,
            )
        {
            self.memory.zones.free(
                &mut self.memory.cpu,
                &self.memory.folios,
                &mut self.memory.groups,
                &mut self.memory.objects,
                page,
            );
            self.memory.folios.forget(page);
            return Err(why);
        }
        if effort != Effort::Write {
            self.memory.admit(page, history);
        }
        self.memory.folios.note_fault(&self.memory.cpu, page);
        self.memory.lruvecs.add_new(
            &self.memory.cpu,
            &mut self.memory.zones,
            &mut self.memory.folios,
            page,
        );
        Ok(())
    }

    /// Sends the request for the pages of an interrupted window that are locked already.
    pub(crate) fn send_rest(&mut self) {
        if let Some(rest) = self.readahead.take_rest() {
            // Where it has to wait for its tag, it goes without the task.
            let _ = self.request(rest.gap, rest.window.start);
        }
    }

    /// Sends the request for the pages from `start` to before `end`, as indices.
    ///
    /// # Errors
    /// The task has to wait for the tag.
    pub(crate) fn request(&mut self, start: Option<u64>, end: u64) -> Result<(), NoPage> {
        let Some(start) = start else { return Ok(()) };
        let offset = self.file.offset + start * PAGE;
        let mut request = Request::new(Direction::Read, offset, (end - start) * PAGE);
        let mut pages = self.file.pages_of(start..end);
        request.pages.push(pages.clone());
        self.memory.io.submit(
            &mut self.memory.cpu,
            &self.memory.folios,
            self.file.disk,
            request,
        );
        self.memory
            .may_go_on(|folios| pages.any(|page| folios.has(page, Flag::Workingset)))
    }
}

impl File {
    /// How many pages just before `index` are there, one after the other, fewer than `most`
    /// (`page_cache_prev_miss`).
    fn cached_before(&self, memory: &Memory, index: u64, most: u64) -> u64 {
        let before = index.min(most.saturating_sub(1));
        let mut pages = (index - before..index).rev();
        let gap = pages.position(|at| !memory.folios.is_resident(self.base + at as PageId));
        gap.map_or(before, |gap| gap as u64)
    }

    /// The first of this many pages behind `index` that is not there (`page_cache_next_miss`). Some
    /// kernels name the last of them where all are.
    fn next_miss(&self, memory: &Memory, index: u64, most: u64) -> Option<u64> {
        let mut behind = index + 1..=index + most;
        let is_missing = |at: &u64| {
            let page = self.base + *at as PageId;
            *at >= self.end() || !memory.folios.is_resident(page)
        };
        let last = memory
            .cpu
            .rules
            .has(Mechanism::NextMissIsTheLast)
            .then_some(index + most);
        behind.find(is_missing).or(last)
    }
}

#[cfg(test)]
mod tests {
    use crate::mm::readahead::Advised;
    use alloc::vec::Vec;

    use mm::units::{Bytes, Nanos};
    use scenario::machine;

    use super::*;
    use crate::block::disk::Disk;
    use crate::mm::lru::Kind;
    use crate::mm::lru::Lru;
    use crate::mm::lruvec::state::ROOT;
    use crate::mm::vmscan::{Control, Reclaimer};

    /// A file of 64 pages, of which `cached` are there, read from its first page.
    fn read_with(cached: &[PageId]) -> (Memory, Progress) {
        read_within(10_000, cached)
    }

    /// As [`read_with`], in a zone of this many pages.
    fn read_within(managed: u64, cached: &[PageId]) -> (Memory, Progress) {
        let mut memory = Memory::with_zone(managed, 10);
        let base = memory.take_range(64).expect("there is room");
        for page in cached.iter().map(|index| base + index) {
            memory.cache(page, State::Inactive);
            memory.lruvecs.add_to_list(
                &memory.cpu,
                &mut memory.zones,
                &mut memory.folios,
                page,
                Lru::InactiveFile,
            );
        }
        let spec = machine::Disk {
            name: "disk".into(),
            size: Bytes::GIB,
            read_bandwidth: Bytes(1 << 30),
            write_bandwidth: Bytes(1 << 30),
            latency: Nanos(1000),
            seek: Nanos::ZERO,
            channels: 1,
            queue_depth: 4,
            rotational: false,
        };
        memory.io.disks.push(Disk::new(&spec, memory.cpu.clock, 1));
        let file = File {
            base,
            pages: 64,
            size: 64 * 4096,
            disk: 0,
            offset: 0,
        };
        let mut reader = Reader {
            memory: &mut memory,
            file: &file,
            readahead: &mut Readahead::new(Advised::Normal),
        };
        let progress = reader.read(&mut 0, 32, Span::of_pages(0..32));
        (memory, progress)
    }

    /// Ends all requests; the pages of each.
    fn complete(memory: &mut Memory) -> Vec<(PageId, PageId)> {
        let mut requests = Vec::new();
        for (done, disk) in core::mem::take(&mut memory.io.dispatched) {
            let request = memory.complete(disk, done).expect("it is due");
            requests.push((request.pages[0].start, request.pages[0].end));
        }
        requests
    }

    #[test]
    fn a_miss_reads_the_window_in_one_request_and_waits_for_it() {
        let (mut memory, progress) = read_with(&[]);
        assert_eq!(progress, Progress::Waits(0));
        assert_eq!(
            memory.zones.list(Lru::InactiveFile),
            32,
            "locked, and on the list"
        );
        assert_eq!(memory.cpu.events.pgpgin, 128);
        assert_eq!(complete(&mut memory), [(0, 32)]);
    }

    #[test]
    fn a_window_that_is_partly_cached_makes_one_request_for_each_gap() {
        let (mut memory, _) = read_with(&[5, 6, 20]);
        assert_eq!(complete(&mut memory), [(0, 5), (7, 20), (21, 32)]);
    }

    #[test]
    fn cached_pages_are_marked_as_accessed_and_read_nothing() {
        let all: Vec<PageId> = (0..32).collect();
        let (mut memory, progress) = read_with(&all);
        assert_eq!(progress, Progress::Complete);
        assert_eq!(complete(&mut memory), []);
        let referenced = |page: &PageId| memory.folios.has(*page, Flag::Referenced);
        assert!(all.iter().all(referenced));
    }

    #[test]
    fn a_window_ends_where_one_reclaim_gets_no_page_for_it() {
        // Between min and 30 pages nothing can be reclaimed: all are being read.
        let (mut memory, progress) = read_within(30, &[]);
        assert_eq!(progress, Progress::Waits(0));
        assert_eq!(memory.cpu.events.allocstall_movable, 1);
        let [(0, end)] = complete(&mut memory)[..] else {
            panic!("one request from the first page on");
        };
        assert!((10..20).contains(&end), "{end}");
    }

    #[test]
    fn a_page_is_on_the_list_before_it_has_been_read_and_reclaim_leaves_it_there() {
        let (mut memory, _) = read_with(&[]);
        let pages = |memory: &Memory| memory.zones.list(Lru::InactiveFile);
        assert_eq!((pages(&memory), memory.folios.is_reading(5)), (32, true));
        let control = Control::new(Reclaimer::Kswapd, 8, 60);
        memory.shrink_inactive(&control, ROOT, Kind::File, 8);
        assert_eq!((pages(&memory), memory.cpu.events.pgscan_kswapd), (32, 8));
        complete(&mut memory);
        assert_eq!(memory.folios.state(5), State::Inactive);
        memory.shrink_inactive(&control, ROOT, Kind::File, 8);
        assert_eq!((pages(&memory), memory.cpu.events.pgsteal_kswapd), (24, 8));
    }
}
