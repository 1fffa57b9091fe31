//! zram-generator and zram-tools: the compressed swap that they make.

use alloc::borrow::ToOwned;
use alloc::format;

use crate::drop_ins::{Names, opened, sources};
use crate::ini::{Assignment, assignments, unquoted};
use crate::load::{Fate, Load, Source, Write};
use crate::origin::Origin;
use crate::tree::{Found, Tree};

/// zram-tools' configuration.
pub const ZRAMSWAP: &str = "etc/default/zramswap";

/// Where zram-generator's configuration lies, the strongest first.
pub const GENERATOR: [&str; 4] = [
    "etc/systemd/zram-generator.conf",
    "run/systemd/zram-generator.conf",
    "usr/local/lib/systemd/zram-generator.conf",
    "usr/lib/systemd/zram-generator.conf",
];

/// Where its drop-ins lie.
pub const GENERATOR_D: [&str; 4] = [
    "etc/systemd/zram-generator.conf.d",
    "run/systemd/zram-generator.conf.d",
    "usr/local/lib/systemd/zram-generator.conf.d",
    "usr/lib/systemd/zram-generator.conf.d",
];

/// What zram-generator and zram-tools set: the size of a compressed swap as it stands there, and
/// its algorithm.
#[must_use]
pub fn load(tree: &Tree) -> Load {
    let main = GENERATOR
        .iter()
        .find(|path| tree.find(path) != Found::Nothing);
    let main = main.map(|path| opened(tree, (*path).to_owned()));
    let (drop_ins, others) = sources(tree, &GENERATOR_D, Names::Visible(".conf"));
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
        fate: Fate::Read(None),
        path,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::{shown, tree_of};

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
            shown(&load(&tree)),
            [
                "sys/block/zram0/disksize=ram / 2 /usr/lib/systemd/zram-generator.conf:2",
                "sys/block/zram0/comp_algorithm=zstd /etc/systemd/zram-generator.conf.d/a.conf:2",
                "sys/block/zram0/comp_algorithm=lz4 /etc/default/zramswap:1",
            ]
        );
    }
}
