//! What a process of the bench has beside the regions of its workload: memory of its own, the
//! tables of weights that it draws from, and the buffer that it reads to and writes from. It is
//! anonymous memory of the process's group like any other, so it counts on the group's lists, and
//! what is not used can be swapped out.
//!
//! The figures are those of the VM's guest, by `/proc/vmstat` of its records before and after its
//! processes start.

use core::ops::Range;

use mm::units::{Bytes, PageSize};
use scenario::Scenario;
use scenario::access;
use scenario::machine::Machine;
use scenario::workload::{Access, Huge, Pattern, Via};

use crate::bench::state::{Bench, Part, Touch};
use crate::error::Error;
use crate::machine::running::{Area, Running};
use crate::machine::task::Task;
use crate::mm::filemap::state::Progress;
use crate::mm::memory::state::{Held, Region};
use crate::mm::page_alloc::pcp::List;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

/// Anonymous pages that a process of the bench has beside its buffer and its tables: copies of its
/// parent's that it has written to. 38 to 45 where the study's text is short.
const ANON_PAGES: u64 = 44;

/// Those of them that it goes on using. A guess: of a locked server's own 6.1 leaves 11 in memory.
const USED_PAGES: u64 = 8;

/// Pages that the kernel has for it: 6 of page tables beside the top one and those for the pages
/// above and for its buffer, a stack of 4 and 3 of kernel objects.
const KERNEL_PAGES: u64 = 13;

/// Pages that a disk with its file system takes: 60 to 81, by studies with none, one and two.
const DISK_PAGES: u64 = 70;

/// Pages of a process's own of which each operation uses the next.
struct Turn<'t> {
    region: &'t Region,
    at: u64,
    of: u64,
    write: bool,
}

/// Those of its parts, in a scenario that is not sampled.
pub(crate) struct Turns<'t>([Option<Turn<'t>>; 2]);

impl Turns<'_> {
    /// Whether the pages for the next operation are mapped.
    #[inline]
    pub(crate) fn are_mapped(&self, memory: &Memory) -> bool {
        let mut turns = self.0.iter().flatten();
        turns.all(|turn| turn.region.is_touched(turn.at, turn.write, memory))
    }

    /// Whether the pages for this many operations are.
    pub(crate) fn stay_mapped(&self, operations: u64, memory: &Memory) -> bool {
        self.0.iter().flatten().all(|turn| {
            let end = turn.at + operations;
            let behind = turn.at..end.min(turn.of);
            let again = 0..end.saturating_sub(turn.of).min(turn.of);
            let are_touched = |pages| turn.region.are_touched(pages, turn.write, memory);
            are_touched(behind) && are_touched(again)
        })
    }

    /// Goes on to those for the one after it.
    #[inline]
    pub(crate) fn go_on(&mut self) {
        for turn in self.0.iter_mut().flatten() {
            turn.at += 1;
            if turn.at == turn.of {
                turn.at = 0;
            }
        }
    }
}

/// Pages that the bench's supervisor keeps of a study's text once it has read it: 112 of 17609
/// bytes, 14 of 10074, 7 or none of less than 9000. A process has a quarter as many more of its
/// own, which the one long study shows.
fn pages_of_text(length: Bytes) -> u64 {
    length.0.saturating_sub(9000) * 13 / 1000
}

impl Bench {
    /// Takes what the bench has beyond that of the run that the state after boot was captured in,
    /// which had one disk and one process, and what it holds as the seed says.
    pub(crate) fn begin(self, memory: &mut Memory, scenario: &Scenario) {
        if !self.measures {
            return;
        }
        let (cpu, zones) = (&mut memory.cpu, &mut memory.zones);
        let disks = scenario.machine.disks.len() as u64;
        let more = disks.saturating_sub(1) * DISK_PAGES;
        let disks = cpu.sampled(more);
        memory.objects.hold(cpu, zones, List::Unmovable, disks);
        let text = pages_of_text(self.text_kept);
        let pages = cpu.sampled(text + scenario.held_pages());
        self.hold(memory, pages);
    }

    /// Gives a process that starts what it has then.
    pub(crate) fn begin_own(self, memory: &mut Memory, task: &mut Task<'_>) -> Result<(), Error> {
        if !self.measures {
            return Ok(());
        }
        let (cpu, zones) = (&mut memory.cpu, &mut memory.zones);
        let pages = cpu.sampled(KERNEL_PAGES);
        task.own.kernel_pages = memory.objects.hold(cpu, zones, List::Unmovable, pages);
        let anon = ANON_PAGES + pages_of_text(self.text_kept) / 4;
        let pages = memory.cpu.sampled(anon);
        task.map_own(memory, Part::Image, pages)
    }

    /// Makes the table of weights that an access draws from; whether its pages are still to be
    /// filled.
    pub(crate) fn make_tables(
        self,
        memory: &mut Memory,
        task: &mut Task<'_>,
        machine: &Machine,
        access: &Access,
    ) -> Result<bool, Error> {
        let Pattern::Zipf { exponent_milli } = access.pattern else {
            return Ok(false);
        };
        let size = task.area(machine, &access.target)?.size();
        task.tables.stand_for(memory.cpu.scale);
        task.tables
            .make(access::blocks(size, access.block), exponent_milli);
        self.make_room_for_tables(memory, task)
    }

    /// Gives a process room for its tables of weights; whether its pages are still to be filled.
    fn make_room_for_tables(self, memory: &mut Memory, task: &mut Task<'_>) -> Result<bool, Error> {
        let pages = task.tables.size().pages_ceil(PageSize::FOUR_KIB).0;
        if !self.measures || pages == 0 || task.own.has(Part::Tables, pages) {
            return Ok(false);
        }
        task.map_own(memory, Part::Tables, pages)?;
        Ok(true)
    }

    /// Makes a buffer of one block, unless the process has come across a larger one.
    pub(crate) fn make_buffer(
        self,
        memory: &mut Memory,
        task: &mut Task<'_>,
        access: &Access,
        area: Area,
    ) -> Result<(), Error> {
        if !self.measures || !uses_buffer(access, area) {
            return Ok(());
        }
        self.make_buffer_of(memory, task, access.block)
    }

    /// Makes a buffer of this size, unless the process has come across a larger one.
    pub(crate) fn make_buffer_of(
        self,
        memory: &mut Memory,
        task: &mut Task<'_>,
        block: Bytes,
    ) -> Result<(), Error> {
        let pages = buffer_pages(&memory.cpu, block);
        match !self.measures || task.own.has(Part::Buffer, pages) {
            true => Ok(()),
            false => task.map_own(memory, Part::Buffer, pages),
        }
    }
}

impl<'a> Task<'a> {
    /// Whether the next operation uses a page that is not mapped, in a part that was not touched
    /// for it yet: it is touched first then.
    pub(crate) fn misses_own(&mut self, memory: &Memory, running: &mut Running<'a>) -> bool {
        let missing = Part::ALL
            .into_iter()
            .filter(|&part| !running.touched[part as usize])
            .find_map(|part| Some((part, self.missed(memory, running, part)?)));
        let Some((part, (pages, write))) = missing else {
            return false;
        };
        running.touched[part as usize] = true;
        self.own.touch(part, pages, write);
        true
    }

    /// What the operations to come use of the process's own, where the pages of its buffer are
    /// mapped; `None` where one is not, or a part was touched for the next of them.
    pub(crate) fn turns(&self, memory: &Memory, running: &Running<'a>) -> Option<Turns<'_>> {
        let (own, access) = (&self.own, running.access);
        if running.touched != [false; 3] || self.missed(memory, running, Part::Buffer).is_some() {
            return None;
        }
        let turn = |region, of: u64, write| Turn {
            region,
            at: running.figures.operations % of,
            of,
            write,
        };
        let image = own.region(Part::Image);
        let draws = matches!(access.pattern, Pattern::Zipf { .. });
        let tables = own.region(Part::Tables).filter(|_| draws);
        Some(Turns([
            image.map(|image| turn(image, USED_PAGES.min(image.pages()), true)),
            tables.map(|tables| turn(tables, tables.pages(), false)),
        ]))
    }

    /// The pages of a part that the next operation uses, and whether it writes to them, if one of
    /// them is not mapped.
    fn missed(
        &self,
        memory: &Memory,
        running: &Running<'a>,
        part: Part,
    ) -> Option<(Range<u64>, bool)> {
        let region = self.own.region(part)?;
        let turn = running.figures.operations / memory.cpu.scale;
        let access = running.access;
        let (pages, write) = match (part, access.pattern) {
            (Part::Image, _) => {
                let page = turn % USED_PAGES.min(region.pages());
                (page..page + 1, true)
            }
            (Part::Tables, Pattern::Zipf { .. }) => {
                // Which one a search ends in, it uses them all in short time.
                let page = turn % region.pages();
                (page..page + 1, false)
            }
            (Part::Buffer, _) if uses_buffer(access, running.target) => (
                0..buffer_pages(&memory.cpu, access.block),
                access.write_percent == 0,
            ),
            _ => return None,
        };
        let are_touched = region.are_touched(pages.clone(), write, memory);
        (!are_touched).then_some((pages, write))
    }

    /// Maps a part again; its pages are touched before the task goes on.
    fn map_own(&mut self, memory: &mut Memory, part: Part, pages: u64) -> Result<(), Error> {
        self.unmap_own(memory, part);
        if pages == 0 {
            // Where a page stands for many.
            return Ok(());
        }
        let size = Bytes(pages * PageSize::FOUR_KIB.bytes());
        self.own.parts[part as usize] = Some(self.new_region(memory, size, Huge::System)?);
        self.own.touch(part, 0..pages, true);
        Ok(())
    }

    /// Touches what is to be touched before it goes on; `None` where that is nothing.
    pub(crate) fn touch_own(&mut self, memory: &mut Memory) -> Option<Progress> {
        let mut touch = self.own.touches.pop()?;
        let (mut held, mut progress) = (Held::default(), Progress::Complete);
        if let Some(region) = &mut self.own.parts[touch.part as usize] {
            while progress == Progress::Complete
                && !touch.pages.is_empty()
                && memory.cpu.spent < memory.cpu.budget
                && memory.cpu.current.over_high == 0
            {
                progress = touch.touch_page(memory, region, &mut held);
            }
            if !touch.pages.is_empty() {
                self.own.touches.push(touch);
            }
        }
        self.hold(held);
        Some(progress)
    }

    fn unmap_own(&mut self, memory: &mut Memory, part: Part) {
        if let Some(region) = self.own.parts[part as usize].take() {
            self.free_region(memory, region);
        }
    }

    /// Takes all that it has beside its regions.
    pub(crate) fn end_own(&mut self, memory: &mut Memory) {
        for part in Part::ALL {
            self.unmap_own(memory, part);
        }
        self.own.touches.clear();
        let pages = core::mem::take(&mut self.own.kernel_pages);
        memory
            .objects
            .let_go(&mut memory.zones, List::Unmovable, pages);
    }
}

impl Touch {
    /// Touches its next page, which is one of `region`.
    fn touch_page(
        &mut self,
        memory: &mut Memory,
        region: &mut Region,
        held: &mut Held,
    ) -> Progress {
        let index = self.pages.start;
        let is_new = self.part == Part::Image && region.is_empty(index, memory);
        let progress = memory.fault_in(region, index, self.write, &mut self.faulting, held);
        if progress != Progress::Complete {
            return progress;
        }
        if is_new {
            // The process that starts it has paid for that.
            let paid = memory.cpu.costs.anon_fault_ps;
            memory.cpu.spent = memory.cpu.spent.saturating_sub(paid);
        }
        self.pages.start += 1;
        Progress::Complete
    }
}

/// Pages of a buffer of one block.
fn buffer_pages(cpu: &Cpu, block: Bytes) -> u64 {
    cpu.sampled(block.pages_ceil(PageSize::FOUR_KIB).0)
}

/// Whether an access copies from or to a buffer.
fn uses_buffer(access: &Access, area: Area) -> bool {
    matches!(area, Area::File { .. }) && access.via != Via::Mmap
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `nr_anon_pages` of the first frame of records, less what a short study has.
    #[test]
    fn a_long_study_takes_memory_of_the_supervisor() {
        for (length, pages) in [(17_609, 112), (10_074, 14), (8751, 0), (0, 0)] {
            assert!(
                pages_of_text(Bytes(length)).abs_diff(pages) <= 1,
                "{length}"
            );
        }
    }
}
