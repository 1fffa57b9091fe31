//! `plimsoll.toml`: which rules are asked, and what makes the exit code 1. What stands on the
//! command line comes before it.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context as _, bail};
use files::Folder;
use look::lint::{Choice, Severity};
use mm::suggest;
use toml::{Spanned, Value};

use super::named;

/// The file, in the directory that lint is run in.
const FILE: &str = "plimsoll.toml";

/// The longest that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The keys of its table `lint`.
const KEYS: [&str; 3] = ["select", "ignore", "fail-on"];

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The rules.
    pub(super) choice: Choice,
    /// The severity from which on the exit code is 1.
    pub(super) fail_on: Option<Severity>,
}

/// Reads the file; nothing where there is none, or where this machine is looked at, about which the
/// directory says nothing. A repository may hold it, so a link in it leads to nothing outside of
/// this directory.
///
/// # Errors
/// The line of what is not known.
pub(super) fn read(is_this_machine: bool) -> anyhow::Result<Settings> {
    if is_this_machine {
        return Ok(Settings::default());
    }
    match text(Path::new(".")).with_context(|| format!("{FILE}: cannot be read"))? {
        Some(text) => parse(&text).with_context(|| FILE.to_owned()),
        None => Ok(Settings::default()),
    }
}

fn text(directory: &Path) -> io::Result<Option<String>> {
    let directory = Folder::at(directory)?;
    let bytes = match (directory.read(FILE, LONGEST), directory.entry(FILE)) {
        (Err(error), Err(_)) if error.kind() == ErrorKind::NotFound => return Ok(None),
        (Err(error), Ok(_)) if error.kind() == ErrorKind::NotFound => {
            return Err(io::Error::other(
                "a link that leads to nothing in this directory",
            ));
        }
        (bytes, _) => bytes?,
    };
    let text = String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData)?;
    Ok(Some(text))
}

fn parse(text: &str) -> anyhow::Result<Settings> {
    let document: BTreeMap<Spanned<String>, Spanned<Value>> = toml(text)?;
    if let Some(other) = document.keys().find(|name| name.get_ref() != "lint") {
        let (name, at) = (other.get_ref(), line(text, other.span().start));
        bail!("line {at}: there is no {name}; there is the table [lint]");
    }
    let tables: BTreeMap<String, BTreeMap<Spanned<String>, Value>> = toml(text)?;
    let mut settings = Settings::default();
    for (key, value) in tables.get("lint").into_iter().flatten() {
        let at = line(text, key.span().start);
        let taken = settings.take(key.get_ref(), value);
        taken.with_context(|| format!("line {at}"))?;
    }
    Ok(settings)
}

/// Reads TOML; an error says the line and does not show it.
fn toml<T: serde::de::DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    toml::from_str(text).map_err(|error| {
        let at = line(text, error.span().map_or(0, |span| span.start));
        anyhow::anyhow!("line {at}: {}", error.message())
    })
}

impl Settings {
    fn take(&mut self, key: &str, value: &Value) -> anyhow::Result<()> {
        match key {
            "select" => self.choice.select = rules(value)?,
            "ignore" => self.choice.ignore = rules(value)?,
            "fail-on" => self.fail_on = Some(named::severity(value.as_str().unwrap_or_default())?),
            _ => match suggest::nearest(key, KEYS) {
                Some(near) => bail!("there is no key {key}; did you mean {near}?"),
                None => bail!("there is no key {key}; there is {}", KEYS.join(", ")),
            },
        }
        Ok(())
    }
}

fn rules(value: &Value) -> anyhow::Result<Vec<&'static str>> {
    let names = value.as_array().context("expected a list of rules")?;
    let rule = |name: &Value| named::rule(name.as_str().context("expected a list of rules")?);
    names.iter().map(rule).collect()
}

/// The line of an offset, from 1.
fn line(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    before.filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_short_file_of_this_directory_is_read() {
        let outside = tempfile::tempdir().expect("a directory");
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "secret:1\n").expect("a file");
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let read = || text(directory.path());
        assert_eq!(read().expect("there is none"), None);
        let link = |to: &Path| {
            std::fs::remove_file(at(FILE)).ok();
            std::os::unix::fs::symlink(to, at(FILE)).expect("a link");
        };
        std::fs::write(at("own"), "text").expect("a file");
        link(Path::new("own"));
        assert_eq!(read().expect("its own").as_deref(), Some("text"));
        for to in [secret.as_path(), Path::new("/dev/zero"), Path::new("gone")] {
            link(to);
            let error = read().expect_err("it leads out, or nowhere").to_string();
            assert!(error.contains("a link"), "{error}");
        }
        std::fs::remove_file(at(FILE)).expect("a link");
        let long = std::fs::File::create(at(FILE)).expect("a file");
        long.set_len(LONGEST + 1).expect("its length");
        assert_eq!(
            read().expect_err("too long").kind(),
            ErrorKind::FileTooLarge
        );
        std::fs::remove_file(at(FILE)).expect("a file");
        let made = std::process::Command::new("mkfifo").arg(at(FILE)).status();
        assert!(made.expect("mkfifo").success());
        let error = read().expect_err("a pipe").to_string();
        assert!(error.contains("a pipe"), "{error}");
    }

    #[test]
    fn an_error_does_not_show_the_file() {
        for text in ["root:$6$secret\n", "a = [[[secret\n", "[lint]\nsecret"] {
            let error = format!("{:#}", parse(text).expect_err(text));
            assert!(
                error.starts_with("line ") && !error.contains("secret"),
                "{error}"
            );
        }
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(format!("{:#}", parse(&deep).expect_err("deep")).len() < 1000);
    }

    #[test]
    fn three_keys_are_taken() {
        let text = "[lint]\nselect = [\"dirty-pair\"]\nignore = []\nfail-on = \"error\"\n";
        let settings = parse(text).expect("it is right");
        assert_eq!(settings.choice.select, ["dirty-pair"]);
        assert_eq!(settings.fail_on, Some(Severity::Error));
        assert!(parse("").expect("it is right").choice.ignore.is_empty());
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_the_way_out() {
        let rows = [
            ("[lint]\n\nselct = []\n", "line 3", "select"),
            (
                "[lint]\nselect = [\"dirty-pare\"]\n",
                "line 2",
                "dirty-pair",
            ),
            ("[lint]\nfail-on = \"bad\"\n", "line 2", "warning"),
            ("[lint]\nignore = 5\n", "line 2", "list"),
            ("\n[linter]\n", "line 2", "[lint]"),
            ("[lint\n", "", ""),
        ];
        for (text, at, way_out) in rows {
            let error = format!("{:#}", parse(text).expect_err(text));
            assert!(error.contains(at) && error.contains(way_out), "{error}");
        }
    }
}
