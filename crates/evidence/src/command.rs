//! What a command of a shell prints, as far as evidence is made of it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::free::Unit;
use super::path;

/// What a heading says of the text below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// These files, one after the other.
    Files(Vec<String>),
    /// What `free` prints, in this unit.
    Free(Unit),
    /// The release alone, as `uname -r` prints it.
    Release,
    /// A number that is this fact: `page_size`, `cpus`.
    Fact(&'static str),
    /// A command whose text tells by itself what it is, or is of no use.
    Other,
}

/// Commands after which a text begins.
const COMMANDS: &[&str] = &[
    "cat",
    "cd",
    "head",
    "tail",
    "less",
    "more",
    "grep",
    "egrep",
    "fgrep",
    "zcat",
    "awk",
    "sed",
    "sort",
    "sysctl",
    "free",
    "uname",
    "getconf",
    "nproc",
    "dmesg",
    "journalctl",
    "vmstat",
    "sar",
    "sadf",
    "top",
    "ps",
    "slabtop",
    "swapon",
    "lscpu",
    "df",
    "numastat",
    "numactl",
    "echo",
    "ls",
    "uptime",
    "mount",
    "lsblk",
    "iostat",
    "mpstat",
    "pidstat",
    "systemctl",
    "docker",
    "kubectl",
    "stress",
    "stress-ng",
    "htop",
    "watch",
    "curl",
    "date",
    "hostnamectl",
    "tuned-adm",
    "lsb_release",
];

/// Commands that stand before another one.
const BEFORE: &[&str] = &[
    "sudo", "watch", "time", "adb", "shell", "ssh", "-n1", "-n", "1",
];

/// What a line that is a command prints; `None` where it is none.
///
/// The command may stand alone (then it needs an argument that fits, or none where it has none) or
/// with its folder: `/bin/cat /proc/meminfo`.
#[must_use]
pub fn hint(command: &str) -> Option<Hint> {
    let mut commands = command.split(';').flat_map(|part| part.split("&&"));
    let first = of_one(commands.next()?)?;
    Some(
        commands
            .filter_map(of_one)
            .fold(first, |hint, next| match (hint, next) {
                (Hint::Files(files), Hint::Files(more)) => {
                    Hint::Files(files.into_iter().chain(more).collect())
                }
                (Hint::Other, next) => next,
                (hint, _) => hint,
            }),
    )
}

/// What a command without those behind it prints.
fn of_one(command: &str) -> Option<Hint> {
    let first = command.split('|').next().unwrap_or_default();
    let mut words = first.split_ascii_whitespace().peekable();
    while words.next_if(|word| BEFORE.contains(word)).is_some() {}
    let name = words.next()?;
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_suffix(':').unwrap_or(name).trim_matches('`');
    let arguments: Vec<&str> = words.collect();
    let known = match name {
        // "at" is "cat" whose first letter was not copied.
        "at" => arguments.iter().all(|word| word.starts_with('/')) && !arguments.is_empty(),
        "for" => arguments.get(1) == Some(&"in"),
        name => COMMANDS.contains(&name),
    };
    known.then(|| of(name, &arguments))
}

fn of(name: &str, arguments: &[&str]) -> Hint {
    match name {
        "free" => Hint::Free(unit(arguments)),
        "uname" if arguments.first() == Some(&"-r") => Hint::Release,
        "getconf"
            if arguments
                .first()
                .is_some_and(|name| name.starts_with("PAGE")) =>
        {
            Hint::Fact("page_size")
        }
        "nproc" => Hint::Fact("cpus"),
        "sysctl"
            if arguments
                .first()
                .is_some_and(|first| matches!(*first, "-n" | "-nb")) =>
        {
            let keys = arguments[1..].iter();
            files(keys.filter_map(|key| path::of_key(key)).collect())
        }
        _ => files(arguments.iter().flat_map(|word| expanded(word)).collect()),
    }
}

fn files(files: Vec<String>) -> Hint {
    match files.is_empty() {
        true => Hint::Other,
        false => Hint::Files(files),
    }
}

/// The files that a word means, braces of a shell included.
fn expanded(word: &str) -> Vec<String> {
    let braces = word.split_once('{').and_then(|(before, rest)| {
        let (inner, after) = rest.split_once('}')?;
        Some((before, inner, after))
    });
    match braces {
        Some((before, inner, after)) => {
            let names = inner
                .split(',')
                .map(|name| format!("{before}{name}{after}"));
            names.filter_map(|name| path::named(&name)).collect()
        }
        None => path::named(word).into_iter().collect(),
    }
}

/// The unit in which `free` counts, by its options.
fn unit(options: &[&str]) -> Unit {
    let mut unit = Unit::Kib;
    for option in options.iter().filter(|option| option.starts_with('-')) {
        match *option {
            "--bytes" => unit = Unit::Bytes,
            "--mebi" => unit = Unit::Mib,
            "--human" | "--gibi" | "--mega" | "--giga" | "--kilo" | "--si" => {
                unit = Unit::Rounded;
            }
            _ if option.starts_with("--") => {}
            _ if option.contains(['h', 'g']) => unit = Unit::Rounded,
            _ if option.contains('m') => unit = Unit::Mib,
            _ if option.contains('b') => unit = Unit::Bytes,
            _ => {}
        }
    }
    unit
}

/// The command that a file of sos has as its name: `sysctl_-a`, `cat_.proc.meminfo`.
#[must_use]
pub fn of_file_name(name: &str) -> Option<Hint> {
    let base = name.rsplit('/').next().unwrap_or(name);
    let base = base.strip_suffix(".txt").unwrap_or(base);
    let words = base.replace('_', " ").to_string();
    hint(&words)
}
