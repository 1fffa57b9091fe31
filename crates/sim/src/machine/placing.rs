//! Where the machine's files and swap areas lie: one after the other on their disks, each with its
//! range of page indices; and what boot has left on the lists.

use alloc::string::String;
use alloc::vec::Vec;

use mm::units::{Bytes, PageSize};
use scenario::Scenario;
use scenario::machine::{Machine, SwapBacking};

use crate::error::Error;
use crate::mm::filemap::state::File;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lru::Lru;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Backing;

/// The machine's files and those of the recording, one after the other on their disks.
pub(crate) fn files(scenario: &Scenario, memory: &mut Memory) -> Result<Vec<File>, Error> {
    let Machine {
        disks,
        files,
        recorded_on,
        ..
    } = &scenario.machine;
    let mut offsets = alloc::vec![0; disks.len()];
    let mut place = |place: &dyn Fn() -> String, on: &str, size: Bytes, largest: Bytes| {
        let Some(disk) = disks.iter().position(|disk| disk.name == *on) else {
            let what = alloc::format!("disk {on}");
            let place = place();
            return Err(Error::Unknown { what, place });
        };
        let pages = largest.pages_ceil(PageSize::FOUR_KIB).0;
        let base = memory.take_range(pages);
        let base = base.ok_or_else(|| Error::too_large(place()))?;
        let offset = offsets[disk];
        offsets[disk] += pages * PageSize::FOUR_KIB.bytes();
        Ok(File {
            base,
            pages,
            size: size.0,
            disk,
            offset,
        })
    };
    let mut placed = Vec::new();
    for file in files {
        let name = || alloc::format!("file {}", file.name);
        placed.push(place(&name, &file.disk, file.size, file.size)?);
    }
    if let Some(disk) = recorded_on {
        for (number, file) in scenario.recorded.files.iter().enumerate() {
            let name = || alloc::format!("file {number} of the recording");
            placed.push(place(&name, disk, file.size, file.largest)?);
        }
    }
    Ok(placed)
}

/// The machine's swap areas; one on a disk lies behind its files.
pub(crate) fn add_swap(
    scenario: &Scenario,
    files: &[File],
    memory: &mut Memory,
) -> Result<(), Error> {
    let disks = &scenario.machine.disks;
    let behind = |disk: usize| {
        let on_disk = files.iter().filter(|file| file.disk == disk);
        let ends = on_disk.map(|file| file.offset + file.pages * PageSize::FOUR_KIB.bytes());
        ends.max().unwrap_or(0)
    };
    let mut taken = alloc::vec![0; disks.len()];
    for swap in &scenario.machine.swaps {
        let backing = match &swap.backing {
            SwapBacking::Zram { ratio_milli } => Backing::Zram {
                ratio_milli: *ratio_milli,
            },
            SwapBacking::Disk(name) => {
                let place = String::from("swap");
                let what = alloc::format!("disk {name}");
                let disk = disks.iter().position(|disk| disk.name == *name);
                let disk = disk.ok_or(Error::Unknown { what, place })?;
                let offset = behind(disk) + taken[disk];
                taken[disk] += swap.size.0;
                Backing::Disk { disk, offset }
            }
        };
        let slots = swap.size.pages_floor(PageSize::FOUR_KIB).0;
        if !memory.swap.add(backing, slots) {
            return Err(Error::too_large(String::from("swap")));
        }
        memory
            .objects
            .hold_for_swap(&mut memory.cpu, &mut memory.zones, slots);
    }
    Ok(())
}

/// Puts the pages on the anonymous lists that boot has left there: files in memory (tmpfs) that
/// nothing maps. They were not used since, so reclaim takes them at its first look.
pub(crate) fn list_boot_pages(memory: &mut Memory) -> Result<(), Error> {
    for zone in 0..memory.zones.len() {
        for (lru, item) in [
            (Lru::ActiveAnon, "nr_zone_active_anon"),
            (Lru::InactiveAnon, "nr_zone_inactive_anon"),
        ] {
            let layout = &memory.zones.layout[memory.zones[zone].layout];
            let pages = memory.cpu.sampled(layout.items.get(item).unwrap_or(0));
            let pages = pages.min(memory.zones[zone].fixed);
            let base = memory.take_range(pages);
            let base = base.ok_or_else(|| Error::too_large(String::from("what boot left")))?;
            memory.zones[zone].fixed -= pages;
            memory.zones[zone].of_boot[lru as usize] = pages;
            for page in base..base + pages as PageId {
                let frame = memory.zones[zone].take_boot_frame();
                memory.zones.settle_in(page, zone, frame);
                memory.folios.place(page, zone, State::Inactive);
                memory.folios.set(page, Flag::Anon);
                memory.folios.set(page, Flag::Unmapped);
                memory.lruvecs.add_to_list(
                    &memory.cpu,
                    &mut memory.zones,
                    &mut memory.folios,
                    page,
                    lru,
                );
            }
        }
    }
    Ok(())
}
