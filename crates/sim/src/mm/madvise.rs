//! What a process says of its memory and its files: advice and locks (`mm/madvise.c`,
//! `mm/fadvise.c`, `mm/mlock.c`).

use mm::units::Nanos;
use scenario::workload::{Advice, Huge, Target};

use crate::error::Error;
use crate::machine::running::Area;
use crate::machine::state::Stop;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::Progress;
use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memory::state::{Held, Region};
use crate::mm::mlock::{Fill, Which};
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::readahead::{Limits, Window};
use crate::sched::core::Flow;
use crate::sched::cpu::Cpu;

/// The largest request of a disk, `io_pages`: 1280 KiB (`BLK_DEF_MAX_SECTORS`).
const OPTIMAL_IO_PAGES: u64 = 320;

impl<'a> System<'a> {
    /// Follows an advice. Some say nothing that these kernels act on (`MADV_SEQUENTIAL` and
    /// `MADV_RANDOM` of anonymous memory); that `POSIX_FADV_NOREUSE` does since 6.3, for accesses
    /// through a mapping, is left out.
    pub(crate) fn advise(
        &mut self,
        task: &mut Task<'a>,
        target: &Target,
        advice: Advice,
    ) -> Result<(), Error> {
        if let Area::File { index, .. } = self.area(task, target)? {
            match advice {
                Advice::DontNeed => self.files[index].drop_pages(&mut self.memory),
                Advice::Sequential => task.set_readahead(index, Limits::SEQUENTIAL),
                Advice::Random => task.set_readahead(index, Limits::RANDOM),
                _ => {}
            }
            return Ok(());
        }
        let Target::Region(name) = target else {
            return Ok(());
        };
        let Some((name, mut region)) = task.regions.remove_entry(name.as_str()) else {
            return Ok(());
        };
        match advice {
            Advice::DontNeed => task.drop_region(&mut self.memory, &mut region),
            Advice::HugePage => region.advise(Huge::Advise),
            Advice::NoHugePage => region.advise(Huge::Never),
            Advice::Cold => self.memory.lruvecs.cool(
                &mut self.memory.cpu,
                &mut self.memory.zones,
                &mut self.memory.folios,
                &region,
            ),
            Advice::PageOut => self.memory.page_out_region(&region),
            Advice::Mergeable => self.memory.ksm.make_mergeable(task.entity, &region),
            Advice::Unmergeable => {
                let parted = self.memory.unmerge_range(region.base, region.pages());
                self.memory.ksm.leave_region(region.base);
                parted.map_err(|_| too_little_to_part(task))?;
            }
            _ => {}
        }
        task.regions.insert(name, region);
        Ok(())
    }

    /// Reads a file ahead (`POSIX_FADV_WILLNEED`); `None` where that is done.
    pub(crate) fn will_need(
        &mut self,
        task: &mut Task<'a>,
        target: &Target,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        let Area::File { index, .. } = self.area(task, target)? else {
            return Ok(None);
        };
        let mut reader = Reader {
            memory: &mut self.memory,
            file: &self.files[index],
            readahead: task.readahead(index),
        };
        let Err(why) = reader.force_readahead() else {
            return Ok(None);
        };
        let flow = match self.stop(task, Progress::NoPage(why), now)? {
            Some(Stop::Wait(sleep)) => Flow::Blocked(sleep),
            _ => Flow::Continue,
        };
        Ok(Some(flow))
    }

    /// Locks a region, or a file through a mapping, into memory; `None` where that is done.
    pub(crate) fn lock(
        &mut self,
        task: &mut Task<'a>,
        target: &Target,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        let progress = match self.area(task, target)? {
            Area::File { index, .. } => {
                task.mapped.insert(index);
                let mut locking = task.locking;
                let mut reader = Reader {
                    memory: &mut self.memory,
                    file: &self.files[index],
                    readahead: task.readahead(index),
                };
                let progress = reader.lock(&mut locking, self.files[index].pages, Which::All);
                task.locking = locking;
                progress
            }
            Area::Region { .. } => {
                let Target::Region(name) = target else {
                    return Ok(None);
                };
                return self.fill(task, name, Fill::Lock, now);
            }
        };
        self.stop_filling(task, progress, now)
    }

    /// Fills a region; `None` where that is done.
    pub(crate) fn fill(
        &mut self,
        task: &mut Task<'a>,
        name: &str,
        fill: Fill,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        let Some((name, mut region)) = task.regions.remove_entry(name) else {
            return Ok(None);
        };
        let mut held = Held::default();
        let (memory, tunables) = (&mut self.memory, &self.tunables);
        let progress = memory.fill_region(&mut region, tunables, &mut held, fill);
        task.regions.insert(name, region);
        task.rss += held.pages;
        task.page_tables += held.page_tables;
        self.stop_filling(task, progress, now)
    }

    fn stop_filling(
        &mut self,
        task: &mut Task<'a>,
        progress: Progress,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        match self.stop(task, progress, now)? {
            None => Ok(None),
            Some(Stop::Wait(sleep)) => Ok(Some(Flow::Blocked(sleep))),
            Some(Stop::Killed) => {
                self.end_task(
                    task,
                    self.memory.cpu.now(),
                    &scenario::outcome::Status::Killed(9),
                );
                Ok(Some(Flow::Ended))
            }
            Some(_) => Ok(Some(Flow::Continue)),
        }
    }
}

/// Unmerging a region needs a page for each that is shared, without reclaim.
fn too_little_to_part(task: &Task<'_>) -> Error {
    Error::Unsupported {
        what: "unmerging more than there is free memory for".into(),
        place: task.place(),
    }
}

impl Reader<'_> {
    /// Reads the first pages of a file ahead, as many as one request of its disk takes whatever was
    /// asked for (`force_page_cache_ra`): on 6.1 1.25 of 64 MiB.
    fn force_readahead(&mut self) -> Result<(), NoPage> {
        let end = self.file.end().min(OPTIMAL_IO_PAGES);
        let base = self.file.base;
        let is_missing = |at: &u64| !self.memory.folios.is_resident(base + *at as PageId);
        let Some(start) = (0..end).find(is_missing) else {
            return Ok(());
        };
        let mark = None;
        self.fetch(start, |_, _| Window { start, end, mark })
    }
}

impl Lruvecs {
    /// `MADV_COLD`: the region's pages were not used, whatever was noticed so far.
    fn cool(&mut self, cpu: &mut Cpu, zones: &mut Zones, folios: &mut Folios, region: &Region) {
        for page in region.base..region.base + region.pages() as PageId {
            match folios.state(page) {
                State::Inactive if cpu.rules.lru_gen.enabled => {
                    self.take_from_list(cpu, zones, folios, page);
                    self.add_to_list(cpu, zones, folios, page, folios.kind(page).inactive());
                }
                State::Active => {
                    self.take_from_list(cpu, zones, folios, page);
                    folios.set(page, Flag::Workingset);
                    self.add_to_list(cpu, zones, folios, page, folios.kind(page).inactive());
                }
                State::Inactive => {}
                _ => continue,
            }
            folios.clear(page, Flag::Accessed);
            folios.clear(page, Flag::Referenced);
        }
    }
}

impl Memory {
    /// `MADV_PAGEOUT`: the region's pages go to swap, as far as there is any.
    fn page_out_region(&mut self, region: &Region) {
        if !self.swap.can_swap() {
            return;
        }
        for page in region.base..region.base + region.pages() as PageId {
            if !matches!(self.folios.state(page), State::Inactive | State::Active)
                || self.folios.has(page, Flag::Unmapped)
            {
                continue;
            }
            if let Some(first) = self.objects.huge_first(page) {
                self.folios
                    .split_huge(&mut self.cpu, &mut self.objects, first);
            }
            let lru =
                self.lruvecs
                    .take_from_list(&self.cpu, &mut self.zones, &mut self.folios, page);
            self.folios.clear(page, Flag::Accessed);
            self.folios.clear(page, Flag::Referenced);
            if self.reclaim_page(page) == crate::mm::vmscan::shrink_list::Fate::NoSlot {
                self.lruvecs
                    .add_to_list(&self.cpu, &mut self.zones, &mut self.folios, page, lru);
            }
            let entity = self.cpu.current.entity;
            self.io.forget(&mut self.cpu, &self.folios, entity);
        }
        self.zones.free_batch(&self.cpu);
        self.io.unplug(&mut self.cpu, &self.folios);
    }
}
