//! Options with a number, which the tests that a command runs read from their environment.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// An option, the variable that the tests read, and the number where the arguments do not
/// say; `None` leaves it to the tests.
pub(crate) type Numbered = (&'static str, &'static str, Option<u64>);

/// Hands the numbers of `arguments`, pairs of an option and a number, over to a command.
pub(crate) fn hand_over(
    cargo: &mut Command,
    options: &[Numbered],
    arguments: &[String],
) -> Result<()> {
    for (_, variable, number) in options {
        cargo.envs(number.map(|number| (variable, number.to_string())));
    }
    for pair in arguments.chunks(2) {
        let [option, value] = pair else {
            bail!("{} needs a number", pair[0]);
        };
        let Some((_, variable, _)) = options.iter().find(|(name, ..)| name == option) else {
            let names: Vec<&str> = options.iter().map(|(name, ..)| *name).collect();
            bail!("expected {}, found \"{option}\"", names.join(", "));
        };
        let value: u64 = value
            .parse()
            .with_context(|| format!("{option} \"{value}\""))?;
        cargo.env(variable, value.to_string());
    }
    Ok(())
}
