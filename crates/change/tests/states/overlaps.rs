//! Two and three changes of one cell: one or two of them killed at each thing that they do, then
//! undone in every order, with and without the timer, by an undo that may be killed itself.
//!
//! A change that was never written covers nothing; so at each moment the cell has the value of the
//! latest change that was written and is not undone.

use std::collections::BTreeMap;

use plimsoll_change::apply::apply;
use plimsoll_change::confirm::confirm;
use plimsoll_change::status::status;
use plimsoll_change::{Ledger, Phase, undo};

use crate::request;
use crate::world::{When, World};

/// Three changes of one cell.
type Three = [(&'static str, &'static str); 3];

const CELLS: &[(&str, Three)] = &[
    (
        "one file",
        [
            ("vm.swappiness", "22"),
            ("vm.swappiness", "30"),
            ("vm.swappiness", "40"),
        ],
    ),
    (
        "partners",
        [
            ("vm.dirty_ratio", "5"),
            ("vm.dirty_bytes", "600000000"),
            ("vm.dirty_ratio", "7"),
        ],
    ),
    (
        "values that the kernel adjusts",
        [
            ("bdi.sda.read_ahead_kb", "256"),
            ("bdi.sda.read_ahead_kb", "201"),
            ("bdi.sda.read_ahead_kb", "64"),
        ],
    ),
    (
        TOUCHED,
        [
            ("thp.enabled", "always"),
            ("vm.min_free_kbytes", "70000"),
            ("thp.enabled", "never"),
        ],
    ),
];

/// Two cells of which the kernel changes one along with the other: only how it ends is checked.
const TOUCHED: &str = "a value that the kernel changes along";

/// When the timers fire.
#[derive(Clone, Copy, Debug)]
enum Timer {
    Never,
    BeforeAll,
    AfterTheFirst,
}

/// At which thing a command is killed, and how much of that happens.
type Cut = Option<(usize, When)>;

/// What is known to a bystander: each change that was written, and what the files held then.
#[derive(Clone)]
struct Story {
    world: World,
    ids: Vec<u32>,
    layers: Vec<(u32, BTreeMap<String, String>)>,
    base: BTreeMap<String, String>,
    /// An undo was killed and not taken up again: whether its change still holds is not known.
    is_open: bool,
    told: String,
}

impl Story {
    fn new(cell: &str) -> Self {
        let world = World::new();
        Self {
            base: world.live.clone(),
            world,
            ids: vec![],
            layers: vec![],
            is_open: cell == TOUCHED,
            told: cell.to_owned(),
        }
    }

    /// Applies, perhaps killed, and lets the others be confirmed.
    fn apply(&mut self, setting: (&str, &str), cut: Cut, confirms: bool) {
        let before = self.world.live.clone();
        self.world.command();
        self.world.cut = cut;
        let made = apply(&mut self.world, &request(&[setting]));
        self.world.command();
        self.told += &format!(", {}={} {cut:?}", setting.0, setting.1);
        let ledger = Ledger::open(&mut self.world).expect("a ledger");
        let latest = ledger.changes().last().map(|change| change.id);
        let Some(id) = latest.filter(|id| !self.ids.contains(id)) else {
            assert_eq!(self.world.live, before, "{}: not in the journal", self.told);
            return;
        };
        self.ids.push(id);
        if self.world.live != before {
            self.layers.push((id, self.world.live.clone()));
        }
        if confirms && made.is_ok() {
            confirm(&mut self.world, id, None).expect("it is whole");
        }
    }

    fn undo(&mut self, id: u32, cut: Cut) {
        self.told += &format!(", undo {id} {cut:?}");
        self.world.command();
        self.world.cut = cut;
        let _ = undo::undo(&mut self.world, id, "asked");
        self.world.command();
        self.layers.retain(|(of, _)| *of != id);
        self.is_open |= cut.is_some();
        self.check();
    }

    /// Every timer that is armed fires.
    fn wait(&mut self) {
        self.told += ", the timer";
        self.world.wait();
        let ledger = Ledger::open(&mut self.world).expect("a ledger");
        let stands = |id| {
            ledger
                .get(id)
                .is_some_and(|it| it.phase == Phase::Confirmed)
        };
        self.layers.retain(|(id, _)| stands(*id));
        self.check();
    }

    fn check(&self) {
        let ought = self.layers.last().map_or(&self.base, |(_, live)| live);
        assert!(
            self.is_open || self.world.live == *ought,
            "{}: {:?}",
            self.told,
            self.world.live
        );
    }
}

/// Every cut of a command that does at most `things` things, and none.
fn cuts(things: usize) -> impl Iterator<Item = Cut> + Clone {
    let whens = [When::Before, When::Within, When::After];
    let all = (0..things).flat_map(move |at| whens.map(|when| Some((at, when))));
    std::iter::once(None).chain(all)
}

fn orders(ids: &[u32]) -> Vec<Vec<u32>> {
    let Some((first, rest)) = ids.split_first() else {
        return vec![vec![]];
    };
    let with = |order: Vec<u32>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, *first);
            order
        })
    };
    orders(rest).into_iter().flat_map(with).collect()
}

impl Story {
    /// Undoes in every order, with and without the timer; the first undo is killed at each of
    /// `cuts`, and taken up again at the end. How many endings were seen.
    fn every_ending(&self, cuts: &[Cut]) -> u32 {
        let mut seen = 0;
        for timer in [Timer::Never, Timer::BeforeAll, Timer::AfterTheFirst] {
            for order in orders(&self.ids) {
                for cut in cuts {
                    self.clone().end(timer, &order, *cut);
                    seen += 1;
                }
            }
        }
        seen
    }

    fn end(mut self, timer: Timer, order: &[u32], cut: Cut) {
        let is_whole = cut.is_none();
        if matches!(timer, Timer::BeforeAll) {
            self.wait();
        }
        for (at, id) in order.iter().enumerate() {
            self.undo(*id, cut.filter(|_| at == 0));
            if at == 0 && matches!(timer, Timer::AfterTheFirst) && is_whole {
                self.wait();
            }
        }
        if let Some(first) = order.first().filter(|_| !is_whole) {
            self.undo(*first, None);
        }
        assert_eq!(self.world.live, self.base, "{}", self.told);
        let left = status(&mut self.world).expect("a ledger");
        assert!(left.is_empty(), "{}: {left:?}", self.told);
    }
}

/// Each of the changes killed at each thing, the others whole.
fn one_killed(cell: &str, changes: &[(&str, &str)], undo_cuts: &[Cut]) -> u32 {
    let mut seen = 0;
    for confirms in [false, true] {
        for killed in 0..changes.len() {
            for cut in cuts(7) {
                let mut story = Story::new(cell);
                for (at, setting) in changes.iter().enumerate() {
                    let cut = cut.filter(|_| at == killed);
                    story.apply(*setting, cut, confirms && at != killed);
                }
                seen += story.every_ending(undo_cuts);
            }
        }
    }
    seen
}

#[test]
fn of_two_and_three_changes_one_is_killed_and_the_original_comes_back() {
    let mut seen = 0;
    for (cell, three) in CELLS {
        seen += one_killed(cell, &three[..2], &[None]);
        seen += one_killed(cell, three, &[None]);
    }
    assert!(seen > 8000, "{seen}");
}

#[test]
fn of_three_changes_two_are_killed_and_the_original_comes_back() {
    let mut seen = 0;
    let whole_cuts = || cuts(4).filter(|cut| cut.is_some_and(|(_, when)| when != When::Within));
    for (cell, three) in CELLS {
        for (one, other) in whole_cuts().flat_map(|one| whole_cuts().map(move |it| (one, it))) {
            for whole in 0..3 {
                let mut story = Story::new(cell);
                let mut cuts = [one, other].into_iter();
                for (at, setting) in three.iter().enumerate() {
                    let cut = cuts
                        .by_ref()
                        .take(usize::from(at != whole))
                        .flatten()
                        .next();
                    story.apply(*setting, cut, false);
                }
                seen += story.every_ending(&[None]);
            }
        }
    }
    assert!(seen > 5000, "{seen}");
}

#[test]
fn an_undo_that_is_killed_beside_a_change_that_was_is_taken_up_at_the_end() {
    let undo_cuts: Vec<Cut> = cuts(3).skip(1).collect();
    let mut seen = 0;
    for (cell, three) in CELLS {
        seen += one_killed(cell, &three[..2], &undo_cuts);
    }
    assert!(seen > 10_000, "{seen}");
}

#[test]
fn a_change_that_is_laid_on_one_whose_undo_was_killed_goes_back_to_the_original() {
    let mut seen = 0;
    for (cell, [one, other, third]) in CELLS {
        for (undone, cut) in [0, 1]
            .into_iter()
            .flat_map(|at| cuts(4).map(move |cut| (at, cut)))
        {
            let mut story = Story::new(cell);
            story.apply(*one, None, true);
            story.apply(*other, None, true);
            let Some(id) = story.ids.get(undone).copied() else {
                continue;
            };
            story.undo(id, cut);
            story.apply(*third, None, true);
            for order in orders(&story.ids) {
                let mut story = story.clone();
                for id in order {
                    let _ = undo::undo(&mut story.world, id, "asked");
                }
                assert_eq!(story.world.live, story.base, "{}", story.told);
                seen += 1;
            }
        }
    }
    assert!(seen > 200, "{seen}");
}
