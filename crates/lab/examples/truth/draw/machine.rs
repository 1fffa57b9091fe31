//! The machine of a study: memory, disks, swap, which LRU, which kernel, how long it runs.

use super::super::dice::Dice;
use super::super::drawn::{Disk, DiskKind, Drawn, Subject, Swap};
use super::Frame;

/// A study with its machine and nothing that runs on it.
pub(super) fn of(seed: u64, frame: &Frame) -> Drawn {
    let mut dice = Dice::of(seed, "machine");
    let memory = memory(&mut dice, frame);
    let mut disks = vec![disk(&mut dice, "sda")];
    if dice.chance(33) {
        disks.push(disk(&mut dice, "sdb"));
    }
    let swap = swap(&mut dice, memory, disks.len());
    let generations = if dice.chance(50) { 7 } else { 0 };
    Drawn {
        seed,
        kernel: dice.pick(&["6.1", "6.12"]),
        cpus: 1,
        memory,
        disks,
        swap,
        base: vec![("lru_gen.enabled", generations)],
        consumers: Vec::new(),
        subject: Subject::Swappiness,
        arms: Vec::new(),
        limited: None,
        side: None,
        warm: dice.between(frame.warm[0] / 50, frame.warm[1] / 50) * 50,
        span: dice.between(frame.span[0] / 50, frame.span[1] / 50) * 50,
    }
}

fn memory(dice: &mut Dice, frame: &Frame) -> u64 {
    let mut draw = dice.between(0, 99);
    for (percent, [low, high]) in frame.memory {
        if draw < *percent {
            return dice.between(low / 32, high / 32) * 32;
        }
        draw -= percent;
    }
    frame.memory[0].1[0]
}

fn disk(dice: &mut Dice, name: &str) -> Disk {
    let kind = dice.pick(&[
        DiskKind::Stick,
        DiskKind::Hdd,
        DiskKind::Hdd,
        DiskKind::Sata,
        DiskKind::Sata,
        DiskKind::Nvme,
    ]);
    // Read and write bandwidth in MB/s, latency in us, channels, queue depths.
    let ([low, high], [written_low, written_high], latency, channels, depths): (_, _, _, _, &[_]) =
        match kind {
            DiskKind::Stick => ([20, 120], [6, 40], [200, 900], [1, 1], &[1, 2]),
            DiskKind::Hdd => ([70, 210], [70, 210], [60, 200], [1, 1], &[1, 2, 32, 64]),
            DiskKind::Sata => ([250, 540], [150, 500], [70, 220], [2, 8], &[32]),
            DiskKind::Nvme => (
                [900, 3000],
                [600, 2000],
                [15, 90],
                [8, 32],
                &[64, 128, 1024],
            ),
        };
    let read = dice.between(low, high);
    let write = match kind {
        DiskKind::Hdd => read,
        _ => dice.between(written_low, written_high),
    };
    Disk {
        name: name.to_owned(),
        kind,
        read,
        write,
        latency: dice.between(latency[0], latency[1]),
        iops: (kind == DiskKind::Hdd).then(|| dice.between(75, 200)),
        channels: dice.between(channels[0], channels[1]),
        depth: dice.pick(depths),
    }
}

fn swap(dice: &mut Dice, memory: u64, disks: usize) -> Vec<Swap> {
    let on_disk = |dice: &mut Dice| Swap::Disk {
        disk: dice.between(0, disks as u64 - 1) as usize,
        size: memory * dice.between(20, 100) / 100,
    };
    let zram = |dice: &mut Dice| Swap::Zram {
        ratio: dice.between(2, 4),
        size: memory * dice.between(20, 80) / 100,
    };
    match dice.between(0, 99) {
        0..25 => Vec::new(),
        25..65 => vec![on_disk(dice)],
        65..90 => vec![zram(dice)],
        _ => vec![zram(dice), on_disk(dice)],
    }
}
