//! What the guard sees of the machine, as the daemon reads it from the kernel's files.

use alloc::vec::Vec;

use guard::sample::{Counts, Disk, LOOKED_AT, Merging, Watermarks, Writeback, Zone};
use guard::{Group, Held, Sample};
use mm::diskstats::{DiskStats, Diskstats};
use mm::meminfo::Meminfo;
use mm::rules::Mechanism;
use mm::units::{Bytes, Nanos, PageSize};
use mm::zoneinfo::Zoneinfo;
use scenario::machine;

use crate::machine::guarding::number;
use crate::machine::guarding::state::Guarding;
use crate::machine::recorder::Recorder;
use crate::machine::system::System;
use crate::machine::tunables::Tunables;
use crate::mm::filemap::state::File;
use crate::mm::lru::Lru;
use crate::mm::page_writeback::Bounded;
use crate::mm::parts::Memory;

/// System calls by which the daemon takes a sample.
const CALLS: u64 = 8;

/// What the policies of a tick look at.
#[derive(Default)]
struct Counters {
    counts: Counts,
    zones: Vec<Zone>,
    disks: Vec<Disk>,
}

impl System<'_> {
    /// Takes a sample, and notes what the policies want.
    pub(super) fn take_sample(&mut self, guarding: &mut Guarding, now: Nanos) {
        let (memory, recorder) = (&mut self.memory, &self.recorder);
        memory.cpu.spent += memory.cpu.costs.syscall_ps * CALLS;
        let meminfo = Meminfo::parse(&recorder.meminfo(memory)).unwrap_or_default();
        let groups = guarding.groups.iter();
        let groups: Vec<_> = groups.map(|path| group_memory(memory, path)).collect();
        let held = guarding.locks.iter();
        let held: Vec<_> = held
            .map(|(index, length)| held_of(memory, &self.files[*index], number(*index), *length))
            .collect();
        let touches = core::mem::take(&mut self.fanotify.touches);
        let looked = core::mem::take(&mut guarding.looked);
        let dropped = core::mem::take(&mut guarding.dropped);
        let is_due = guarding.guard.is_due(now);
        let counters = match is_due {
            true => Counters::new(memory, recorder, &self.scenario.machine.disks, now),
            false => Counters::default(),
        };
        let tunables = &self.tunables;
        let sample = Sample {
            at: now,
            memory: guard::Memory::of(&meminfo),
            swappiness: tunables.number("vm.swappiness").unwrap_or(60),
            groups: &groups,
            touches: &touches,
            looked: &looked,
            held: &held,
            must_drop: !memory.cpu.rules.has(Mechanism::ReclaimTakesSwappiness),
            dropped: &dropped,
            watermarks: is_due.then(|| counters.watermarks(tunables)),
            writeback: is_due.then(|| counters.writeback(tunables)),
            merging: is_due.then(|| counters.merging(memory, tunables)).flatten(),
        };
        let next = guarding.guard.decide(&sample, &mut guarding.todo);
        guarding.todo.reverse();
        guarding.next = (next > Nanos::ZERO).then(|| now.saturating_add(next));
    }
}

/// What is in memory of a file's first [`LOOKED_AT`] bytes.
pub(super) fn resident(memory: &Memory, file: &File) -> Bytes {
    let pages = file.pages_below(&memory.cpu, LOOKED_AT);
    let resident = file.resident_pages(&memory.folios, pages);
    memory.cpu.real(resident).bytes(PageSize::FOUR_KIB)
}

fn group_memory(memory: &Memory, path: &str) -> Option<Group> {
    let group = memory.groups.find(path, "").ok()?;
    let list = |lru| {
        memory
            .lruvecs
            .list_below(&memory.cpu, &memory.zones, group, lru)
    };
    let bytes = |pages| memory.cpu.real(pages).bytes(PageSize::FOUR_KIB);
    let dirty = memory
        .lruvecs
        .known_dirty(&memory.cpu, &memory.writeback, group);
    Some(Group {
        file: bytes(list(Lru::InactiveFile) + list(Lru::ActiveFile)),
        dirty: bytes(dirty[0] + dirty[1]),
    })
}

/// What is locked of a file's first `length` bytes.
fn held_of(memory: &Memory, file: &File, number: guard::File, length: Bytes) -> Held {
    let pages = file.pages_below(&memory.cpu, length);
    let locked = file.locked_pages(&memory.folios, pages);
    let locked = memory.cpu.real(locked).bytes(PageSize::FOUR_KIB);
    Held {
        file: number,
        locked: locked.min(length),
        is_stale: false,
    }
}

impl Counters {
    fn new(memory: &Memory, recorder: &Recorder, named: &[machine::Disk], now: Nanos) -> Self {
        let (vmstat, zoneinfo) = recorder.vmstat_and_zoneinfo(memory);
        let zones = Zoneinfo::parse(&zoneinfo).map(|zoneinfo| Zone::of(&zoneinfo));
        Self {
            counts: Counts::of(&vmstat),
            zones: zones.unwrap_or_default(),
            disks: disks(memory, named, &recorder.diskstats(memory, now)),
        }
    }

    fn watermarks(&self, tunables: &Tunables) -> Watermarks<'_> {
        Watermarks {
            scale_factor: tunables.scale_factor(),
            stalls: self.counts.stalls,
            zones: &self.zones,
        }
    }

    fn writeback(&self, tunables: &Tunables) -> Writeback<'_> {
        Writeback {
            threshold: self.counts.threshold,
            dirty_bytes: tunables.number("vm.dirty_bytes").unwrap_or(0),
            disks: &self.disks,
        }
    }

    fn merging(&self, memory: &Memory, tunables: &Tunables) -> Option<Merging> {
        let ksm = &memory.ksm;
        let saved = ksm.counts.sharing + ksm.counts.zero_pages;
        Some(Merging {
            run: tunables.number("ksm.run")?,
            pages_to_scan: ksm.settings.pages_to_scan,
            saved: memory.cpu.real(saved),
            copied: self.counts.copied,
            scans: ksm.counts.full_scans,
            cpu: ksm.cpu_time,
            is_theirs: tunables.value("ksm.advisor_mode") == Some("scan-time"),
        })
    }
}

/// The machine's disks, by the text of `/proc/diskstats`.
fn disks(memory: &Memory, named: &[machine::Disk], text: &str) -> Vec<Disk> {
    let stats = Diskstats::parse(text).unwrap_or_default();
    let knows_strict = memory.cpu.rules.has(Mechanism::StrictDeviceLimits);
    let named = named.iter().zip(stats.disks);
    let disk = |((named, stats), bounded): ((&machine::Disk, DiskStats), Bounded)| Disk {
        name: named.name.clone(),
        written: stats.written,
        busy: stats.busy,
        share: bounded.share.max,
        is_strict: knows_strict.then_some(bounded.is_strict),
    };
    named.zip(memory.writeback.bounds()).map(disk).collect()
}
