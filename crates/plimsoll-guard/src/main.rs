//! The guard: a daemon that carries out on a live machine what the policies of `guard` decide.
//!
//! It sees which files are used (fanotify), keeps those that are used again and again in memory
//! (`mlock2`), keeps the page cache below a ceiling (`memory.reclaim`) and sets tunables: of swap,
//! watermarks, writeback and samepage merging.
//! Whatever it locks is free again when it ends, however it ends; what it sets is written down
//! before, so that `--restore` can undo it.

mod arguments;
mod charged;
mod configuration;
mod counters;
mod daemon;
mod drops;
mod events;
mod fanotify;
mod files;
mod hands;
mod journal;
mod keep;
mod locks;
mod log;
mod map;
mod mounts;
mod place;
mod process;
mod reclaim;
mod refaults;
mod released;
mod sampling;
mod socket;
mod spared;
mod state;
mod status;
mod stderr;
mod sys;
mod users;
mod watch;

use std::process::ExitCode;

use arguments::{Arguments, Job};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            log::line(format_args!("plimsoll-guard: {error}"));
            return ExitCode::from(2);
        }
    };
    let done = match arguments.job {
        Job::Help => answer(arguments::HELP),
        Job::Version => answer(concat!("plimsoll-guard ", env!("CARGO_PKG_VERSION"))),
        Job::Check => configuration::read(&arguments.config, arguments.only).map(drop),
        Job::Restore => state::restore_alone(&arguments.state),
        Job::Run => daemon::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::line(format_args!("plimsoll-guard: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn answer(text: &str) -> Result<(), String> {
    log::answer(text);
    Ok(())
}
