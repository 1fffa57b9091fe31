//! What `docker stats` and `podman stats` print, as files of control groups.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::free::rounded;

/// The head of the table.
pub(super) fn head(line: &str) -> bool {
    line.contains("MEM USAGE / LIMIT")
}

/// A row: it has the memory as `1.998GiB / 2GiB`.
pub(super) fn row(line: &str) -> bool {
    memory(line).is_some()
}

/// Use and limit in KiB.
fn memory(line: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let at = words.iter().position(|word| *word == "/")?;
    let amount = |word: &str| word.ends_with('B').then(|| rounded(word)).flatten();
    Some((
        amount(words.get(at.checked_sub(1)?)?)?,
        amount(words.get(at + 1)?)?,
    ))
}

/// `memory.current` and `memory.max` of each container, as far as they are rounded.
pub(super) fn files(text: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut column = 0;
    for line in text.lines() {
        if head(line) {
            // A name has no column of its own where there is no identity.
            column = usize::from(line.split_ascii_whitespace().any(|word| word == "ID"));
        }
        let name = line.split_ascii_whitespace().nth(column);
        let Some((name, (used, limit))) = name.zip(memory(line)) else {
            continue;
        };
        if name.contains(['/', '\0']) || name.starts_with('.') {
            continue;
        }
        for (file, kib) in [("current", used), ("max", limit)] {
            let path = format!("sys/fs/cgroup/{name}/memory.{file}");
            files.push((path, kib.saturating_mul(1024).to_string() + "\n"));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_a_group_with_its_use_and_its_limit() {
        let text = "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT     MEM %     NET I/O\n\
                    b95a83497c91   web       0.28%     1.5GiB / 2GiB         75.00%    916B / 0B\n\
                    67b2525d8ad1   ../x      0.00%     1.727MiB / 15.5GiB    0.01%     2kB / 0B\n";
        assert!(text.lines().skip(1).all(row));
        let expected = [
            ("sys/fs/cgroup/web/memory.current", "1610612736\n"),
            ("sys/fs/cgroup/web/memory.max", "2147483648\n"),
        ];
        let files = files(text);
        let files: Vec<_> = files
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(files, expected);
        let podman = "ID            NAME        CPU %       MEM USAGE / LIMIT\n";
        assert!(head(podman));
    }
}
