//! A trial that is killed at each thing that it does, and one whose power is cut there: when the
//! timer has fired, or the machine has booted, everything is as it was.

use plimsoll_change::change::Written;
use plimsoll_change::status::{Status, status};
use plimsoll_change::trial::{Trial, TrialError};
use plimsoll_change::watch::Band;

use crate::request;
use crate::world::{When, World};

/// What is tried.
const TRIED: [&[(&str, &str)]; 3] = [
    &[("vm.swappiness", "22")],
    &[("vm.dirty_bytes", "600000000")],
    &[("vm.swappiness", "22"), ("bdi.sda.read_ahead_kb", "256")],
];

/// Blocks of a trial, and things that a block does at most to begin or to end.
const BLOCKS: usize = 4;
const THINGS: usize = 12;

/// Which of the commands of a block is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Beginning,
    Ending,
}

/// A trial up to the thing at which it is killed; whether it got that far.
fn killed(
    world: &mut World,
    settings: &[(&str, &str)],
    seed: u64,
    at: (usize, Killed),
    cut: (usize, When),
) -> bool {
    let mut trial = Trial::plan(world, request(settings), seed, BLOCKS / 2).expect("a plan");
    for block in 0..BLOCKS {
        world.command();
        world.cut = (at == (block, Killed::Beginning)).then_some(cut);
        let begun = trial.begin(world, Band::of(&[]));
        if at == (block, Killed::Beginning) {
            return begun.is_err();
        }
        begun.expect("nobody is in the way");
        world.command();
        world.cut = (at == (block, Killed::Ending)).then_some(cut);
        let ended = trial.end(world, "the block is over");
        if at == (block, Killed::Ending) {
            return ended.is_err();
        }
        assert_eq!(ended.expect("nobody is in the way"), None);
    }
    unreachable!("the killed block is one of them");
}

#[test]
fn a_trial_that_is_killed_anywhere_leaves_everything_as_it_was() {
    let mut seen = 0;
    let ats = (0..BLOCKS).flat_map(|block| [(block, Killed::Beginning), (block, Killed::Ending)]);
    let whens = [When::Before, When::Within, When::After];
    let cuts = (0..THINGS).flat_map(|thing| whens.map(|when| (thing, when)));
    for settings in TRIED {
        for (at, cut) in ats
            .clone()
            .flat_map(|at| cuts.clone().map(move |cut| (at, cut)))
        {
            for is_power in [false, true] {
                let mut world = World::new();
                let base = world.live.clone();
                seen += u32::from(killed(&mut world, settings, 3, at, cut));
                world.command();
                match is_power {
                    true => world.reboot(),
                    false => world.wait(),
                }
                assert_eq!(world.live, base, "{settings:?} {at:?} {cut:?} {is_power}");
                // What was journalled and never written may wait for somebody to see it.
                let left = status(&mut world).expect("a ledger");
                let written = |it: &Status| it.change.written.iter().any(|it| *it != Written::No);
                assert!(!left.iter().any(written), "{settings:?} {at:?}: {left:?}");
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn a_whole_trial_writes_the_setting_in_half_of_its_blocks_and_takes_it_back() {
    for seed in 0..20 {
        let mut world = World::new();
        let base = world.live.clone();
        let mut trial = Trial::plan(&mut world, request(TRIED[0]), seed, 5).expect("a plan");
        let mut with = 0;
        while trial.next().is_some() {
            trial.begin(&mut world, Band::of(&[])).expect("it begins");
            with += u32::from(world.live != base);
            trial.end(&mut world, "the block is over").expect("it ends");
            assert_eq!(world.live, base);
        }
        assert_eq!(with, 5);
    }
}

#[test]
fn what_somebody_else_set_meanwhile_ends_the_trial_and_stays() {
    let mut world = World::new();
    let mut trial = Trial::plan(&mut world, request(TRIED[0]), 1, 2).expect("a plan");
    world.set(crate::world::SWAPPINESS, "11");
    let error = trial
        .begin(&mut world, Band::of(&[]))
        .expect_err("it is not as it was");
    assert!(matches!(error, TrialError::Changed { .. }), "{error}");
    assert_eq!(world.live[crate::world::SWAPPINESS], "11");
}
