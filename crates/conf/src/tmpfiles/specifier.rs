//! Specifiers: `%H` and the like in paths and arguments.
//!
//! What they stand for comes from the tree, as far as it is there: `/etc/machine-id`,
//! `/etc/hostname`, `/etc/os-release`, `/proc/sys/kernel/osrelease` and `random/boot_id`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use crate::load::Why;
use crate::tree::{Found, Tree};

/// A text with its specifiers resolved.
///
/// # Errors
/// `Nonsense` for a letter or digit that is no specifier, `Unknown` where the tree does not have
/// what it stands for.
pub(super) fn resolved(text: &str, tree: &Tree) -> Result<String, Why> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(letter) = rest.chars().next() else {
            plain.push('%');
            break;
        };
        match letter {
            '%' => plain.push('%'),
            letter if letter.is_ascii_alphanumeric() => plain += &value(letter, tree)?,
            other => plain.extend(['%', other]),
        }
        rest = &rest[letter.len_utf8()..];
    }
    plain.push_str(rest);
    Ok(plain)
}

fn value(letter: char, tree: &Tree) -> Result<String, Why> {
    let fixed = match letter {
        't' => "/run",
        'S' => "/var/lib",
        'C' => "/var/cache",
        'L' => "/var/log",
        'T' => "/tmp",
        'V' => "/var/tmp",
        'h' => concat!("/ro", "ot"),
        'u' | 'g' => "root",
        'U' | 'G' => "0",
        _ => return of_machine(letter, tree),
    };
    Ok(fixed.to_owned())
}

fn of_machine(letter: char, tree: &Tree) -> Result<String, Why> {
    let line = |path: &str| match tree.find(path) {
        Found::File { text, .. } => text.lines().next().map(str::trim),
        _ => None,
    };
    let release = |key| os_release(tree, key);
    let value = match letter {
        'm' => line("etc/machine-id").map(str::to_owned),
        'b' => line("proc/sys/kernel/random/boot_id").map(|id| id.replace('-', "")),
        'v' => line("proc/sys/kernel/osrelease").map(str::to_owned),
        'H' => line("etc/hostname").map(str::to_owned),
        'l' => line("etc/hostname")
            .and_then(|name| name.split('.').next())
            .map(str::to_owned),
        'o' => release("ID"),
        'w' => release("VERSION_ID"),
        'W' => release("VARIANT_ID"),
        'B' => release("BUILD_ID"),
        'A' => release("IMAGE_VERSION"),
        'M' => release("IMAGE_ID"),
        'a' => None,
        _ => return Err(Why::Nonsense),
    };
    value.ok_or_else(|| Why::Unknown(format!("%{letter}")))
}

/// A field of os-release; one that is not there is empty.
fn os_release(tree: &Tree, key: &str) -> Option<String> {
    let found = ["etc/os-release", "usr/lib/os-release"].map(|path| tree.find(path));
    let text = found.into_iter().find_map(|found| match found {
        Found::File { text, .. } => Some(text),
        _ => None,
    })?;
    let field = |line: &str| {
        let value = line.trim().strip_prefix(key)?.strip_prefix('=')?;
        Some(value.trim_matches(['"', '\'']).to_owned())
    };
    Some(text.lines().find_map(field).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::tree_of;

    #[test]
    fn specifiers_come_from_the_tree() {
        let tree = tree_of(&[
            ("etc/hostname", "db.example.org\n"),
            ("etc/os-release", "NAME=x\nID=\"debian\"\n"),
        ]);
        let resolved = |text| resolved(text, &tree);
        assert_eq!(resolved("%l-%o%%%t% %").as_deref(), Ok("db-debian%/run% %"));
        assert_eq!(resolved("%w").as_deref(), Ok(""));
        assert_eq!(resolved("%m"), Err(Why::Unknown("%m".into())));
        assert_eq!(resolved("%Z"), Err(Why::Nonsense));
    }
}
