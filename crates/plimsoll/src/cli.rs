//! The command line: one subcommand a verb, each with its arguments in its own file under `cmd`.

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, Parser, Subcommand};

use crate::cmd;
use crate::exit::{ExitCode, Usage};
use crate::term::{self, Color};

const EXIT_CODES: &str = "\
Exit codes:
  0  done, and the answer is yes where there is a question
  1  done, and the answer is no (not proven, a limit exceeded, a mismatch)
  2  not done: wrong usage, or something in the environment is missing";

/// The load line for Linux memory: see where this machine stands, predict what a setting will do,
/// and prove it on a real kernel
#[derive(Debug, Parser)]
#[command(name = "plimsoll", bin_name = "plimsoll", version, after_help = EXIT_CODES)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// When to use colours: auto (on a terminal), always, never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        display_order = 900
    )]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: Color,

    /// Print only the answer and errors: no progress, no hints
    #[arg(long, short, global = true, display_order = 901)]
    quiet: bool,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    // In the order of use: the machine, changes to it, a study, then the model itself.
    Inspect(cmd::inspect::Args),
    Explain(cmd::explain::Args),
    Lint(cmd::lint::Args),
    Metrics(cmd::metrics::Args),
    Serve(cmd::serve::Args),
    Apply(cmd::apply::Args),
    Confirm(cmd::confirm::Args),
    Undo(cmd::undo::Args),
    Status(cmd::status::Args),
    History(cmd::history::Args),
    #[command(hide = true)]
    Watch(cmd::watch::Args),
    Trial(cmd::trial::Args),
    Guard(cmd::guard::Args),
    Ksm(cmd::ksm::Args),
    Record(cmd::record::Args),
    Studies(cmd::studies::Args),
    Predict(cmd::predict::Args),
    Sweep(cmd::sweep::Args),
    Prove(cmd::prove::Args),
    Advise(cmd::advise::Args),
    Report(cmd::report::Args),
    Calibrate(cmd::calibrate::Args),
    Fidelity(cmd::fidelity::Args),
    Replay(cmd::replay::Args),
    Completions(cmd::completions::Args),
}

/// Reads the command line.
///
/// # Errors
/// A [`Usage`] in one line; help and version are printed here and end the process.
pub(crate) fn parse() -> anyhow::Result<Cli> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    Cli::try_parse().map_err(|error| match (error.exit_code(), error.kind()) {
        (code @ 0, _) | (code, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand) => {
            term::help(&error.render());
            std::process::exit(code)
        }
        _ => Usage::new(&error, &verb(words.skip(1))).into(),
    })
}

/// The command as far as the words name verbs: `plimsoll ksm estimate`.
fn verb(words: impl Iterator<Item = String>) -> String {
    let (mut command, mut name) = (&Cli::command(), "plimsoll".to_owned());
    for word in words.filter(|word| !word.starts_with('-')) {
        let Some(below) = command.find_subcommand(&word) else {
            break;
        };
        command = below;
        name = format!("{name} {}", Command::get_name(command));
    }
    name
}

/// Runs the verb.
pub(crate) fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    term::set(cli.color, cli.quiet);
    match cli.verb {
        Verb::Inspect(args) => cmd::inspect::run(args),
        Verb::Explain(args) => cmd::explain::run(args),
        Verb::Lint(args) => cmd::lint::run(args),
        Verb::Metrics(args) => cmd::metrics::run(args),
        Verb::Serve(args) => cmd::serve::run(&args),
        Verb::Apply(args) => cmd::apply::run(args),
        Verb::Confirm(args) => cmd::confirm::run(args),
        Verb::Undo(args) => cmd::undo::run(args),
        Verb::Status(args) => cmd::status::run(args),
        Verb::History(args) => cmd::history::run(args),
        Verb::Watch(args) => cmd::watch::run(args),
        Verb::Trial(args) => cmd::trial::run(args),
        Verb::Guard(args) => cmd::guard::run(args),
        Verb::Ksm(args) => cmd::ksm::run(args),
        Verb::Record(args) => cmd::record::run(args),
        Verb::Advise(args) => cmd::advise::run(args),
        Verb::Studies(args) => cmd::studies::run(args),
        Verb::Predict(args) => cmd::predict::run(args),
        Verb::Sweep(args) => cmd::sweep::run(args),
        Verb::Prove(args) => cmd::prove::run(args),
        Verb::Report(args) => cmd::report::run(args),
        Verb::Calibrate(args) => cmd::calibrate::run(args),
        Verb::Fidelity(args) => cmd::fidelity::run(args),
        Verb::Replay(args) => cmd::replay::run(args),
        Verb::Completions(args) => cmd::completions::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_is_named_as_far_as_it_was_understood() {
        let verb = |line: &str| verb(line.split_whitespace().map(str::to_owned));
        assert_eq!(verb(""), "plimsoll");
        assert_eq!(verb("inspcet predict"), "plimsoll");
        assert_eq!(
            verb("predict min-free-kbytes --arm prove"),
            "plimsoll predict"
        );
        assert_eq!(verb("ksm estimate --pid abc"), "plimsoll ksm estimate");
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_and_argument_has_a_help_text() {
        let command = Cli::command();
        let verbs = command.get_subcommands();
        for verb in verbs.flat_map(|verb| [verb].into_iter().chain(verb.get_subcommands())) {
            assert!(
                verb.get_about().is_some(),
                "{} says nothing",
                verb.get_name()
            );
            for argument in verb.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    verb.get_name(),
                    argument.get_id()
                );
            }
        }
    }
}
