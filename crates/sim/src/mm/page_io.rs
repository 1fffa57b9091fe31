//! Pages on their way from and to disks: submission, merging, completion (`mm/page_io.c` and the
//! block layer's plug).

pub(crate) mod state;

use mm::rules::Mechanism;
use mm::units::Nanos;

use crate::block::disk::{Direction, Request, Writer};
use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lru::Kind;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_io::state::{PageIo, Stuck};
use crate::mm::parts::Memory;
use crate::mm::swapfile::{Backing, Swap};
use crate::sched::cpu::Cpu;
use crate::sched::kthread::KSWAPD;

/// Requests that a plug holds back at most (`BLK_MAX_REQUEST_COUNT`).
const PLUGGED: usize = 32;

/// The bytes of a request after which a plug that gets another one holds none back any longer
/// (`BLK_PLUG_FLUSH_SIZE`).
const LONG: u64 = 128 << 10;

impl PageIo {
    /// Sends a request to a disk.
    pub(crate) fn submit(&mut self, cpu: &mut Cpu, folios: &Folios, disk: usize, request: Request) {
        cpu.spent += cpu.costs.request_ps;
        if folios.reads_file(&request) {
            cpu.spent -= cpu.costs.interrupt_ps;
        }
        let kib = request.length / 1024;
        match request.direction {
            Direction::Read => cpu.events.pgpgin += kib,
            Direction::Write => cpu.events.pgpgout += kib,
        }
        let now = cpu.now();
        let entity = cpu.current.entity;
        if let Some(done) = self.disks[disk].submit(now, entity, request) {
            self.dispatched.push((done, disk));
        }
    }

    /// Whether a task that writes to a disk has to wait: for others' writes to end, or for a tag
    /// for its own.
    pub(crate) fn is_congested(&self, cpu: &Cpu, disk: usize, writer: Writer) -> bool {
        let device = &self.disks[disk];
        device.holds_up(cpu.current.entity)
            || device.is_congested(cpu.now(), writer, self.plugged(disk))
    }

    /// Adds a request to the plug: one that goes on where the last one ends becomes part of it.
    pub(crate) fn plug(&mut self, cpu: &mut Cpu, folios: &Folios, disk: usize, request: Request) {
        let last = self.plug.requests.last_mut().filter(|(of, _)| *of == disk);
        if last.is_some_and(|(_, last)| last.merge(&request)) {
            return;
        }
        let is_long = |(_, request): &(usize, Request)| request.length >= LONG;
        let held = &self.plug.requests;
        if held.len() >= PLUGGED || held.last().is_some_and(is_long) {
            self.unplug(cpu, folios);
        }
        if self.disks[disk].has_tag(self.plugged(disk)) {
            return self.plug.requests.push((disk, request));
        }
        // It waits for a tag, and holds nothing back meanwhile.
        self.unplug(cpu, folios);
        self.submit(cpu, folios, disk, request);
    }

    /// Adds the request for a page of swap to the plug, or a write to where it can go. Its bio is
    /// an object of the kernel's until the request has ended (`bio_alloc`); where nothing at all is
    /// free it comes out of a reserve.
    pub(crate) fn plug_swap(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &Folios,
        objects: &mut Objects,
        disk: usize,
        mut request: Request,
    ) {
        request.bios.extend(objects.take_bio(cpu, zones));
        match request.direction {
            Direction::Read => self.plug(cpu, folios, disk, request),
            Direction::Write => self.submit_swap_bio(cpu, folios, disk, request),
        }
    }

    /// Submits the write of a page to swap (`blk_mq_submit_bio`): it becomes part of a request that
    /// the task holds back, or of one that waits in the scheduler, or gets a request of its own.
    /// Where enough is under way, its reclaimer is stuck.
    fn submit_swap_bio(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        disk: usize,
        mut request: Request,
    ) {
        request.is_swap = cpu.as_swap_writer() == Writer::Swap;
        if self.grows(disk, &request) {
            return self.plug(cpu, folios, disk, request);
        }
        if self.disks[disk].merge_bio(cpu.now(), &request) {
            cpu.events.pgpgout += request.length / 1024;
            return;
        }
        match self.is_congested(cpu, disk, cpu.as_swap_writer()) {
            true => self.stuck.push(Stuck {
                entity: cpu.current.entity,
                disk,
                request,
            }),
            false => self.plug(cpu, folios, disk, request),
        }
    }

    /// A reclaimer that was stuck tries again: the disk that it still has to wait for.
    pub(crate) fn retry(&mut self, cpu: &mut Cpu, folios: &Folios) -> Option<usize> {
        let disk = self.is_stuck_at(cpu.current.entity)?;
        if self.is_congested(cpu, disk, cpu.as_swap_writer()) {
            return Some(disk);
        }
        self.let_go(cpu, folios, cpu.current.entity, Self::plug);
        None
    }

    /// A task ends: what it was stuck with is written without it.
    pub(crate) fn forget(&mut self, cpu: &mut Cpu, folios: &Folios, entity: usize) {
        self.let_go(cpu, folios, entity, Self::submit);
    }

    fn let_go(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        entity: usize,
        send: fn(&mut Self, &mut Cpu, &Folios, usize, Request),
    ) {
        let at = self.stuck.iter().position(|stuck| stuck.entity == entity);
        if let Some(Stuck { disk, request, .. }) = at.map(|at| self.stuck.remove(at)) {
            send(self, cpu, folios, disk, request);
        }
    }

    /// Sends the requests that the plug holds back.
    pub(crate) fn unplug(&mut self, cpu: &mut Cpu, folios: &Folios) {
        for (disk, request) in core::mem::take(&mut self.plug.requests) {
            self.submit(cpu, folios, disk, request);
        }
    }
}

impl Memory {
    /// The request that a disk has done at `now`, if one is due; its pages, with those of a longer
    /// bio that it was the last of, are unlocked.
    pub(crate) fn complete(&mut self, disk: usize, now: Nanos) -> Option<Request> {
        let (mut request, next) = self.io.disks[disk].complete(now)?;
        self.io.dispatched.extend(next.map(|done| (done, disk)));
        for chain in core::mem::take(&mut request.chains) {
            request.pages.extend(self.io.chains.end(chain));
        }
        self.objects.give_bios(&mut self.zones, &request.bios);
        if self.folios.reads_file(&request) {
            let pages: u64 = request.pages.iter().map(|range| range.len() as u64).sum();
            self.cpu.in_interrupt +=
                self.cpu.costs.interrupt_ps + pages * self.cpu.costs.read_done_ps;
        }
        for page in request.pages.iter().cloned().flatten() {
            if self.writeback.writing == 0 && self.folios.is_reading(page) {
                self.folios.unlock(page);
                continue;
            }
            match self.writeback.is_writing(page) {
                true => self.writeback.end_writeback(
                    &mut self.cpu,
                    &mut self.zones,
                    &mut self.folios,
                    &mut self.lruvecs,
                    page,
                    disk,
                ),
                false => self.lruvecs.unlock(
                    &mut self.cpu,
                    &mut self.zones,
                    &mut self.folios,
                    &mut self.swap,
                    page,
                ),
            }
        }
        Some(request)
    }
}

impl Cpu {
    /// How much the task that runs may have under way to swap.
    fn as_swap_writer(&self) -> Writer {
        match self.rules.has(Mechanism::HurriesSwap) || self.current.entity == KSWAPD {
            true => Writer::Swap,
            false => Writer::Task,
        }
    }
}

impl Folios {
    /// Whether a request brings pages of a file in.
    fn reads_file(&self, request: &Request) -> bool {
        let first = request.pages.first().map(|range| range.start);
        let brings = |page| self.kind(page) == Kind::File;
        request.direction == Direction::Read && first.is_some_and(brings)
    }
}

impl Lruvecs {
    /// A page has been read, or written to swap (`end_swap_bio_read`, `end_swap_bio_write`). One
    /// that was freed meanwhile is left alone.
    fn unlock(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        swap: &mut Swap,
        page: PageId,
    ) {
        match folios.state(page) {
            State::Reading => folios.unlock(page),
            State::Writing => {
                swap.writing -= 1;
                cpu.events.nr_written += 1;
                self.add_to_tail(cpu, zones, folios, page, folios.kind(page).inactive());
                cpu.events.pgrotated += 1;
            }
            _ => {}
        }
    }
}

impl Swap {
    /// Writes a page to its slot (`swap_writepage`); false where that is done at once.
    pub(crate) fn writepage(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        objects: &mut Objects,
        io: &mut PageIo,
        page: PageId,
    ) -> bool {
        folios.unmap(page);
        folios.clear(page, Flag::Dirty);
        cpu.events.pswpout += 1;
        cpu.events.nr_vmscan_write += 1;
        match self.place(self.slot_of(page)) {
            (Backing::Zram { .. }, _) => {
                cpu.spent += cpu.costs.zram_out_ps;
                self.follow_zram(cpu, zones, objects);
                false
            }
            (Backing::Disk { disk, .. }, offset) => {
                cpu.spent += cpu.costs.swap_out_ps;
                folios.set_state(page, State::Writing);
                self.writing += 1;
                let request = Request::page(Direction::Write, offset, page);
                io.plug_swap(cpu, zones, folios, objects, disk, request);
                true
            }
        }
    }
}
