//! Pages on their way from and to disks: submission, merging, completion (`mm/page_io.c` and the
//! block layer's plug).

use alloc::vec::Vec;

use mm::units::Nanos;

use crate::block::bio::{Bio, Chains};
use crate::block::disk::{Direction, Disk, Request, Writer};
use crate::mm::folio::Folios;
use crate::mm::folio::{PageId, State};
use crate::mm::lruvec::Kind;
use crate::mm::lruvec::Lruvecs;
use crate::mm::objects::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

/// Requests that a plug holds back at most (`BLK_MAX_REQUEST_COUNT`).
const PLUGGED: usize = 32;

/// The bytes of a request after which a plug that gets another one holds none back any longer
/// (`BLK_PLUG_FLUSH_SIZE`).
const LONG: u64 = 128 << 10;

/// The disks, and what is on its way.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageIo {
    pub(crate) disks: Vec<Disk>,
    pub(crate) plug: Plug,
    pub(crate) chains: Chains,
    /// Requests that a device began to serve since this was last emptied: when they are done.
    pub(crate) dispatched: Vec<(Nanos, usize)>,
}

/// What a task holds back so that it can grow: requests, with their disks, and pages that will be
/// the next ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plug {
    requests: Vec<(usize, Request)>,
    pub(crate) bio: Option<Bio>,
}

impl PageIo {
    /// Whether whoever writes to a disk has to wait.
    pub(crate) fn is_congested(&self, now: Nanos, disk: usize, writer: Writer) -> bool {
        let plugged = self
            .plug
            .requests
            .iter()
            .filter(|(of, _)| *of == disk)
            .count();
        self.disks[disk].is_congested(now, writer, plugged)
    }

    /// Whether a request would become part of the last one that is held back.
    pub(crate) fn grows(&self, disk: usize, request: &Request) -> bool {
        let last = self.plug.requests.last().filter(|(of, _)| *of == disk);
        last.is_some_and(|(_, last)| last.grows_by(request))
    }

    /// Puts what one task holds back in place of another's.
    pub(crate) fn exchange_plug(&mut self, plug: Plug) -> Plug {
        core::mem::replace(&mut self.plug, plug)
    }

    /// A disk that is writing.
    pub(crate) fn writing_disk(&self) -> Option<usize> {
        self.disks.iter().position(Disk::is_writing)
    }
}

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
        if let Some(done) = self.disks[disk].submit(now, request) {
            self.dispatched.push((done, disk));
        }
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
        self.plug.requests.push((disk, request));
    }

    /// Adds the request for a page of swap to the plug. Its bio is an object of the kernel's until
    /// the request has ended (`bio_alloc`); where nothing at all is free it comes out of a reserve.
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
        self.plug(cpu, folios, disk, request);
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

impl Folios {
    /// Whether a request brings pages of a file in.
    fn reads_file(&self, request: &Request) -> bool {
        let first = request.pages.first().map(|range| range.start);
        let brings = |page| self.kind(page) == Kind::File;
        request.direction == Direction::Read && first.is_some_and(brings)
    }
}

impl Lruvecs {
    /// A page has been read, or written to swap. One that was freed meanwhile is left alone.
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
