//! The command `plimsoll`: the load line for Linux memory.
//!
//! This file is the table of contents. The command line is in `cli`, each verb in its own file
//! under `cmd`, and what a run ends with in `exit`. This crate alone prints and exits.

mod cli;
mod cmd;
#[cfg(test)]
mod docs;
mod exit;
mod term;

fn main() -> std::process::ExitCode {
    exit::finish(cli::parse().and_then(cli::run))
}
