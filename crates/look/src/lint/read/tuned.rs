//! A profile of TuneD, tuned.conf(5): the plug-ins sysctl, sysfs and vm. Variables and included
//! profiles are not resolved: a value that holds one is passed over.

use super::line::Read;
use super::name;
use crate::lint::setting::{Setting, Writer};

/// Reads a text.
pub(super) fn read(text: &str, index: usize) -> Read {
    let mut read = Read::default();
    let mut section = "";
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if let Some(head) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            section = head.trim();
            continue;
        }
        let Some((key, value)) = line
            .split_once('=')
            .filter(|_| !line.starts_with(['#', ';']))
        else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(name) = named(section, key).filter(|_| !value.contains("${")) else {
            continue;
        };
        // `dirty_bytes = 40%` is the ratio.
        let (name, value) = match plain(value).strip_suffix('%') {
            Some(ratio) => (name.replace("_bytes", "_ratio"), ratio),
            None => (name, plain(value)),
        };
        read.settings.push(Setting {
            name,
            key: key.to_owned(),
            value: value.to_owned(),
            text: index,
            line: number,
            by: Writer::Tuned,
            stands: false,
        });
    }
    read
}

/// The tunable that a key of a section is.
fn named(section: &str, key: &str) -> Option<String> {
    match section {
        "sysctl" => Some(name::of_key(key)),
        "sysfs" => Some(name::of_path(key)),
        "vm" => Some(match key {
            "transparent_hugepages" | "transparent_hugepage" => "thp.enabled".to_owned(),
            "transparent_hugepage.defrag" => "thp.defrag".to_owned(),
            "dirty_bytes" | "dirty_ratio" | "dirty_background_bytes" | "dirty_background_ratio" => {
                format!("vm.{key}")
            }
            _ => return None,
        }),
        _ => None,
    }
}

/// The value without the sign that compares it with the one that is set (`>`, `<`), and without
/// quotes.
fn plain(value: &str) -> &str {
    let value = value.trim_start_matches(['>', '<', '=']).trim();
    let unquoted = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'));
    unquoted.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_plug_ins_hold_settings() {
        let text = "[main]\nsummary=x\n[sysctl]\nvm.swappiness=>10\nvm.x=${y}\n# vm.z=1\n\
                    [vm]\ntransparent_hugepages=never\n[sysfs]\n/sys/kernel/mm/ksm/run=1\n\
                    [cpu]\ngovernor=performance\n";
        let read = read(text, 0);
        let expected = [
            ("vm.swappiness", "10", 4),
            ("thp.enabled", "never", 8),
            ("ksm.run", "1", 10),
        ];
        assert_eq!(read.shown(), expected);
    }
}
