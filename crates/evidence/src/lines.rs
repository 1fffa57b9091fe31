//! Lines that tell by themselves which file's value they hold.

use alloc::format;
use alloc::string::String;

use super::{clean, groups, kind, path};

/// A line that needs no other to be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// `KEY = VALUE`, as `sysctl` prints it.
    Setting(&'a str, &'a str),
    /// A line of this file: `/proc/sys/vm/swappiness:60`, as `grep . FILE…` prints it.
    Within(String, &'a str),
    /// Lines of this file of a control group.
    OfGroup(String, String),
    /// The kernel's release.
    Release(&'a str),
    /// A file that could not be read, and the reason.
    Refused(String, &'a str),
}

/// What the line says; `None` where it needs others.
pub(super) fn value(line: &str) -> Option<Value<'_>> {
    let line = line.trim();
    setting(line)
        .or_else(|| configured(line))
        .or_else(|| within(line))
        .or_else(|| balloon(line))
        .or_else(|| groups::told(line).map(|(path, text)| Value::OfGroup(path, text)))
        .or_else(|| uname(line).map(Value::Release))
        .or_else(|| refused(line))
}

/// `vm.swappiness = 60`.
fn setting(line: &str) -> Option<Value<'_>> {
    let (key, value) = line.split_once(" =")?;
    let (group, _) = key.split_once(['.', '/'])?;
    let groups = [
        "vm", "kernel", "fs", "net", "dev", "abi", "user", "debug", "sunrpc", "crypto",
    ];
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    let known = groups.contains(&group) && key.bytes().all(name);
    known.then(|| Value::Setting(key, without_comment(value).trim()))
}

/// A value without the comment that stands behind it in a file: the kernel has none.
fn without_comment(value: &str) -> &str {
    let ends = [" #", "\t#", " ;", "\t;"];
    let end = ends.iter().filter_map(|end| value.find(end)).min();
    &value[..end.unwrap_or(value.len())]
}

/// `vm.swappiness=60`: `sysctl` prints blanks around the sign, so this is a line of its
/// configuration, and what the kernel has is another matter.
fn configured(line: &str) -> Option<Value<'_>> {
    let (key, value) = line.split_once('=')?;
    let plain = key.starts_with("vm.") && !line.contains(' ') && !value.is_empty();
    let known = plain && path::of_key(key).is_some();
    known.then(|| Value::Within(String::from("etc/sysctl.d/pasted.conf"), line))
}

/// `guest.mem.ballooned = 16712052`, as VMware's tools print it, in KiB.
fn balloon(line: &str) -> Option<Value<'_>> {
    let held = line.strip_prefix("guest.mem.ballooned = ")?;
    let number = held.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| Value::Within(String::from("plimsoll/tools/vmware"), line))
}

/// `/proc/sys/vm/swappiness:60`, and `swappiness:60` where that is a tunable's name.
fn within(line: &str) -> Option<Value<'_>> {
    let (name, rest) = line.split_once(':')?;
    if name.contains(' ') || rest.is_empty() {
        return None;
    }
    let path = match name.strip_prefix('/') {
        // A block device's number has a colon of its own.
        Some(_) => named(line)?,
        None if rest.starts_with(' ') => return None,
        None => (path::bare(name)?, rest),
    };
    Some(Value::Within(path.0, path.1))
}

/// The file before one of the line's colons, and what follows.
fn named(line: &str) -> Option<(String, &str)> {
    let mut colons = line.match_indices(':').take(4);
    colons.find_map(|(at, _)| {
        let rest = &line[at + 1..];
        let path = path::named(&line[..at]).filter(|_| !rest.is_empty());
        path.map(|path| (path, rest))
    })
}

/// The release in what `uname -a` prints, and in the kernel's first words.
pub(super) fn uname(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Linux ")?;
    let mut words = rest.split_ascii_whitespace();
    let host = words.next()?;
    let word = words.next()?;
    let told = host == "version" || words.next().is_some_and(|build| build.starts_with('#'));
    release(word).filter(|_| told)
}

/// A word that is a release: `5.4.0-99-generic`.
pub(super) fn release(word: &str) -> Option<&str> {
    let numbers = word.split(['.', '-']).take(2);
    let two = numbers.clone().count() == 2;
    let numbers = numbers
        .into_iter()
        .all(|n| !n.is_empty() && n.len() < 5 && n.bytes().all(|b| b.is_ascii_digit()));
    (two && numbers && !word.contains([' ', '\t']) && word.len() < 80).then_some(word)
}

/// `cat: /proc/pagetypeinfo: Permission denied`.
fn refused(line: &str) -> Option<Value<'_>> {
    let of_key = line
        .strip_prefix("sysctl: ")
        .and_then(|rest| rest.split_once("key "));
    if let Some((_, rest)) = of_key {
        // "permission denied on key 'vm.x'", or "reading key \"vm.x\": Permission denied".
        let key = rest
            .trim_start_matches(['\'', '"'])
            .split(['\'', '"', ':'])
            .next()?;
        let name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
        let denied = line.to_ascii_lowercase().contains("permission denied");
        let path = || format!("proc/sys/{}", key.replace('.', "/"));
        return (denied && key.bytes().all(name))
            .then(|| Value::Refused(path::of_key(key).unwrap_or_else(path), "Permission denied"));
    }
    let (command, rest) = line.split_once(": ")?;
    let (name, why) = rest.rsplit_once(": ")?;
    let commands = ["cat", "head", "tail", "grep", "sysctl"];
    let reason = [
        "Permission denied",
        "No such file or directory",
        "Operation not permitted",
    ];
    let known = commands.contains(&command) && reason.contains(&why);
    let path = path::named(name).filter(|_| known)?;
    Some(Value::Refused(path, why))
}

/// The line without the stamps before it, where what is behind them is a kernel file's.
pub(super) fn told(line: &str) -> &str {
    let behind = clean::unstamped(line).filter(|behind| kind::is_kernel_file(behind));
    behind.unwrap_or(line)
}

/// Whether a line is one of metrics, whose comments look like prompts.
pub(super) fn is_metric(line: &str) -> bool {
    line.starts_with("# HELP ") || line.starts_with("# TYPE ")
}
