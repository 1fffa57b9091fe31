//! Keys, as each loader turns them into paths below `/proc/sys`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use crate::live::Live;

/// Where tunables of `sysctl` lie.
pub(super) const ROOT: &str = "proc/sys/";

/// The longest path of the kernel, in bytes.
const LONGEST: usize = 4096;

/// The whole path of a normalised key.
pub(super) fn path(key: &str) -> String {
    [ROOT, key].concat()
}

/// A key as systemd keeps it: a doubled slash, a `.` between slashes and slashes around it go.
pub(super) fn systemd(key: &str) -> String {
    let key = swapped(key);
    let parts: Vec<&str> = key
        .split('/')
        .filter(|it| !matches!(*it, "" | "."))
        .collect();
    match parts.is_empty() {
        true => key.chars().take(1).collect(),
        false => parts.join("/"),
    }
}

/// A key as procps keeps it, unchanged but for the separators.
pub(super) fn procps(key: &str) -> String {
    swapped(key)
}

/// The path of a key for busybox, which turns dots into slashes, from the longest name on, as far
/// as there are such files. Where nothing is known of the machine, every dot.
pub(super) fn busybox(key: &str, live: &Live) -> Option<String> {
    if live.paths().next().is_none() {
        return Some(path(&key.replace('.', "/")));
    }
    let is_directory = |path: &str| live.is_directory(path);
    let exists = |name: &str| {
        let path = resolved(&path(name), is_directory);
        path.is_some_and(|path| live.has(&path) || live.is_directory(&path))
    };
    if key.starts_with('/') || key.len() > LONGEST {
        return None;
    }
    if key.find('.') < key.find('/') && key.contains('.') {
        return resolved(&path(&swapped(key)), is_directory);
    }
    let mut name = key.to_owned();
    let mut from = 0;
    loop {
        let dots = name.match_indices('.').map(|(at, _)| at);
        let mut ends: Vec<usize> = dots.filter(|at| *at >= from).collect();
        ends.push(name.len());
        let Some(end) = ends.into_iter().rev().find(|end| exists(&name[..*end])) else {
            break;
        };
        if end == name.len() {
            break;
        }
        name.replace_range(end..=end, "/");
        from = end + 1;
    }
    resolved(&path(&name), is_directory)
}

/// Where a path leads once `.`, `..` and doubled slashes are resolved, from the root. `None` where
/// a component before a `..` is no directory.
pub(super) fn resolved(path: &str, is_directory: impl Fn(&str) -> bool) -> Option<String> {
    let mut at: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if at.is_empty() => {}
            ".." if is_directory(&at.join("/")) => {
                at.pop();
            }
            ".." => return None,
            name => at.push(name),
        }
    }
    Some(at.join("/"))
}

/// Where the first separator is a dot, dots become slashes and slashes dots.
fn swapped(key: &str) -> String {
    let first = key.find(['.', '/']);
    if first.is_none_or(|at| key.as_bytes()[at] == b'/') {
        return key.to_owned();
    }
    let swap = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    key.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_separator_says_how_the_key_is_written() {
        assert_eq!(systemd("vm.swappiness"), "vm/swappiness");
        assert_eq!(systemd("net.ipv4.conf.eth0/1.x"), "net/ipv4/conf/eth0.1/x");
        assert_eq!(systemd("net/ipv4/conf/eth0.1/x"), "net/ipv4/conf/eth0.1/x");
        assert_eq!(systemd("/vm//./swappiness/"), "vm/swappiness");
        assert_eq!(systemd("vm/../vm/x"), "vm/../vm/x");
        assert_eq!(systemd("/"), "/");
        assert_eq!(procps("vm..swappiness"), "vm//swappiness");
    }

    #[test]
    fn dots_resolve_only_through_directories() {
        let is_directory = |path: &str| matches!(path, "proc/sys/vm" | "proc/sys" | "proc");
        let resolved = |path| resolved(path, is_directory);
        assert_eq!(
            resolved("proc/sys//vm/./../vm/x").as_deref(),
            Some("proc/sys/vm/x")
        );
        assert_eq!(resolved("proc/sys/no/../vm/x"), None);
        assert_eq!(resolved("proc/sys/../../etc/x").as_deref(), Some("etc/x"));
    }
}
