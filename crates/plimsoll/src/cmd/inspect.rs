//! `plimsoll inspect`: the state of this machine in the mechanism's own terms.

use std::io::Write as _;

use crate::exit::ExitCode;
use crate::term;

/// Show the state of this machine's memory in the kernel's own terms
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Inspects.
pub(crate) fn run(_args: Args) -> anyhow::Result<ExitCode> {
    writeln!(term::out(), "{}", term::bold("plimsoll inspect"))?;
    Ok(ExitCode::Done)
}
