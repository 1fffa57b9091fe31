//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Keeps files that are used in memory, and the page cache below a ceiling.

Usage: plimsoll-guard [OPTIONS]

  --config FILE  the configuration [default: /etc/plimsoll/guard.toml], with FILE.d/*.toml
  --state FILE   where it notes what it sets [default: /run/plimsoll/guard.state]
  --dry-run      say what it would do, and do nothing
  --restore      write back what an ended guard had set, and end
  --help         print this
  --version      print the version

It runs until SIGTERM or SIGINT; SIGHUP reads the configuration again.
Exit status: 0 done, 1 it cannot, 2 wrong arguments.";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) job: Job,
    pub(crate) config: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) dry_run: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Run,
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
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let (name, joined) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.into())),
                _ => (text.as_str(), None),
            };
            let mut value = || file(name, joined.clone().or_else(|| arguments.next()));
            match name {
                "--config" => parsed.config = value()?,
                "--state" => parsed.state = value()?,
                "--dry-run" => parsed.dry_run = true,
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

fn file(name: &str, value: Option<OsString>) -> Result<PathBuf, String> {
    let given = value.filter(|value| !value.is_empty());
    given
        .map(PathBuf::from)
        .ok_or_else(|| format!("{name}: a file is missing; write it as {name} FILE"))
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
    }

    #[test]
    fn a_wrong_argument_says_the_way_out() {
        let expected = "--confg: no such argument; --help lists them";
        assert_eq!(parse(&["--confg"]).expect_err("wrong"), expected);
        let expected = "--config: a file is missing; write it as --config FILE";
        assert_eq!(parse(&["--config"]).expect_err("wrong"), expected);
        assert_eq!(parse(&["--config="]).expect_err("wrong"), expected);
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
