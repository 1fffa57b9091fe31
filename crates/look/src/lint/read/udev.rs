//! udev(7): rules that write tunables at a device's event.

use super::line::Read;
use super::name;
use crate::lint::setting::{Setting, Writer};

/// Reads a text.
pub(super) fn read(text: &str, index: usize) -> Read {
    let mut read = Read::default();
    for (line, number) in joined(text) {
        let keys = line.split(',').filter_map(|part| assigned(part.trim()));
        read.settings.extend(keys.map(|(key, value)| Setting {
            name: named(key),
            key: key.to_owned(),
            value: value.to_owned(),
            text: index,
            line: number,
            by: Writer::Udev,
            stands: false,
        }));
    }
    read
}

/// The lines without comments, those that end in a backslash joined with the next, each with the
/// number of its first.
fn joined(text: &str) -> Vec<(String, usize)> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut goes_on = false;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let (line, more) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some((last, _)) => last.push_str(line),
            None => lines.push((line.to_owned(), number)),
        }
        goes_on = more;
    }
    lines
}

/// A key that writes a tunable, and what it writes: `SYSCTL{vm/swappiness}="150"`.
fn assigned(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let inner = |name: &str| key.strip_prefix(name)?.strip_suffix('}');
    let key = inner("SYSCTL{").or_else(|| inner("ATTR{"))?;
    let value = value.trim().strip_prefix('"')?.strip_suffix('"')?;
    // udev puts in what such a value stands for.
    (!value.contains(['$', '%'])).then_some((key, value))
}

fn named(key: &str) -> String {
    match key.strip_prefix("bdi/") {
        // The device is the event's own.
        Some(file) => format!("bdi.%k.{file}"),
        None => name::of_key(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_writes_is_a_setting_and_what_it_asks_is_none() {
        let text = "# SYSCTL{vm/x}=\"1\"\nACTION==\"change\", KERNEL==\"zram0\", ATTR{initstate}==\"1\", \\\n\
                    SYSCTL{vm/swappiness}=\"150\"\nATTR{bdi/max_ratio}=\"1\"\n";
        let read = read(text, 0);
        let expected = [("vm.swappiness", "150", 2), ("bdi.%k.max_ratio", "1", 4)];
        assert_eq!(read.shown(), expected);
    }
}
