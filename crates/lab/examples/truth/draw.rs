//! Whole studies from a stated distribution: the same seed gives the same text.
//!
//! - **machine**: 256 MiB to 4 GiB in steps of 32 MiB, three of four below 1 GiB, one of twelve
//!   above 2 GiB; one disk or two (a third): USB stick, HDD (rotational, one channel, queue depth
//!   1, 2, 32 or 64), SATA SSD, NVMe; swap none, disk, zram or both; classic LRU or generations;
//!   Linux 6.1 or 6.12
//! - **consumers**: one to six of [`Kind::ALL`], each kind equally likely, with 0.5 to 1.6 times
//!   the memory together
//! - **arms**: two or three that differ in one setting, a subject of [`Subject`]; first the
//!   default, in three of ten studies a value of its own
//! - **time**: 4 to 7 s until the first snapshot, 5 to 9 s to the second
//!
//! A study of [`small`] differs in its sizes and times alone.

mod consumers;
mod machine;
mod subject;

use super::dice::Dice;
use super::drawn::Drawn;
use super::text;

/// The sizes and times of a study.
pub(super) struct Frame {
    /// MiB, the least and the most, by how likely it is in percent.
    memory: &'static [(u64, [u64; 2])],
    warm: [u64; 2],
    span: [u64; 2],
    consumers: u64,
}

/// As users have them.
const WHOLE: Frame = Frame {
    memory: &[(75, [256, 1024]), (17, [1056, 2048]), (8, [2080, 4096])],
    warm: [4000, 7000],
    span: [5000, 9000],
    consumers: 6,
};

/// What the model runs in a fraction of a second.
const SMALL: Frame = Frame {
    memory: &[(100, [256, 320])],
    warm: [250, 400],
    span: [400, 700],
    consumers: 3,
};

/// The text of a small and short study of the same distribution.
pub(crate) fn small(seed: u64) -> String {
    text::of(&drawn(seed, &SMALL))
}

/// A seed's study as data.
pub(super) fn whole(seed: u64) -> Drawn {
    drawn(seed, &WHOLE)
}

fn drawn(seed: u64, frame: &Frame) -> Drawn {
    let mut drawn = machine::of(seed, frame);
    let mut dice = Dice::of(seed, "consumers");
    consumers::draw(&mut dice, &mut drawn, frame.consumers);
    let mut dice = Dice::of(seed, "subject");
    subject::draw(&mut dice, &mut drawn);
    drawn
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use study::Study;

    use super::super::drawn::{DiskKind, Kind, Subject, Swap};
    use super::*;

    const SEEDS: std::ops::Range<u64> = 1..201;

    fn study(seed: u64) -> String {
        text::of(&whole(seed))
    }

    #[test]
    fn every_study_is_valid_and_the_same_seed_gives_the_same_text() {
        for seed in SEEDS {
            for text in [study(seed), small(seed)] {
                let read = Study::parse(&text, "drawn");
                assert!(read.is_ok(), "{seed}: {}\n{text}", read.unwrap_err());
            }
            assert_eq!(study(seed), study(seed));
            assert_ne!(study(seed), study(seed + 1));
        }
    }

    #[test]
    fn every_kind_that_is_named_is_drawn() {
        let all: Vec<Drawn> = SEEDS.map(whole).collect();
        let kinds = all
            .iter()
            .flat_map(|it| it.consumers.iter().map(|one| one.kind));
        let kinds: BTreeSet<Kind> = kinds.collect();
        assert_eq!(kinds, Kind::ALL.into_iter().collect());
        let disks = all
            .iter()
            .flat_map(|it| it.disks.iter().map(|disk| disk.kind));
        let disks: BTreeSet<DiskKind> = disks.collect();
        assert_eq!(disks.len(), 4);
        let subjects: BTreeSet<Subject> = all.iter().map(|it| it.subject).collect();
        let absent = subject::ALL.iter().filter(|(of, _)| !subjects.contains(of));
        assert_eq!(absent.count(), 0, "{subjects:?}");
        let swaps = all.iter().map(|it| {
            let zram = it
                .swap
                .iter()
                .filter(|area| matches!(area, Swap::Zram { .. }));
            (zram.count(), it.swap.len())
        });
        let swaps: BTreeSet<(usize, usize)> = swaps.collect();
        assert_eq!(swaps.len(), 4, "none, disk, zram, both");
        let share = |holds: &dyn Fn(&Drawn) -> bool| all.iter().filter(|it| holds(it)).count();
        for (word, count) in [
            ("6.1", share(&|it| it.kernel == "6.1")),
            ("generations", share(&|it| it.base[0].1 == 7)),
            ("two disks", share(&|it| it.disks.len() == 2)),
            ("three arms", share(&|it| it.arms.len() == 3)),
        ] {
            assert!((40..=160).contains(&count), "{word}: {count} of 200");
        }
        let memory = all.iter().map(|it| it.memory);
        assert!(memory.clone().all(|size| (256..=4096).contains(&size)));
        assert!(memory.clone().any(|size| size > 2048));
        assert!(memory.filter(|size| *size <= 1024).count() > 120);
    }
}
