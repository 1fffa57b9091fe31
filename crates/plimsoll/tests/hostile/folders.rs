//! Folders that somebody else may change between, or that are named from elsewhere.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;

use crate::attack::{Attack, Outcome, held_if};
use crate::place::{PROMPT, Place, system};
use crate::process::{NOBODY, ends};

pub(crate) const ATTACKS: &[Attack] = &[
    Attack {
        name: "a_report_behind_a_link",
        must_not: "a link of the attacker's leads no report, capture or calibration into a folder \
                   of root's",
        run: a_report_behind_a_link,
    },
    Attack {
        name: "fix_from_below_usr",
        must_not: "lint --fix changes no file of a package, wherever it is started",
        run: fix_from_below_usr,
    },
];

fn a_report_behind_a_link(place: &Place) -> Outcome {
    const ROOTS: &str = "/tmp/roots";
    const LINK: &str = "/tmp/theirs/out";
    place.file(format!("{ROOTS}/own"), "root's");
    place.theirs("/tmp/theirs");
    symlink(ROOTS, LINK).expect("a link");
    lchown(LINK, Some(NOBODY), Some(NOBODY)).expect("root may");
    let study = ["predict", "usb-copy", "--repetitions", "1"];
    let commands: [&[&str]; 3] = [
        &["inspect", "--interval", "0", "--save", "/tmp/theirs/out/a"],
        &[&study[..], &["--out", LINK]].concat(),
        &[&study[..], &["--report=/tmp/theirs/out/made/a.html"]].concat(),
    ];
    let mut gave_way = Vec::new();
    for words in commands {
        place.run(words)?;
        for entry in fs::read_dir(ROOTS).expect("a folder").flatten() {
            if entry.file_name() != "own" {
                gave_way.push(format!("{words:?} made {}", entry.path().display()));
                system("rm", &["-r", &entry.path().to_string_lossy()]);
            }
        }
    }
    held_if(gave_way.is_empty(), || gave_way.join("; "))
}

fn fix_from_below_usr(place: &Place) -> Outcome {
    const FOLDER: &str = "/tmp/image/usr/lib/sysctl.d";
    const WRONG: &str = "vm.drop_caches = 3";
    let file = place.file(format!("{FOLDER}/a.conf"), WRONG);
    for (from, what) in [
        ("/tmp/image/usr/lib", "sysctl.d"),
        ("/tmp/image/usr/lib", "sysctl.d/a.conf"),
        ("/tmp/image/usr", "lib"),
        (FOLDER, "."),
        (FOLDER, "a.conf"),
        (FOLDER, "../sysctl.d"),
        ("/tmp/image", "."),
    ] {
        let mut command = place.plimsoll(&["lint", "--fix", what]);
        let ended = ends(command.current_dir(from), PROMPT);
        let ended = ended.ok_or_else(|| format!("{what} in {from} did not end"))?;
        let text = fs::read_to_string(&file).expect("a file");
        let entries = fs::read_dir(FOLDER).expect("a folder").count();
        held_if(text.trim() == WRONG && entries == 1, || {
            format!("{what} in {from}: {}", ended.said())
        })?;
    }
    // What belongs to no package is fixed: the line is one that is certain.
    let other = place.file("/tmp/image/etc/sysctl.d/a.conf", WRONG);
    place.run(&["lint", "--fix", "/tmp/image"])?;
    assert_ne!(place.read(&other.to_string_lossy()), WRONG);
    assert!(Path::new(FOLDER).exists());
    Ok(())
}
