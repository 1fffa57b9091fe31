//! `cargo xtask debian`: what is tested on a Debian with a real systemd, at length.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{numbers, process, tally};

/// How much is tried where the arguments do not say.
const OPTIONS: [numbers::Numbered; 5] = [
    ("--trees", "PLIMSOLL_TREES", Some(10)),
    ("--plans", "PLIMSOLL_PLANS", Some(200)),
    ("--cuts", "PLIMSOLL_CUTS", Some(100)),
    ("--batch", "PLIMSOLL_BATCH", Some(1)),
    ("--seed", "PLIMSOLL_SEED", Some(0)),
];

/// `cargo xtask debian [--trees N] [--plans N] [--cuts N] [--batch N] [--seed S]`: trees and plans
/// for each release.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = tests();
    cargo.env("PLIMSOLL_VM", "required");
    numbers::hand_over(&mut cargo, &OPTIONS, arguments)?;
    tally::pass(&mut cargo)
}

/// How often the guard is killed, and its machine's power cut, where the arguments do not say.
const GUARD_CUTS: [numbers::Numbered; 3] = [
    ("--kills", "PLIMSOLL_KILLS", Some(200)),
    ("--cuts", "PLIMSOLL_GUARD_CUTS", Some(100)),
    ("--seed", "PLIMSOLL_SEED", Some(0)),
];

/// `cargo xtask guard-cuts [--kills N] [--cuts N] [--seed S]`.
pub(crate) fn guard_cuts(arguments: &[String]) -> Result<()> {
    let mut cargo = tests();
    cargo.arg("guard_cuts::").env("PLIMSOLL_VM", "required");
    numbers::hand_over(&mut cargo, &GUARD_CUTS, arguments)?;
    tally::pass(&mut cargo)
}

/// How many trials of each effect, and how many are killed, where the arguments do not say.
const TRIALS: [numbers::Numbered; 3] = [
    ("--seeds", "PLIMSOLL_SEEDS", Some(25)),
    ("--kills", "PLIMSOLL_TRIAL_KILLS", Some(100)),
    ("--seed", "PLIMSOLL_SEED", Some(0)),
];

/// `cargo xtask trials [--seeds N] [--kills N] [--seed S]`.
pub(crate) fn trials(arguments: &[String]) -> Result<()> {
    let mut cargo = tests();
    cargo.arg("trials::").env("PLIMSOLL_VM", "required");
    numbers::hand_over(&mut cargo, &TRIALS, arguments)?;
    tally::pass(&mut cargo)
}

/// `cargo xtask guard-ksm`: some twenty minutes on an idle machine.
pub(crate) fn guard_ksm(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("guard-ksm takes no arguments, found \"{unknown}\"");
    }
    let mut cargo = process::cargo();
    cargo.args(["test", "--package", "plimsoll-lab", "--test", "guard_ksm"]);
    cargo
        .args(["--", "--nocapture"])
        .env("PLIMSOLL_VM", "required");
    tally::pass(&mut cargo)
}

/// The tests; the few of each that the check runs where nobody says how many. Two machines at a
/// time: each has one CPU, and none measures the host's time.
pub(crate) fn tests() -> Command {
    let mut cargo = process::cargo();
    cargo.args(["test", "--workspace", "--test", "debian"]);
    cargo.args(["--no-fail-fast", "--", "--nocapture", "--test-threads=2"]);
    cargo
}
