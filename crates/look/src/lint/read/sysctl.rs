//! sysctl.d(5) and sysctl.conf(5).

use conf::sysctl_d::{Loader, Says, lines};

use super::line::{Line, Read};
use super::name;
use crate::lint::setting::{Setting, Writer};

/// Roots of keys by which a text is known.
const ROOTS: [&str; 5] = ["vm", "kernel", "net", "fs", "user"];

/// Reads a text, as systemd-sysctl does.
pub(super) fn read(text: &str, index: usize) -> Read {
    let mut read = Read::default();
    for line in lines(text, Loader::Systemd) {
        match line.says {
            Says::Sets { key, value, .. } => read.settings.push(Setting {
                name: name::of_key(key),
                key: key.to_owned(),
                value: value.to_owned(),
                text: index,
                line: line.number,
                by: Writer::Sysctl,
                stands: false,
            }),
            Says::Nonsense(what) => read.strays.push(Line {
                text: index,
                number: line.number,
                what: what.to_owned(),
            }),
            Says::Nothing | Says::Comment(_) | Says::Excludes(_) => {}
        }
    }
    read
}

/// Whether a line sets a key by which a text is known as one of sysctl.
pub(super) fn is_setting(line: &str) -> bool {
    let mut said = lines(line, Loader::Systemd).into_iter();
    let Some(Says::Sets { key, .. }) = said.next().map(|line| line.says) else {
        return false;
    };
    is_key(key)
}

/// Whether a text is a key of sysctl.
pub(super) fn is_key(key: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/*".contains(c);
    let root = key.split(['.', '/']).next().unwrap_or_default();
    key.chars().all(plain) && ROOTS.contains(&root) && key.len() > root.len() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_setting_an_exclusion_a_comment_or_a_stray() {
        let text = "# c\n; c\n-vm/swappiness = 10 \n\n-net.*\nvm.dirty_ratio 5\nvm.x=\n";
        let read = read(text, 3);
        let settings: Vec<_> = read
            .settings
            .iter()
            .map(|s| (s.name.as_str(), s.value.as_str(), s.line, s.text))
            .collect();
        assert_eq!(
            settings,
            [("vm.swappiness", "10", 3, 3), ("vm.x", "", 7, 3)]
        );
        let strays: Vec<_> = read
            .strays
            .iter()
            .map(|s| (s.number, s.what.as_str()))
            .collect();
        assert_eq!(strays, [(6, "vm.dirty_ratio 5")]);
    }

    #[test]
    fn only_keys_of_sysctl_make_a_text_one_of_sysctl() {
        assert!(is_setting("vm.swappiness=1") && is_setting("- net/core/x = 1"));
        for other in ["listen = 80", "vm = 1", "vm. = 1", "vm.a b = 1", "vm.a 1"] {
            assert!(!is_setting(other), "{other}");
        }
    }
}
