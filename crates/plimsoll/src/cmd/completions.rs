//! `plimsoll completions SHELL`: what a shell needs to complete our command line.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::ExitCode;
use crate::term;

/// Print the script with which a shell completes verbs and options
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "plimsoll", &mut script);
    let mut out = term::out();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::Done)
}
