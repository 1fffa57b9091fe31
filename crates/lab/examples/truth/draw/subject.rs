//! What the arms of a study differ in, and its control groups.

use super::super::dice::Dice;
use super::super::drawn::{Arm, Consumer, Drawn, Kind, Limited, Subject, Swap};

/// Every subject and how likely it is, in parts; one that a study has no use for is drawn again.
pub(super) const ALL: [(Subject, u64); 18] = [
    (Subject::Swappiness, 12),
    (Subject::MinFree, 9),
    (Subject::ScaleFactor, 7),
    (Subject::DirtyRatio, 6),
    (Subject::DirtyBackground, 6),
    (Subject::DirtyBytes, 6),
    (Subject::DirtyExpire, 3),
    (Subject::MinTtl, 8),
    (Subject::CachePressure, 4),
    (Subject::PageCluster, 6),
    (Subject::Ksm, 8),
    (Subject::Generations, 7),
    (Subject::Oom, 3),
    (Subject::GroupMax, 7),
    (Subject::GroupHigh, 7),
    (Subject::GroupLow, 6),
    (Subject::GroupMin, 5),
    (Subject::GroupSwapMax, 4),
];

/// Draws the subject, the arms and the groups.
pub(super) fn draw(dice: &mut Dice, drawn: &mut Drawn) {
    let fitting: Vec<_> = ALL.into_iter().filter(|(of, _)| fits(*of, drawn)).collect();
    drawn.subject = weighted(dice, &fitting);
    groups(dice, drawn);
    let others = if dice.chance(50) { 1 } else { 2 };
    drawn.arms = match drawn.limited {
        Some(limited) => limits(dice, drawn, limited, others),
        None => settings(dice, drawn, others),
    };
}

fn weighted(dice: &mut Dice, of: &[(Subject, u64)]) -> Subject {
    let all: u64 = of.iter().map(|(_, parts)| parts).sum();
    let mut draw = dice.between(0, all - 1);
    for (subject, parts) in of {
        if draw < *parts {
            return *subject;
        }
        draw -= parts;
    }
    of[0].0
}

fn fits(subject: Subject, drawn: &Drawn) -> bool {
    let has = |kinds: &[Kind]| drawn.consumers.iter().any(|one| kinds.contains(&one.kind));
    match subject {
        Subject::MinTtl => drawn.base.contains(&("lru_gen.enabled", 7)),
        Subject::PageCluster | Subject::GroupSwapMax => !drawn.swap.is_empty(),
        Subject::Ksm => has(&[Kind::Guests]),
        Subject::DirtyRatio
        | Subject::DirtyBackground
        | Subject::DirtyBytes
        | Subject::DirtyExpire => {
            has(&[Kind::Writer, Kind::Rewriter, Kind::Logger, Kind::Database])
        }
        _ => true,
    }
}

/// The group whose file is the subject, with some of the consumers; beside it, in one of eight
/// studies, a group of one with a fixed limit.
fn groups(dice: &mut Dice, drawn: &mut Drawn) {
    let file = match drawn.subject {
        Subject::GroupMax => Some(("memory.max", "max")),
        Subject::GroupHigh => Some(("memory.high", "max")),
        Subject::GroupLow => Some(("memory.low", "0")),
        Subject::GroupMin => Some(("memory.min", "0")),
        Subject::GroupSwapMax => Some(("memory.swap.max", "max")),
        _ => None,
    };
    drawn.limited = file.map(|(file, usual)| Limited { file, usual });
    if drawn.limited.is_some() {
        for one in &mut drawn.consumers {
            one.group = dice.chance(60).then_some("box");
        }
        if drawn.consumers.iter().all(|one| one.group.is_none()) {
            drawn.consumers[0].group = Some("box");
        }
    }
    let free = drawn
        .consumers
        .iter_mut()
        .rev()
        .find(|one| one.group.is_none());
    if let Some(one) = free
        && dice.chance(12)
    {
        one.group = Some("side");
        drawn.side = Some((demand(one) * dice.between(50, 90) / 100).max(16));
    }
}

fn demand(one: &Consumer) -> u64 {
    one.heap * one.count + one.file
}

fn limits(dice: &mut Dice, drawn: &Drawn, limited: Limited, others: usize) -> Vec<Arm> {
    let members = drawn
        .consumers
        .iter()
        .filter(|one| one.group == Some("box"));
    let size = members.map(demand).sum::<u64>();
    let arm = |limit: String| Arm {
        name: limit.clone(),
        settings: Vec::new(),
        limit: Some(limit),
    };
    let mut arms = vec![arm(limited.usual.to_owned())];
    if limited.file == "memory.swap.max" {
        arms.push(arm("0".to_owned()));
    }
    let percents = dice.some(&[30, 45, 60, 75, 90], others + 1 - arms.len().min(others));
    for percent in percents {
        arms.push(arm(format!("{} MiB", (size * percent / 100).max(12))));
    }
    arms.dedup_by(|a, b| a.name == b.name);
    arms.truncate(others + 1);
    arms
}

fn settings(dice: &mut Dice, drawn: &Drawn, others: usize) -> Vec<Arm> {
    let (tunable, values) = values(dice, drawn);
    let arm = |value: u64| Arm {
        name: value.to_string(),
        settings: vec![(tunable, value)],
        limit: None,
    };
    let first = match tunable {
        "lru_gen.enabled" | "ksm.run" => arm(values[0]),
        _ if dice.chance(30) => arm(values[0]),
        _ => Arm {
            name: "default".to_owned(),
            settings: Vec::new(),
            limit: None,
        },
    };
    let others = dice.some(&values[1..], others);
    std::iter::once(first)
        .chain(others.into_iter().map(arm))
        .collect()
}

/// The tunable of a subject and values of it, all different.
fn values(dice: &mut Dice, drawn: &Drawn) -> (&'static str, Vec<u64>) {
    let kilobytes = drawn.memory * 1024;
    let zram = drawn
        .swap
        .iter()
        .any(|area| matches!(area, Swap::Zram { .. }));
    match drawn.subject {
        Subject::MinFree => {
            let shares = [4, 10, 20, 40, 80, 120].map(|mille| kilobytes * mille / 1000);
            ("vm.min_free_kbytes", shares.to_vec())
        }
        Subject::ScaleFactor => (
            "vm.watermark_scale_factor",
            vec![50, 10, 100, 300, 1000, 3000],
        ),
        Subject::DirtyRatio => ("vm.dirty_ratio", vec![30, 2, 5, 10, 60, 80]),
        Subject::DirtyBackground => ("vm.dirty_background_ratio", vec![5, 1, 2, 15, 20, 50]),
        Subject::DirtyBytes => {
            let mib = [64, 4, 16, 32, 128, 256].map(|mib: u64| mib << 20);
            ("vm.dirty_bytes", mib.to_vec())
        }
        Subject::DirtyExpire => ("vm.dirty_expire_centisecs", vec![1000, 100, 300, 6000]),
        Subject::MinTtl => ("lru_gen.min_ttl_ms", vec![100, 300, 1000, 3000, 10_000]),
        Subject::CachePressure => ("vm.vfs_cache_pressure", vec![200, 10, 50, 1000]),
        Subject::PageCluster => ("vm.page-cluster", vec![2, 0, 1, 4, 5]),
        Subject::Ksm => match dice.between(0, 2) {
            0 => ("ksm.run", vec![1, 0]),
            1 => ("ksm.pages_to_scan", vec![400, 50, 1500, 5000]),
            _ => ("ksm.sleep_millisecs", vec![50, 5, 200, 1000]),
        },
        Subject::Generations => match drawn.base[0].1 {
            0 => ("lru_gen.enabled", vec![0, 7]),
            _ => ("lru_gen.enabled", vec![7, 0, 1]),
        },
        Subject::Oom => ("vm.oom_kill_allocating_task", vec![0, 1]),
        _ if zram => ("vm.swappiness", vec![100, 10, 40, 60, 150, 200]),
        _ => ("vm.swappiness", vec![30, 0, 1, 10, 90, 100, 180]),
    }
}
