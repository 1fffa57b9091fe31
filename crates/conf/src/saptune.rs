//! saptune: what its notes set, in the order in which they are applied.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::catalogue::path_of;

use crate::drop_ins::opened;
use crate::ini::{Assignment, assignments, unquoted};
use crate::load::{Load, Write};
use crate::origin::Origin;
use crate::sysctl_d::{self, Loader};
use crate::tree::{Found, Tree};

/// saptune's configuration, which names the notes that it applies.
pub const CONFIGURATION: &str = "etc/sysconfig/saptune";

/// Where notes lie, the strongest first, and what their names end with.
pub const NOTES: [(&str, &str); 4] = [
    ("etc/saptune/override", ""),
    ("etc/saptune/extra", ".conf"),
    ("var/lib/saptune/working/notes", ""),
    ("usr/share/saptune/notes", ""),
];

/// What saptune's notes set, in the order in which they are applied. An override has only what it
/// changes; the note's own values count beside it.
#[must_use]
pub fn load(tree: &Tree) -> Load {
    let mut load = Load::default();
    let notes = variable(tree, CONFIGURATION, "NOTE_APPLY_ORDER").unwrap_or_default();
    for note in notes.split_whitespace() {
        let paths = NOTES.map(|(directory, end)| format!("{directory}/{note}{end}"));
        let found = paths
            .into_iter()
            .filter(|path| tree.find(path) != Found::Nothing);
        for path in found.collect::<Vec<String>>().into_iter().rev() {
            if let Found::File { text, .. } = tree.find(&path) {
                load.writes
                    .extend(assignments(text).filter_map(|it| in_note(&it, &path)));
            }
            load.sources.push(opened(tree, path));
        }
    }
    load
}

fn in_note(option: &Assignment<'_>, path: &str) -> Option<Write> {
    let file = match (option.section, option.key) {
        ("sysctl", key) => sysctl_d::path_of(key, Loader::Procps),
        ("vm", "THP") => const { path_of("thp.enabled") }.to_owned(),
        ("vm", "KSM") => const { path_of("ksm.run") }.to_owned(),
        ("sys", key) => ["sys/", &key.replace('.', "/")].concat(),
        _ => return None,
    };
    // An empty value in an override leaves the tunable alone.
    let value = unquoted(option.value);
    let origin = Origin::new(path, option.line);
    (!value.is_empty()).then(|| Write::new(file, value, origin))
}

/// The value of a variable in a file of the shell, without quotes.
fn variable<'a>(tree: &'a Tree, path: &str, name: &str) -> Option<&'a str> {
    let Found::File { text, .. } = tree.find(path) else {
        return None;
    };
    let set = assignments(text).filter(|option| option.key == name);
    set.last().map(|option| unquoted(option.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::{shown, tree_of};

    #[test]
    fn notes_are_applied_in_their_order_and_overrides_after_them() {
        let tree = tree_of(&[
            (
                CONFIGURATION,
                "TUNE_FOR_NOTES=\"1 2\"\nNOTE_APPLY_ORDER=\"2 1\"\n",
            ),
            (
                "var/lib/saptune/working/notes/1",
                "[sysctl]\nvm.max_map_count = 5\n[vm]\nTHP=never\n",
            ),
            (
                "var/lib/saptune/working/notes/2",
                "[sysctl]\nvm.swappiness = 10\n[x]\na=b\n",
            ),
            (
                "etc/saptune/override/1",
                "[sysctl]\nvm.max_map_count =\n[vm]\nKSM=0\n",
            ),
        ]);
        assert_eq!(
            shown(&load(&tree)),
            [
                "proc/sys/vm/swappiness=10 /var/lib/saptune/working/notes/2:2",
                "proc/sys/vm/max_map_count=5 /var/lib/saptune/working/notes/1:2",
                "sys/kernel/mm/transparent_hugepage/enabled=never \
                 /var/lib/saptune/working/notes/1:4",
                "sys/kernel/mm/ksm/run=0 /etc/saptune/override/1:4",
            ]
        );
    }
}
