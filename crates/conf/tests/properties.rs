//! What holds for any tree: nothing panics, no line vanishes, and what is written can be read.

use std::collections::BTreeSet;

use plimsoll_conf::boot::boot;
use plimsoll_conf::places::{Take, WHERE};
use plimsoll_conf::sysctl_d::{self, LOADERS, Loader, Says, lines};
use plimsoll_conf::{Entry, Kind, Live, Next, Tree, tmpfiles, who, winning_name};
use proptest::prelude::*;
use testkit::words::texts;

/// 512 trees where `PROPTEST_CASES` does not say how many.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(512, |it| it.parse().expect("a number"));
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn entry() -> impl Strategy<Value = Entry> {
    const TARGETS: [&str; 6] = [
        "/dev/null",
        "/none",
        "x.conf",
        "..",
        "/etc/sysctl.conf",
        "../../etc",
    ];
    prop_oneof![
        12 => texts("configuration").prop_map(Entry::File),
        2 => prop::sample::select(&TARGETS).prop_map(|to| Entry::Link(to.to_owned())),
        1 => Just(Entry::Directory),
        1 => Just(Entry::Unreadable("permission denied".to_owned())),
    ]
}

/// A path at or below one of the places that are handed over.
fn path() -> impl Strategy<Value = String> {
    const NAMES: [&str; 7] = [
        "x.conf",
        "10-a.conf",
        "x",
        "a.rules",
        "x/tuned.conf",
        "x.service",
        "x.service.d/a.conf",
    ];
    let place = prop::sample::select(WHERE);
    (place, prop::sample::select(&NAMES)).prop_map(|(place, name)| match place.take {
        Take::File | Take::Presence => place.path.to_owned(),
        Take::Files | Take::All => format!("{}/{name}", place.path),
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec((path(), entry()), 0..12)
        .prop_map(|entries| entries.into_iter().collect())
}

/// A tree in which only `sysctl.d` of an administrator has files.
fn sysctl_tree() -> impl Strategy<Value = Tree> {
    const NAMES: [&str; 3] = [
        "etc/sysctl.d/a.conf",
        "etc/sysctl.d/b.conf",
        "etc/sysctl.d/c.conf",
    ];
    let file = (prop::sample::select(&NAMES), texts("configuration"));
    let files = prop::collection::vec(file, 0..4);
    files.prop_map(|files| {
        files
            .into_iter()
            .map(|(path, text)| (path, Entry::File(text)))
            .collect()
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_tree_has_a_boot_and_answers(tree in tree()) {
        for loader in LOADERS {
            let boot = boot(&tree, loader, &Live::default());
            for step in &boot.steps {
                prop_assert!(!step.write.path.starts_with('/'), "{}", step.write.path);
            }
        }
        let next = Next::of(&tree, &Live::default());
        for path in ["proc/sys/vm/swappiness", "proc/sys/vm/dirty_bytes", "sys/block/x"] {
            let answer = next.who(path);
            prop_assert!(answer.winner().is_none() || answer.partner.is_none());
        }
    }

    #[test]
    fn systemd_writes_a_key_once(tree in sysctl_tree()) {
        let load = sysctl_d::load(&tree, Loader::Systemd, &Live::default());
        let plain = load.writes.iter().filter(|write| write.pattern.is_none());
        let mut seen = BTreeSet::new();
        for write in plain {
            prop_assert!(seen.insert(&write.path), "{} twice", write.path);
        }
    }

    #[test]
    fn procps_writes_in_the_order_of_files_and_lines(tree in sysctl_tree()) {
        let load = sysctl_d::load(&tree, Loader::Procps, &Live::default());
        prop_assert!(load.writes.is_sorted_by_key(|write| &write.origin));
    }

    #[test]
    fn no_line_vanishes(tree in sysctl_tree()) {
        for loader in LOADERS {
            let load = sysctl_d::load(&tree, loader, &Live::default());
            let written = load.writes.iter().map(|write| &write.origin);
            let lost = load.lost.iter().map(|line| &line.origin);
            let known: BTreeSet<_> = written.chain(lost).collect();
            for source in load.sources.iter().filter(|source| source.fate.is_read()) {
                let Some(Entry::File(text)) = tree.entry(&source.path) else { continue };
                for line in lines(text, loader) {
                    let origin = plimsoll_conf::Origin::new(&source.path, line.number);
                    let (Says::Sets { key, .. } | Says::Excludes(key) | Says::Nonsense(key)) = line.says
                    else { continue };
                    let pattern = plimsoll_conf::glob::is_pattern(key);
                    prop_assert!(pattern || known.contains(&origin), "{loader} loses {origin}");
                }
            }
        }
    }

    #[test]
    fn a_line_for_tmpfiles_says_what_it_is_given(
        path in "sys(/[a-z%][a-z%. ]{0,7}){1,3}",
        value in "[!-,.-~]([ -~]{0,10}[!-~])?",
    ) {
        let value = value.as_str();
        let text = Kind::Tmpfiles.line(&path, value);
        let tree: Tree = [("etc/tmpfiles.d/a.conf", Entry::File(text))].into_iter().collect();
        let load = tmpfiles::load(&tree, &Live::default());
        let written = load.writes.iter().map(|write| (write.path.as_str(), write.value.as_str()));
        prop_assert_eq!(written.collect::<Vec<_>>(), [(path.as_str(), value)]);
    }

    #[test]
    fn a_key_of_a_path_leads_back_to_it(path in "[a-z0-9][a-z.]{0,5}(/[a-z0-9][a-z.]{0,5}){1,4}") {
        let path = format!("proc/sys/{path}");
        let key = sysctl_d::key_of(&path);
        for loader in [Loader::Systemd, Loader::Procps] {
            let found = sysctl_d::path_of(&key, loader).replace("//", "/");
            prop_assert_eq!(found, path.clone());
        }
    }

    #[test]
    fn a_name_that_wins_is_the_winner(tree in tree(), value in 0..200_u8) {
        let path = "proc/sys/vm/swappiness";
        let value = value.to_string();
        if let Ok(name) = winning_name(&tree, Kind::Sysctl, &[(path, &value)]) {
            let mut tree = tree.clone();
            let text = Kind::Sysctl.line(path, &value);
            tree.put(&format!("etc/sysctl.d/{name}"), Entry::File(text));
            let answer = who(&tree, path, &Live::default());
            let winner = answer.winner().and_then(|winner| winner.value.as_deref());
            prop_assert_eq!(winner.map(str::trim), Some(value.as_str()));
        }
    }
}
