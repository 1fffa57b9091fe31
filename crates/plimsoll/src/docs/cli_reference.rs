//! `docs/cli.md`: every verb with its arguments.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// The reference of the whole command.
pub(super) fn markdown(command: &Command) -> String {
    let mut text = String::from(
        "# The command line\n\n\
         Made from the code by `cargo xtask docs`; `plimsoll help VERB` says the same.\n",
    );
    if let Some(more) = command.get_after_help() {
        let _ = write!(text, "\n```text\n{more}\n```\n");
    }
    text.push_str("\nEvery verb takes these, too:\n\n");
    for argument in command.get_arguments().filter(|arg| arg.is_global_set()) {
        let _ = writeln!(text, "- {}", describe(argument));
    }
    for verb in command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
    {
        sections(&mut text, verb, "plimsoll");
    }
    text
}

/// The verb's section, and those of the verbs below it.
fn sections(text: &mut String, verb: &Command, above: &str) {
    section(text, verb, above);
    let name = format!("{above} {}", verb.get_name());
    for below in verb
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        sections(text, below, &name);
    }
}

fn section(text: &mut String, verb: &Command, above: &str) {
    let name = verb.get_name();
    let about = verb.get_long_about().or(verb.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = verb.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let _ = write!(
        text,
        "\n## {above} {name}\n\n{about}\n\n```text\n{usage}\n```\n"
    );
    let mut arguments: Vec<&Arg> = verb.get_arguments().filter(|arg| is_shown(arg)).collect();
    arguments.sort_by_key(|argument| !argument.is_positional());
    for (at, argument) in arguments.into_iter().enumerate() {
        if at == 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "- {}", describe(argument));
    }
    if let Some(more) = verb.get_after_long_help().or(verb.get_after_help()) {
        let _ = write!(text, "\n```text\n{more}\n```\n");
    }
}

fn is_shown(argument: &Arg) -> bool {
    !argument.is_hide_set()
        && !argument.is_global_set()
        && argument.get_id() != "help"
        && argument.get_id() != "version"
}

fn describe(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let help: Vec<&str> = help.split_whitespace().collect();
    let mut text = format!("{}: {}", synopsis(argument), help.join(" "));
    let values = argument.get_possible_values();
    let is_said = argument.is_hide_possible_values_set();
    if !is_said && !values.is_empty() && argument.get_action().takes_values() {
        let names: Vec<&str> = values
            .iter()
            .map(clap::builder::PossibleValue::get_name)
            .collect();
        let _ = write!(text, " (one of: {})", names.join(", "));
    }
    let defaults = argument.get_default_values();
    if !argument.is_hide_default_value_set()
        && !defaults.is_empty()
        && argument.get_action().takes_values()
    {
        let defaults: Vec<_> = defaults
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        let _ = write!(text, " (default: {})", defaults.join(" "));
    }
    text
}

fn synopsis(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<&str> = values.iter().map(clap::builder::Str::as_str).collect();
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    let words = [
        flags.join(", "),
        if argument.get_action().takes_values() {
            values.join(" ")
        } else {
            String::new()
        },
    ];
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    format!("`{}`", words.join(" "))
}
