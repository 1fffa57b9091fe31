//! What uses the memory of a study.

use super::super::dice::Dice;
use super::super::drawn::{Consumer, Drawn, Kind};

/// MiB that a consumer has at least.
const LEAST: u64 = 8;

/// Draws one to `most` consumers and shares the demand among them.
pub(super) fn draw(dice: &mut Dice, drawn: &mut Drawn, most: u64) {
    let count = dice.between(1, most);
    let demand = drawn.memory * dice.between(50, 160) / 100;
    let mut weights = Vec::new();
    for _ in 0..count {
        let kind = dice.pick(&Kind::ALL);
        let name = name(kind, &drawn.consumers);
        let one = consumer(dice, kind, name, drawn.disks.len());
        weights.push(weight(dice, kind));
        drawn.consumers.push(one);
    }
    let all: u64 = weights.iter().sum();
    for (one, weight) in drawn.consumers.iter_mut().zip(&weights) {
        let size = (demand * weight / all).max(LEAST);
        set_size(dice, one, size);
    }
    if drawn.consumers.iter().any(|one| one.kind == Kind::Guests) {
        let sleep = dice.pick(&[10, 20, 100]);
        let pages = dice.octave(100, 2000);
        drawn.base.push(("ksm.run", 1));
        drawn.base.push(("ksm.sleep_millisecs", sleep));
        drawn.base.push(("ksm.pages_to_scan", pages));
    }
}

/// Its kind's word, with a number from the second of a kind on.
fn name(kind: Kind, others: &[Consumer]) -> String {
    let same = others.iter().filter(|one| one.kind == kind).count();
    match same {
        0 => kind.word().to_owned(),
        _ => format!("{}-{}", kind.word(), same + 1),
    }
}

/// A log and a process that soon ends are small beside the others.
fn weight(dice: &mut Dice, kind: Kind) -> u64 {
    match kind {
        Kind::Logger => dice.between(3, 12),
        Kind::Jobs | Kind::Allocator => dice.between(10, 50),
        _ => dice.between(30, 100),
    }
}

fn consumer(dice: &mut Dice, kind: Kind, name: String, disks: usize) -> Consumer {
    let pattern = match dice.chance(75) {
        true => format!(
            "zipf {}",
            dice.pick(&["0.60", "0.80", "0.90", "0.99", "1.10", "1.20"])
        ),
        false => "random".to_owned(),
    };
    let (block, think) = match kind {
        Kind::Streamer => (dice.pick(&[128, 256, 512, 1024]), dice.octave(1000, 40_000)),
        Kind::Writer => (dice.pick(&[256, 512, 1024]), dice.octave(4000, 64_000)),
        Kind::Rewriter => (dice.pick(&[4, 16, 64]), dice.octave(200, 12_800)),
        Kind::Logger => (dice.pick(&[4, 4, 16]), dice.octave(1000, 32_000)),
        Kind::Jobs => (64, dice.octave(20_000, 320_000)),
        Kind::Reader | Kind::Database => (dice.pick(&[4, 8, 16, 64]), dice.octave(200, 6400)),
        _ => (4, dice.octave(100, 6400)),
    };
    Consumer {
        kind,
        name,
        heap: 0,
        file: 0,
        disk: dice.between(0, disks as u64 - 1) as usize,
        pattern,
        think,
        write_percent: dice.pick(&[0, 10, 30, 50, 100]),
        block,
        count: match kind {
            Kind::Guests => dice.between(2, 4),
            Kind::Heap | Kind::Cache => dice.pick(&[1, 1, 1, 2, 4]),
            _ => 1,
        },
        direct: kind == Kind::Streamer && dice.chance(15),
        group: None,
        oom_score_adj: if dice.chance(15) { 300 } else { 0 },
    }
}

/// What a consumer demands becomes its heap, its file, or some of both; instances share a file.
fn set_size(dice: &mut Dice, one: &mut Consumer, size: u64) {
    let (heap, file) = match one.kind {
        Kind::Heap | Kind::Grower | Kind::Allocator | Kind::Jobs | Kind::Guests => (size, 0),
        Kind::Database | Kind::Cache => {
            let heap = size * dice.between(20, 80) / 100;
            (heap, size - heap)
        }
        Kind::Logger => (0, size.min(64)),
        _ => (0, size),
    };
    one.heap = match heap {
        0 => 0,
        _ => (heap / one.count).max(2),
    };
    one.file = file;
}
