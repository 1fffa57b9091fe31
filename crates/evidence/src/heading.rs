//! Lines that say what comes below them: prompts with a command, `==> name <==`, the titles of
//! mail, of Markdown and of supportconfig.

use super::command::{self, Hint};
use super::path;

/// A line that is no part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heading {
    /// A text of this kind begins.
    Begins(Hint),
    /// Whatever was there ends.
    Ends,
}

/// Marks behind which a shell waits for a command.
const PROMPTS: [char; 6] = ['$', '#', '%', '>', '➜', '❯'];

/// What a line is as a heading; `None` where it is none.
#[must_use]
pub fn of(line: &str) -> Option<Heading> {
    let line = line.trim();
    if line.len() > 400 || line.is_empty() {
        return None;
    }
    if line.starts_with("```") || line.starts_with("~~~") || line.starts_with("#==[") {
        return Some(Heading::Ends);
    }
    tail_heading(line)
        .or_else(|| watched(line))
        .or_else(|| prompt(line))
        .or_else(|| command_alone(line))
        .or_else(|| title(line))
}

/// `==> /proc/meminfo <==`, as `head` and `tail` write it.
fn tail_heading(line: &str) -> Option<Heading> {
    let name = line.strip_prefix("==>")?.strip_suffix("<==")?.trim();
    Some(Heading::Begins(of_name(name)))
}

/// `Every 1.0s: cat /proc/meminfo   HOST: DATE`, as `watch` writes it.
fn watched(line: &str) -> Option<Heading> {
    let (every, command) = line.strip_prefix("Every ")?.split_once("s: ")?;
    let seconds = every.replace(',', ".").parse::<f64>();
    let command = command.split("  ").next().unwrap_or(command);
    let hint = seconds.is_ok().then(|| command::hint(command))?;
    Some(Heading::Begins(hint.unwrap_or(Hint::Other)))
}

/// What the name of a file says of its text.
#[must_use]
pub fn of_name(name: &str) -> Hint {
    let known = path::known(name).map(|(_, path)| path.into());
    let base = name.rsplit('/').next().unwrap_or(name);
    match known.or_else(|| path::bare(base)) {
        Some(path) => Hint::Files(alloc::vec![path]),
        None => command::of_file_name(name).unwrap_or_default(),
    }
}

/// A prompt, with or without a command behind it.
fn prompt(line: &str) -> Option<Heading> {
    let (at, mark) = line
        .char_indices()
        .find(|(at, c)| PROMPTS.contains(c) && is_prompt(&line[..*at], *c))?;
    let command = line[at + mark.len_utf8()..].trim();
    let before = line[..at].trim();
    match command::hint(after_folder(command)) {
        Some(hint) => Some(Heading::Begins(hint)),
        None if command.is_empty() && before.contains(['@', '$']) => Some(Heading::Ends),
        None if before.contains('@') => Some(Heading::Begins(Hint::Other)),
        None if mark == '#' && before.is_empty() => path_alone(command),
        None => None,
    }
}

/// Whether what stands before the mark can be a prompt's beginning: nothing, or words with a host
/// or a folder in them.
fn is_prompt(before: &str, mark: char) -> bool {
    let before = before.trim();
    let short = before.len() <= 80 && before.split(' ').count() <= 3;
    let made = before.contains(['@', ':', '~', '/', ']', '-']) || mark == '➜';
    let plain = before
        .chars()
        .all(|c| c.is_alphanumeric() || "@:~/[]()-_.+ ".contains(c));
    before.is_empty()
        || (short && plain && (made || matches!(mark, '#' | '$') && !before.contains(' ')))
}

/// The command behind the folder that `➜  ~ cat` shows.
fn after_folder(command: &str) -> &str {
    command.strip_prefix("~ ").unwrap_or(command).trim_start()
}

/// A command that stands alone on its line; it must have a file or be one that prints what is
/// known.
fn command_alone(line: &str) -> Option<Heading> {
    let line = line.strip_prefix("+ ").unwrap_or(line);
    let bare = line.trim_matches(|c| "*`#=-: ".contains(c));
    let first = bare.split_ascii_whitespace().next()?;
    let hint = command::hint(bare)?;
    let told = match &hint {
        Hint::Other => {
            let arguments = bare.len() > first.len();
            let options = bare
                .split_ascii_whitespace()
                .skip(1)
                .all(|word| word.starts_with('-') || word.parse::<u64>().is_ok());
            [
                "sysctl", "dmesg", "vmstat", "sar", "ps", "top", "slabtop", "swapon", "lscpu", "df",
            ]
            .contains(&first)
                && (!arguments || options || first == "sysctl" || bare == "ps aux")
        }
        Hint::None => false,
        Hint::Free(_) => bare
            .split_ascii_whitespace()
            .skip(1)
            .all(|word| word.starts_with('-')),
        _ => true,
    };
    told.then_some(Heading::Begins(hint))
}

/// `/proc/meminfo:`, `### meminfo`, `--- /proc/zoneinfo ---`, `Output of cat /proc/meminfo:`.
fn title(line: &str) -> Option<Heading> {
    let bare = line.trim_matches(|c| "*`#=-: ".contains(c));
    let marked = bare.len() < line.len();
    if let Some(heading) = path_alone(bare) {
        return Some(heading);
    }
    if marked && let Some(path) = path::bare(bare) {
        return Some(Heading::Begins(Hint::Files(alloc::vec![path])));
    }
    let prose = line.ends_with(':') && bare.split(' ').count() <= 12 && !bare.contains(": ");
    let path = bare.split(' ').find_map(path::named).filter(|_| prose)?;
    Some(Heading::Begins(Hint::Files(alloc::vec![path])))
}

/// A line that is nothing but a file's path.
fn path_alone(line: &str) -> Option<Heading> {
    let one = line.starts_with('/') && !line.contains(' ');
    let path = path::named(line).filter(|_| one)?;
    Some(Heading::Begins(Hint::Files(alloc::vec![path])))
}
