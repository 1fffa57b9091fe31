//! What a process says of its memory and its files: advice and locks.

use scenario::machine::Machine;
use scenario::workload::{Advice, Huge, Target};

use crate::error::Error;
use crate::machine::running::Area;
use crate::machine::task::Task;
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::memory::state::Held;
use crate::mm::mlock::{Fill, Which};
use crate::mm::parts::Memory;
use crate::mm::readahead::Advised;

impl Task<'_> {
    /// Follows an advice. Some say nothing that these kernels act on (`MADV_SEQUENTIAL` and
    /// `MADV_RANDOM` of anonymous memory); that `POSIX_FADV_NOREUSE` does since 6.3, for accesses
    /// through a mapping, is left out.
    pub(super) fn advise(
        &mut self,
        memory: &mut Memory,
        area: Area,
        target: &Target,
        advice: Advice,
    ) -> Result<(), Error> {
        if let Area::File { index, .. } = area {
            match advice {
                Advice::Sequential => self.advise_reading(index, Advised::Sequential),
                Advice::Random => self.advise_reading(index, Advised::Random),
                _ => {}
            }
            return Ok(());
        }
        let Target::Region(name) = target else {
            return Ok(());
        };
        let Some((name, mut region)) = self.regions.remove_entry(name.as_str()) else {
            return Ok(());
        };
        match advice {
            Advice::DontNeed => self.drop_region(memory, &mut region),
            Advice::HugePage => region.advise(Huge::Advise),
            Advice::NoHugePage => region.advise(Huge::Never),
            Advice::Cold => memory.lruvecs.cool(
                &mut memory.cpu,
                &mut memory.zones,
                &mut memory.folios,
                &region,
            ),
            Advice::PageOut => memory.page_out_region(&region),
            Advice::Mergeable => memory.ksm.make_mergeable(self.entity, &region),
            Advice::Unmergeable => {
                let parted = memory.unmerge_range(region.base, region.pages());
                memory.ksm.leave_region(region.base);
                parted.map_err(|_| too_little_to_part(self))?;
            }
            _ => {}
        }
        self.regions.insert(name, region);
        Ok(())
    }

    /// Reads a file ahead (`POSIX_FADV_WILLNEED`).
    pub(super) fn will_need(
        &mut self,
        memory: &mut Memory,
        files: &[File],
        machine: &Machine,
        target: &Target,
    ) -> Result<Progress, Error> {
        let Area::File { index, .. } = self.area(machine, target)? else {
            return Ok(Progress::Complete);
        };
        let mut reader = Reader {
            memory,
            file: &files[index],
            readahead: self.readahead(index),
        };
        let read = reader.force_readahead();
        Ok(read.map_or_else(Progress::NoPage, |()| Progress::Complete))
    }

    /// Locks a region, or a file through a mapping, into memory.
    pub(super) fn lock(
        &mut self,
        memory: &mut Memory,
        files: &[File],
        machine: &Machine,
        target: &Target,
    ) -> Result<Progress, Error> {
        match (self.area(machine, target)?, target) {
            (Area::File { index, .. }, _) => {
                self.mapped.insert(index);
                let (file, mut locking) = (&files[index], self.locking);
                let mut reader = Reader {
                    memory,
                    file,
                    readahead: self.readahead(index),
                };
                let progress = reader.lock(&mut locking, file.pages, Which::All);
                self.locking = locking;
                Ok(progress)
            }
            (_, Target::Region(name)) => Ok(self.fill(memory, name, Fill::Lock)),
            _ => Ok(Progress::Complete),
        }
    }

    /// Fills a region.
    pub(super) fn fill(&mut self, memory: &mut Memory, name: &str, fill: Fill) -> Progress {
        let Some(region) = self.regions.get_mut(name) else {
            return Progress::Complete;
        };
        let mut held = Held::default();
        let progress = memory.fill_region(region, &mut held, fill);
        self.hold(held);
        progress
    }
}

/// Unmerging a region needs a page for each that is shared, without reclaim.
fn too_little_to_part(task: &Task<'_>) -> Error {
    Error::Unsupported {
        what: "unmerging more than there is free memory for".into(),
        place: task.place(),
    }
}
