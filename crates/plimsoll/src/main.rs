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
mod pages;
mod progress;
mod results;
mod server;
mod table;
mod term;

fn main() -> std::process::ExitCode {
    if guest::is_init() {
        guest::init();
    }
    exit::finish(cli::parse().and_then(cli::run))
}
