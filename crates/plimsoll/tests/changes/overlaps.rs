//! Two changes of the same tunables, one of which is killed (`kill -9`) at a system call that
//! changes something; then both are undone, in either order, with and without their timer. The old
//! values come back, and until then `status` knows of each value that is not the old one.
//!
//! `--kills N` says how many are tried: `cargo test -p plimsoll --test changes -- overlap --kills
//! 500`.

use crate::kills::CALLS;
use crate::place::{Place, State};
use crate::stories::until;

/// How many are tried where nobody says.
const KILLS: usize = 40;

const ONE: &[&str] = &[
    "apply",
    "--confirm",
    "1h",
    "swappiness=22",
    "stat_interval=10",
];
const OTHER: &[&str] = &[
    "apply",
    "--confirm",
    "1h",
    "swappiness=30",
    "stat_interval=20",
];
const SHORT: &[&str] = &[
    "apply",
    "--confirm",
    "5s",
    "swappiness=30",
    "stat_interval=20",
];
const NOW: &[&str] = &["apply", "--now", "swappiness=22", "stat_interval=10"];
const LASTING: &[&str] = &[
    "apply",
    "--now",
    "--persist",
    "swappiness=30",
    "stat_interval=20",
];

/// What is done before, and what is killed.
const SCRIPTS: &[(&[&[&str]], &[&str])] = &[
    (&[ONE], OTHER),
    (&[NOW], OTHER),
    (&[NOW], SHORT),
    (&[ONE], LASTING),
    (&[ONE, OTHER], &["undo", "1"]),
    (&[ONE, OTHER], &["undo", "2"]),
    (&[NOW, LASTING], &["undo", "1"]),
    (&[NOW, LASTING], &["undo", "2"]),
    (&[ONE, OTHER], &["confirm", "2", "--persist"]),
    (&[ONE, OTHER], &["undo", "--all"]),
];

/// In which order the two are undone.
const ORDERS: [[&str; 2]; 2] = [["1", "2"], ["2", "1"]];

pub(crate) fn of_two_changes_that_overlap_a_kill_loses_no_original(place: &Place) {
    let mut points = vec![];
    for (before, command) in SCRIPTS {
        for (call, number) in place.every_call(before, command, CALLS) {
            let orders = ORDERS.map(|order| (*before, *command, call, number, order));
            points.extend(orders);
        }
    }
    let wanted = place.option("--kills").unwrap_or(KILLS);
    let share = points.len().div_ceil(wanted).max(1);
    let (mut kills, mut wrong) = (0, vec![]);
    for (before, command, call, number, order) in points.iter().step_by(share) {
        kills += 1;
        place.reset();
        before.iter().for_each(|done| drop(place.run(done)));
        place.killed(command, call, *number);
        if let Err(what) = check(place, *command == SHORT, *order) {
            wrong.push(format!(
                "{command:?}, killed at {call} {number}, {order:?}: {what}"
            ));
        }
    }
    println!("{kills} kills of {}", points.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(kills * 2 > wanted.min(points.len()), "{kills}");
}

fn check(place: &Place, waits: bool, order: [&str; 2]) -> Result<(), String> {
    let known = |when: &str| match (place.status()?.standing, place.state()) {
        (0, State::Old) => Ok(()),
        (0, left) => Err(format!(
            "{when}: no change stands, and the values are {left:?}"
        )),
        _ => Ok(()),
    };
    known("after the kill")?;
    if waits && place.status()?.standing == 2 && place.is_watched(2) {
        until("the timer", || {
            place.status().is_ok_and(|it| it.standing == 1)
        });
        known("after the timer")?;
    }
    for id in order {
        // One that was never made, or is undone already, is an error.
        place.ends_plainly(&["undo", id]);
        known(&format!("undo {id}"))?;
    }
    match (place.state(), place.has_native(), place.status()?.standing) {
        (State::Old, false, 0) => Ok(()),
        left => Err(format!("both are undone: {left:?}")),
    }
}
