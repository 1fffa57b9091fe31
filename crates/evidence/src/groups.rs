//! Files of control groups as people name them: by a bare name below a folder that was entered, by
//! a path below the hierarchy, and in front of a value.

use alloc::format;
use alloc::string::String;

/// Where the hierarchy is mounted.
const ROOT: &str = "sys/fs/cgroup/";

/// The folder of files whose group is not told.
const UNNAMED: &str = "sys/fs/cgroup/unnamed/";

/// Files of one value.
const VALUES: &[&str] = &[
    "memory.current",
    "memory.peak",
    "memory.min",
    "memory.low",
    "memory.high",
    "memory.max",
    "memory.oom.group",
    "memory.swap.current",
    "memory.swap.peak",
    "memory.swap.high",
    "memory.swap.max",
    "memory.zswap.current",
    "memory.zswap.max",
    "memory.usage_in_bytes",
    "memory.max_usage_in_bytes",
    "memory.limit_in_bytes",
    "memory.soft_limit_in_bytes",
    "memory.failcnt",
    "memory.swappiness",
    "memory.use_hierarchy",
    "memory.memsw.usage_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.memsw.failcnt",
    "memory.kmem.usage_in_bytes",
    "memory.kmem.limit_in_bytes",
    "memory.kmem.failcnt",
    "pids.current",
    "pids.peak",
    "pids.max",
];

/// Files of named numbers.
const TABLES: &[&str] = &[
    "memory.events",
    "memory.events.local",
    "memory.swap.events",
    "memory.oom_control",
    "pids.events",
    "memory.stat",
    "memory.pressure",
];

/// Whether a path's file is one value of a group.
#[must_use]
pub fn is_value(path: &str) -> bool {
    is_of(path, VALUES)
}

/// Whether a path's file is a list of a group's events.
#[must_use]
pub fn is_events(path: &str) -> bool {
    is_of(path, &TABLES[..5])
}

fn is_of(path: &str, names: &[&str]) -> bool {
    let name = path
        .strip_prefix(ROOT)
        .and_then(|below| below.rsplit('/').next());
    name.is_some_and(|name| names.contains(&name))
}

/// The path of a file named without its root: `memory.max`, `system.slice/db/memory.max`.
pub(super) fn relative(word: &str) -> Option<String> {
    let word = word.strip_prefix("./").unwrap_or(word);
    let name = word.rsplit('/').next().unwrap_or(word);
    let known = VALUES.contains(&name) || TABLES.contains(&name);
    let folder = if word == name { UNNAMED } else { ROOT };
    (known && !word.starts_with('/')).then(|| format!("{folder}{word}"))
}

/// The folder of the hierarchy in which a shell stands: by its prompt, or by the `cd` in it. It
/// ends in a slash.
pub(super) fn folder(line: &str) -> Option<String> {
    let at = line.find("/sys/fs/cgroup/").map(|at| at + 1)?;
    let rest = &line[at..];
    let end = rest.find([' ', '$', '#', '>', ']', '"', '\'', ';', '&']);
    let folder = rest[..end.unwrap_or(rest.len())].trim_end_matches('/');
    let is_entered = line[..at - 1].trim_end().ends_with("cd");
    let is_prompt = end.is_some_and(|end| rest[end..].starts_with(['$', '#', '>', ']']));
    (is_entered || is_prompt).then(|| format!("{folder}/"))
}

/// A file without a group's name, as that of the folder.
pub(super) fn within(path: &str, folder: &str) -> Option<String> {
    let name = path.strip_prefix(UNNAMED)?;
    Some(format!("{folder}{name}"))
}

/// The file that a line begins with, and the values behind it as the file has them:
/// `memory.max: 536870912`, `memory.events  high 5, max 0`, `memory.failcnt = 1,682`.
pub(super) fn told(line: &str) -> Option<(String, String)> {
    let end = line.find([' ', '\t', ':', '='])?;
    let path = relative(&line[..end])?;
    let rest = line[end..].trim_start_matches([' ', '\t', ':', '=']);
    let mut words = rest
        .split([' ', '\t', '=', ':'])
        .filter(|word| !word.is_empty());
    if is_value(&path) {
        let value = words.next().and_then(number)?;
        let unit = words
            .next()
            .is_none_or(|unit| ["B", "bytes"].contains(&unit));
        return (unit && words.next().is_none()).then_some((path, value));
    }
    let mut text = String::new();
    while let Some(name) = words.next() {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let value = words.next().and_then(number)?;
        if !name.bytes().all(plain) {
            return None;
        }
        let end = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{end}{name} {value}"));
        if words.clone().next().is_some_and(|unit| unit == "B") {
            words.next();
        }
    }
    let is_table = !text.is_empty() && !path.ends_with("pressure");
    is_table.then_some((path, text))
}

/// A whole number without the marks between its digits, or `max`.
fn number(word: &str) -> Option<String> {
    let word = word.strip_suffix(',').unwrap_or(word);
    let mut groups = word.split(',');
    let first = groups.next().unwrap_or_default();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = groups.all(|group| group.len() == 3 && digits(group));
    (word == "max" || digits(first) && grouped).then(|| word.replace(',', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_a_bare_name_and_by_a_path_below_the_hierarchy() {
        let path = |word| relative(word).unwrap_or_default();
        assert_eq!(path("memory.max"), "sys/fs/cgroup/unnamed/memory.max");
        assert_eq!(path("./a/b/memory.stat"), "sys/fs/cgroup/a/b/memory.stat");
        assert_eq!(path("/etc/memory.max"), "");
        assert_eq!(path("memory.txt"), "");
    }

    #[test]
    fn a_prompt_or_cd_tells_the_folder() {
        let rows = [
            ("u@h:/sys/fs/cgroup/db$ cat memory.max", "sys/fs/cgroup/db/"),
            (
                "[root@h /sys/fs/cgroup/db]# cat memory.max",
                "sys/fs/cgroup/db/",
            ),
            (
                "$ cd /sys/fs/cgroup/system.slice/a.service",
                "sys/fs/cgroup/system.slice/a.service/",
            ),
            ("$ cat /sys/fs/cgroup/db/memory.max", ""),
        ];
        for (line, expected) in rows {
            assert_eq!(folder(line).unwrap_or_default(), expected, "{line}");
        }
    }

    #[test]
    fn values_behind_a_name_are_those_of_the_file() {
        let rows = [
            ("memory.max: 536870912", "536870912"),
            ("memory.limit_in_bytes = 2,621,440,000 B", "2621440000"),
            ("memory.events    high 556267, max 0", "high 556267\nmax 0"),
            (
                "memory.stat total_cache = 2,537,095,168 B",
                "total_cache 2537095168",
            ),
            ("memory.high is what it waits for", ""),
            ("memory.stat anon 271 MB", ""),
            ("memory.max 5 6", ""),
        ];
        for (line, expected) in rows {
            let text = told(line).map(|(_, text)| text);
            assert_eq!(text.unwrap_or_default(), expected, "{line}");
        }
    }
}
