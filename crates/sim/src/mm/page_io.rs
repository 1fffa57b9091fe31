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
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_io::state::{PageIo, Stage, Stuck};
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
    /// Submits a bio of a task that holds nothing back (`blk_mq_submit_bio`).
    pub(crate) fn submit(&mut self, cpu: &mut Cpu, folios: &Folios, disk: usize, bio: Request) {
        if self.merge_bio(cpu, disk, &bio) {
            return;
        }
        self.disks[disk].begin(cpu.now(), cpu.current.entity, &bio);
        self.send(cpu, folios, disk, bio);
    }

    /// Sends what needs a tag to a disk.
    fn send(&mut self, cpu: &mut Cpu, folios: &Folios, disk: usize, request: Request) {
        cpu.pay_for_request(folios, &request);
        self.disks[disk].submit(cpu.now(), cpu.current.entity, request);
        self.run(cpu, disk);
    }

    /// Lets a disk take what it can.
    fn run(&mut self, cpu: &Cpu, disk: usize) {
        let device = &mut self.disks[disk];
        device.run(cpu.now());
        let taken = device.taken.drain(..);
        self.dispatched.extend(taken.map(|done| (done, disk)));
    }

    /// Begins to write a bio, which is held back; false where the task that runs has to wait before
    /// it tries again, with the bio in its hand: for others' writes to end, or for a tag for what
    /// it sent before.
    pub(crate) fn begin_write(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        disk: usize,
        bio: &Request,
        writer: Writer,
    ) -> bool {
        let entity = cpu.current.entity;
        if !self.disks[disk].has_asked_for_room(entity) && self.merge_bio(cpu, disk, bio) {
            return true;
        }
        let device = &mut self.disks[disk];
        let may = !device.holds_up(entity) && device.may_write(cpu.now(), entity, writer);
        if may {
            self.plug_request(cpu, folios, disk, bio.clone());
        }
        may
    }

    /// Makes a bio part of a request that the task holds back, or of one that waits in the
    /// scheduler (`blk_mq_attempt_bio_merge`).
    fn merge_bio(&mut self, cpu: &mut Cpu, disk: usize, bio: &Request) -> bool {
        let last = self.plug.requests.last_mut().filter(|(of, _)| *of == disk);
        if last.is_some_and(|(_, last)| last.merge(bio)) {
            return true;
        }
        let merged = self.disks[disk].merge_bio(bio);
        if merged {
            cpu.count_transfer(bio);
        }
        merged
    }

    /// Adds a bio to what the task holds back, as a request of its own if it merges with none.
    pub(crate) fn plug(&mut self, cpu: &mut Cpu, folios: &Folios, disk: usize, bio: Request) {
        if !self.merge_bio(cpu, disk, &bio) {
            self.plug_request(cpu, folios, disk, bio);
        }
    }

    /// Makes a bio that merges with nothing a request that the task holds back.
    fn plug_request(&mut self, cpu: &mut Cpu, folios: &Folios, disk: usize, bio: Request) {
        self.disks[disk].begin(cpu.now(), cpu.current.entity, &bio);
        if self.disks[disk].get_tag(cpu.current.entity) {
            return self.hold_back(cpu, folios, disk, bio);
        }
        // It waits for a tag, and holds nothing back meanwhile.
        self.unplug(cpu, folios);
        self.send(cpu, folios, disk, bio);
    }

    /// Adds a request that has a tag to the plug (`blk_add_rq_to_plug`).
    fn hold_back(&mut self, cpu: &mut Cpu, folios: &Folios, disk: usize, request: Request) {
        let is_long = |(_, request): &(usize, Request)| request.length >= LONG;
        let held = &self.plug.requests;
        if held.len() >= PLUGGED || held.last().is_some_and(is_long) {
            self.unplug(cpu, folios);
        }
        self.plug.requests.push((disk, request));
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

    /// Submits the write of a page to swap: its reclaimer is stuck with it where enough is under
    /// way, or no tag is free.
    fn submit_swap_bio(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        disk: usize,
        mut request: Request,
    ) {
        request.is_swap = cpu.as_swap_writer() == Writer::Swap;
        self.stuck.push(Stuck {
            entity: cpu.current.entity,
            disk,
            request,
            stage: Stage::Behind,
        });
        self.retry(cpu, folios);
    }

    /// A reclaimer that is stuck tries again, with one write after the other, until one of them has
    /// to wait: the disk that it waits for.
    pub(crate) fn retry(&mut self, cpu: &mut Cpu, folios: &Folios) -> Option<usize> {
        let entity = cpu.current.entity;
        while let Some(at) = self.stuck_with(entity) {
            let stuck = self.stuck.remove(at);
            if let Some(stuck) = self.write_unless_stuck(cpu, folios, stuck) {
                self.stuck.insert(at, stuck);
                break;
            }
        }
        self.is_stuck_at(entity)
    }

    /// Writes a page to swap, unless its reclaimer has to wait: then it is handed back.
    fn write_unless_stuck(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        mut stuck: Stuck,
    ) -> Option<Stuck> {
        let (now, entity) = (cpu.now(), stuck.entity);
        if stuck.stage == Stage::Behind {
            if self.merge_bio(cpu, stuck.disk, &stuck.request) {
                return None;
            }
            stuck.stage = Stage::Throttled;
        }
        let device = &mut self.disks[stuck.disk];
        if stuck.stage == Stage::Throttled && device.may_write(now, entity, cpu.as_swap_writer()) {
            device.begin(now, entity, &stuck.request);
            stuck.stage = Stage::Begun;
        }
        if stuck.stage != Stage::Begun || !device.get_tag(entity) {
            return Some(stuck);
        }
        self.hold_back(cpu, folios, stuck.disk, stuck.request);
        None
    }

    /// A task ends: what it was stuck with is written without it.
    pub(crate) fn forget(&mut self, cpu: &mut Cpu, folios: &Folios, entity: usize) {
        for device in &mut self.disks {
            device.forget(cpu.now(), entity);
        }
        while let Some(at) = self.stuck_with(entity) {
            let stuck = self.stuck.remove(at);
            if stuck.stage != Stage::Begun {
                self.disks[stuck.disk].begin(cpu.now(), entity, &stuck.request);
            }
            self.send(cpu, folios, stuck.disk, stuck.request);
        }
    }

    /// The first write to swap that a task is stuck with.
    fn stuck_with(&self, entity: usize) -> Option<usize> {
        self.stuck.iter().position(|stuck| stuck.entity == entity)
    }

    /// Sends the requests that the plug holds back: the disks take some when all are there
    /// (`blk_mq_flush_plug_list`).
    pub(crate) fn unplug(&mut self, cpu: &mut Cpu, folios: &Folios) {
        for (disk, request) in core::mem::take(&mut self.plug.requests) {
            cpu.pay_for_request(folios, &request);
            self.disks[disk].insert_plugged(cpu.now(), request);
        }
        for disk in 0..self.disks.len() {
            self.run(cpu, disk);
        }
    }
}

impl Memory {
    /// Whether the task that runs may go on after it sent something, or reclaimed for what it reads
    /// ahead. Where it has to wait, that is a stall for memory if what it reads is a refault.
    ///
    /// # Errors
    /// It has to wait for a tag.
    pub(crate) fn may_go_on(
        &mut self,
        refaults: impl FnOnce(&Folios) -> bool,
    ) -> Result<(), NoPage> {
        match self.io.retry(&mut self.cpu, &self.folios) {
            Some(disk) => Err(NoPage::Congested {
                disk,
                refaults: refaults(&self.folios),
            }),
            None => Ok(()),
        }
    }

    /// The request that a disk has done at `now`, if one is due; its pages, with those of a longer
    /// bio that it was the last of, are unlocked.
    pub(crate) fn complete(&mut self, disk: usize, now: Nanos) -> Option<Request> {
        let device = &mut self.io.disks[disk];
        let mut request = device.complete(now)?;
        let taken = device.taken.drain(..);
        self.io.dispatched.extend(taken.map(|done| (done, disk)));
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
    /// What it takes to send a request, and what is counted then.
    fn pay_for_request(&mut self, folios: &Folios, request: &Request) {
        self.spent += self.costs.request_ps;
        if folios.reads_file(request) {
            self.spent -= self.costs.interrupt_ps;
        }
        self.count_transfer(request);
    }

    fn count_transfer(&mut self, request: &Request) {
        let kib = request.length / 1024;
        match request.direction {
            Direction::Read => self.events.pgpgin += kib,
            Direction::Write => self.events.pgpgout += kib,
        }
    }

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
