//! Smaller programs that set tunables: saptune, ksmtuned, zram-generator and zram-tools.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::drop_ins::{Names, opened, sources};
use crate::ini::{Assignment, assignments, unquoted};
use crate::load::{Load, Lost, Source, Why, Write};
use crate::origin::Origin;
use crate::sysctl_d::{self, Loader};
use crate::tree::{Found, Tree};

/// saptune's configuration, which names the notes that it applies.
pub const SAPTUNE: &str = "etc/sysconfig/saptune";

/// Where notes lie, the strongest first, and what their names end with.
pub const NOTES: [(&str, &str); 4] = [
    ("etc/saptune/override", ""),
    ("etc/saptune/extra", ".conf"),
    ("var/lib/saptune/working/notes", ""),
    ("usr/share/saptune/notes", ""),
];

/// ksmtuned's configuration.
pub const KSMTUNED: &str = "etc/ksmtuned.conf";

/// zram-tools' configuration.
pub const ZRAMSWAP: &str = "etc/default/zramswap";

/// Where zram-generator's configuration lies, the strongest first.
pub const ZRAM_GENERATOR: [&str; 4] = [
    "etc/systemd/zram-generator.conf",
    "run/systemd/zram-generator.conf",
    "usr/local/lib/systemd/zram-generator.conf",
    "usr/lib/systemd/zram-generator.conf",
];

/// Where its drop-ins lie.
pub const ZRAM_GENERATOR_D: [&str; 4] = [
    "etc/systemd/zram-generator.conf.d",
    "run/systemd/zram-generator.conf.d",
    "usr/local/lib/systemd/zram-generator.conf.d",
    "usr/lib/systemd/zram-generator.conf.d",
];

/// What saptune's notes set, in the order in which they are applied. An override has only what it
/// changes; the note's own values count beside it.
#[must_use]
pub fn saptune(tree: &Tree) -> Load {
    let mut load = Load::default();
    let notes = variable(tree, SAPTUNE, "NOTE_APPLY_ORDER").unwrap_or_default();
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
        ("vm", "THP") => "sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
        ("vm", "KSM") => "sys/kernel/mm/ksm/run".to_owned(),
        ("sys", key) => ["sys/", &key.replace('.', "/")].concat(),
        _ => return None,
    };
    // An empty value in an override leaves the tunable alone.
    let value = unquoted(option.value);
    let origin = Origin::new(path, option.line);
    (!value.is_empty()).then(|| Write::new(file, value, origin))
}

/// What ksmtuned does: it writes by itself while the machine runs; the file sets nothing at boot.
#[must_use]
pub fn ksmtuned(tree: &Tree) -> Load {
    let Found::File { .. } = tree.find(KSMTUNED) else {
        return Load::default();
    };
    let lost = |name: &str| Lost {
        origin: Origin::new(KSMTUNED, 0),
        path: ["sys/kernel/mm/ksm/", name].concat(),
        value: None,
        why: Why::AtRunTime("ksmtuned sets it by free memory"),
    };
    Load {
        writes: Vec::new(),
        lost: ["run", "pages_to_scan", "sleep_millisecs"].map(lost).into(),
        sources: [opened(tree, KSMTUNED.to_owned())].into(),
    }
}

/// What zram-generator and zram-tools set: the size of a compressed swap as it stands there, and
/// its algorithm.
#[must_use]
pub fn zram(tree: &Tree) -> Load {
    let main = ZRAM_GENERATOR
        .iter()
        .find(|path| tree.find(path) != Found::Nothing);
    let main = main.map(|path| opened(tree, (*path).to_owned()));
    let (drop_ins, others) = sources(tree, &ZRAM_GENERATOR_D, Names::Visible(".conf"));
    let mut load = Load::default();
    for source in main.into_iter().chain(drop_ins) {
        if let Found::File { text, .. } = tree.find(&source.path) {
            let writes = assignments(text).filter_map(|it| of_generator(&it, &source.path));
            load.writes.extend(writes);
        }
        load.sources.push(source);
    }
    load.sources.extend(others);
    zram_tools(tree, &mut load);
    load
}

fn of_generator(option: &Assignment<'_>, path: &str) -> Option<Write> {
    let number = option.section.strip_prefix("zram")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let file = match option.key {
        "zram-size" => "disksize",
        "compression-algorithm" => "comp_algorithm",
        _ => return None,
    };
    let file = format!("sys/block/{}/{file}", option.section);
    is_number.then(|| Write::new(file, option.value, Origin::new(path, option.line)))
}

fn zram_tools(tree: &Tree, load: &mut Load) {
    let Found::File { text, .. } = tree.find(ZRAMSWAP) else {
        return;
    };
    for option in assignments(text) {
        let (file, value) = match option.key {
            "ALGO" => ("comp_algorithm", unquoted(option.value).to_owned()),
            "SIZE" => ("disksize", [unquoted(option.value), "M"].concat()),
            "PERCENT" => ("disksize", [unquoted(option.value), "%"].concat()),
            _ => continue,
        };
        let path = ["sys/block/zram0/", file].concat();
        load.writes
            .push(Write::new(path, value, Origin::new(ZRAMSWAP, option.line)));
    }
    let path = ZRAMSWAP.to_owned();
    load.sources.push(Source {
        fate: crate::load::Fate::Read(None),
        path,
    });
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
    use crate::boot::tree_of;

    fn shown(load: &Load) -> Vec<String> {
        let shown = |it: &Write| format!("{}={} {}", it.path, it.value, it.origin);
        load.writes.iter().map(shown).collect()
    }

    #[test]
    fn notes_are_applied_in_their_order_and_overrides_after_them() {
        let tree = tree_of(&[
            (
                SAPTUNE,
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
            shown(&saptune(&tree)),
            [
                "proc/sys/vm/swappiness=10 /var/lib/saptune/working/notes/2:2",
                "proc/sys/vm/max_map_count=5 /var/lib/saptune/working/notes/1:2",
                "sys/kernel/mm/transparent_hugepage/enabled=never \
                 /var/lib/saptune/working/notes/1:4",
                "sys/kernel/mm/ksm/run=0 /etc/saptune/override/1:4",
            ]
        );
    }

    #[test]
    fn zram_is_set_by_the_generators_drop_ins_last() {
        let tree = tree_of(&[
            (
                "usr/lib/systemd/zram-generator.conf",
                "[zram0]\nzram-size = ram / 2\n",
            ),
            (
                "etc/systemd/zram-generator.conf.d/a.conf",
                "[zram0]\ncompression-algorithm = zstd\n[x]\nzram-size = 1\n",
            ),
            (ZRAMSWAP, "ALGO=lz4\n#PERCENT=50\n"),
        ]);
        assert_eq!(
            shown(&zram(&tree)),
            [
                "sys/block/zram0/disksize=ram / 2 /usr/lib/systemd/zram-generator.conf:2",
                "sys/block/zram0/comp_algorithm=zstd /etc/systemd/zram-generator.conf.d/a.conf:2",
                "sys/block/zram0/comp_algorithm=lz4 /etc/default/zramswap:1",
            ]
        );
    }

    #[test]
    fn ksmtuned_is_named_as_a_writer_at_run_time() {
        let load = ksmtuned(&tree_of(&[(KSMTUNED, "KSM_SLEEP_MSEC=10\n")]));
        assert_eq!(load.lost.len(), 3);
        assert!(ksmtuned(&Tree::default()).lost.is_empty());
    }
}
