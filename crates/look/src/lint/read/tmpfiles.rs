//! tmpfiles.d(5): the lines that write into files of `/sys` and `/proc/sys`.

use super::line::Read;
use super::name;
use crate::lint::setting::{Setting, Writer};

/// Reads a text.
pub(super) fn read(text: &str, index: usize) -> Read {
    let lines = text.lines().zip(1..);
    let settings = lines.filter_map(|(line, number)| {
        let (path, value) = written(line)?;
        Some(Setting {
            name: name::of_path(path),
            key: path.to_owned(),
            value: value.to_owned(),
            text: index,
            line: number,
            by: Writer::Tmpfiles,
            stands: false,
        })
    });
    Read {
        settings: settings.collect(),
        ..Read::default()
    }
}

/// The path and the argument of a line that writes into a kernel file.
fn written(line: &str) -> Option<(&str, &str)> {
    let (kind, rest) = line.trim().split_once(char::is_whitespace)?;
    let (path, mut rest) = field(rest)?;
    let writes = kind.starts_with('w') && kind[1..].chars().all(|c| "+!-=~^$".contains(c));
    let of_kernel = path.starts_with("/sys/") || path.starts_with("/proc/sys/");
    if !(writes && of_kernel) {
        return None;
    }
    // Mode, user, group and age.
    for _ in 0..4 {
        rest = field(rest).map_or("", |(_, rest)| rest);
    }
    let value = rest.trim();
    Some((path, if value == "-" { "" } else { value }))
}

/// The next field, without its quotes, and what is behind it.
fn field(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"');
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Whether a line writes into a kernel file.
pub(super) fn is_setting(line: &str) -> bool {
    written(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_write_into_kernel_files_are_settings() {
        let text = "# c\nw /sys/kernel/mm/ksm/run - - - - 1\nd /run/a 0755\n\
                    w! \"/sys/kernel/mm/lru_gen/min_ttl_ms\"  - - - -  1000 # c\n\
                    w+ /proc/sys/vm/swappiness - - - -\nw /etc/motd - - - - x\n";
        let read = read(text, 0);
        let expected = [
            ("ksm.run", "1", 2),
            ("lru_gen.min_ttl_ms", "1000 # c", 4),
            ("vm.swappiness", "", 5),
        ];
        assert_eq!(read.shown(), expected);
    }
}
