//! `plimsoll ksm`: merging of equal pages (KSM).

mod apart;
mod chosen;
mod estimate;
pub(crate) mod figures;
mod notes;
mod pace;
#[cfg(test)]
mod tests;
mod text;

use crate::exit::ExitCode;

/// Kernel samepage merging: what it would save here, before it is switched on
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Estimate(estimate::Args),
}

/// Runs the verb below.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Estimate(args) if apart::is_here() => estimate::run(args),
        Verb::Estimate(args) => apart::run(args.sample_time),
    }
}
