//! The command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use guard::Policy;
use mm::quantity;
use mm::suggest::way_out;
use mm::units::Nanos;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Keeps memory as its configuration says, and takes back what it set when it ends.

Usage: plimsoll-guard [OPTIONS]

  --config FILE  the configuration [default: /etc/plimsoll/guard.toml], with FILE.d/*.toml
  --state FILE   where it notes what it sets [default: /run/plimsoll/guard.state]
  --only POLICY  that section of the configuration alone: floor, ceiling, watermarks,
                 writeback or ksm
  --for TIME     end after this time, as in 10min, or with the process that started it
  --dry-run      say what it would do, and do nothing
  --check        read the configuration, and end: 1 where it is refused
  --restore      write back what an ended guard had set, and end
  --help         print this
  --version      print the version

Beside the state file it has guard.prom (what it holds), guard.events (what it did) and guard.sock
(where it is told to let go of a file system), all as the state file is named. Configuration and
state must be root's alone. A machine has one guard (/run/plimsoll/guard.lock).
It runs until SIGTERM or SIGINT; SIGHUP reads the configuration again.
Exit status: 0 done, 1 it cannot, 2 wrong arguments.";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) job: Job,
    pub(crate) config: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) dry_run: bool,
    /// The policy that is on alone.
    pub(crate) only: Option<&'static str>,
    /// After this time it ends.
    pub(crate) lasts: Option<Nanos>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Run,
    Check,
    Restore,
    Help,
    Version,
}

impl Arguments {
    /// Reads the arguments behind the program's name.
    ///
    /// # Errors
    /// One line: what is wrong, and the way out.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut parsed = Self {
            job: Job::Run,
            config: PathBuf::from("/etc/plimsoll/guard.toml"),
            state: PathBuf::from("/run/plimsoll/guard.state"),
            dry_run: false,
            only: None,
            lasts: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let (name, joined) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.into())),
                _ => (text.as_str(), None),
            };
            let mut value = |what| given(name, what, joined.clone().or_else(|| arguments.next()));
            match name {
                "--config" => parsed.config = value("FILE")?.into(),
                "--state" => parsed.state = value("FILE")?.into(),
                "--only" => parsed.only = Some(policy(&value("POLICY")?)?),
                "--for" => parsed.lasts = Some(time(&value("TIME")?)?),
                "--dry-run" => parsed.dry_run = true,
                "--check" => parsed.job = Job::Check,
                "--restore" => parsed.job = Job::Restore,
                "-h" | "--help" => parsed.job = Job::Help,
                "-V" | "--version" => parsed.job = Job::Version,
                _ => {
                    let shown: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
                    return Err(format!("{shown}: no such argument; --help lists them"));
                }
            }
        }
        Ok(parsed)
    }
}

fn given(name: &str, what: &str, value: Option<OsString>) -> Result<OsString, String> {
    let given = value.filter(|value| !value.is_empty());
    given.ok_or_else(|| {
        let missing = what.to_lowercase();
        format!("{name}: a {missing} is missing; write it as {name} {what}")
    })
}

fn policy(value: &OsStr) -> Result<&'static str, String> {
    let text = value.to_string_lossy();
    let words = Policy::WORDS.map(|(word, _)| word);
    let found = words.into_iter().find(|word| *word == text);
    found.ok_or_else(|| format!("--only: no such policy; {}", way_out(&text, words)))
}

fn time(value: &OsStr) -> Result<Nanos, String> {
    let time = quantity::duration(&value.to_string_lossy());
    time.map_err(|error| format!("--for: {error}; write it as \"10 min\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        Arguments::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn files_are_given_with_a_space_or_an_equals_sign() {
        for arguments in [&["--config", "a"][..], &["--config=a"]] {
            let parsed = parse(arguments).expect("arguments");
            assert_eq!(parsed.config, PathBuf::from("a"));
            assert_eq!((parsed.job, parsed.dry_run), (Job::Run, false));
        }
        assert!(parse(&["--dry-run"]).expect("arguments").dry_run);
        let run = parse(&["--for", "10 min", "--only=floor"]).expect("arguments");
        let lasts = Nanos(600 * Nanos::SECOND.0);
        assert_eq!((run.lasts, run.only), (Some(lasts), Some("floor")));
    }

    #[test]
    fn a_wrong_argument_says_the_way_out() {
        let expected = "--confg: no such argument; --help lists them";
        assert_eq!(parse(&["--confg"]).expect_err("wrong"), expected);
        let expected = "--config: a file is missing; write it as --config FILE";
        assert_eq!(parse(&["--config"]).expect_err("wrong"), expected);
        assert_eq!(parse(&["--config="]).expect_err("wrong"), expected);
        let expected = "--only: no such policy; did you mean `floor`?";
        assert_eq!(parse(&["--only", "flor"]).expect_err("wrong"), expected);
        let wrong = parse(&["--for", "10"]).expect_err("wrong");
        assert!(wrong.starts_with("--for: ") && wrong.ends_with("write it as \"10 min\""));
    }

    #[test]
    fn the_man_page_has_every_option() {
        let page = include_str!("../../../packaging/plimsoll-guard.8").replace("\\-", "-");
        let options = HELP.lines().filter_map(|line| {
            let option = line.strip_prefix("  --")?;
            option.split(' ').next()
        });
        for option in options {
            assert!(page.contains(&format!("\\fB--{option}\\fR")), "{option}");
        }
    }
}
