//! The command `plimsoll`: the load line for Linux memory.
//!
//! This file is the table of contents. The command line is in `cli`, each verb in its own file
//! under `cmd`, and what a run ends with in `exit`. This crate alone prints and exits.

mod changing;
mod cli;
mod cmd;
mod columns;
mod docs;
mod exit;
mod glance;
mod lint;
mod progress;
mod results;
mod table;
mod term;
mod view;

use guest::Orders;
use lab::study::Study;
use mm::scenario::Scenario;

fn main() -> std::process::ExitCode {
    if guest::is_init() {
        guest::init(ordered);
    }
    exit::finish(cli::parse().and_then(cli::run))
}

/// What the first process of a VM is to perform.
fn ordered(study: &str, orders: &Orders) -> Result<Scenario, String> {
    let study = Study::parse(study, "study.toml").map_err(|error| error.to_string())?;
    let scenario = study.scenario(&orders.arm, orders.seed);
    scenario.map_err(|error| error.to_string())
}
