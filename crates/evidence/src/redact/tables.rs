//! Files and notes that have names in known places.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::names::{GROUPS, Names};

/// Each line changed, with its newline.
pub(super) fn lines(text: &str, change: impl FnMut(&str) -> Option<String>) -> String {
    let changed = text.lines().filter_map(change);
    changed.map(|line| line + "\n").collect()
}

/// `/proc/swaps`: a plain device keeps its name, a file or a named volume does not.
pub(super) fn swaps(text: &str, names: &mut Names) -> String {
    lines(text, |line| {
        let (name, rest) = line.split_once([' ', '\t'])?;
        let device = name.strip_prefix("/dev/");
        let plain = device.is_some_and(|device| {
            let kinds = ["zram", "sd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md"];
            kinds.iter().any(|kind| {
                device
                    .strip_prefix(kind)
                    .is_some_and(|rest| rest.len() <= 8 && !rest.contains('/'))
            })
        });
        Some(match plain || name == "Filename" {
            true => line.to_owned(),
            false => format!("/{} {rest}", names.of("swap", name)),
        })
    })
}

/// `/proc/self/cgroup`: `0::/PATH`.
pub(super) fn own_groups(text: &str, names: &mut Names) -> String {
    lines(text, |line| {
        let (controllers, path) = line.rsplit_once(':')?;
        Some(format!("{controllers}:{}", names.group(path)))
    })
}

/// The generations of debugfs: `memcg 5 /PATH`.
pub(super) fn generations(text: &str, names: &mut Names) -> String {
    lines(text, |line| {
        let group = line
            .find('/')
            .filter(|_| line.trim_start().starts_with("memcg"));
        Some(match group {
            Some(at) => format!("{}{}", &line[..at], names.group(&line[at..])),
            None => line.to_owned(),
        })
    })
}

/// A note whose lines begin with a path.
pub(super) fn paths(text: &str, names: &mut Names) -> String {
    lines(text, |line| {
        let (path, rest) = line.split_once('\t')?;
        let path = match path.starts_with(GROUPS) {
            true => names.group_file(path),
            false => path.to_owned(),
        };
        Some(format!("{path}\t{rest}"))
    })
}

/// The note of the evidence: what was read, without the names of files.
pub(super) fn note(text: &str, names: &mut Names) -> String {
    lines(text, |line| {
        let mut words = line.splitn(3, '\t');
        let (kind, source, what) = (words.next()?, words.next()?, words.next()?);
        (kind == "read").then(|| format!("read\t{}\t{what}", names.of("evidence", source)))
    })
}

/// A text of `sysctl`'s configuration without its comments, under a name that keeps its number;
/// other configuration is left out.
pub(super) fn configuration(path: &str, text: &str, names: &mut Names) -> Option<(String, String)> {
    let (folder, name) = path.rsplit_once('/')?;
    let settings = lines(text, |line| {
        let setting = line.trim();
        (setting.starts_with("vm.") || setting.starts_with("-vm.")).then(|| setting.to_string())
    });
    if path == "etc/sysctl.conf" {
        return Some((path.to_owned(), settings));
    }
    if !folder.ends_with("sysctl.d") {
        return None;
    }
    let number: String = name.chars().take_while(char::is_ascii_digit).collect();
    let gap = if number.is_empty() { "" } else { "-" };
    let file = names.of("file", name);
    Some((format!("{folder}/{number}{gap}{file}.conf"), settings))
}

/// What `ps` and `top` print: users and commands get placeholders, by the table's head.
pub(super) fn processes(text: &str, names: &mut Names) -> String {
    let mut head: Vec<String> = Vec::new();
    lines(text, |line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.contains(&"PID") {
            head = words.iter().map(|word| (*word).to_owned()).collect();
            return Some(line.to_owned());
        }
        if head.is_empty() {
            let plain = [
                "top - ", "Tasks:", "%Cpu", "Cpu(s)", "KiB ", "MiB ", "Mem:", "Swap:",
            ];
            let line = line.trim_start();
            return plain
                .iter()
                .any(|start| line.starts_with(start))
                .then(|| line.to_owned());
        }
        let command = head
            .iter()
            .position(|name| ["COMMAND", "CMD", "COMM"].contains(&name.as_str()));
        let row = words
            .iter()
            .zip(&head)
            .take(command.unwrap_or(head.len()))
            .map(|(word, name)| {
                let user = ["USER", "UID", "RUSER", "EUSER"].contains(&name.as_str());
                // A column that holds no amount may hold a name.
                let amount = word
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || b".,:%-+kKmMgGtT".contains(&byte));
                match (
                    user,
                    amount || ["S", "STAT", "TTY", "TT"].contains(&name.as_str()),
                ) {
                    (true, _) => names.of("user", word),
                    (false, true) => (*word).to_owned(),
                    (false, false) => "?".to_owned(),
                }
            });
        let mut row: Vec<String> = row.collect();
        let name = command.and_then(|at| words.get(at));
        row.extend(name.map(|name| names.of("process", name)));
        Some(row.join(" "))
    })
}

/// What `sar` prints: the host's name stands in its first line.
pub(super) fn sar(text: &str) -> String {
    lines(text, |line| {
        if !line.starts_with("Linux ") {
            return Some(line.to_owned());
        }
        let (before, rest) = line.split_once('(')?;
        let (_, after) = rest.split_once(')')?;
        Some(format!("{before}(host){after}"))
    })
}
