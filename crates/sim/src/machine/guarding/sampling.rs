//! What the guard sees of the machine, as the daemon reads it from the kernel's files.

use alloc::vec::Vec;

use guard::sample::{Counts, Disk, LOOKED_AT, Merging, Watermarks, Writeback, Zone};
use guard::{Group, Held, Memory, Sample};
use mm::diskstats::{DiskStats, Diskstats};
use mm::meminfo::Meminfo;
use mm::rules::Mechanism;
use mm::units::{Bytes, Nanos, PageSize, Pages};
use mm::zoneinfo::Zoneinfo;
use scenario::machine;

use crate::machine::guarding::number;
use crate::machine::guarding::state::Guarding;
use crate::machine::system::System;
use crate::mm::lru::Lru;
use crate::mm::page_writeback::Bounded;

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
    pub(crate) fn take_sample(&mut self, guarding: &mut Guarding, now: Nanos) {
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps * CALLS;
        let meminfo = Meminfo::parse(&self.recorder.meminfo(&self.memory)).unwrap_or_default();
        let groups = guarding.groups.iter();
        let groups: Vec<_> = groups.map(|path| self.group_memory(path)).collect();
        let held = guarding.locks.iter();
        let held: Vec<_> = held
            .map(|(file, length)| self.held(*file, *length))
            .collect();
        let touches = core::mem::take(&mut self.touches);
        let looked = core::mem::take(&mut guarding.looked);
        let dropped = core::mem::take(&mut guarding.dropped);
        let is_due = guarding.guard.is_due(now);
        let counters = match is_due {
            true => self.counters(now),
            false => Counters::default(),
        };
        let sample = Sample {
            at: now,
            memory: Memory::of(&meminfo),
            swappiness: self.setting("vm.swappiness").unwrap_or(60),
            groups: &groups,
            touches: &touches,
            looked: &looked,
            held: &held,
            must_drop: !self.memory.cpu.rules.has(Mechanism::ReclaimTakesSwappiness),
            dropped: &dropped,
            watermarks: is_due.then(|| self.watermarks(&counters)),
            writeback: is_due.then(|| self.writeback(&counters)),
            merging: is_due.then(|| self.merging(&counters)).flatten(),
        };
        let next = guarding.guard.decide(&sample, &mut guarding.todo);
        guarding.todo.reverse();
        guarding.next = (next > Nanos::ZERO).then(|| now.saturating_add(next));
    }

    /// What is in memory of a file's first [`LOOKED_AT`] bytes.
    pub(crate) fn resident(&self, file: usize) -> Bytes {
        let pages = self.pages_of(file, LOOKED_AT);
        let resident = self.memory.resident_pages(&self.files[file], pages);
        self.memory.cpu.real(resident).bytes(PageSize::FOUR_KIB)
    }

    /// The pages of a file's first `length` bytes.
    pub(crate) fn pages_of(&self, file: usize, length: Bytes) -> u64 {
        let size = self.memory.cpu.sampled_size(length);
        let Pages(pages) = size.pages_ceil(PageSize::FOUR_KIB);
        pages.min(self.files[file].pages)
    }

    fn group_memory(&self, path: &str) -> Option<Group> {
        let group = self.memory.groups.find(path, "").ok()?;
        let memory = &self.memory;
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

    fn held(&self, file: usize, length: Bytes) -> Held {
        let pages = self.pages_of(file, length);
        let locked = self.memory.locked_pages(&self.files[file], pages);
        let locked = self.memory.cpu.real(locked).bytes(PageSize::FOUR_KIB);
        Held {
            file: number(file),
            locked: locked.min(length),
            is_stale: false,
        }
    }

    fn counters(&self, now: Nanos) -> Counters {
        let (vmstat, zoneinfo) = self.recorder.vmstat_and_zoneinfo(&self.memory);
        let zones = Zoneinfo::parse(&zoneinfo).map(|zoneinfo| Zone::of(&zoneinfo));
        Counters {
            counts: Counts::of(&vmstat),
            zones: zones.unwrap_or_default(),
            disks: self.disks(now),
        }
    }

    fn watermarks<'b>(&self, counters: &'b Counters) -> Watermarks<'b> {
        Watermarks {
            scale_factor: self.scale_factor(),
            stalls: counters.counts.stalls,
            zones: &counters.zones,
        }
    }

    fn writeback<'b>(&self, counters: &'b Counters) -> Writeback<'b> {
        Writeback {
            threshold: counters.counts.threshold,
            dirty_bytes: self.setting("vm.dirty_bytes").unwrap_or(0),
            disks: &counters.disks,
        }
    }

    fn disks(&self, now: Nanos) -> Vec<Disk> {
        let text = self.recorder.diskstats(&self.memory, now);
        let stats = Diskstats::parse(&text).unwrap_or_default();
        let knows_strict = self.memory.cpu.rules.has(Mechanism::StrictDeviceLimits);
        let named = self.scenario.machine.disks.iter().zip(stats.disks);
        let bounds = self.memory.writeback.bounds();
        let disk = |((named, stats), bounded): ((&machine::Disk, DiskStats), Bounded)| Disk {
            name: named.name.clone(),
            written: stats.written,
            busy: stats.busy,
            share: bounded.share.max,
            is_strict: knows_strict.then_some(bounded.is_strict),
        };
        named.zip(bounds).map(disk).collect()
    }

    fn merging(&self, counters: &Counters) -> Option<Merging> {
        let ksm = &self.memory.ksm;
        let saved = ksm.counts.sharing + ksm.counts.zero_pages;
        Some(Merging {
            run: self.setting("ksm.run")?,
            pages_to_scan: ksm.settings.pages_to_scan,
            saved: self.memory.cpu.real(saved),
            copied: counters.counts.copied,
            scans: ksm.counts.full_scans,
            cpu: ksm.cpu_time,
            is_theirs: self.tunables.value("ksm.advisor_mode") == Some("scan-time"),
        })
    }

    /// `vm.watermark_scale_factor`, the kernel's own where nobody set it.
    pub(in crate::machine) fn scale_factor(&self) -> u64 {
        self.setting("vm.watermark_scale_factor").unwrap_or(10)
    }

    fn setting(&self, tunable: &str) -> Option<u64> {
        self.tunables.value(tunable)?.parse().ok()
    }
}
